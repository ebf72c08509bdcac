// SPDX-License-Identifier: Apache-2.0
// Groups of variables, each with attributes and state of its own, and the step that updates them
// all.
#pragma once

#include <set>
#include <vector>

#include "core/base/mutex.h"
#include "core/engine/engine.h"
#include "core/engine/lent.h"
#include "core/io/named_variables.h"
#include "core/optim/definition.h"
#include "core/tensor/variable.h"

namespace dlcore {

class Module;

class Optimizer : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kOptimizer;

  // The trainable variables of the modules, if there are any modules, are the first group.
  Optimizer(Context& ctx, const OptimizerDef& definition, std::span<Module* const> modules,
            std::span<const int64_t> attrs);

  // Attributes that are left out are those of the optimizer.
  void add_group(Context& ctx, std::span<Variable* const> variables,
                 std::span<const int64_t> attrs);

  // Applies wholly or not at all.
  void step(Context& ctx, bool keep_gradients);
  void zero_gradients(Context& ctx);
  // Returns the norm before scaling.
  TensorRef clip_gradients(Context& ctx, double max_norm);

  Engine& engine() const { return counted_.engine(); }
  int64_t group_count() const;
  Variable& learning_rate(int64_t group) const;  // throws OUT_OF_RANGE
  int64_t variable_count() const;
  Variable& variable(int64_t index) const;  // throws OUT_OF_RANGE
  // Those of the groups and all state.
  std::vector<Variable*> variables() const;

  struct Parameter {
    Ref<Variable> variable;
    std::vector<Lent<Variable>> state;
  };
  struct Group {
    Attrs op_attrs;
    Lent<Variable> learning_rate;
    Lent<Variable> steps;  // number of steps taken; empty when the op does not ask
    std::vector<Parameter> parameters;
    std::vector<Variable*> state() const;  // in a fixed order, the parameters not among it
  };
  // All state, each under a name that says where it belongs: "0.learning_rate", "0.steps",
  // "0.1.moment1" (group, parameter).
  std::vector<NamedVariable> named_state() const;

 private:
  std::vector<Variable*> state_in_order() const;

  const OptimizerDef& definition_;
  Words attrs_;
  mutable Mutex lock_;  // the groups
  std::vector<Group> groups_;
  std::vector<Variable*> all_;  // that a step updates
  std::set<const Variable*> members_;
  Counted counted_;
};

}  // namespace dlcore
