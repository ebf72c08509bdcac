// SPDX-License-Identifier: Apache-2.0
// The short way for the calls that programs make most: elementwise ops without attributes on
// tensors that are alike (one dtype, shape and device, contiguous, with elements the host may
// address) and that the device has a kernel for. The same kernel sees the same operands as on the
// general way, so the result has the same bits.
#pragma once

#include <span>

#include "core/ops/schema.h"
#include "core/tensor/tensor.h"

namespace dlcore {

// False, with nothing done, when the call needs the general way.
bool plain_call(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs, TensorRef& output);

// The same for x and a weak scalar, of dtype `kind` (f64, i64 or bool) at `scalar`. Recorded calls
// need the general way.
bool plain_scalar_call(Context& ctx, const OpDef& op, Tensor& x, Dtype kind, const void* scalar,
                       bool scalar_first, TensorRef& output);

}  // namespace dlcore
