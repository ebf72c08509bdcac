// SPDX-License-Identifier: Apache-2.0
// Visiting the elements of operands in row-major order.
#pragma once

#include <array>

#include "call.h"

namespace host2 {

using Sizes = std::span<const int64_t>;

inline int64_t count_of(Sizes shape) {
  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  return count;
}

// Calls fn(offsets) for each index of `shape`; offsets[k] is where strides[k] puts it.
template <size_t N, class Fn>
void walk(Sizes shape, const std::array<Sizes, N>& strides, Fn&& fn) {
  if (count_of(shape) == 0) return;
  std::array<int64_t, N> offsets{};
  std::array<int64_t, DLCORE_MAX_RANK + 2> index{};
  for (;;) {
    fn(offsets);
    size_t axis = shape.size();
    do {
      if (axis == 0) return;
      --axis;
      const bool wraps = ++index[axis] == shape[axis];
      for (size_t k = 0; k < N; ++k) {
        offsets[k] += wraps ? strides[k][axis] * (1 - shape[axis]) : strides[k][axis];
      }
      if (!wraps) break;
      index[axis] = 0;
    } while (true);
  }
}

// A dense operand seen as [outer, length, inner] around one axis.
struct Around {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;

  Around(Sizes shape, int64_t axis) {
    const auto rank = static_cast<int64_t>(shape.size());
    if (axis < 0) axis += rank;
    for (int64_t d = 0; d < rank; ++d) {
      (d < axis ? outer : d == axis ? length : inner) *= shape[static_cast<size_t>(d)];
    }
  }
  // Calls fn(first) for each line along the axis, with its first element; the others follow `inner`
  // apart.
  template <class Fn>
  void lines(Fn&& fn) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) fn(o * length * inner + i);
    }
  }
};

}  // namespace host2
