// SPDX-License-Identifier: Apache-2.0
// dlcore/optimizer.h: updates against their definitions in f64, groups, state and arguments.
#include <functional>
#include <limits>
#include <tuple>

#include "optimizer_support.h"

namespace dlcore::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class Optimizer : public OptimizerTest {
 protected:
  // Takes some steps and compares each with `define`, which updates one element in f64 given the
  // gradient.
  using Define = std::function<void(double& w, double g, double* state, int step)>;
  void follow(const char* name, const Words& attrs, const Define& define) {
    for (const dlcore_dtype dtype : kFloats) {
      Doubles w = {1, -2, 0.5, 0, 3};
      std::vector<std::array<double, 2>> state(w.size());
      dlcore_variable* v = variable(dtype, {5}, w);
      dlcore_optimizer* o = optimizer(name, {v}, attrs);
      for (int step = 1; step <= 8; ++step) {
        const Doubles g = gradient_at(step, w.size());
        set_gradient(v, g);
        ASSERT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
        for (size_t i = 0; i < w.size(); ++i) define(w[i], g[i], state[i].data(), step);
        expect_close(read(v), w, dtype == DLCORE_F64 ? 1e-14 : 1e-5);
        EXPECT_FALSE(has_gradient(v));
      }
    }
  }
  static Define adam(double lr, double b1, double b2, double epsilon, double decay,
                     bool decoupled) {
    return [=](double& w, double g, double* s, int t) {
      if (decoupled) w -= lr * decay * w;
      if (!decoupled) g += decay * w;
      s[0] = b1 * s[0] + (1 - b1) * g;
      s[1] = b2 * s[1] + (1 - b2) * g * g;
      w -=
          lr * (s[0] / (1 - std::pow(b1, t))) / (std::sqrt(s[1] / (1 - std::pow(b2, t))) + epsilon);
    };
  }
  static Define sgd(double lr, double momentum, double dampening, bool nesterov, double decay) {
    return [=](double& w, double g, double* s, int) {
      g += decay * w;
      if (momentum == 0) {
        w -= lr * g;
        return;
      }
      s[0] = momentum * s[0] + (1 - dampening) * g;
      w -= lr * (nesterov ? g + momentum * s[0] : s[0]);
    };
  }
};

// Case 10 of what users reported: epsilon scaled, or inside the root.
TEST_F(Optimizer, AdamsEpsilonStandsOutsideTheRoot) {
  for (const dlcore_dtype dtype : kFloats) {
    dlcore_variable* w = variable(dtype, {}, {1});
    dlcore_optimizer* o = optimizer("Adam", {w}, Words().f(.1).f(.9).f(.999).f(.1));
    for (const double expected : {.99090909, .98181818, .97272727}) {
      set_gradient(w, {.01});
      ASSERT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
      EXPECT_NEAR(read(w)[0], expected, dtype == DLCORE_F64 ? 5e-9 : 1e-7);
    }
  }
}

TEST_F(Optimizer, AdamFollowsItsDefinition) {
  follow("Adam", Words(), adam(1e-3, .9, .999, 1e-8, 0, false));
  follow("Adam", Words().f(.05), adam(.05, .9, .999, 1e-8, 0, false));
  follow("Adam", Words().f(.05).f(.8).f(.95).f(1e-3).f(.1), adam(.05, .8, .95, 1e-3, .1, false));
  follow("AdamW", Words().f(.05), adam(.05, .9, .999, 1e-8, .01, true));
  follow("AdamW", Words().f(.05).f(.8).f(.95).f(1e-3).f(.2), adam(.05, .8, .95, 1e-3, .2, true));
}

// Parameters and gradients of half precision are computed in f32 and rounded once a step; a mean of
// squares kept in their own dtype would stand still.
TEST_F(Optimizer, HalfPrecisionKeepsItsStateInF32) {
  const auto as = [&](dlcore_tensor* t, dlcore_dtype dtype) {
    return dlcore_astype(ctx_, t, dtype);
  };
  for (const dlcore_dtype dtype : {DLCORE_F16, DLCORE_BF16}) {
    const double step_size =
        dtype == DLCORE_F16 ? 0x1p-11 : 0x1p-8;  // half a unit in the last place
    for (const char* name : {"Adam", "SGD"}) {
      const bool is_adam = std::string(name) == "Adam";
      const Define define =
          is_adam ? adam(.05, .9, .999, 1e-8, 0, false) : sgd(.05, .9, 0, false, 0);
      const Doubles start = {1, -2, 0.5, 3};
      dlcore_variable* v =
          dlcore_variable_create(ctx_, "w", as(f32({4}, start), dtype), DLCORE_VARIABLE_TRAINABLE);
      dlcore_optimizer* o = optimizer(name, {v}, is_adam ? Words().f(.05) : Words().f(.05).f(.9));
      Doubles w = start;
      std::vector<std::array<double, 2>> memory(w.size());
      for (int step = 1; step <= 40; ++step) {
        dlcore_tensor* g = as(f32({4}, gradient_at(step, w.size())), dtype);
        const Doubles rounded = read(as(g, DLCORE_F32));
        ASSERT_EQ(dlcore_variable_set_gradient(ctx_, v, g), DLCORE_OK);
        ASSERT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
        for (size_t i = 0; i < w.size(); ++i) define(w[i], rounded[i], memory[i].data(), step);
        const Doubles got = read(as(dlcore_variable_read(ctx_, v), DLCORE_F32));
        for (size_t i = 0; i < w.size(); ++i) {
          EXPECT_NEAR(got[i], w[i], step_size * std::abs(w[i]) + 1e-6) << name << " " << step;
        }
        w = got;
      }
      const int64_t first = is_adam ? 2 : 1;  // after the learning rate and the step count
      for (int64_t s = first; s < dlcore_optimizer_variable_count(o); ++s) {
        dlcore_variable* state = dlcore_optimizer_variable(ctx_, o, s);
        EXPECT_EQ(dlcore_tensor_dtype(dlcore_variable_read(ctx_, state)), DLCORE_F32);
        Doubles expected;
        for (const auto& m : memory) expected.push_back(m[static_cast<size_t>(s - first)]);
        expect_close(read(state), expected, 1e-5);
      }
    }
  }
}

