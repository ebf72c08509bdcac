// SPDX-License-Identifier: Apache-2.0
// The families of kernels. They are plain loops over float and integer types, written to be read.
#pragma once

#include "call.h"

namespace host2 {

void add_elementwise(Kernels& kernels);
void add_compare(Kernels& kernels);
void add_convert(Kernels& kernels);
void add_reduce(Kernels& kernels);
void add_softmax(Kernels& kernels);
void add_loss(Kernels& kernels);
void add_matrix(Kernels& kernels);
void add_movement(Kernels& kernels);
void add_create(Kernels& kernels);
void add_optimizer(Kernels& kernels);

}  // namespace host2
