// SPDX-License-Identifier: Apache-2.0
// Rates that start below the base rate.
#include "core/optim/schedules/formula.h"

namespace dlcore {
namespace {

enum : int { kFactor, kConstantIters };
constexpr FixedList<AttrDef, 8> kConstantAttrs = {
    positional(float_attr("factor", "times the base rate, at first", 1.0 / 3)),
    positional(int_attr("total_iters", "count at which the base rate begins", 5)),
};

void check_constant(const ScheduleAttrs& attrs) {
  attrs.need_share(kFactor);
  attrs.need_at_least(kConstantIters, 1);
}

Value constant_rate(const AttrReader& attrs, const Value& t, const Value& base) {
  const Value end = constant(t, static_cast<double>(attrs.number(kConstantIters)));
  return where(less(t, end), base * attrs.real(kFactor), base);
}

enum : int { kStartFactor, kEndFactor, kLinearIters };
constexpr FixedList<AttrDef, 8> kLinearAttrs = {
    positional(float_attr("start_factor", "times the base rate, at count 0", 1.0 / 3)),
    positional(float_attr("end_factor", "times the base rate, in the end", 1)),
    positional(int_attr("total_iters", "count at which the end is reached", 5)),
};

void check_linear(const ScheduleAttrs& attrs) {
  attrs.need_share(kStartFactor);
  attrs.need_share(kEndFactor);
  attrs.need_at_least(kLinearIters, 1);
}

Value linear_rate(const AttrReader& attrs, const Value& t, const Value& base) {
  return blend(base * attrs.real(kStartFactor), base * attrs.real(kEndFactor),
               progress(t, attrs.number(kLinearIters)));
}

}  // namespace

extern const ScheduleDef constant_lr = {
    .number = 1,
    .name = "ConstantLR",
    .function = "constant_lr",
    .doc =
        "A part of the base rate for some steps, then the base rate.\n\n"
        "rate(t) = factor base while t < total_iters, base from there on (PyTorch, ConstantLR).",
    .attrs = kConstantAttrs,
    .check = check_constant,
    .rate = constant_rate,
};

extern const ScheduleDef linear_lr = {
    .number = 2,
    .name = "LinearLR",
    .function = "linear_lr",
    .doc =
        "Along a straight line from one part of the base rate to another: a warm-up, or a "
        "decay.\n\n"
        "rate(t) = base (start_factor + (end_factor - start_factor) p), p = min(t, total_iters) / "
        "total_iters (PyTorch, LinearLR).",
    .attrs = kLinearAttrs,
    .check = check_linear,
    .rate = linear_rate,
};

}  // namespace dlcore
