// SPDX-License-Identifier: Apache-2.0
// Elements that lie apart, copied in row-major order on the host.
#pragma once

#include "core/tensor/tensor.h"

namespace dlcore {

// Offsets, in elements, of the first and last element that strides reach. For shapes without a 0.
struct Reach {
  int64_t first = 0, last = 0;
};
Reach reach_of(std::span<const int64_t> shape, std::span<const int64_t> strides);

void gather_elements(const void* from, Dtype dtype, std::span<const int64_t> shape,
                     std::span<const int64_t> strides, void* to);
void gather_elements(const Tensor& from, void* to);

}  // namespace dlcore
