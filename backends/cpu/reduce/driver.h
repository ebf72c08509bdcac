// SPDX-License-Identifier: Apache-2.0
// Reductions, apart from their arithmetic: walks any strides, splits the work over the pool, and
// keeps to the order of tree.h.
#pragma once

#include <cstdint>

#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Outputs that a `columns` function takes at once, at most.
inline constexpr int64_t kColumns = 256;

// The arithmetic of one reduction over one dtype, with an accumulator of at most 16 bytes.
struct Reduction {
  int64_t element_size;
  int64_t accumulator_size;
  int64_t output_size;
  bool needs_elements;  // an empty sequence has no result

  // Reduces n <= kBlock dense elements, the first of which is number `start` of the sequence.
  void (*block)(const void* x, int64_t start, int64_t n, void* accumulator);
  // Reduces n <= kBlock rows of `width` <= kColumns neighbouring elements each, to `width`
  // accumulators; rows[i] is the offset of row i in elements. NULL when only `block` exists.
  void (*columns)(const void* x, const int64_t* rows, int64_t n, int64_t width, void* accumulators);
  // a[i] = a[i] merged with b[i], which comes later in the sequence.
  void (*combine)(void* a, const void* b, int64_t n);
  // Turns accumulators over `length` elements each into outputs.
  void (*finish)(const void* accumulators, int64_t n, int64_t length, void* outputs);
  // Reduces that many neighbouring blocks of kBlock elements, a power of two, which are a whole
  // subtree of tree.h; the second every second element, and it reads one more. NULL for none.
  void (*subtree)(const void* x, int64_t blocks, void* accumulator) = nullptr;
  void (*even_subtree)(const void* x, int64_t blocks, void* accumulator) = nullptr;
};

dlcore_status run_reduction(void* queue, const dlcore_launch* launch, const Reduction& reduction);
// Bytes of workspace for run_reduction.
uint64_t reduction_workspace(const dlcore_launch* launch);

// A row of a kernel table.
template <const Reduction& kReduction>
dlcore_status launch_reduction(void* queue, const dlcore_launch* launch) {
  return run_reduction(queue, launch, kReduction);
}

template <const Reduction& kReduction>
constexpr dlcore_kernel reduction_kernel(int32_t op, dlcore_dtype dtype) {
  return {op,
          dtype,
          DLCORE_KERNEL_STRIDED,
          0,
          launch_reduction<kReduction>,
          nullptr,
          reduction_workspace};
}

}  // namespace dlcore::cpu
