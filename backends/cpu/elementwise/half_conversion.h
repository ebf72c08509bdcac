// SPDX-License-Identifier: Apache-2.0
// Arrays of f16 and bf16 to and from f32: how kernels compute in them. Load, widen, compute in f32,
// round to nearest even once.
#pragma once

#include <cstdint>

#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Both functions take any address and number of elements. NaN stays NaN.
struct HalfConversion {
  void (*widen)(int64_t n, const void* from, float* to);
  void (*narrow)(int64_t n, const float* from, void* to);
};

// For DLCORE_F16 or DLCORE_BF16. `target` is the instruction set of the calling kernel: HWY_TARGET,
// or 0 in a file that is compiled once.
const HalfConversion& half_conversion(int64_t target, dlcore_dtype dtype);

constexpr bool is_half(dlcore_dtype dtype) { return dtype == DLCORE_F16 || dtype == DLCORE_BF16; }

}  // namespace dlcore::cpu
