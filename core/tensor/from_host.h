// SPDX-License-Identifier: Apache-2.0
// Tensors from elements on the host. Both throw INVALID_ARGUMENT, in the name of the call, for a
// byte of a bool tensor that is neither 0 nor 1.
#pragma once

#include "core/tensor/tensor.h"

namespace dlcore {

// On the context's device, with a copy of elements in row-major order.
TensorRef from_host(Context& ctx, const char* call, Dtype dtype, std::span<const int64_t> shape,
                    const void* data);
// The same of elements that lie apart; `first` is the one at index 0 of every axis.
TensorRef from_host(Context& ctx, const char* call, Dtype dtype, std::span<const int64_t> shape,
                    std::span<const int64_t> strides, const void* first);

}  // namespace dlcore
