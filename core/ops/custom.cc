// SPDX-License-Identifier: Apache-2.0
#include "core/ops/custom.h"

#include "core/graph/capture.h"
#include "core/ops/dispatch.h"
#include "core/ops/op_call.h"

namespace dlcore {
namespace {

// What the callback may look at is the program's while it runs.
template <class Fn>
void lend(OpCall& call, Fn&& fn) {
  for (auto* list : {&call.inputs, &call.outputs, &call.gradients}) {
    for (TensorRef& t : *list) {
      if (t && !(call.phase == OpCall::Phase::kForward && list == &call.outputs)) fn(*t);
    }
  }
}

// Runs a callback on a child context: it inherits device and modes, has an error of its own, which
// becomes the cause of the caller's.
void run_callback(Context& ctx, const CustomOp& op, const char* what, dlcore_op_callback callback,
                  OpCall& call) {
  Ref<Context> child =
      make_ref<Context>(Ref<Engine>(&ctx.engine()), ctx.device(), ctx.seed(), uint64_t{0});
  child->inherit(ctx);
  std::swap(child->capture, ctx.capture);  // its calls are captured like the caller's
  call.child = child.get();
  child->retain();
  child->give_to_program();
  lend(call, [](Tensor& t) {
    t.retain();
    t.give_to_program();
  });
  const dlcore_status status =
      callback(op.user_data, reinterpret_cast<dlcore_context*>(child.get()),
               reinterpret_cast<dlcore_op_call*>(&call));
  lend(call, [](Tensor& t) { t.program_release(); });
  std::swap(child->capture, ctx.capture);
  call.child = nullptr;
  std::shared_ptr<const Error> cause = child->take_error();
  child->program_release();
  if (status == DLCORE_OK && cause == nullptr) return;
  const dlcore_status code = cause != nullptr ? cause->code : status;
  Error error(
      code, fmt::format("{}: its {} callback failed with {}{}{}", op.name, what,
                        dlcore_status_name(code), cause ? ": " : "", cause ? cause->message : ""));
  error.cause = std::move(cause);
  throw error;
}

class CallGuard {
 public:
  CallGuard() : call_(make_ref<OpCall>()) {}
  ~CallGuard() { call_->close(); }
  OpCall& operator*() { return *call_; }
  OpCall* operator->() { return call_.get(); }

 private:
  Ref<OpCall> call_;
};

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
  run_callback(ctx, op, "infer", op.infer, *call);
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
  run_callback(ctx, op, "forward", op.forward, *call);
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
  run_callback(ctx, op, "backward", op.backward, *call);
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
