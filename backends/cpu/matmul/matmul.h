// SPDX-License-Identifier: Apache-2.0
// matmul, linear and dense.
#pragma once

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/kernel_table.h"
#include "backends/cpu/queue.h"

namespace dlcore::cpu {

std::span<const TargetKernels> matmul_kernels();          // f16, bf16, f32, f64
std::span<const TargetKernels> integer_matmul_kernels();  // i32, i64

// What the kernels of every instruction set do; `target` is theirs.
dlcore_status launch_matmul(int64_t target, const Queue& queue, const dlcore_launch& launch);
uint64_t matmul_workspace(int64_t target, const dlcore_launch& launch);
// `finish` is applied to the result; null for none.
dlcore_status launch_linear(int64_t target, const Queue& queue, const dlcore_launch& launch,
                            Loop finish);
uint64_t linear_workspace(int64_t target, const dlcore_launch& launch);

}  // namespace dlcore::cpu
