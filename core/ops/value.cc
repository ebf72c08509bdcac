// SPDX-License-Identifier: Apache-2.0
#include "core/ops/value.h"

#include "core/ops/custom.h"
#include "core/ops/dispatch.h"

namespace dlcore {
namespace {

const OpDef& op_by_number(Context& ctx, int32_t number) {
  const OpDef* op = ctx.engine().ops().find(number);
  if (op == nullptr) op = ctx.engine().custom_ops().find(number);
  if (op == nullptr) fail(DLCORE_INTERNAL, "no op has number {}", number);
  return *op;
}

Context& context_of(std::span<const Value> inputs) {
  for (const Value& v : inputs) {
    if (v) return v.context();
  }
  fail(DLCORE_INTERNAL, "an op was called without inputs");
}

SmallVector<Tensor*, 8> tensors_of(std::span<const Value> inputs) {
  SmallVector<Tensor*, 8> tensors;
  for (const Value& v : inputs) tensors.push_back(v ? &v.tensor() : nullptr);
  return tensors;
}

}  // namespace

Value call(int32_t op, std::span<const Value> inputs, std::span<const int64_t> attrs) {
  Context& ctx = context_of(inputs);
  const auto tensors = tensors_of(inputs);
  return {ctx, invoke1(ctx, op_by_number(ctx, op), tensors.span(), attrs)};
}

Value call(int32_t op, std::initializer_list<Value> inputs, std::span<const int64_t> attrs) {
  return call(op, std::span<const Value>(inputs.begin(), inputs.size()), attrs);
}

std::vector<Value> call_all(int32_t op, std::span<const Value> inputs,
                            std::span<const int64_t> attrs, int n_outputs) {
  Context& ctx = context_of(inputs);
  const auto tensors = tensors_of(inputs);
  std::vector<TensorRef> outputs(static_cast<size_t>(n_outputs));
  invoke(ctx, op_by_number(ctx, op), tensors.span(), attrs, outputs);
  std::vector<Value> values;
  for (TensorRef& t : outputs) values.emplace_back(ctx, std::move(t));
  return values;
}

Value create(Context& ctx, int32_t op, std::span<const int64_t> attrs) {
  return {ctx, invoke1(ctx, op_by_number(ctx, op), {}, attrs)};
}

Value call_scalar(int32_t op, const Value& x, double scalar, bool scalar_first) {
  Context& ctx = x.context();
  return {ctx, invoke_scalar(ctx, op_by_number(ctx, op), &x.tensor(), DLCORE_F64, &scalar,
                             scalar_first)};
}

namespace {
Value weak_scalar(Context& ctx, Dtype kind, const void* scalar) {
  return {ctx, new_weak(ctx, kind, scalar)};
}
}  // namespace

Value weak(Context& ctx, double value) { return weak_scalar(ctx, DLCORE_F64, &value); }
Value weak_int(Context& ctx, int64_t value) { return weak_scalar(ctx, DLCORE_I64, &value); }
Value weak_bool(Context& ctx, bool value) {
  const uint8_t byte = value ? 1 : 0;
  return weak_scalar(ctx, DLCORE_BOOL, &byte);
}

}  // namespace dlcore
