// SPDX-License-Identifier: Apache-2.0
// Rates that fall by factors and powers.
#include "core/base/error.h"
#include "core/optim/schedules/formula.h"

namespace dlcore {
namespace {

constexpr AttrDef gamma_attr(double value) {
  return float_attr("gamma", "factor of one decay", value);
}

Value decayed(const Value& base, double gamma, const Value& times) {
  return base * power(constant(base, gamma), times);
}

enum : int { kStepSize, kStepGamma };
constexpr FixedList<AttrDef, 8> kStepAttrs = {
    required(int_attr("step_size", "steps from one decay to the next")),
    positional(gamma_attr(0.1)),
};

void check_step(const ScheduleAttrs& attrs) {
  attrs.need_at_least(kStepSize, 1);
  attrs.need_not_negative(kStepGamma);
}

Value step_rate(const AttrReader& attrs, const Value& t, const Value& base) {
  const Value size = constant(t, static_cast<double>(attrs.number(kStepSize)));
  return decayed(base, attrs.real(kStepGamma), floor_divide(t, size));
}

enum : int { kMilestones, kMultiStepGamma };
constexpr FixedList<AttrDef, 8> kMultiStepAttrs = {
    required(ints_attr("milestones", "counts at which the rate decays, increasing")),
    positional(gamma_attr(0.1)),
};

void check_multi_step(const ScheduleAttrs& attrs) {
  int64_t last = 0;
  for (const int64_t milestone : attrs.list(kMilestones)) {
    if (milestone <= last) {
      invalid("{}: milestones has {} after {}, expected increasing numbers, 1 or more",
              attrs.function(), milestone, last);
    }
    last = milestone;
  }
  if (last == 0) invalid("{}: milestones is empty, expected 1 or more", attrs.function());
  attrs.need_not_negative(kMultiStepGamma);
}

Value multi_step_rate(const AttrReader& attrs, const Value& t, const Value& base) {
  Value passed = full_like(t, {}, 0);
  double number = 0;
  for (const int64_t milestone : attrs.list(kMilestones)) {
    const Value before = less(t, constant(t, static_cast<double>(milestone)));
    passed = where(before, passed, constant(t, ++number));
  }
  return decayed(base, attrs.real(kMultiStepGamma), passed);
}

enum : int { kExponentialGamma };
constexpr FixedList<AttrDef, 8> kExponentialAttrs = {
    required(float_attr("gamma", "factor of one step")),
};

void check_exponential(const ScheduleAttrs& attrs) { attrs.need_not_negative(kExponentialGamma); }

Value exponential_rate(const AttrReader& attrs, const Value& t, const Value& base) {
  return decayed(base, attrs.real(kExponentialGamma), t);
}

enum : int { kPolynomialIters, kPower };
constexpr FixedList<AttrDef, 8> kPolynomialAttrs = {
    positional(int_attr("total_iters", "count at which the rate is 0", 5)),
    positional(float_attr("power", "of the polynomial", 1)),
};

void check_polynomial(const ScheduleAttrs& attrs) {
  attrs.need_at_least(kPolynomialIters, 1);
  attrs.need_positive(kPower);
}

Value polynomial_rate(const AttrReader& attrs, const Value& t, const Value& base) {
  const Value left = 1 - progress(t, attrs.number(kPolynomialIters));
  return base * power(left, constant(t, attrs.real(kPower)));
}

}  // namespace

extern const ScheduleDef step_lr = {
    .number = 3,
    .name = "StepLR",
    .function = "step_lr",
    .doc =
        "Decays by a factor every so many steps.\n\n"
        "rate(t) = base gamma**floor(t / step_size) (PyTorch, StepLR).",
    .attrs = kStepAttrs,
    .check = check_step,
    .rate = step_rate,
};

extern const ScheduleDef multi_step_lr = {
    .number = 4,
    .name = "MultiStepLR",
    .function = "multi_step_lr",
    .doc =
        "Decays by a factor at each of some counts.\n\n"
        "rate(t) = base gamma**n, n the number of milestones that are at most t (PyTorch, "
        "MultiStepLR).",
    .attrs = kMultiStepAttrs,
    .check = check_multi_step,
    .rate = multi_step_rate,
};

extern const ScheduleDef exponential_lr = {
    .number = 5,
    .name = "ExponentialLR",
    .function = "exponential_lr",
    .doc =
        "Decays by a factor at every step.\n\n"
        "rate(t) = base gamma**t (PyTorch, ExponentialLR).",
    .attrs = kExponentialAttrs,
    .check = check_exponential,
    .rate = exponential_rate,
};

extern const ScheduleDef polynomial_lr = {
    .number = 6,
    .name = "PolynomialLR",
    .function = "polynomial_lr",
    .doc =
        "Decays to 0 along a polynomial, and stays there.\n\n"
        "rate(t) = base (1 - min(t, total_iters) / total_iters)**power (PyTorch, PolynomialLR).",
    .attrs = kPolynomialAttrs,
    .check = check_polynomial,
    .rate = polynomial_rate,
};

}  // namespace dlcore
