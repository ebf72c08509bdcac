// SPDX-License-Identifier: Apache-2.0
// Kernel files of two-dimensional convolution and its two gradients. None of them makes the matrix
// of patches (im2col): source images are copied once, zeros around them, so that the elements that
// one tap of the kernel meets lie side by side, and tiles of the product read them from there.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace dlcore::cpu {

std::span<const TargetKernels> correlate_kernels();  // conv2d, conv2d_input_backward
std::span<const TargetKernels> weight_gradient_kernels();

}  // namespace dlcore::cpu
