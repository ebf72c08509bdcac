// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/elementwise/strided_view.h"

#include <algorithm>
#include <cstring>

namespace dlcore::cpu {

MergedShape::MergedShape(const dlcore_operand* operands, int n_operands) {
  for (int dim = 0; dim < operands[0].rank; ++dim) {
    const int64_t size = operands[0].shape[dim];
    if (size == 1) continue;
    bool merge = rank > 0;
    for (int i = 0; i < n_operands && merge; ++i) {
      merge = strides[i][rank - 1] == operands[i].strides[dim] * size;
    }
    if (!merge) {
      sizes[rank++] = size;
    } else {
      sizes[rank - 1] *= size;
    }
    for (int i = 0; i < n_operands; ++i) strides[i][rank - 1] = operands[i].strides[dim];
  }
  if (rank == 0) {
    rank = 1;
    sizes[0] = 1;
    for (int i = 0; i < n_operands; ++i) strides[i][0] = 1;
  }
}

int64_t MergedShape::offset(int operand, int64_t index) const {
  int64_t result = 0;
  for (int dim = rank - 1; dim > 0; --dim) {
    result += index % sizes[dim] * strides[operand][dim];
    index /= sizes[dim];
  }
  return result + index * strides[operand][0];
}

int64_t MergedShape::period(int operand) const {
  int outer = 0;
  while (outer < rank && strides[operand][outer] == 0) ++outer;
  int64_t result = 1;
  for (int dim = outer; dim < rank; ++dim) result *= sizes[dim];
  return result;
}

bool MergedShape::contiguous(int operand) const {
  int64_t expected = 1;
  for (int dim = rank - 1; dim >= 0; --dim) {
    if (strides[operand][dim] != expected) return false;
    expected *= sizes[dim];
  }
  return true;
}

bool is_contiguous(const dlcore_operand& operand) {
  int64_t expected = 1;
  for (int dim = operand.rank - 1; dim >= 0; --dim) {
    if (operand.shape[dim] == 1) continue;
    if (operand.strides[dim] != expected) return false;
    expected *= operand.shape[dim];
  }
  return true;
}

namespace {

// Elements are moved as blocks of bytes: their types do not matter.
template <size_t kSize>
void pack_strided(std::byte* to, const std::byte* from, int64_t stride, int64_t n) {
  const int64_t step = stride * static_cast<int64_t>(kSize);
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * int64_t{kSize}, from + i * step, kSize);
}

void repeat(std::byte* to, const std::byte* from, int64_t n, int64_t size) {
  const int64_t bytes = n * size;
  if (size == 1) {
    std::memset(to, static_cast<int>(*from), static_cast<size_t>(bytes));
    return;
  }
  std::memcpy(to, from, static_cast<size_t>(size));
  for (int64_t done = size; done < bytes; done *= 2) {
    std::memcpy(to + done, to, static_cast<size_t>(std::min(done, bytes - done)));
  }
}

}  // namespace

void pack_row(std::byte* to, const std::byte* from, int64_t stride, int64_t n, int64_t size) {
  if (n <= 0) return;
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n * size));
  } else if (stride == 0) {
    repeat(to, from, n, size);
  } else if (size == 1) {
    pack_strided<1>(to, from, stride, n);
  } else if (size == 2) {
    pack_strided<2>(to, from, stride, n);
  } else if (size == 4) {
    pack_strided<4>(to, from, stride, n);
  } else {
    pack_strided<8>(to, from, stride, n);
  }
}

void pack(std::byte* to, const MergedShape& shape, int operand, const std::byte* data,
          int64_t first, int64_t n, int64_t size) {
  const int last = shape.rank - 1;
  const int64_t* strides = shape.strides[operand];
  int64_t position[DLCORE_MAX_RANK];
  int64_t rest = first;
  int64_t offset = 0;
  for (int dim = last; dim >= 0; --dim) {
    position[dim] = dim > 0 ? rest % shape.sizes[dim] : rest;
    rest /= shape.sizes[dim];
    offset += position[dim] * strides[dim];
  }
  while (n > 0) {
    const int64_t run = std::min(n, shape.sizes[last] - position[last]);
    pack_row(to, data + offset * size, strides[last], run, size);
    to += run * size;
    n -= run;
    if (n == 0) break;
    offset -= position[last] * strides[last];
    position[last] = 0;
    for (int dim = last - 1; dim >= 0; --dim) {
      offset += strides[dim];
      if (++position[dim] < shape.sizes[dim]) break;
      offset -= shape.sizes[dim] * strides[dim];
      position[dim] = 0;
    }
  }
}

}  // namespace dlcore::cpu
