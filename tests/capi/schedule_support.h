// SPDX-License-Identifier: Apache-2.0
// What the tests of schedules share: every schedule with its formula in float64.
#pragma once

#include <algorithm>
#include <functional>
#include <numbers>

#include "optimizer_support.h"

namespace dlcore::test {

struct ScheduleCase {
  const char* name;
  Words attrs;
  std::function<double(double t, double base)> rate;  // as PyTorch states it
};

// PyTorch's OneCycleLR, phase by phase; a count beyond the end is the last one.
inline double one_cycle(double t, double highest, double total, double share, bool cosine,
                        double div, double final_div, bool three) {
  const double first = highest / div, last = first / final_div;
  struct Phase {
    double end, from, to;
  };
  std::vector<Phase> phases = {{share * total - 1, first, highest}};
  if (three) phases.push_back({2 * share * total - 2, highest, first});
  phases.push_back({total - 1, three ? first : highest, last});
  t = std::min(t, total - 1);
  double start = 0;
  for (size_t i = 0;; start = phases[i++].end) {
    const auto& [end, from, to] = phases[i];
    if (t > end && i + 1 < phases.size()) continue;
    const double p = (t - start) / (end - start);
    return cosine ? to + (from - to) / 2 * (std::cos(std::numbers::pi * p) + 1)
                  : from + (to - from) * p;
  }
}

inline double cosine_fall(double p, double base, double lowest) {
  return lowest + (base - lowest) * (1 + std::cos(std::numbers::pi * p)) / 2;
}

inline std::vector<ScheduleCase> schedule_cases() {
  return {
      {"ConstantLR", {}, [](double t, double b) { return t < 5 ? b / 3 : b; }},
      {"ConstantLR", Words().f(.25).i(3), [](double t, double b) { return t < 3 ? b / 4 : b; }},
      {"LinearLR",
       {},
       [](double t, double b) { return b * (1. / 3 + (1 - 1. / 3) * std::min(t, 5.) / 5); }},
      {"LinearLR", Words().f(1).f(0).i(7),
       [](double t, double b) { return b * (1 - std::min(t, 7.) / 7); }},
      {"StepLR", Words().i(4), [](double t, double b) { return b * std::pow(.1, int(t) / 4); }},
      {"StepLR", Words().i(1).f(.5), [](double t, double b) { return b * std::pow(.5, t); }},
      {"MultiStepLR", Words().ints({2, 3, 11}),
       [](double t, double b) { return b * std::pow(.1, (t >= 2) + (t >= 3) + (t >= 11)); }},
      {"MultiStepLR", Words().ints({6}).f(0), [](double t, double b) { return t < 6 ? b : 0; }},
      {"ExponentialLR", Words().f(.93), [](double t, double b) { return b * std::pow(.93, t); }},
      {"ExponentialLR", Words().f(1.05), [](double t, double b) { return b * std::pow(1.05, t); }},
      {"PolynomialLR", {}, [](double t, double b) { return b * (1 - std::min(t, 5.) / 5); }},
      {"PolynomialLR", Words().i(9).f(2.5),
       [](double t, double b) { return b * std::pow(1 - std::min(t, 9.) / 9, 2.5); }},
      {"CosineAnnealingLR", Words().i(10),
       [](double t, double b) { return cosine_fall(t / 10, b, 0); }},
      {"CosineAnnealingLR", Words().i(7).f(.03),
       [](double t, double b) { return cosine_fall(t / 7, b, .03); }},
      {"OneCycleLR", Words().i(0).i(20),
       [](double t, double b) { return one_cycle(t, b, 20, .3, true, 25, 1e4, false); }},
      {"OneCycleLR", Words().i(1).f(.8).i(17),
       [](double t, double) { return one_cycle(t, .8, 17, .3, true, 25, 1e4, false); }},
      {"OneCycleLR", Words().i(0).i(20).f(.4).text("linear").f(10).f(100),
       [](double t, double b) { return one_cycle(t, b, 20, .4, false, 10, 100, false); }},
      {"OneCycleLR", Words().i(0).i(20).f(.35).text("cos").f(4).f(50).i(1),
       [](double t, double b) { return one_cycle(t, b, 20, .35, true, 4, 50, true); }},
      {"OneCycleLR", Words().i(0).i(10).f(0),  // it only falls
       [](double t, double b) { return one_cycle(t, b, 10, 0, true, 25, 1e4, false); }},
      {"OneCycleLR", Words().i(0).i(10).f(1),  // it only rises
       [](double t, double b) { return one_cycle(t, b, 10, 1, true, 25, 1e4, false); }},
      {"WarmupCosine", Words().i(5).i(20),
       [](double t, double b) {
         return t < 5 ? b * t / 5 : cosine_fall(std::min(1., (t - 5) / 15), b, 0);
       }},
      {"WarmupCosine", Words().i(0).i(12).f(.5).f(.002),
       [](double t, double b) { return cosine_fall(std::min(1., t / 12), b, .002); }},
      {"WarmupCosine", Words().i(8).i(9).f(.25).f(.01),
       [](double t, double b) {
         return t < 8 ? b * (.25 + .75 * t / 8) : cosine_fall(std::min(1., t - 8), b, .01);
       }},
  };
}

class ScheduleTest : public OptimizerTest {
 protected:
  dlcore_schedule* schedule(const char* name, dlcore_optimizer* o, const Words& attrs = {}) {
    const int32_t number = dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_SCHEDULES, name);
    return dlcore_schedule_create(ctx_, number, o, attrs.data(), attrs.size());
  }
  // An optimizer with one group for each rate.
  dlcore_optimizer* with_rates(const Doubles& rates, const char* name = "SGD") {
    dlcore_optimizer* o = make(name, {}, {});
    for (const double r : rates) add_group(o, {variable(DLCORE_F32, {1}, {1})}, Words().f(r));
    return o;
  }
  dlcore_variable* rate_of(dlcore_optimizer* o, int64_t group = 0) {
    return dlcore_optimizer_learning_rate(ctx_, o, group);
  }
  double rate(dlcore_optimizer* o, int64_t group = 0) { return read(rate_of(o, group))[0]; }
  Doubles rates(dlcore_optimizer* o) {
    Doubles all;
    for (int64_t g = 0; g < dlcore_optimizer_group_count(o); ++g) all.push_back(rate(o, g));
    return all;
  }
  double count(dlcore_schedule* s) { return read(dlcore_schedule_count(ctx_, s))[0]; }
  void step(dlcore_schedule* s, int times = 1) {
    for (int i = 0; i < times; ++i) ASSERT_EQ(dlcore_schedule_step(ctx_, s), DLCORE_OK);
  }
  void set(dlcore_variable* v, double value) {
    ASSERT_EQ(dlcore_variable_assign(ctx_, v, dlcore_tensor_scalar_f64(ctx_, value)), DLCORE_OK);
  }
};

}  // namespace dlcore::test
