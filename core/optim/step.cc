// SPDX-License-Identifier: Apache-2.0
// One step of an optimizer. Eagerly everything that can fail happens first: gradients are checked,
// results are allocated, and only then, without a point where it could be cancelled, are variables
// overwritten where nobody else sees their elements, or replaced. In a capture the same ops become
// nodes of the graph.
#include <vector>

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/graph/capture.h"
#include "core/ops/calls.h"
#include "core/ops/dispatch.h"
#include "core/optim/optimizer.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {
namespace {

using Group = Optimizer::Group;
using Parameter = Optimizer::Parameter;

const OpDef& op_of(Context& ctx, int32_t number) {
  const OpDef* op = ctx.engine().ops().find(number);
  if (op == nullptr) fail(DLCORE_INTERNAL, "optimizer_step: no op has number {}", number);
  return *op;
}

[[noreturn]] void fail_without_gradients() {
  fail(DLCORE_FAILED_PRECONDITION,
       "optimizer_step: no variable has a gradient; call backward first (a step consumes the "
       "gradients)");
}

Value next_step(const Value& steps) { return steps + weak_int(steps.context(), 1); }

class EagerStep {
 public:
  // `all` variables of the groups.
  EagerStep(Context& ctx, const OpDef& op, std::vector<Group>& groups, std::vector<Variable*> all)
      : ctx_(ctx), op_(op), groups_(groups), locked_(std::move(all)) {
    locked_.lock_gradients();
  }

  void run(bool keep_gradients) {
    for (Group& group : groups_) prepare(group);
    if (updates_.empty()) fail_without_gradients();
    ctx_.check_stop();
    const Context::Unstoppable guard(ctx_);
    for (const Update& update : updates_) {
      if (!update.done) launch_into(ctx_, op_, update.inputs.span(), update.attrs, raw(update));
    }
    store(keep_gradients);
  }

 private:
  // Of one variable: the variable itself, then its state.
  struct Update {
    Parameter* parameter;
    std::span<const int64_t> attrs;
    SmallVector<Tensor*, 6> inputs;
    std::vector<TensorRef> outputs;
    bool done = false;  // the outputs have been computed already
  };

  static Variable& cell(const Update& update, size_t output) {
    const Parameter& p = *update.parameter;
    return output == 0 ? *p.variable : *p.state[output - 1];
  }
  static SmallVector<Tensor*, 4> raw(const Update& update) {
    SmallVector<Tensor*, 4> tensors;
    for (size_t i = 0; i < update.outputs.size(); ++i) tensors.push_back(target(update, i));
    return tensors;
  }
  // An output that is not there is the variable's own tensor, overwritten.
  static Tensor* target(const Update& update, size_t i) {
    return update.outputs[i] ? update.outputs[i].get() : update.inputs[i == 0 ? 0 : i + 1];
  }

  void prepare(Group& group) {
    Tensor* rate = nullptr;
    Tensor* steps = nullptr;
    for (Parameter& p : group.parameters) {
      Tensor* gradient = p.variable->slot()->gradient.get();
      if (gradient == nullptr) continue;
      if (rate == nullptr) {
        rate = &here(group.learning_rate->value_locked(ctx_));
        if (group.steps) steps = &count_up(group);
      }
      check_place(*p.variable, *gradient, "its gradient");
      Update update;
      update.parameter = &p;
      update.attrs = group.op_attrs;
      update.inputs = {&value(*p.variable), gradient};
      for (const Lent<Variable>& state : p.state) update.inputs.push_back(&value(*state));
      update.inputs.push_back(rate);
      if (steps != nullptr) update.inputs.push_back(steps);
      make_outputs(update);
      updates_.push_back(std::move(update));
    }
  }

  Tensor& value(Variable& variable) {
    Tensor& tensor = variable.value_locked(ctx_);
    check_place(variable, tensor, "it");
    return tensor;
  }
  void check_place(const Variable& variable, const Tensor& tensor, const char* what) const {
    if (tensor.leveled() || tensor.symbolic()) {
      fail(DLCORE_FAILED_PRECONDITION,
           "optimizer_step: variable '{}': {} belongs to a transform or a capture, and has no "
           "elements",
           variable.name(), what);
    }
    if (tensor.device == &ctx_.device()) return;
    invalid("optimizer_step: variable '{}': {} is on device '{}', but the context is on '{}'",
            variable.name(), what, tensor.device->name(), ctx_.device().name());
  }
  // Learning rates are assigned by programs, from wherever they have them.
  Tensor& here(Tensor& scalar) {
    if (scalar.device == &ctx_.device()) return scalar;
    double value = 0;
    read_tensor(ctx_, scalar, &value);
    TensorRef moved = new_tensor(ctx_, ctx_.device(), scalar.dtype, {});
    write_tensor(ctx_, *moved, &value);
    return *held_.emplace_back(std::move(moved));
  }
  Tensor& count_up(Group& group) {
    const Value steps(ctx_, TensorRef(&value(*group.steps)));
    counts_.push_back({group.steps.get(), next_step(steps).take()});
    return *counts_.back().value;
  }

