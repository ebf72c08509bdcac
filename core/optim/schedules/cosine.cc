// SPDX-License-Identifier: Apache-2.0
// Rates that fall along half a wave of the cosine.
#include "core/base/error.h"
#include "core/optim/schedules/formula.h"

namespace dlcore {
namespace {

constexpr AttrDef kLowest = float_attr("eta_min", "lowest rate, that of all groups");

enum : int { kTMax, kAnnealingMin };
constexpr FixedList<AttrDef, 8> kAnnealingAttrs = {
    required(int_attr("t_max", "count at which the lowest rate is reached")),
    kLowest,
};

void check_annealing(const ScheduleAttrs& attrs) {
  attrs.need_at_least(kTMax, 1);
  attrs.need_not_negative(kAnnealingMin);
}

Value annealing_rate(const AttrReader& attrs, const Value& t, const Value& base) {
  const Value p = t / constant(t, static_cast<double>(attrs.number(kTMax)));
  return blend(base, constant(t, attrs.real(kAnnealingMin)), cosine_share(p));
}

enum : int { kWarmupSteps, kTotalSteps, kStartFactor, kWarmupMin };
constexpr FixedList<AttrDef, 8> kWarmupAttrs = {
    required(int_attr("warmup_steps", "count at which the base rate is reached")),
    required(int_attr("total_steps", "count at which the lowest rate is reached")),
    float_attr("start_factor", "times the base rate, at count 0"),
    kLowest,
};

void check_warmup(const ScheduleAttrs& attrs) {
  attrs.need_at_least(kWarmupSteps, 0);
  if (attrs.number(kTotalSteps) <= attrs.number(kWarmupSteps)) {
    invalid("{}: total_steps is {}, expected more than warmup_steps, which is {}", attrs.function(),
            attrs.number(kTotalSteps), attrs.number(kWarmupSteps));
  }
  attrs.need_share(kStartFactor);
  attrs.need_not_negative(kWarmupMin);
}

Value warmup_rate(const AttrReader& attrs, const Value& t, const Value& base) {
  const int64_t warmup = attrs.number(kWarmupSteps);
  const Value since = t + -static_cast<double>(warmup);
  const Value fall = blend(base, constant(t, attrs.real(kWarmupMin)),
                           cosine_share(progress(since, attrs.number(kTotalSteps) - warmup)));
  if (warmup == 0) return fall;
  const Value rise = blend(base * attrs.real(kStartFactor), base, progress(t, warmup));
  return where(less(since, constant(t, 0)), rise, fall);
}

}  // namespace

extern const ScheduleDef cosine_annealing_lr = {
    .number = 7,
    .name = "CosineAnnealingLR",
    .function = "cosine_annealing_lr",
    .doc =
        "Falls along half a wave of the cosine, and rises again.\n\n"
        "rate(t) = eta_min + (base - eta_min) (1 + cos(pi t / t_max)) / 2: the base rate at 0, 2 "
        "t_max, 4 t_max... (PyTorch, CosineAnnealingLR; Loshchilov and Hutter 2017, "
        "arXiv:1608.03983).",
    .attrs = kAnnealingAttrs,
    .check = check_annealing,
    .rate = annealing_rate,
};

extern const ScheduleDef warmup_cosine = {
    .number = 9,
    .name = "WarmupCosine",
    .function = "warmup_cosine",
    .doc =
        "Rises along a straight line to the base rate, falls along half a wave of the cosine, and "
        "stays at the lowest rate.\n\n"
        "rate(t) = base (start_factor + (1 - start_factor) t / warmup_steps) while t < "
        "warmup_steps; then eta_min + (base - eta_min) (1 + cos(pi p)) / 2, p = min(1, (t - "
        "warmup_steps) / (total_steps - warmup_steps)) (Goyal et al. 2017, arXiv:1706.02677; "
        "Loshchilov and Hutter 2017, arXiv:1608.03983). With start_factor 0 the first step of the "
        "optimizer has rate 0.",
    .attrs = kWarmupAttrs,
    .check = check_warmup,
    .rate = warmup_rate,
};

}  // namespace dlcore
