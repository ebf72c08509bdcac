// SPDX-License-Identifier: Apache-2.0
// The one way by which ops are called: from the C API, from rules, from modules and executables.
#pragma once

#include <span>

#include "core/ops/attrs.h"
#include "core/ops/rules.h"
#include "core/ops/schema.h"
#include "core/tensor/tensor.h"

namespace dlcore {

// Calls `op` on inputs (nullptr: absent) with packed attributes as they came from outside. Fills as
// many outputs as there is room for.
void invoke(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
            std::span<const int64_t> attrs, std::span<TensorRef> outputs);
TensorRef invoke1(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
                  std::span<const int64_t> attrs);

// The same on `x` and a weak scalar, of dtype `kind` (f64, i64 or bool) at `scalar`.
TensorRef invoke_scalar(Context& ctx, const OpDef& op, Tensor* x, Dtype kind, const void* scalar,
                        bool scalar_first);

// Runs the op's kernel into tensors that exist, which may share memory with inputs where the kernel
// allows it. For concrete tensors without history; attributes complete.
void launch_into(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
                 std::span<const int64_t> attrs, std::span<Tensor* const> outputs);

// Types of the outputs for given inputs and complete attributes.
void infer_types(const OpDef& op, std::span<const TensorType> inputs,
                 std::span<const int64_t> attrs, DimTable* table, std::span<TensorType> outputs);

TensorType type_of(const Tensor* tensor);  // dtype NONE for nullptr

// The kernel that would run the op for key dtype on a device; nullptr when there is none.
const dlcore_kernel* find_kernel(Device& device, const OpDef& op, Dtype key);

}  // namespace dlcore
