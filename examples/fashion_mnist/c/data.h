/* SPDX-License-Identifier: Apache-2.0
 * Fashion-MNIST, or small generated data where it is not installed. */
#ifndef DATA_H
#define DATA_H

#include <dlcore/dlcore.h>

/* A loader over "train" or "test". *generated is set when the real data set was not found. */
dlcore_loader *open_data(dlcore_context *ctx, const char *part, int64_t batch, uint64_t flags,
                         int *generated);

#endif
