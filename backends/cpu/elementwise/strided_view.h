// SPDX-License-Identifier: Apache-2.0
// Iteration over broadcast and strided operands of one common shape.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dlcore/plugin.h"

namespace dlcore::cpu {

constexpr int kMaxViews = 3;

// The shape and the strides of up to three operands, adjacent dimensions merged where all of them
// allow it and dimensions of size 1 dropped. There always is at least one dimension.
struct MergedShape {
  MergedShape(const dlcore_operand* operands, int n_operands);

  int rank = 0;
  int64_t sizes[DLCORE_MAX_RANK];
  int64_t strides[kMaxViews][DLCORE_MAX_RANK];

  int64_t row() const { return sizes[rank - 1]; }
  // Where the element of that row-major index lies, in elements.
  int64_t offset(int operand, int64_t index) const;
  // The smallest p such that the operand repeats itself every p elements of the row-major order;
  // the number of elements when it does not repeat.
  int64_t period(int operand) const;
  bool contiguous(int operand) const;
};

bool is_contiguous(const dlcore_operand& operand);

// Copies n elements that lie `stride` elements apart (0 repeats one) to contiguous memory.
void pack_row(std::byte* to, const std::byte* from, int64_t stride, int64_t n,
              int64_t element_size);

// Copies the n elements from the row-major index `first` on to contiguous memory.
void pack(std::byte* to, const MergedShape& shape, int operand, const std::byte* data,
          int64_t first, int64_t n, int64_t element_size);

}  // namespace dlcore::cpu
