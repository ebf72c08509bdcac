// SPDX-License-Identifier: Apache-2.0
// How operands are presented to kernels: shape and strides, without touching elements.
#pragma once

#include "core/tensor/dims.h"

namespace dlcore {

struct OperandView {
  Ints shape;
  Ints strides;

  void insert(size_t axis, int64_t size, int64_t stride) {
    shape.insert(axis, size);
    strides.insert(axis, stride);
  }
};

}  // namespace dlcore
