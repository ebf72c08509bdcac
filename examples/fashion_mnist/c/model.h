/* SPDX-License-Identifier: Apache-2.0
 * The classifiers that the example trains. Images come as rows of 784 pixels. */
#ifndef FASHION_MNIST_MODEL_H
#define FASHION_MNIST_MODEL_H

#include <dlcore/dlcore.h>

typedef struct model_kind {
  const char *name, *description, *file;
  int epochs;
  uint64_t seed;
  dlcore_module *(*make)(dlcore_context *ctx);
} model_kind;

const model_kind *model_find(const char *name); /* NULL when there is none */

#endif
