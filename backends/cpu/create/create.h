// SPDX-License-Identifier: Apache-2.0
// Kernel files of the ops that make tensors.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> fill_kernels();             // full, arange, eye
std::span<const TargetKernels> random_float_kernels();     // random_uniform, random_normal
std::span<const TargetKernels> random_discrete_kernels();  // random_bernoulli, random_integers

}  // namespace dlcore::cpu