TEST_F(Optimizer, SgdFollowsItsDefinition) {
  follow("SGD", Words().f(.1), sgd(.1, 0, 0, false, 0));
  follow("SGD", Words().f(.1).f(0).f(.5), sgd(.1, 0, 0, false, 0));  // nothing to dampen
  follow("SGD", Words().f(.1).f(.9), sgd(.1, .9, 0, false, 0));
  follow("SGD", Words().f(.1).f(.9).f(.3).i(0).f(.05), sgd(.1, .9, .3, false, .05));
  follow("SGD", Words().f(.1).f(.9).f(0).i(1).f(.05), sgd(.1, .9, 0, true, .05));
  follow("SGD", Words().f(.1).f(0).f(0).i(0).f(.05), sgd(.1, 0, 0, false, .05));
}

TEST_F(Optimizer, ManyElementsAndShapes) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 0, 2}, Shape{257}, Shape{40, 1000}}) {
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    const auto n = static_cast<size_t>(count);
    dlcore_variable* v = variable(DLCORE_F32, shape, Doubles(n, 1));
    dlcore_optimizer* o = optimizer("SGD", {v}, Words().f(.5));
    set_gradient(v, Doubles(n, 2));
    EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
    EXPECT_EQ(read(v), Doubles(n, 0));
  }
}

TEST_F(Optimizer, ConsumesGradientsOrKeepsThem) {
  dlcore_variable* a = variable(DLCORE_F32, {2}, {1, 1}, "a");
  dlcore_variable* b = variable(DLCORE_F32, {1}, {5}, "b");
  dlcore_optimizer* o = optimizer("SGD", {a, b}, Words().f(.5));
  EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "optimizer_step: no variable has a gradient");

  set_gradient(a, {1, 2});
  EXPECT_EQ(dlcore_optimizer_step_keep(ctx_, o), DLCORE_OK);
  EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
  EXPECT_EQ(read(a), Doubles({0, -1}));
  EXPECT_EQ(read(b), Doubles({5})) << "without a gradient it stays";
  EXPECT_FALSE(has_gradient(a));

  set_gradient(b, {1});
  EXPECT_EQ(dlcore_optimizer_zero_gradients(ctx_, o), DLCORE_OK);
  EXPECT_FALSE(has_gradient(b));
}

TEST_F(Optimizer, SeveralBackwardsAccumulate) {
  dlcore_variable* w = variable(DLCORE_F64, {1}, {2});
  dlcore_optimizer* o = optimizer("SGD", {w}, Words().f(1));
  for (int i = 0; i < 3; ++i) {
    dlcore_tensor* r = dlcore_variable_read(ctx_, w);
    ASSERT_EQ(dlcore_backward(ctx_, sum(multiply(r, r))), DLCORE_OK);
  }
  EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
  EXPECT_EQ(read(w), Doubles({2 - 3 * 4}));
}

TEST_F(Optimizer, GroupsHaveAttributesOfTheirOwn) {
  dlcore_module* model = sequential({linear(2, 1)});
  dlcore_optimizer* o = make("SGD", {model}, Words().f(.5).f(0).f(0).i(0).f(.25));
  dlcore_variable* other = variable(DLCORE_F64, {}, {4}, "other");
  dlcore_variable* third = variable(DLCORE_F64, {}, {4}, "third");
  ASSERT_EQ(add_group(o, {other}, Words().f(.125)), DLCORE_OK);
  ASSERT_EQ(add_group(o, {third}), DLCORE_OK);
  EXPECT_EQ(dlcore_optimizer_group_count(o), 3);
  EXPECT_EQ(read(dlcore_optimizer_learning_rate(ctx_, o, 0)), Doubles({.5}));
  EXPECT_EQ(read(dlcore_optimizer_learning_rate(ctx_, o, 1)), Doubles({.125}));
  EXPECT_EQ(read(dlcore_optimizer_learning_rate(ctx_, o, 2)), Doubles({.5}));
  set_gradient(other, {1});
  set_gradient(third, {1});
  ASSERT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
  EXPECT_EQ(read(other), Doubles({4 - .125 * 2})) << "weight decay is the optimizer's";
  EXPECT_EQ(read(third), Doubles({4 - .5 * 2}));

  ASSERT_EQ(dlcore_variable_assign(ctx_, dlcore_optimizer_learning_rate(ctx_, o, 1),
                                   dlcore_tensor_scalar_f64(ctx_, 1)),
            DLCORE_OK);
  const double before = read(other)[0];
  set_gradient(other, {0});
  ASSERT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
  EXPECT_EQ(read(other), Doubles({before - .25 * before}));
  EXPECT_EQ(dlcore_optimizer_learning_rate(ctx_, o, 3), nullptr);
  expect_error(DLCORE_OUT_OF_RANGE, "group is 3, but there are 3");
}

