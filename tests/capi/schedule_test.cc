// SPDX-License-Identifier: Apache-2.0
// dlcore/schedule.h: the rates that schedules set, whose they are, and what is refused.
#include "schedule_support.h"

namespace dlcore::test {
namespace {

class Schedule : public ScheduleTest {};

TEST_F(Schedule, RatesFollowTheFormulas) {
  const Doubles bases = {.5, .02};
  for (const ScheduleCase& c : schedule_cases()) {
    dlcore_optimizer* o = with_rates(bases);
    dlcore_schedule* s = schedule(c.name, o, c.attrs);
    ASSERT_NE(s, nullptr) << c.name << ": " << dlcore_context_error_message(ctx_);
    EXPECT_STREQ(dlcore_schedule_kind(s), c.name);
    for (int t = 0; t <= 24; ++t) {
      for (int64_t g = 0; g < 2; ++g) {
        const double expected = c.rate(t, bases[static_cast<size_t>(g)]);
        EXPECT_NEAR(rate(o, g), expected, 1e-15 + 4e-15 * expected) << c.name << " at " << t;
        EXPECT_EQ(read(dlcore_schedule_base_rate(ctx_, s, g))[0], bases[static_cast<size_t>(g)]);
      }
      EXPECT_EQ(count(s), t);
      step(s);
    }
  }
}

// The numbers in PyTorch's documentation of each class.
TEST_F(Schedule, RatesAreThoseOfThePeersDocumentation) {
  struct {
    const char* name;
    Words attrs;
    double base;
    std::vector<std::pair<int, double>> rates;
  } const cases[] = {
      {"ConstantLR", Words().f(.5).i(4), .05, {{0, .025}, {1, .025}, {3, .025}, {4, .05}}},
      {"LinearLR",
       Words().f(.05).f(1).i(4),
       .05,
       {{0, .0025}, {1, .014375}, {2, .02625}, {3, .038125}, {4, .05}, {9, .05}}},
      {"StepLR",
       Words().i(30).f(.1),
       .05,
       {{0, .05}, {29, .05}, {30, .005}, {59, .005}, {60, .0005}}},
      {"MultiStepLR",
       Words().ints({30, 80}).f(.1),
       .05,
       {{29, .05}, {30, .005}, {79, .005}, {80, .0005}}},
      {"PolynomialLR",
       Words().i(4).f(1),
       .001,
       {{0, .001}, {1, .00075}, {2, .0005}, {3, .00025}, {4, 0}, {5, 0}}},
  };
  for (const auto& c : cases) {
    dlcore_optimizer* o = with_rates({c.base});
    dlcore_schedule* s = schedule(c.name, o, c.attrs);
    int t = 0;
    for (const auto& [at, expected] : c.rates) {
      step(s, at - t);
      t = at;
      EXPECT_NEAR(rate(o), expected, 1e-14 * expected) << c.name << " at " << at;
    }
  }
}

TEST_F(Schedule, EndsAreExact) {
  const double base = .1;
  struct {
    const char* name;
    Words attrs;
    int t;
    double rate;
  } const cases[] = {
      {"LinearLR", Words().f(.1).f(1).i(3), 3, base},
      {"LinearLR", Words().f(.1).f(1).i(3), 30, base},
      {"CosineAnnealingLR", Words().i(3).f(.007), 0, base},
      {"CosineAnnealingLR", Words().i(3).f(.007), 3, .007},
      {"WarmupCosine", Words().i(3).i(7).f(.3).f(.007), 3, base},
      {"WarmupCosine", Words().i(3).i(7).f(.3).f(.007), 7, .007},
      {"WarmupCosine", Words().i(3).i(7).f(.3).f(.007), 100, .007},
      {"WarmupCosine", Words().i(3).i(7), 0, 0},
      {"PolynomialLR", Words().i(3).f(.5), 3, 0},
      {"MultiStepLR", Words().ints({2}), 1, base},
      {"OneCycleLR", Words().i(0).i(10), 2, base},
      {"OneCycleLR", Words().i(1).f(.7).i(10), 2, .7},
  };
  for (const auto& c : cases) {
    dlcore_optimizer* o = with_rates({base});
    step(schedule(c.name, o, c.attrs), c.t);
    EXPECT_EQ(rate(o), c.rate) << c.name << " at " << c.t;
  }
}

TEST_F(Schedule, TypedFunctionsMakeThem) {
  const auto expect = [&](const char* kind, double first,
                          const std::function<dlcore_schedule*(dlcore_optimizer*)>& typed) {
    dlcore_optimizer* o = with_rates({.5});
    EXPECT_STREQ(dlcore_schedule_kind(typed(o)), kind) << dlcore_context_error_message(ctx_);
    EXPECT_NEAR(rate(o), first, 1e-15) << kind;
  };
  const int64_t milestones[] = {1, 5};
  expect("ConstantLR", .25, [&](auto* o) { return dlcore_constant_lr(ctx_, o, .5, 3); });
  expect("LinearLR", .05, [&](auto* o) { return dlcore_linear_lr(ctx_, o, .1, 1, 3); });
  expect("StepLR", .5, [&](auto* o) { return dlcore_step_lr(ctx_, o, 3, .1); });
  expect("MultiStepLR", .5,
         [&](auto* o) { return dlcore_multi_step_lr(ctx_, o, milestones, 2, .1); });
  expect("ExponentialLR", .5, [&](auto* o) { return dlcore_exponential_lr(ctx_, o, .9); });
  expect("PolynomialLR", .5, [&](auto* o) { return dlcore_polynomial_lr(ctx_, o, 4, 2); });
  expect("CosineAnnealingLR", .5, [&](auto* o) { return dlcore_cosine_annealing_lr(ctx_, o, 4); });
  expect("OneCycleLR", 1. / 25, [&](auto* o) { return dlcore_one_cycle_lr(ctx_, o, 1, 20); });
  expect("WarmupCosine", 0, [&](auto* o) { return dlcore_warmup_cosine(ctx_, o, 2, 4); });

  expect("OneCycleLR", one_cycle(13, .5, 21, .3, false, 2, 1e4, false), [&](auto* o) {
    dlcore_one_cycle_lr_options options;
    dlcore_one_cycle_lr_options_init(&options, sizeof options);
    options.anneal_strategy = DLCORE_ONE_CYCLE_LR_ANNEAL_STRATEGY_LINEAR;
    options.div_factor = 2;
    dlcore_schedule* s = dlcore_one_cycle_lr_ex(ctx_, o, 21, &options);
    step(s, 13);
    return s;
  });
  expect("WarmupCosine", .05, [&](auto* o) {
    dlcore_warmup_cosine_options options;
    dlcore_warmup_cosine_options_init(&options, sizeof options);
    options.start_factor = .1;
    return dlcore_warmup_cosine_ex(ctx_, o, 2, 4, &options);
  });
}

TEST_F(Schedule, TheBaseRateIsWhatTheGroupHad) {
  dlcore_optimizer* o = with_rates({.5, .25});
  set(rate_of(o, 1), .125);
  dlcore_schedule* s = schedule("ExponentialLR", o, Words().f(.5));
  EXPECT_EQ(rates(o), Doubles({.5, .125}));
  step(s);
  EXPECT_EQ(rates(o), Doubles({.25, .0625}));
  set(rate_of(o, 0), 7);  // by hand: until the next step
  EXPECT_EQ(rates(o), Doubles({7, .0625}));
  step(s);
  EXPECT_EQ(rates(o), Doubles({.125, .03125}));
  set(dlcore_schedule_base_rate(ctx_, s, 0), 1);
  EXPECT_EQ(rates(o), Doubles({.125, .03125}));
  step(s);
  EXPECT_EQ(rates(o), Doubles({.125, .015625}));
}

TEST_F(Schedule, GroupsAddedLaterKeepTheirRate) {
  dlcore_optimizer* o = with_rates({.5});
  dlcore_schedule* s = schedule("ExponentialLR", o, Words().f(.5));
  add_group(o, {variable(DLCORE_F32, {1}, {1})}, Words().f(.3));
  step(s);
  EXPECT_EQ(rates(o), Doubles({.25, .3}));
  EXPECT_EQ(dlcore_schedule_base_rate(ctx_, s, 1), nullptr);
  expect_error(DLCORE_OUT_OF_RANGE, "schedule_base_rate: group is 1, but there are 1");
  EXPECT_EQ(dlcore_schedule_base_rate(ctx_, s, -1), nullptr);
  expect_error(DLCORE_OUT_OF_RANGE, "group is -1");
}

TEST_F(Schedule, OfSeveralTheLastStepDecides) {
  dlcore_optimizer* o = with_rates({.5});
  dlcore_schedule* warmup = schedule("ConstantLR", o, Words().f(.5).i(2));
  dlcore_schedule* decay = schedule("ExponentialLR", o, Words().f(.5));  // from .25
  step(warmup);
  EXPECT_EQ(rate(o), .25);
  step(decay);
  EXPECT_EQ(rate(o), .125);
  step(warmup);
  EXPECT_EQ(rate(o), .5);
}

TEST_F(Schedule, TheCountMayBeAssigned) {
  dlcore_optimizer* o = with_rates({.5});
  dlcore_schedule* s = schedule("StepLR", o, Words().i(100));
  dlcore_variable* count = dlcore_schedule_count(ctx_, s);
  ASSERT_EQ(dlcore_variable_assign(ctx_, count, dlcore_tensor_scalar_i64(ctx_, 99)), DLCORE_OK);
  EXPECT_EQ(rate(o), .5);
  step(s);
  EXPECT_NEAR(rate(o), .05, 1e-16);
  EXPECT_EQ(read(count), Doubles({100}));
}

TEST_F(Schedule, AttributesThatAreWrongAreNamed) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  struct {
    const char* name;
    Words attrs;
    const char* message;
  } const cases[] = {
      {"ConstantLR", Words().f(1.5), "constant_lr: factor is 1.5, expected 0 to 1"},
      {"ConstantLR", Words().f(.5).i(0), "constant_lr: total_iters is 0, expected 1 or more"},
      {"LinearLR", Words().f(-.1), "linear_lr: start_factor is -0.1, expected 0 to 1"},
      {"LinearLR", Words().f(.1).f(nan), "linear_lr: end_factor is nan, expected 0 to 1"},
      {"LinearLR", Words().f(.1).f(1).i(-3), "linear_lr: total_iters is -3"},
      {"StepLR", {}, "step_size"},
      {"StepLR", Words().i(0), "step_lr: step_size is 0, expected 1 or more"},
      {"StepLR", Words().i(1).f(-1), "step_lr: gamma is -1, expected a finite number, 0 or more"},
      {"MultiStepLR", Words().ints({}), "multi_step_lr: milestones is empty"},
      {"MultiStepLR", Words().ints({3, 3}),
       "multi_step_lr: milestones has 3 after 3, expected increasing numbers, 1 or more"},
      {"MultiStepLR", Words().ints({0, 3}), "milestones has 0 after 0"},
      {"MultiStepLR", Words().ints({1}).f(inf), "multi_step_lr: gamma is inf"},
      {"ExponentialLR", Words().f(nan), "exponential_lr: gamma is nan"},
      {"PolynomialLR", Words().i(0), "polynomial_lr: total_iters is 0"},
      {"PolynomialLR", Words().i(5).f(0), "polynomial_lr: power is 0, expected a finite number"},
      {"CosineAnnealingLR", Words().i(0), "cosine_annealing_lr: t_max is 0, expected 1 or more"},
      {"CosineAnnealingLR", Words().i(1).f(-1), "cosine_annealing_lr: eta_min is -1"},
      {"OneCycleLR", Words().i(1).f(-2).i(5), "one_cycle_lr: max_lr is -2"},
      {"OneCycleLR", Words().i(0).i(1), "one_cycle_lr: total_steps is 1, expected 2 or more"},
      {"OneCycleLR", Words().i(0).i(9).f(2), "one_cycle_lr: pct_start is 2, expected 0 to 1"},
      {"OneCycleLR", Words().i(0).i(9).f(.3).text("exp"), "anneal_strategy"},
      {"OneCycleLR", Words().i(0).i(9).f(.3).text("cos").f(0), "one_cycle_lr: div_factor is 0"},
      {"OneCycleLR", Words().i(0).i(9).f(.3).text("cos").f(1).f(inf), "final_div_factor is inf"},
      {"WarmupCosine", Words().i(-1).i(5), "warmup_cosine: warmup_steps is -1"},
      {"WarmupCosine", Words().i(5).i(5),
       "warmup_cosine: total_steps is 5, expected more than warmup_steps, which is 5"},
      {"WarmupCosine", Words().i(1).i(5).f(3), "warmup_cosine: start_factor is 3"},
      {"WarmupCosine", Words().i(1).i(5).f(.5).f(nan), "warmup_cosine: eta_min is nan"},
  };
  dlcore_optimizer* o = with_rates({.5});
  for (const auto& c : cases) {
    EXPECT_EQ(schedule(c.name, o, c.attrs), nullptr) << c.message;
    expect_error(DLCORE_INVALID_ARGUMENT, c.message);
  }
  EXPECT_EQ(rate(o), .5);
}

TEST_F(Schedule, WhatCannotBeScheduledIsRefused) {
  dlcore_optimizer* o = with_rates({.5});
  EXPECT_EQ(dlcore_schedule_create(ctx_, 99, o, nullptr, 0), nullptr);
  expect_error(DLCORE_NOT_FOUND, "schedule_create: no schedule has number 99");
  EXPECT_EQ(schedule("PolynomialLR", make("SGD", {}, {})), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "polynomial_lr: the optimizer has no groups");
  EXPECT_EQ(dlcore_schedule_create(ctx_, 1, nullptr, nullptr, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "optimizer is NULL, expected an optimizer");
  EXPECT_EQ(dlcore_schedule_create(ctx_, 1, o, nullptr, 1), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "attribute words is NULL, but their number is 1");

  dlcore_engine* engine = open_engine();
  dlcore_context* other = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
  EXPECT_EQ(dlcore_polynomial_lr(other, o, 1, 1), nullptr);
  EXPECT_NE(std::string(dlcore_context_error_message(other)).find("another engine"),
            std::string::npos);
  dlcore_context_clear_error(other);
  dlcore_schedule* s = schedule("PolynomialLR", o);
  EXPECT_EQ(dlcore_schedule_step(other, s), DLCORE_INVALID_ARGUMENT);
  dlcore_context_close(other);
  dlcore_engine_close(engine);

  const void* wrong = o;  // a handle of another type
  EXPECT_EQ(dlcore_schedule_step(ctx_, static_cast<dlcore_schedule*>(const_cast<void*>(wrong))),
            DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "an optimizer, expected a schedule");
  dlcore_schedule_release(s);
  EXPECT_EQ(dlcore_schedule_kind(s), nullptr);
  EXPECT_EQ(dlcore_schedule_step(ctx_, s), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "schedule has been released");
}

TEST_F(Schedule, KeepsItsOptimizerAndIsCounted) {
  dlcore_optimizer* o = with_rates({.5});
  EXPECT_EQ(statistics().live_schedules, 0);
  dlcore_schedule* s = schedule("ExponentialLR", o, Words().f(.5));
  EXPECT_EQ(statistics().live_schedules, 1);
  dlcore_variable* rate = rate_of(o);
  dlcore_optimizer_release(o);
  step(s);
  EXPECT_EQ(read(rate), Doubles({.25}));
  dlcore_schedule_retain(s);
  dlcore_schedule_release(s);
  EXPECT_EQ(statistics().live_schedules, 1);
  EXPECT_EQ(statistics().live_optimizers, 1);
  dlcore_schedule_release(s);
  EXPECT_EQ(statistics().live_schedules, 0);
  EXPECT_EQ(statistics().live_optimizers, 0);
}

TEST_F(Schedule, StatisticsMayEndBeforeIt) {
  dlcore_engine_statistics s;
  s.struct_size = offsetof(dlcore_engine_statistics, live_schedules);
  s.live_schedules = -7;
  ASSERT_EQ(dlcore_engine_get_statistics(engine_, &s), DLCORE_OK);
  EXPECT_EQ(s.live_schedules, -7);
}

}  // namespace
}  // namespace dlcore::test
