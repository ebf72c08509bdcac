// SPDX-License-Identifier: Apache-2.0
#include "core/ops/custom.h"

#include "core/graph/capture.h"
#include "core/ops/callback.h"
#include "core/ops/dispatch.h"

namespace dlcore {
namespace {

void run(Context& ctx, const CustomOp& op, const char* what, dlcore_op_callback callback,
         OpCall& call) {
  run_callback(ctx, op.manual, op.name, what, call,
               [&](dlcore_context* child, dlcore_op_call* handle) {
                 return callback(op.user_data, child, handle);
               });
}

}  // namespace

void CustomOp::describe(int32_t n_inputs, int32_t n_outputs, int32_t n_attrs) {
  def.name = name.c_str();
  def.family = "custom";
  def.custom = this;
  def.outputs = {};
  for (int32_t i = 0; i < n_inputs; ++i) {
    def.inputs.items[def.inputs.count++] = {.name = "input", .dtypes = kAllSet, .promotes = false};
  }
  for (int32_t i = 0; i < n_outputs; ++i) def.outputs.items[def.outputs.count++] = OutputDef{};
  for (int32_t i = 0; i < n_attrs; ++i)
    def.attrs.items[def.attrs.count++] = int_attr("attribute", "");
  if (backward == nullptr) def.traits = kNoGradient;
  def.vjp = [](Vjp& r) { custom_backward(*r.op().custom, r); };
}

int32_t CustomOps::add(std::unique_ptr<CustomOp> op) {
  std::lock_guard<Mutex> guard(lock_);
  for (const auto& other : ops_) {
    if (other->name == op->name)
      fail(DLCORE_ALREADY_EXISTS, "op_register: an op '{}' exists already", op->name);
  }
  op->def.number = kFirstNumber + static_cast<int32_t>(ops_.size());
  ops_.push_back(std::move(op));
  return ops_.back()->def.number;
}

const OpDef* CustomOps::find(int32_t number) const {
  std::lock_guard<Mutex> guard(lock_);
  const int64_t index = int64_t{number} - kFirstNumber;
  if (index < 0 || index >= static_cast<int64_t>(ops_.size())) return nullptr;
  return &ops_[static_cast<size_t>(index)]->def;
}

const OpDef* CustomOps::find(std::string_view name) const {
  std::lock_guard<Mutex> guard(lock_);
  for (const auto& op : ops_) {
    if (op->name == name) return &op->def;
  }
  return nullptr;
}

void custom_infer(Context& ctx, const CustomOp& op, std::span<const TensorType> inputs,
                  std::span<const int64_t> attrs, std::span<TensorType> outputs) {
  CallGuard call;
  for (const TensorType& t : inputs) {
    call->inputs.push_back(new_abstract(ctx, ctx.device(), t.dtype, t.dims, t.weak));
  }
  call->attrs.assign(attrs.begin(), attrs.end());
  call->output_types.resize(outputs.size());
  call->phase = OpCall::Phase::kInfer;
  run(ctx, op, "infer", op.infer, *call);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!is_dtype(call->output_types[i].dtype)) {
      fail(DLCORE_FAILED_PRECONDITION, "{}: its infer callback set no type for output {}", op.name,
           i);
    }
    outputs[i] = call->output_types[i];
  }
}

void custom_forward(Context& ctx, const CustomOp& op, std::span<Tensor* const> inputs,
                    std::span<const int64_t> attrs, std::span<const TensorType> types,
                    std::span<TensorRef> outputs) {
  CallGuard call;
  for (Tensor* t : inputs) call->inputs.emplace_back(t);
  call->attrs.assign(attrs.begin(), attrs.end());
  call->outputs.resize(types.size());
  call->phase = OpCall::Phase::kForward;
  ModeGuard modes(ctx);
  ctx.recording = false;
  run(ctx, op, "forward", op.forward, *call);
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorRef& made = call->outputs[i];
    if (!made)
      fail(DLCORE_FAILED_PRECONDITION, "{}: its forward callback set no output {}", op.name, i);
    const TensorType type = type_of(made.get());
    if (type.dtype != types[i].dtype || !(type.dims == types[i].dims)) {
      const DimMath math(ctx);
      fail(DLCORE_FAILED_PRECONDITION,
           "{}: its forward callback made output {} as {} {}, but infer said {} {}", op.name, i,
           dtype_name(type.dtype), math.text(type.dims), dtype_name(types[i].dtype),
           math.text(types[i].dims));
    }
    outputs[i] = new_alias(ctx, *made);
  }
}

void custom_backward(const CustomOp& op, Vjp& rule) {
  Context& ctx = rule.ctx;
  CallGuard call;
  for (int i = 0; i < rule.input_count(); ++i) {
    call->inputs.push_back(rule.input(i).take());
    call->needs.push_back(rule.needs(i));
  }
  for (size_t i = 0; i < op.def.outputs.size(); ++i) {
    call->outputs.push_back(rule.output(static_cast<int>(i)).take());
    call->gradients.push_back(Value(rule.g(static_cast<int>(i))).take());
  }
  for (int64_t word : rule.attrs.words()) call->attrs.push_back(word);
  call->input_gradients.resize(call->inputs.size());
  call->phase = OpCall::Phase::kBackward;
  run(ctx, op, "backward", op.backward, *call);
  for (int i = 0; i < rule.input_count(); ++i) {
    TensorRef& gradient = call->input_gradients[static_cast<size_t>(i)];
    if (!rule.needs(i) || !gradient) continue;
    const TensorType type = type_of(gradient.get());
    if (type.dtype != rule.input_dtype(i) || !(type.dims == rule.input_dims(i))) {
      fail(DLCORE_FAILED_PRECONDITION,
           "{}: its backward callback made the gradient of input {} as {} {}, expected {} {}",
           op.name, i, dtype_name(type.dtype), rule.math.text(type.dims),
           dtype_name(rule.input_dtype(i)), rule.math.text(rule.input_dims(i)));
    }
    rule.set(i, Value(ctx, std::move(gradient)));
  }
}

}  // namespace dlcore
