// SPDX-License-Identifier: Apache-2.0
// Elements as bits: what ops that only move data need to know of a dtype.
#pragma once

#include <cstdint>

#include "backends/cpu/queue.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Bits of `value` in a dtype, in the lowest bytes. Integers truncate and saturate, NaN gives 0;
// boolean is whether it is not 0.
uint64_t element_bits(dlcore_dtype dtype, double value);

// Writes n elements of `size` bytes (1, 2, 4 or 8).
void fill_elements(void* to, uint64_t bits, int64_t size, int64_t n);
// The same for long runs, on the pool.
void fill_elements(const Queue& queue, void* to, uint64_t bits, int64_t size, int64_t n);

// Copies n elements of `size` bytes between places `to_stride` and `from_stride` elements apart.
void copy_elements(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t size,
                   int64_t n);

}  // namespace dlcore::cpu
