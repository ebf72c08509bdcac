// SPDX-License-Identifier: Apache-2.0
// Running an op on concrete tensors: as a view, by the device's kernel, or written in other ops.
#pragma once

#include "core/ops/dispatch.h"

namespace dlcore {

void execute(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
             std::span<const int64_t> attrs, std::span<const TensorType> types,
             std::span<TensorRef> outputs);

void run_composite(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
                   std::span<const int64_t> attrs, std::span<TensorRef> outputs);

// A tensor as kernels see it.
inline dlcore_operand operand_of(const Tensor& t) {
  dlcore_operand o;
  o.data = t.data;
  o.shape = t.sizes;
  o.strides = t.sizes + t.rank;
  o.count = t.count;
  o.dtype = t.dtype;
  o.rank = t.rank;
  return o;
}

// A weak scalar (f64, i64 or bool) as another dtype, written to `word`.
void convert_scalar(const void* scalar, Dtype from, Dtype dtype, void* word);

}  // namespace dlcore
