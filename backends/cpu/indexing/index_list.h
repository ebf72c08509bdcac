// SPDX-License-Identifier: Apache-2.0
// Operands as the indexing kernels see them, and indices of any integer type read and checked.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/cpu/reduce/axes.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// An operand as outer axes, the axes that indices count along, and inner axes.
struct Split {
  char* data = nullptr;
  int64_t size = 0;  // bytes of an element
  AxisList outer, middle, inner;
  AxisList tail;  // middle and inner together
  AxisList all;

  // `middle_rank` axes from `axis` on are the middle. With `wide`, the shape that the operand is
  // broadcast to: sizes of 1 repeat where `wide` has more, except in the middle.
  Split(const dlcore_operand& x, int32_t axis, int32_t middle_rank, const int64_t* wide = nullptr);
  // Indices of a tensor of their own, the same for all outer and `inner_count` inner positions.
  Split(const dlcore_operand& indices, int64_t inner_count);

  char* at(int64_t offset) const { return data + offset * size; }
  // Distance of neighbours along a middle of one axis.
  int64_t step() const { return middle.n == 0 ? 0 : middle.axes[0].stride; }
  // Offset of inner position c.
  int64_t inner_offset(int64_t c) const {
    return inner.n == 0 ? 0 : inner.n == 1 ? c * inner.axes[0].stride : inner.offset(c);
  }
  bool same_for_inner() const {
    return inner.n == 0 || (inner.n == 1 && inner.axes[0].stride == 0);
  }
};

constexpr int64_t kIndexBlock = 256;

// The first position that was found to be bad, by any thread.
class FirstBad {
 public:
  explicit FirstBad(int64_t none) : none_(none), first_(none) {}
  void note(int64_t position) {
    int64_t seen = first_.load(std::memory_order_relaxed);
    while (position < seen && !first_.compare_exchange_weak(seen, position)) {
    }
  }
  int64_t position() const { return first_.load() == none_ ? -1 : first_.load(); }

 private:
  const int64_t none_;
  std::atomic<int64_t> first_;
};

// Reads indices [start, start + n), n at most kIndexBlock, of the row-major order of `axes` into
// `to`, those below 0 counted from `bound`. Returns how many there are before the first that is out
// of range.
int64_t read_indices(const void* data, dlcore_dtype dtype, const AxisList& axes, int64_t start,
                     int64_t n, int64_t bound, int64_t* to);

// Asks for a row, or the first lines of it, that is read soon.
inline void fetch_row(const char* row, int64_t bytes) {
  for (int64_t at = 0; at < bytes && at < 512; at += 64) __builtin_prefetch(row + at);
}

// The row-major position in x of the element that, with x broadcast to `wide`, lies at `position`.
int64_t position_in(const dlcore_operand& x, const int64_t* wide, int64_t position);

// OUT_OF_RANGE, with the text in `failure`.
dlcore_status refuse_index(int64_t index, int64_t position, int64_t bound, dlcore_failure* failure);
// The same for the element of a tensor at a row-major position.
dlcore_status refuse_index(const dlcore_operand& indices, int64_t position, int64_t bound,
                           dlcore_failure* failure);

}  // namespace dlcore::cpu
