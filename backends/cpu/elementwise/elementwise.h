// SPDX-License-Identifier: Apache-2.0
// The kernel files of the elementwise ops.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> binary_kernels();   // arithmetic and logic on two operands
std::span<const TargetKernels> compare_kernels();  // comparisons, isnan, isinf, isfinite
std::span<const TargetKernels> unary_kernels();    // cheap functions, clip, relu's derivative
std::span<const TargetKernels> math_kernels();     // transcendental functions, their derivatives
std::span<const TargetKernels> select_kernels();   // where
std::span<const TargetKernels> integer_kernels();  // division, pow and what vectors do not serve
std::span<const TargetKernels> copy_kernels();     // copy
std::span<const TargetKernels> astype_kernels();   // conversion between dtypes

}  // namespace dlcore::cpu
