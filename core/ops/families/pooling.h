// SPDX-License-Identifier: Apache-2.0
// The attributes of pooling, which the layers have, too.
#pragma once

#include "core/ops/attrs.h"

namespace dlcore {

namespace pooling {
constexpr AttrDef kKernel =
    required(ints_attr("kernel", "rows and columns of a window, or one number for both"));
constexpr AttrDef kStride = optional(
    ints_attr("stride", "steps of the window: rows and columns, or one for both; as kernel"));
constexpr AttrDef kDilation = optional(ints_attr(
    "dilation", "distance of a window's elements in x: rows and columns, or one for both; 1"));
constexpr AttrDef kPadding = optional(ints_attr(
    "padding",
    "around x, at most half of what the kernel covers: one number, [rows, columns] or [top, left, "
    "bottom, right]; 0"));
constexpr AttrDef kCeil = bool_attr(
    "ceil_mode", "also windows that reach past the padding, as long as they start before it");
constexpr AttrDef kCount =
    bool_attr("count_include_pad",
              "whether the divisor counts the padding; what ceil_mode adds is never counted", true);
constexpr AttrDef kAutoPad = string_attr(
    "auto_pad",
    "instead of padding. same_upper, same_lower: so much that OH is H / stride rounded up, an odd "
    "one at the end (upper) or in front (lower); valid: none",
    "none", "none|same_upper|same_lower|valid");
}  // namespace pooling

// Of the ops and, in a longer list, of the layers.
template <size_t N = 6>
constexpr FixedList<AttrDef, N> max_pool_attrs() {
  return {pooling::kKernel,   pooling::kStride, pooling::kPadding,
          pooling::kDilation, pooling::kCeil,   pooling::kAutoPad};
}
template <size_t N = 6>
constexpr FixedList<AttrDef, N> avg_pool_attrs() {
  return {pooling::kKernel, pooling::kStride, pooling::kPadding,
          pooling::kCeil,   pooling::kCount,  pooling::kAutoPad};
}

// INVALID_ARGUMENT, starting with `what`, for attributes that fit no x.
void check_max_pool(const AttrReader& attrs, const char* what);
void check_avg_pool(const AttrReader& attrs, const char* what);

}  // namespace dlcore