  // In place where the kernel can and nobody else looks; else into new tensors. A kernel that might
  // refuse or needs more memory runs now, while nothing has been changed yet.
  void make_outputs(Update& update) {
    const Dtype dtype = update.inputs[0]->dtype;
    update.outputs.resize(1 + update.parameter->state.size());
    const dlcore_kernel* kernel = find_kernel(ctx_.device(), op_, dtype);
    constexpr uint32_t kNeeded = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
    if (kernel == nullptr || (kernel->flags & kNeeded) != kNeeded || kernel->accepts != nullptr ||
        kernel->workspace != nullptr) {
      invoke(ctx_, op_, update.inputs.span(), update.attrs, update.outputs);
      update.done = true;
      return;
    }
    for (size_t i = 0; i < update.outputs.size(); ++i) {
      const Tensor& old = *target(update, i);
      if (cell(update, i).sole_owner_locked() && old.contiguous()) continue;
      update.outputs[i] = new_tensor(ctx_, ctx_.device(), old.dtype, old.shape());
    }
  }

  void store(bool keep_gradients) noexcept {
    for (Update& update : updates_) {
      for (size_t i = 0; i < update.outputs.size(); ++i) {
        if (update.outputs[i]) cell(update, i).store_locked(std::move(update.outputs[i]));
      }
      if (!keep_gradients) update.parameter->variable->slot()->gradient = nullptr;
    }
    for (Count& count : counts_) count.steps->store_locked(std::move(count.value));
  }

  struct Count {
    Variable* steps;
    TensorRef value;
  };

  Context& ctx_;
  const OpDef& op_;
  std::vector<Group>& groups_;
  LockedVariables locked_;
  std::vector<Update> updates_;
  std::vector<Count> counts_;
  std::vector<TensorRef> held_;
};

// Nothing is assigned before everything has been recorded, and then nothing can fail.
class CapturedStep {
 public:
  CapturedStep(Context& ctx, const OpDef& op) : ctx_(ctx), op_(op) {}

  void run(std::vector<Group>& groups, bool keep_gradients) {
    for (Group& group : groups) record(group);
    if (assignments_.empty()) fail_without_gradients();
    assign_together(ctx_, assignments_);
    if (keep_gradients) return;
    for (Variable* variable : updated_) ctx_.capture->set_gradient(variable->slot(), nullptr);
  }

 private:
  Value value(Variable& variable) { return {ctx_, variable.value(ctx_)}; }

  void record(Group& group) {
    Value steps;
    for (Parameter& p : group.parameters) {
      const Value gradient(ctx_, p.variable->gradient(ctx_));
      if (!gradient) continue;
      if (group.steps && !steps) {
        steps = next_step(value(*group.steps));
        assignments_.push_back({group.steps.get(), steps});
      }
      std::vector<Value> inputs = {value(*p.variable), gradient};
      for (const Lent<Variable>& state : p.state) inputs.push_back(value(*state));
      inputs.push_back(value(*group.learning_rate));
      if (steps) inputs.push_back(steps);
      const int n = static_cast<int>(1 + p.state.size());
      std::vector<Value> outputs = call_all(op_.number, inputs, group.op_attrs, n);
      assignments_.push_back({p.variable.get(), outputs[0]});
      for (size_t i = 0; i < p.state.size(); ++i) {
        assignments_.push_back({p.state[i].get(), outputs[i + 1]});
      }
      updated_.push_back(p.variable.get());
    }
  }

  Context& ctx_;
  const OpDef& op_;
  std::vector<Assignment> assignments_;
  std::vector<Variable*> updated_;
};

}  // namespace

void Optimizer::step(Context& ctx, bool keep_gradients) {
  const ModeGuard modes(ctx);
  ctx.recording = false;
  const OpDef& op = op_of(ctx, definition_.op);
  if (ctx.capture) {
    std::lock_guard<Mutex> guard(lock_);
    return CapturedStep(ctx, op).run(groups_, keep_gradients);
  }
  if (ctx.runs > 0) {
    fail(DLCORE_FAILED_PRECONDITION, "optimizer_step: a step cannot start inside a run of a graph");
  }
  // No run updates the same variables between what the step reads and what it stores, nor the other
  // way round. A run is waited for without the optimizer's lock, which its callbacks may need.
  for (bool done = false; !done;) {
    std::vector<Variable*> all = variables();
    const LockedRuns alone(all);
    std::lock_guard<Mutex> guard(lock_);
    if (all.size() != all_.size()) continue;  // a group has been added meanwhile
    EagerStep(ctx, op, groups_, std::move(all)).run(keep_gradients);
    done = true;
  }
}

}  // namespace dlcore
