// SPDX-License-Identifier: Apache-2.0
// matmul and linear.
#pragma once

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/queue.h"

namespace dlcore::cpu {

std::span<const TargetKernels> matmul_kernels();          // f16, bf16, f32, f64
std::span<const TargetKernels> integer_matmul_kernels();  // i32, i64

// What the kernels of every instruction set do; `target` is theirs.
dlcore_status launch_matmul(int64_t target, const Queue& queue, const dlcore_launch& launch);
uint64_t matmul_workspace(int64_t target, const dlcore_launch& launch);
dlcore_status launch_linear(int64_t target, const Queue& queue, const dlcore_launch& launch);
uint64_t linear_workspace(int64_t target, const dlcore_launch& launch);

}  // namespace dlcore::cpu
