// SPDX-License-Identifier: Apache-2.0
// Kernel files of the ops that pick elements by tensors of indices, and of their adjoints.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> take_kernels();
std::span<const TargetKernels> take_along_axis_kernels();
std::span<const TargetKernels> scatter_kernels();  // scatter_add, and the backwards of both takes

}  // namespace dlcore::cpu
