// SPDX-License-Identifier: Apache-2.0
// A tensor together with the context that computes with it, so that rules read like the mathematics
// they state: g * cos(x). Every operation is an op call: recorded, captured and lifted like a
// program's.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "core/engine/context.h"
#include "core/ops/attrs.h"
#include "core/tensor/tensor.h"

namespace dlcore {

class Value {
 public:
  Value() = default;  // absent
  Value(Context& ctx, TensorRef tensor) : ctx_(&ctx), tensor_(std::move(tensor)) {}

  explicit operator bool() const { return static_cast<bool>(tensor_); }
  Context& context() const { return *ctx_; }
  Tensor& tensor() const { return *tensor_; }
  const TensorRef& ref() const { return tensor_; }
  TensorRef take() { return std::move(tensor_); }

  Dtype dtype() const { return tensor_->dtype; }
  int rank() const { return tensor_->rank; }
  Dims dims() const { return tensor_->dims(); }
  Dim dim(int axis) const { return tensor_->dim(axis); }

 private:
  Context* ctx_ = nullptr;
  TensorRef tensor_;
};

// First output of an op; an absent Value is an absent optional input. Leading inputs must not all
// be absent (the context comes from them).
Value call(int32_t op, std::initializer_list<Value> inputs, std::span<const int64_t> attrs = {});
Value call(int32_t op, std::span<const Value> inputs, std::span<const int64_t> attrs = {});
// All outputs.
std::vector<Value> call_all(int32_t op, std::span<const Value> inputs,
                            std::span<const int64_t> attrs, int n_outputs);
// Creation ops, which have no input to take the context from.
Value create(Context& ctx, int32_t op, std::span<const int64_t> attrs);

// First output of an op of two inputs, of which one is a weak scalar.
Value call_scalar(int32_t op, const Value& x, double scalar, bool scalar_first = false);

// A scalar of rank 0 that takes the other operand's dtype.
Value weak(Context& ctx, double value);
Value weak_int(Context& ctx, int64_t value);
Value weak_bool(Context& ctx, bool value);

}  // namespace dlcore
