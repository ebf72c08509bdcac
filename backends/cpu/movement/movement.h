// SPDX-License-Identifier: Apache-2.0
// Kernel files of the ops that move elements without computing.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> concat_kernels();
std::span<const TargetKernels> place_kernels();  // pad, slice_backward
std::span<const TargetKernels> one_hot_kernels();

}  // namespace dlcore::cpu
