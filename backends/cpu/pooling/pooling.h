// SPDX-License-Identifier: Apache-2.0
// Kernel files of pooling over windows of the last two axes.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> max_pool_kernels();
std::span<const TargetKernels> max_pool_backward_kernels();
std::span<const TargetKernels> avg_pool_kernels();  // forward and backward

}  // namespace dlcore::cpu