TEST_F(Optimizer, HasAllStateFromTheStart) {
  dlcore_variable* a = variable(DLCORE_F32, {2}, {1, 1}, "a");
  dlcore_variable* b = variable(DLCORE_F64, {}, {1}, "b");
  dlcore_optimizer* o = optimizer("Adam", {a, b}, Words().f(.1));
  ASSERT_EQ(dlcore_optimizer_variable_count(o), 6);  // rate, steps, m and v of each
  EXPECT_EQ(state(o), std::vector<Doubles>({{.1}, {0}, {0, 0}, {0, 0}, {0}, {0}}));
  EXPECT_STREQ(dlcore_variable_name(dlcore_optimizer_variable(ctx_, o, 2)), "a.adam.m");
  set_gradient(a, {1, 1});
  ASSERT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
  EXPECT_EQ(state(o)[1], Doubles({1}));
  EXPECT_EQ(state(o)[4], Doubles({0}));
  EXPECT_EQ(dlcore_optimizer_variable(ctx_, o, 6), nullptr);
  expect_error(DLCORE_OUT_OF_RANGE, "index is 6");
}

TEST_F(Optimizer, RefusesVariablesItCannotTrain) {
  dlcore_variable* a = variable(DLCORE_F32, {1}, {1}, "a");
  dlcore_optimizer* o = optimizer("Adam", {a}, {});
  EXPECT_EQ(add_group(o, {a}), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "variable 'a' is given twice, or is in a group already");
  dlcore_variable* n = dlcore_variable_create(ctx_, "n", tensor(DLCORE_I64, {1}, {1}), 0);
  EXPECT_EQ(add_group(o, {n}), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "variable 'n' is i64, expected f16, bf16, f32, f64");
  EXPECT_EQ(add_group(o, {dlcore_optimizer_learning_rate(ctx_, o, 0)}), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "in a group already");
  EXPECT_EQ(dlcore_optimizer_group_count(o), 1);
  dlcore_module* m = linear(2, 2);
  EXPECT_EQ(make("Adam", {m, m}, {}), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "'weight' is given twice");
  dlcore_variable_set_trainable(ctx_, dlcore_module_find(ctx_, m, "bias"), 0);
  EXPECT_EQ(dlcore_optimizer_variable_count(make("SGD", {m}, {})), 2)
      << "rate, velocity of the weight";
}

TEST_F(Optimizer, ChecksAttributes) {
  const std::vector<std::tuple<const char*, Words, const char*>> cases = {
      {"Adam", Words().f(-1), "adam: lr is -1"},
      {"Adam", Words().f(kInf), "adam: lr is inf"},
      {"Adam", Words().f(.1).f(1), "adam: beta1 is 1"},
      {"Adam", Words().f(.1).f(.9).f(-.5), "adam: beta2 is -0.5"},
      {"AdamW", Words().f(.1).f(.9).f(.9).f(std::nan("")), "adamw: epsilon is nan"},
      {"SGD", Words().f(.1).f(-.9), "sgd: momentum is -0.9"},
      {"SGD", Words().f(.1).f(0).f(0).i(1), "sgd: nesterov with momentum 0"},
      {"SGD", Words().f(.1).f(.9).f(.1).i(1), "dampening 0.1"},
      {"SGD", Words().f(.1).f(.9).f(0).i(2), "nesterov"},
      {"SGD", Words().f(.1).f(0).f(0).i(0).f(0).f(0), "6 words"},
  };
  for (const auto& [name, attrs, part] : cases) {
    EXPECT_EQ(make(name, {}, attrs), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, part);
  }
  EXPECT_EQ(dlcore_optimizer_create(ctx_, 77, nullptr, 0, nullptr, 0), nullptr);
  expect_error(DLCORE_NOT_FOUND, "77");
  EXPECT_EQ(dlcore_optimizer_step(ctx_, nullptr), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "optimizer is NULL");
  EXPECT_EQ(dlcore_optimizer_group_count(nullptr), -1);
  EXPECT_EQ(dlcore_optimizer_variable_count(nullptr), -1);
}

}  // namespace
}  // namespace dlcore::test
