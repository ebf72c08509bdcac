// SPDX-License-Identifier: Apache-2.0
#include "core/ops/window.h"

#include "core/base/error.h"

namespace dlcore {

int64_t WindowAxis::covered() const {
  return checked_add(checked_multiply(kernel - 1, dilation), 1);
}

std::array<int64_t, 2> read_pair(const char* op, const char* name, std::span<const int64_t> list,
                                 int64_t least, int64_t most) {
  if (list.size() != 1 && list.size() != 2) {
    invalid("{}: {} has {} entries, expected 1 or 2", op, name, list.size());
  }
  for (const int64_t value : list) {
    if (value >= least && value <= most) continue;
    const std::string bound =
        most == INT64_MAX ? formatted("{} or more", least) : formatted("{} to {}", least, most);
    invalid("{}: {} is {}, expected {}", op, name, value, bound);
  }
  return {list.front(), list.back()};
}

Margins read_padding(const char* op, std::span<const int64_t> list) {
  if (list.size() != 1 && list.size() != 2 && list.size() != 4) {
    invalid(
        "{}: padding has {} entries, expected 1, 2 (rows, columns) or 4 (top, left, bottom, right)",
        op, list.size());
  }
  Margins m;
  m.before = {list[0], list[list.size() == 1 ? 0 : 1]};
  m.after = list.size() == 4 ? std::array{list[2], list[3]} : m.before;
  return m;
}

Dim count_windows(const char* op, const DimMath& math, const WindowAxis& window, size_t axis,
                  bool same, Dim size) {
  const int64_t covered = window.covered(), stride = window.stride;
  if (same) {
    const Dim count = math.divide(math.add(size, stride - 1), stride);
    if (!count.symbolic() && count.value > 0) {
      checked_add((count.value - 1) * stride, covered);  // the size with its padding fits
    }
    return count;
  }
  const Dim padded = math.add(math.add(size, window.before), window.after);
  if (!padded.symbolic() && padded.value < covered) {
    invalid("{}: the kernel covers {} {}, but x has {} with its padding", op, covered,
            kAlongAxis[axis], padded.value);
  }
  return math.add(math.divide(math.subtract(padded, covered), stride), 1);
}

Dims last_two(const Dims& dims) { return {dims[dims.size() - 2], dims[dims.size() - 1]}; }

}  // namespace dlcore
