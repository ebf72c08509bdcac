// SPDX-License-Identifier: Apache-2.0
#include "core/optim/schedules/formula.h"

namespace dlcore {
namespace {

enum : int { kMaxLr, kTotalSteps, kPctStart, kAnneal, kDivFactor, kFinalDivFactor, kThreePhase };
constexpr FixedList<AttrDef, 8> kAttrs = {
    positional(optional(
        float_attr("max_lr", "highest rate, that of all groups; absent: each group's base rate"))),
    required(int_attr("total_steps", "steps of the whole cycle")),
    float_attr("pct_start", "share of the cycle in which the rate rises", 0.3),
    string_attr("anneal_strategy", "along half a wave of the cosine, or a straight line", "cos",
                "cos|linear"),
    float_attr("div_factor", "highest rate over the first", 25),
    float_attr("final_div_factor", "first rate over the last", 1e4),
    bool_attr("three_phase", "falls to the first rate as fast as it rose, then to the last"),
};

void check(const ScheduleAttrs& attrs) {
  if (attrs.has(kMaxLr)) attrs.need_not_negative(kMaxLr);
  attrs.need_at_least(kTotalSteps, 2);
  attrs.need_share(kPctStart);
  attrs.need_positive(kDivFactor);
  attrs.need_positive(kFinalDivFactor);
}

// Where the rate goes until a count, which need not be whole.
struct Phase {
  double end;
  Value from, to;
};

Value rate(const AttrReader& attrs, const Value& t, const Value& base) {
  const auto total = static_cast<double>(attrs.number(kTotalSteps));
  const double rising = attrs.real(kPctStart) * total;
  const Value highest = attrs.has(kMaxLr) ? full_like(base, {}, attrs.real(kMaxLr)) : base;
  const Value first = highest / constant(t, attrs.real(kDivFactor));
  const Value last = first / constant(t, attrs.real(kFinalDivFactor));
  std::vector<Phase> phases = {{rising - 1, first, highest}};
  if (attrs.flag(kThreePhase)) phases.push_back({2 * rising - 2, highest, first});
  phases.push_back({total - 1, phases.back().to, last});

  const bool straight = attrs.text(kAnneal) == "linear";
  const Value at = minimum(t, constant(t, total - 1));
  Value result;
  double start = 0;
  for (const Phase& phase : phases) {
    const double length = phase.end - start;
    if (length > 0) {  // else no count is in it
      const Value p = (at + -start) / constant(t, length);
      const Value here = blend(phase.from, phase.to, straight ? p : cosine_share(p));
      result = result ? where(greater(at, constant(t, start)), here, result) : here;
    }
    start = phase.end;
  }
  return result;
}

}  // namespace

extern const ScheduleDef one_cycle_lr = {
    .number = 8,
    .name = "OneCycleLR",
    .function = "one_cycle_lr",
    .doc =
        "Rises to the highest rate, falls far below the first one, and stays there.\n\n"
        "first = max_lr / div_factor, last = first / final_div_factor. From first to max_lr until "
        "t is pct_start total_steps - 1, then to last until total_steps - 1; with three_phase to "
        "first until 2 pct_start total_steps - 2, and then to last. Where p goes from 0 to 1 in a "
        "phase from a to b, rate(t) = b + (a - b) (1 + cos(pi p)) / 2, or a + (b - a) p for "
        "\"linear\" (PyTorch, OneCycleLR with cycle_momentum off; Smith and Topin 2018, "
        "arXiv:1708.07120).",
    .attrs = kAttrs,
    .check = check,
    .rate = rate,
};

}  // namespace dlcore
