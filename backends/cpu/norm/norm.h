// SPDX-License-Identifier: Apache-2.0
// Kernel files of the ops that normalise rows: softmax, layer norm, cross entropy, with their
// backwards.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> softmax_kernels();           // softmax, log_softmax
std::span<const TargetKernels> softmax_backward_kernels();  // of both
std::span<const TargetKernels> layer_norm_kernels();
std::span<const TargetKernels> layer_norm_backward_kernels();
std::span<const TargetKernels> batch_norm_kernels();
std::span<const TargetKernels> batch_norm_backward_kernels();
std::span<const TargetKernels> cross_entropy_kernels();  // forward and backward

}  // namespace dlcore::cpu
