// SPDX-License-Identifier: Apache-2.0
// Runs an elementwise inner loop over operands of any strides.
//
// Inner loops know only contiguous data. Operands that are not contiguous are brought, a tile at a
// time, into a small buffer in the L1 cache; so every element goes through the same arithmetic
// whatever the strides are, and an op needs one loop per dtype. Rows repeated by broadcasting are
// brought in once.
#pragma once

#include <cstdint>

#include "backends/cpu/elementwise/half_conversion.h"
#include "backends/cpu/queue.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Computes n elements of `out` from contiguous inputs (unused ones are null); `out` may be one of
// them. Returns the index of the first element that has no result, or -1.
using Loop = int64_t (*)(int64_t n, void* out, const void* a, const void* b, const void* c,
                         const void* params);

// Elements that make up one part of a parallel run, about 10 microseconds of work.
enum Grain : int64_t { kCheap = 32768, kCostly = 8192 };

constexpr int kMaxElementwiseInputs = 3;

// Returns the index of the first element that has no result, or -1.
int64_t run_elementwise(const Queue& queue, const dlcore_launch& launch, Loop loop, Grain grain,
                        const void* params);

// The same for a launch in f16 or bf16, whose elements `loop` computes in f32: every input has that
// dtype, and so has the output unless it is bool.
int64_t run_widened(const Queue& queue, const dlcore_launch& launch, Loop loop, Grain grain,
                    const void* params, const HalfConversion& conversion);

// Bytes of one element.
int64_t element_size(dlcore_dtype dtype);

// A kernel around a loop of f32, for f16 and bf16. `kTarget` is the instruction set of the loop.
template <int64_t kTarget, Loop kLoop, Grain kGrain>
dlcore_status launch_widened(void* queue, const dlcore_launch* launch) {
  run_widened(*static_cast<const Queue*>(queue), *launch, kLoop, kGrain, nullptr,
              half_conversion(kTarget, launch->inputs[0].dtype));
  return DLCORE_OK;
}

// A kernel around a loop that takes no parameters and cannot fail.
template <Loop kLoop, Grain kGrain>
dlcore_status launch_elementwise(void* queue, const dlcore_launch* launch) {
  run_elementwise(*static_cast<const Queue*>(queue), *launch, kLoop, kGrain, nullptr);
  return DLCORE_OK;
}

}  // namespace dlcore::cpu
