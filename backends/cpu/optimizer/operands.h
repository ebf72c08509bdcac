// SPDX-License-Identifier: Apache-2.0
// Operands of updates: elementwise over tensors of one shape, block by block.
#pragma once

#include <bit>
#include <cstdint>

#include "backends/cpu/reduce/axes.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Elements worth a part of their own.
inline constexpr int64_t kUpdatePart = 16 * 1024;

inline double attr_f64(const dlcore_launch* launch, int index) {
  return std::bit_cast<double>(launch->attrs[index]);
}

// A rank-0 operand as f64.
inline double scalar_f64(const dlcore_operand& operand) {
  switch (operand.dtype) {
    case DLCORE_F32:
      return static_cast<double>(*static_cast<const float*>(operand.data));
    case DLCORE_I64:
      return static_cast<double>(*static_cast<const int64_t*>(operand.data));
    default:
      return *static_cast<const double*>(operand.data);
  }
}

// An input read in blocks.
template <class T>
class BlockReader {
 public:
  explicit BlockReader(const dlcore_operand& operand)
      : base_(static_cast<const T*>(operand.data)), axes_(split_axes(operand, ~0u).elements) {}

  // Elements [start, start + n): the tensor itself, or a copy in `buffer`.
  const T* read(int64_t start, int64_t n, T* buffer) const {
    if (axes_.contiguous()) return base_ + start;
    gather(base_, axes_, start, n, sizeof(T), buffer);
    return buffer;
  }

 private:
  const T* base_;
  AxisList axes_;
};

}  // namespace dlcore::cpu
