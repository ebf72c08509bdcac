// SPDX-License-Identifier: Apache-2.0
#include "core/optim/optimizer.h"

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/nn/module.h"

namespace dlcore {
namespace {

// `given` may end early; the rest is that of `all`.
Words completed(const char* what, std::span<const AttrDef> defs, std::span<const int64_t> given,
                std::span<const int64_t> all) {
  Words checked;
  complete_attrs(what, defs, given, /*expressions=*/0, checked);
  Words result(given);
  size_t at_given = 0, at_all = 0;
  for (const AttrDef& def : defs) {
    const size_t length = attr_length(def, all, at_all);
    if (at_given < given.size()) {
      at_given += attr_length(def, given, at_given);
    } else {
      result.append(all.subspan(at_all, length));
    }
    at_all += length;
  }
  return result;
}

Lent<Variable> zeros(Engine& engine, std::string name, Dtype dtype, const Dims& shape) {
  const InitialValue initial = {.kind = InitialValue::Kind::kZeros};
  return Lent<Variable>(make_ref<Variable>(engine, std::move(name), dtype, shape, initial,
                                           /*trainable=*/false));
}

// As the ops want it: steps and means of half precision would be lost in their own dtype.
Dtype state_dtype(Dtype parameter) {
  return contains(kHalfSet, parameter) ? DLCORE_F32 : parameter;
}

Lent<Variable> learning_rate_variable(Context& ctx, std::string name, double value) {
  TensorRef tensor = new_tensor(ctx, ctx.device(), DLCORE_F64, {});
  write_tensor(ctx, *tensor, &value);
  return Lent<Variable>(make_ref<Variable>(ctx.engine(), std::move(name), std::move(tensor),
                                           /*trainable=*/false));
}

}  // namespace

Optimizer::Optimizer(Context& ctx, const OptimizerDef& definition, std::span<Module* const> modules,
                     std::span<const int64_t> attrs)
    : definition_(definition), counted_(ctx.engine(), ctx.engine().live.optimizers) {
  complete_attrs(definition.function, attr_defs(definition), attrs, /*expressions=*/0, attrs_);
  definition.check(AttrReader(attr_defs(definition), attrs_), definition.function);
  if (modules.empty()) return;
  std::vector<Variable*> variables;
  for (Module* module : modules) {
    for (const Module::Entry& entry : module->variables()) {
      if (entry.variable->trainable()) variables.push_back(entry.variable);
    }
  }
  add_group(ctx, variables, {});
}

void Optimizer::add_group(Context& ctx, std::span<Variable* const> variables,
                          std::span<const int64_t> attrs) {
  std::lock_guard<Mutex> guard(lock_);
  const char* what = definition_.function;
  const std::span<const AttrDef> defs = attr_defs(definition_);
  const Words words = completed(what, defs, attrs, attrs_);
  const AttrReader reader(defs, words);
  definition_.check(reader, what);

  std::set<const Variable*> members = members_;
  Group group;
  definition_.op_attrs(reader, group.op_attrs);
  const std::string prefix = formatted("{}.{}", what, groups_.size());
  group.learning_rate =
      learning_rate_variable(ctx, prefix + ".learning_rate", reader.real(kLearningRate));
  if (definition_.counts_steps) {
    group.steps = zeros(ctx.engine(), prefix + ".steps", DLCORE_I64, {});
  }
  for (Variable* variable : variables) {
    if (&variable->engine() != &engine()) {
      invalid("{}: variable '{}' belongs to another engine", what, variable->name());
    }
    variable->need_changeable(what);
    constexpr DtypeSet kTrained = kFloatSet | kHalfSet;
    if (!contains(kTrained, variable->dtype())) {
      invalid("{}: variable '{}' is {}, expected {}", what, variable->name(),
              dtype_name(variable->dtype()), dtype_set_text(kTrained));
    }
    if (!members.insert(variable).second) {
      invalid("{}: variable '{}' is given twice, or is in a group already", what, variable->name());
    }
    Parameter& parameter = group.parameters.emplace_back();
    parameter.variable = Ref<Variable>(variable);
    for (const char* state : definition_.state) {
      parameter.state.push_back(zeros(ctx.engine(),
                                      formatted("{}.{}.{}", variable->name(), what, state),
                                      state_dtype(variable->dtype()), variable->shape()));
    }
  }
  // State is nobody's parameter.
  std::vector<Variable*> all = all_;
  for (Variable* own : group.state()) {
    members.insert(own);
    all.push_back(own);
  }
  all.insert(all.end(), variables.begin(), variables.end());
  groups_.push_back(std::move(group));
  all_ = std::move(all);
  members_ = std::move(members);
}

void Optimizer::zero_gradients(Context& ctx) {
  std::lock_guard<Mutex> guard(lock_);
  for (Group& group : groups_) {
    for (Parameter& p : group.parameters) p.variable->set_gradient(ctx, nullptr);
  }
}

int64_t Optimizer::group_count() const {
  std::lock_guard<Mutex> guard(lock_);
  return static_cast<int64_t>(groups_.size());
}

Variable& Optimizer::learning_rate(int64_t group) const {
  std::lock_guard<Mutex> guard(lock_);
  if (group < 0 || group >= static_cast<int64_t>(groups_.size())) {
    fail(DLCORE_OUT_OF_RANGE, "optimizer_learning_rate: group is {}, but there are {}", group,
         groups_.size());
  }
  return *groups_[static_cast<size_t>(group)].learning_rate;
}

std::vector<Variable*> Optimizer::variables() const {
  std::lock_guard<Mutex> guard(lock_);
  return all_;
}

std::vector<NamedVariable> Optimizer::named_state() const {
  std::lock_guard<Mutex> guard(lock_);
  std::vector<NamedVariable> named;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    named.push_back({formatted("{}.learning_rate", g), group.learning_rate.get()});
    if (group.steps) named.push_back({formatted("{}.steps", g), group.steps.get()});
    for (size_t p = 0; p < group.parameters.size(); ++p) {
      const std::vector<Lent<Variable>>& state = group.parameters[p].state;
      for (size_t s = 0; s < state.size(); ++s) {
        named.push_back(
            {formatted("{}.{}.{}", g, p, definition_.state.begin()[s]), state[s].get()});
      }
    }
  }
  return named;
}

std::vector<Variable*> Optimizer::Group::state() const {
  std::vector<Variable*> all = {learning_rate.get()};
  if (steps) all.push_back(steps.get());
  for (const Parameter& p : parameters) {
    for (const Lent<Variable>& s : p.state) all.push_back(s.get());
  }
  return all;
}

std::vector<Variable*> Optimizer::state_in_order() const {
  std::vector<Variable*> all;
  for (const Group& group : groups_) {
    const std::vector<Variable*> state = group.state();
    all.insert(all.end(), state.begin(), state.end());
  }
  return all;
}

int64_t Optimizer::variable_count() const {
  std::lock_guard<Mutex> guard(lock_);
  return static_cast<int64_t>(state_in_order().size());
}

Variable& Optimizer::variable(int64_t index) const {
  std::lock_guard<Mutex> guard(lock_);
  const std::vector<Variable*> all = state_in_order();
  if (index < 0 || index >= static_cast<int64_t>(all.size())) {
    fail(DLCORE_OUT_OF_RANGE, "optimizer_variable: index is {}, but there are {}", index,
         all.size());
  }
  return *all[static_cast<size_t>(index)];
}

}  // namespace dlcore
