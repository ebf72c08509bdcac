// SPDX-License-Identifier: Apache-2.0
#include "core/ops/rules.h"

#include <algorithm>

#include "core/graph/capture.h"
#include "core/ops/calls.h"

namespace dlcore {

DimMath::DimMath(Context& ctx) : table_(ctx.capture ? &ctx.capture->dims() : nullptr) {}

DimTable& DimMath::symbolic() const {
  if (table_ == nullptr) fail(DLCORE_INTERNAL, "a symbolic size outside of a capture");
  return *table_;
}

Dim DimMath::add(Dim a, Dim b) const {
  return a.symbolic() || b.symbolic() ? symbolic().add(a, b) : Dim(checked_add(a.value, b.value));
}

Dim DimMath::subtract(Dim a, Dim b) const {
  if (a.symbolic() || b.symbolic()) return symbolic().subtract(a, b);
  if (b.value > a.value) invalid("size {} - {} is negative", a.value, b.value);
  return a.value - b.value;
}

Dim DimMath::multiply(Dim a, Dim b) const {
  return a.symbolic() || b.symbolic() ? symbolic().multiply(a, b)
                                      : Dim(checked_multiply(a.value, b.value));
}

Dim DimMath::divide(Dim a, Dim b) const {
  if (a.symbolic() || b.symbolic()) return symbolic().divide(a, b);
  if (b.value == 0) invalid("size {} is divided by 0", a.value);
  return a.value / b.value;
}

Dim DimMath::product(const Dims& dims) const {
  Dim p = 1;
  for (Dim d : dims) p = multiply(p, d);
  return p;
}

std::string DimMath::text(Dim d) const {
  return d.symbolic() ? symbolic().text(d) : std::to_string(d.value);
}

std::string DimMath::text(const Dims& dims) const {
  std::string result = "[";
  for (size_t i = 0; i < dims.size(); ++i) result += (i == 0 ? "" : ", ") + text(dims[i]);
  return result + "]";
}

int normal_axis(const char* op, const char* name, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    if (rank == 0)
      invalid("{}: {} is {}, but the tensor has rank 0 and so no axes", op, name, axis);
    invalid("{}: {} is {}, expected {} to {} for rank {}", op, name, axis, -rank, rank - 1, rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Ints normal_axes(const char* op, std::span<const int64_t> axes, bool given, int rank) {
  Ints result;
  if (!given) {
    for (int i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (int64_t axis : axes) result.push_back(normal_axis(op, "axes", axis, rank));
  std::sort(result.begin(), result.end());
  for (size_t i = 1; i < result.size(); ++i) {
    if (result[i] == result[i - 1]) invalid("{}: axes name axis {} twice", op, result[i]);
  }
  return result;
}

// ---- Infer

Ints Infer::axes(int attr, int rank) const {
  const bool given = attrs.has(attr);
  return normal_axes(op.name, given ? attrs.list(attr) : std::span<const int64_t>{}, given, rank);
}

void Infer::set(int output, Dtype dtype, const Dims& dims) {
  if (static_cast<size_t>(output) >= outputs_.size()) return;
  TensorType& type = outputs_[static_cast<size_t>(output)];
  type.dtype = dtype;
  type.dims = dims;
}

void Infer::need_rank(int input, int at_least) const {
  if (rank(input) < at_least) {
    refuse("{} is {}, expected rank {} or more", op.inputs[static_cast<size_t>(input)].name,
           math.text(dims(input)), at_least);
  }
}

void Infer::need_same(int input, const Dims& expected) const {
  if (!(dims(input) == expected)) {
    refuse("{} is {}, expected {}", op.inputs[static_cast<size_t>(input)].name,
           math.text(dims(input)), math.text(expected));
  }
}

Dims broadcast(const Infer& r, const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const Dim x = longer[shift + i], y = shorter[i];
    if (x == y || y == Dim(1)) continue;
    if (!(x == Dim(1))) {
      r.refuse("shapes {} and {} do not broadcast: {} against {} at axis {}", r.math.text(a),
               r.math.text(b), r.math.text(x), r.math.text(y), shift + i);
    }
    result[shift + i] = y;
  }
  return result;
}

namespace {

Dims broadcast_inputs(Infer& r) {
  Dims shape = r.dims(0);
  for (int i = 1; i < r.input_count(); ++i) {
    if (r.has(i)) shape = broadcast(r, shape, r.dims(i));
  }
  return shape;
}

}  // namespace

void infer_elementwise(Infer& r) { r.set(0, r.dtype(r.op.key_input), broadcast_inputs(r)); }
void infer_comparison(Infer& r) { r.set(0, DLCORE_BOOL, broadcast_inputs(r)); }
void infer_like_first(Infer& r) { r.set(0, r.dtype(0), r.dims(0)); }

// ---- Vjp

Vjp::Vjp(Context& ctx, const Node& node, uint64_t wanted, std::span<Value> gradients,
         std::span<Value> results)
    : ctx(ctx),
      attrs(attr_defs(*node.op), node.attrs),
      math(ctx),
      node_(node),
      wanted_(wanted),
      gradients_(gradients),
      results_(results) {}

bool Vjp::has_input(int i) const {
  return i < input_count() && node_.input_types[static_cast<size_t>(i)].dtype != DLCORE_DTYPE_NONE;
}

Value Vjp::input(int i) const {
  const auto n = static_cast<size_t>(i);
  if (n >= node_.inputs.size() || !node_.inputs[n]) return {};
  return {ctx, node_.inputs[n]};
}

Value Vjp::output(int i) const {
  const auto n = static_cast<size_t>(i);
  if (n >= node_.outputs.size() || !node_.outputs[n]) return {};
  if (node_.plain_outputs) return {ctx, node_.outputs[n]};
  // The alias gets its place in the history back, so that derivatives of this derivative see it.
  TensorRef again = new_alias(ctx, *node_.outputs[n]);
  attach_history(*again, const_cast<Node*>(&node_), i);
  return {ctx, std::move(again)};
}

Value Vjp::zero_filled(int i) const {
  if (g(i)) return g(i);
  const TensorType& type = node_.output_types[static_cast<size_t>(i)];
  Context::OnDevice on(ctx, *node_.device);
  return full(ctx, type.dims, 0, type.dtype);
}

void Vjp::set(int i, Value gradient) {
  if (!needs(i) || !gradient) return;
  if (node_.op->is(kElementwise)) gradient = sum_to(gradient, input_dims(i));
  results_[static_cast<size_t>(i)] = std::move(gradient);
}

// ---- Jvp

Value Jvp::zero_filled(int i) const { return moves(i) ? tangent(i) : zeros_like(input(i)); }

void Jvp::add(int i, Value tangent) {
  if (!tangent) return;
  Value& sum = results_[static_cast<size_t>(i)];
  sum = sum ? sum + tangent : std::move(tangent);
}

// ---- Batch

Value Batch::with_examples(int i) const {
  if (batched(i)) return input(i);
  Dims shape = input(i).dims();
  shape.insert(0, size);
  return broadcast_to(input(i), shape);
}

Value Batch::aligned(int i, int rank) const {
  if (!batched(i)) return input(i);
  Dims shape = input(i).dims();
  while (static_cast<int>(shape.size()) < rank + 1) shape.insert(1, 1);
  return reshape(input(i), shape);
}

void batch_elementwise(Batch& r) {
  int rank = 0;
  for (int i = 0; i < r.input_count(); ++i) {
    if (r.has(i)) rank = std::max(rank, r.logical_rank(i));
  }
  std::vector<Value> inputs;
  for (int i = 0; i < r.input_count(); ++i)
    inputs.push_back(r.has(i) ? r.aligned(i, rank) : Value());
  r.set(0, call(r.op.number, inputs, r.attrs.words()));
}

}  // namespace dlcore
