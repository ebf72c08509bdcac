// SPDX-License-Identifier: Apache-2.0
// How CPU kernels are collected: every kernel file compiles once per instruction set (Highway's
// foreach_target) and offers one table per instruction set; the device picks the tables of the set
// that the engine runs on. There is no static registration and no process-wide choice of
// instruction set.
#pragma once

#include <cstdint>
#include <span>

#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Bits are Highway's HWY_SSE4, HWY_AVX2, HWY_AVX3, HWY_NEON...
struct TargetKernels {
  int64_t target;
  std::span<const dlcore_kernel> kernels;
};

// One kernel file: its tables, one per compiled instruction set.
using KernelFile = std::span<const TargetKernels> (*)();

}  // namespace dlcore::cpu
