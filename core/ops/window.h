// SPDX-License-Identifier: Apache-2.0
// What convolution and pooling share: windows that slide along rows (axis 0) and columns (axis 1).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/ops/rules.h"

namespace dlcore {

inline constexpr const char* kAlongAxis[] = {"rows", "columns"};

// A window along one axis, in elements of x, and the padding in front of x and behind it.
struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  // From its first element to its last. Refuses what does not fit.
  int64_t covered() const;
};

// An attribute with one entry for both axes, or one for each, from `least` to `most`.
std::array<int64_t, 2> read_pair(const char* op, const char* name, std::span<const int64_t> list,
                                 int64_t least, int64_t most);

// One entry, [rows, columns] or [top, left, bottom, right], which are not checked.
struct Margins {
  std::array<int64_t, 2> before, after;
};
Margins read_padding(const char* op, std::span<const int64_t> list);

// The number of windows along an axis, none of which reaches past the padding; `same`: there is so
// much padding that the stride alone decides.
Dim count_windows(const char* op, const DimMath& math, const WindowAxis& window, size_t axis,
                  bool same, Dim size);

Dims last_two(const Dims& dims);

}  // namespace dlcore
