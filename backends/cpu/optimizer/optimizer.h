// SPDX-License-Identifier: Apache-2.0
// Kernel files of the optimizer updates and of the norm that gradients are clipped by.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> update_kernels();       // sgd_update, adam_update
std::span<const TargetKernels> global_norm_kernels();  // f32, f64

}  // namespace dlcore::cpu
