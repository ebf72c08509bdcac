// SPDX-License-Identifier: Apache-2.0
// Kernel files of the reductions, arg-reductions and scans.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> float_reduce_kernels();    // sum mean prod max min of floats
std::span<const TargetKernels> logsumexp_kernels();       // floats
std::span<const TargetKernels> integer_reduce_kernels();  // the same of integers; all, any
std::span<const TargetKernels> arg_reduce_kernels();      // argmax, argmin
std::span<const TargetKernels> cumsum_kernels();

}  // namespace dlcore::cpu
