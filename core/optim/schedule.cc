// SPDX-License-Identifier: Apache-2.0
#include "core/optim/schedule.h"

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/graph/capture.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {
namespace {

void need_no_run(const Context& ctx, const char* call) {
  if (ctx.runs == 0) return;
  fail(DLCORE_FAILED_PRECONDITION, "{}: rates cannot be set inside a run of a graph", call);
}

}  // namespace

Schedule::Schedule(Context& ctx, const ScheduleDef& definition, Optimizer& optimizer,
                   std::span<const int64_t> attrs)
    : definition_(definition),
      optimizer_(&optimizer),
      counted_(ctx.engine(), ctx.engine().live.schedules) {
  const char* what = definition.function;
  complete_attrs(what, attr_defs(definition), attrs, /*expressions=*/0, attrs_);
  definition.check(ScheduleAttrs(what, attr_defs(definition), attrs_));
  if (ctx.capture) {
    fail(DLCORE_FAILED_PRECONDITION,
         "{}: a capture is open, in which learning rates have no elements; make the schedule "
         "before",
         what);
  }
  need_no_run(ctx, what);
  const int64_t groups = optimizer.group_count();
  if (groups == 0) {
    fail(DLCORE_FAILED_PRECONDITION, "{}: the optimizer has no groups; add them before", what);
  }
  for (int64_t g = 0; g < groups; ++g) learning_rates_.push_back(&optimizer.learning_rate(g));

  const ModeGuard modes(ctx);
  ctx.recording = false;
  const InitialValue zero = {.kind = InitialValue::Kind::kZeros};
  count_ = Lent<Variable>(make_ref<Variable>(ctx.engine(), formatted("{}.count", what),
                                             DLCORE_I64, Dims{}, zero, /*trainable=*/false));
  const LockedRuns alone(learning_rates_);
  for (size_t g = 0; g < learning_rates_.size(); ++g) {
    base_rates_.emplace_back(make_ref<Variable>(
        ctx.engine(), formatted("{}.{}.base_rate", what, g), learning_rates_[g]->value(ctx),
        /*trainable=*/false));
  }
  all_ = learning_rates_;
  all_.push_back(count_.get());
  for (const Lent<Variable>& base : base_rates_) all_.push_back(base.get());
  assign_together(ctx, rates(ctx, {ctx, count_->value(ctx)}));
}

std::vector<Assignment> Schedule::rates(Context& ctx, const Value& count) const {
  const AttrReader attrs(attr_defs(definition_), attrs_);
  const Value t = astype(count, DLCORE_F64);
  std::vector<Assignment> rates;
  for (size_t g = 0; g < base_rates_.size(); ++g) {
    const Value base(ctx, base_rates_[g]->value(ctx));
    rates.push_back({learning_rates_[g], definition_.rate(attrs, t, base)});
  }
  return rates;
}

void Schedule::step(Context& ctx) {
  need_no_run(ctx, "schedule_step");
  const ModeGuard modes(ctx);
  ctx.recording = false;
  // No run, step or assignment comes between what is read and what is stored.
  const LockedRuns alone(ctx.capture ? std::vector<Variable*>() : all_);
  const Value count = Value(ctx, count_->value(ctx)) + weak_int(ctx, 1);
  std::vector<Assignment> all = rates(ctx, count);
  all.push_back({count_.get(), count});
  assign_together(ctx, all);
}

Variable& Schedule::base_rate(int64_t group) const {
  if (group < 0 || group >= static_cast<int64_t>(base_rates_.size())) {
    fail(DLCORE_OUT_OF_RANGE, "schedule_base_rate: group is {}, but there are {}", group,
         base_rates_.size());
  }
  return *base_rates_[static_cast<size_t>(group)];
}

std::vector<NamedVariable> Schedule::named_state() const {
  std::vector<NamedVariable> named = {{"count", count_.get()}};
  for (size_t g = 0; g < base_rates_.size(); ++g) {
    named.push_back({formatted("{}.base_rate", g), base_rates_[g].get()});
  }
  return named;
}

}  // namespace dlcore
