// SPDX-License-Identifier: Apache-2.0
#include "core/optim/schedules/definition.h"

#include <cmath>

#include "core/base/definitions.h"
#include "core/base/error.h"
#include "core/optim/definition.h"

namespace dlcore {

extern const ScheduleDef constant_lr, linear_lr, step_lr, multi_step_lr, exponential_lr,
    polynomial_lr, cosine_annealing_lr, one_cycle_lr, warmup_cosine;

void ScheduleAttrs::need_at_least(int i, int64_t least) const {
  if (number(i) >= least) return;
  invalid("{}: {} is {}, expected {} or more", function_, defs_[static_cast<size_t>(i)].name,
          number(i), least);
}

void ScheduleAttrs::need_not_negative(int i) const {
  dlcore::need_not_negative(*this, defs_, i, function_);
}

void ScheduleAttrs::need_positive(int i) const {
  if (std::isfinite(real(i)) && real(i) > 0) return;
  invalid("{}: {} is {}, expected a finite number above 0", function_,
          defs_[static_cast<size_t>(i)].name, real(i));
}

void ScheduleAttrs::need_share(int i) const {
  if (real(i) >= 0 && real(i) <= 1) return;
  invalid("{}: {} is {}, expected 0 to 1", function_, defs_[static_cast<size_t>(i)].name, real(i));
}

std::span<const ScheduleDef* const> all_schedules() {
  static constexpr const ScheduleDef* kAll[] = {
      &constant_lr,   &linear_lr,           &step_lr,      &multi_step_lr, &exponential_lr,
      &polynomial_lr, &cosine_annealing_lr, &one_cycle_lr, &warmup_cosine};
  return kAll;
}

const ScheduleDef* find_schedule(int32_t number) {
  return find_definition(all_schedules(), number);
}
const ScheduleDef* find_schedule(std::string_view name) {
  return find_definition(all_schedules(), name);
}

}  // namespace dlcore
