// SPDX-License-Identifier: Apache-2.0
// Windows as the pooling kernels see them, read from the attributes of a launch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/queue.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Windows along one axis: window o has its taps at o * stride - before + i * dilation for i below
// kernel. Every window holds an element, and none starts behind the last one.
struct PoolAxis {
  int64_t size, count;  // of x, of windows
  int64_t kernel, stride, dilation, before, after;

  int64_t start(int64_t window) const { return window * stride - before; }
  // Taps of a window that lie in x: [first_tap, end_tap).
  int64_t first_tap(int64_t window) const {
    const int64_t at = start(window);
    return at >= 0 ? 0 : 1 + (-at - 1) / dilation;
  }
  int64_t end_tap(int64_t window) const {
    return std::min(kernel, 1 + (size - start(window) - 1) / dilation);
  }
  // What an average divides by along this axis; without dilation.
  int64_t divisor(int64_t window, bool counts_padding) const {
    const int64_t at = start(window);
    if (!counts_padding) return std::min(size - at, kernel) - std::max<int64_t>(0, -at);
    return std::min(kernel, size + after - at);
  }
  // Elements from the first tap to the last.
  int64_t covered() const { return (kernel - 1) * dilation + 1; }
};

struct PoolWindows {
  int64_t planes;
  PoolAxis rows, columns;

  // Whether rows are worth laying out by phases (row-inl.h): not when most taps of a window lie
  // outside of x.
  bool by_phases() const { return columns.covered() <= 2 * columns.size + 1024; }
};

PoolWindows max_pool_windows(const dlcore_launch* launch);

struct AverageWindows : PoolWindows {
  bool counts_padding;
};
// x is the input of the forward op or the output of the backward op.
AverageWindows average_windows(const dlcore_launch* launch, const dlcore_operand& x,
                               const dlcore_operand& y, bool backward);

// Rows of work cut into parts: about 64 thousand taps each, at most 64.
struct PoolParts {
  int64_t rows, per_part, count;

  PoolParts(int64_t rows_in, int64_t taps_per_row) : rows(rows_in) {
    const int64_t few =
        std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, taps_per_row));
    per_part = std::max(few, (rows + 63) / 64);
    count = (rows + per_part - 1) / per_part;
  }
};

}  // namespace dlcore::cpu
