// SPDX-License-Identifier: Apache-2.0
// A schedule at work: its count, the base rates of an optimizer's groups, and the step that sets
// the groups' learning rates.
#pragma once

#include <vector>

#include "core/engine/lent.h"
#include "core/io/named_variables.h"
#include "core/optim/optimizer.h"
#include "core/optim/schedules/definition.h"

namespace dlcore {

class Schedule : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kSchedule;

  // For all groups that the optimizer has; sets their rates to those of count 0.
  Schedule(Context& ctx, const ScheduleDef& definition, Optimizer& optimizer,
           std::span<const int64_t> attrs);

  // Applies wholly or not at all.
  void step(Context& ctx);

  Engine& engine() const { return counted_.engine(); }
  const char* kind() const { return definition_.name; }
  Variable& count() const { return *count_; }
  Variable& base_rate(int64_t group) const;  // throws OUT_OF_RANGE
  // "count", "0.base_rate" (group).
  std::vector<NamedVariable> named_state() const;

 private:
  // The rates of all groups at a count.
  std::vector<Assignment> rates(Context& ctx, const Value& count) const;

  const ScheduleDef& definition_;
  Words attrs_;
  Ref<Optimizer> optimizer_;
  Lent<Variable> count_;
  std::vector<Lent<Variable>> base_rates_;
  std::vector<Variable*> learning_rates_;  // the optimizer's
  std::vector<Variable*> all_;             // whose values belong together
  Counted counted_;
};

}  // namespace dlcore
