// SPDX-License-Identifier: Apache-2.0
// dlcore/optimizer.h: clipping, and that a step happens wholly or not at all, eagerly as in a
// graph.
#include <algorithm>
#include <limits>
#include <utility>

#include "optimizer_support.h"

namespace dlcore::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class OptimizerStep : public OptimizerTest {};

// Case 12 of what users reported: clipping that overflows its own norm.
TEST_F(OptimizerStep, ClippingDoesNotOverflowItsNorm) {
  for (const dlcore_dtype dtype : kFloats) {
    std::vector<dlcore_variable*> all;
    for (int i = 0; i < 100; ++i) {
      all.push_back(variable(dtype, {}, {0}));
      set_gradient(all.back(), {1e20});
    }
    dlcore_optimizer* o = optimizer("SGD", all, {});
    EXPECT_NEAR(read(dlcore_optimizer_clip_gradients(ctx_, o, 1))[0] / 1e21, 1, 1e-6);
    for (dlcore_variable* v : all)
      EXPECT_NEAR(read(dlcore_variable_gradient(ctx_, v))[0], .1, 1e-7);
  }
}

TEST_F(OptimizerStep, ClipsByTheNormOverAllGroups) {
  dlcore_variable* a = variable(DLCORE_F32, {2}, {0, 0}, "a");
  dlcore_variable* b = variable(DLCORE_F64, {}, {0}, "b");
  dlcore_variable* idle = variable(DLCORE_F32, {1}, {0}, "idle");
  dlcore_optimizer* o = optimizer("SGD", {a, idle}, {});
  ASSERT_EQ(add_group(o, {b}), DLCORE_OK);
  EXPECT_EQ(dlcore_optimizer_clip_gradients(ctx_, o, 1), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "no variable has a gradient");
  const auto clip = [&](const Doubles& ga, double gb, double max_norm) {
    set_gradient(a, ga);
    set_gradient(b, {gb});
    const double norm = read(dlcore_optimizer_clip_gradients(ctx_, o, max_norm))[0];
    Doubles result = read(dlcore_variable_gradient(ctx_, a));
    result.push_back(read(dlcore_variable_gradient(ctx_, b))[0]);
    result.push_back(norm);
    return result;
  };
  expect_close(clip({2, 3}, 6, 3.5), {1, 1.5, 3, 7}, 1e-7);
  EXPECT_EQ(clip({2, 3}, 6, 7), Doubles({2, 3, 6, 7}));
  EXPECT_EQ(clip({2, 3}, 6, kInf), Doubles({2, 3, 6, 7}));
  EXPECT_EQ(clip({0, 0}, 0, 1), Doubles({0, 0, 0, 0}));
  EXPECT_FALSE(has_gradient(idle));
  EXPECT_EQ(dlcore_tensor_dtype(dlcore_variable_gradient(ctx_, a)), DLCORE_F32);
  for (const double v : clip({std::nan(""), 1}, 1, 1)) EXPECT_TRUE(std::isnan(v));
  EXPECT_EQ(clip({2, 3}, kInf, 1)[0], 0);  // min(1, 1 / inf)
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    EXPECT_EQ(dlcore_optimizer_clip_gradients(ctx_, o, bad), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "max_norm is");
  }
}

TEST_F(OptimizerStep, WhatWasReadBeforeDoesNotChange) {
  for (const int64_t n : {3, 1000}) {
    const auto count = static_cast<size_t>(n);
    dlcore_variable* v = variable(DLCORE_F32, {n}, Doubles(count, 1));
    dlcore_optimizer* o = optimizer("SGD", {v}, Words().f(1));
    dlcore_tensor* before = dlcore_variable_read(ctx_, v);
    dlcore_tensor* view = op1(120, before, Words().i(2).i(0).i(n).i(0).i(1));
    set_gradient(v, Doubles(count, 1));
    ASSERT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
    EXPECT_EQ(read(before), Doubles(count, 1));
    EXPECT_EQ(read(view), Doubles(count, 1));
    EXPECT_EQ(read(v), Doubles(count, 0));
  }
}

TEST_F(OptimizerStep, UpdatesInPlaceWhenNobodyLooks) {
  dlcore_variable* v = variable(DLCORE_F32, {100000}, Doubles(100000, 1));
  dlcore_optimizer* o = optimizer("Adam", {v}, {});
  const Doubles ones(100000, 1);
  for (int i = 0; i < 3; ++i) {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    set_gradient(v, ones);
    dlcore_scope_close(ctx_, scope);
    const uint64_t before = statistics().live_bytes, allocations = statistics().allocations;
    ASSERT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
    if (i == 0) continue;  // state is drawn, and the caller's first value is still there
    EXPECT_EQ(statistics().allocations, allocations);
    EXPECT_LT(statistics().live_bytes, before) << "the gradient has gone";
  }
}

TEST_F(OptimizerStep, AppliesWhollyOrNotAtAll) {
  std::vector<dlcore_variable*> all;
  for (int i = 0; i < 3; ++i) all.push_back(variable(DLCORE_F32, {1000}, Doubles(1000, 1)));
  dlcore_optimizer* o = optimizer("Adam", all, {});
  const auto everything = [&] {
    std::vector<Doubles> values =
        state(o);  // what is read is held, so that nothing happens in place
    for (dlcore_variable* v : all) values.push_back(read(v));
    return values;
  };
  for (int round = 0; round < 2; ++round) {  // the second has state that was updated before
    const std::vector<Doubles> before = everything();
    for (dlcore_variable* v : all) set_gradient(v, Doubles(1000, 1));
    int64_t failures = 0;
    while (true) {
      dlcore_engine_fail_allocation(engine_, failures + 1);
      if (dlcore_optimizer_step(ctx_, o) == DLCORE_OK) break;
      expect_error(DLCORE_RESOURCE_EXHAUSTED, "");
      ++failures;
      dlcore_engine_fail_allocation(engine_, 0);
      EXPECT_EQ(everything(), before);
      for (dlcore_variable* v : all) EXPECT_TRUE(has_gradient(v));
      ASSERT_LT(failures, 100);
    }
    dlcore_engine_fail_allocation(engine_, 0);
    EXPECT_EQ(failures, 9);
    EXPECT_NE(everything(), before);
    for (dlcore_variable* v : all) EXPECT_FALSE(has_gradient(v));
  }
}

TEST_F(OptimizerStep, ACancelledStepChangesNothing) {
  dlcore_variable* v = variable(DLCORE_F32, {4}, Doubles(4, 1));
  dlcore_optimizer* o = optimizer("SGD", {v}, Words().f(1));
  set_gradient(v, Doubles(4, 1));
  dlcore_context_cancel(ctx_);
  EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_CANCELLED);
  expect_error(DLCORE_CANCELLED, "cancelled");
  EXPECT_EQ(read(v), Doubles(4, 1));
  EXPECT_TRUE(has_gradient(v));
  EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
  EXPECT_EQ(read(v), Doubles(4, 0));
}

TEST_F(OptimizerStep, OutlivesItsModel) {
  dlcore_module* m = linear(2, 2);
  dlcore_optimizer* o = make("SGD", {m}, {});
  dlcore_variable* weight = dlcore_module_find(ctx_, m, "weight");
  dlcore_variable_retain(weight);
  dlcore_module_release(m);
  set_gradient(weight, Doubles(4, 1));
  EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
  dlcore_variable_release(weight);
  dlcore_optimizer_release(o);
  EXPECT_EQ(dlcore_optimizer_group_count(o), -1);
  EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "optimizer has been released");
}

// A step that was captured has the bits of the eager one, clipping included.
TEST_F(OptimizerStep, CapturedStepsHaveTheSameBits) {
  const std::vector<std::pair<const char*, Words>> cases = {
      {"Adam", Words().f(.1)},
      {"AdamW", Words().f(.1)},
      {"SGD", Words().f(.1)},
      {"SGD", Words().f(.1).f(.9).f(0).i(1).f(.01)},
  };
  for (const auto& [name, attrs] : cases) {
    for (const bool clipped : {false, true}) {
      const auto loss_of = [&](dlcore_variable* w, dlcore_tensor* x) {
        dlcore_tensor* y = multiply(dlcore_variable_read(ctx_, w), x);
        return sum(multiply(y, y));
      };
      const Doubles start = {1, -2, .25, 0, 5, 6, 7};
      const auto input = [&](int i) { return tensor(DLCORE_F32, {7}, gradient_at(i, 7)); };

      dlcore_variable* eager = variable(DLCORE_F32, {7}, start);
      dlcore_optimizer* a = optimizer(name, {eager}, attrs);
      dlcore_variable* captured = variable(DLCORE_F32, {7}, start);
      dlcore_optimizer* b = optimizer(name, {captured}, attrs);
      ASSERT_EQ(dlcore_capture_begin(ctx_, "step"), DLCORE_OK);
      dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[7]");
      ASSERT_EQ(dlcore_backward(ctx_, loss_of(captured, x)), DLCORE_OK);
      if (clipped) dlcore_optimizer_clip_gradients(ctx_, b, .5);
      ASSERT_EQ(dlcore_optimizer_step(ctx_, b), DLCORE_OK) << dlcore_context_error_message(ctx_);
      dlcore_graph* graph = dlcore_capture_end(ctx_, nullptr, 0);
      EXPECT_EQ(read(captured), start) << "nothing changes until the graph is run";
      dlcore_executable* run = dlcore_graph_compile(ctx_, graph, nullptr, 0);
      expect_ok();
      for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(dlcore_backward(ctx_, loss_of(eager, input(i))), DLCORE_OK);
        if (clipped) dlcore_optimizer_clip_gradients(ctx_, a, .5);
        ASSERT_EQ(dlcore_optimizer_step(ctx_, a), DLCORE_OK);
        dlcore_tensor* fed = input(i);
        ASSERT_EQ(dlcore_executable_run(ctx_, run, &fed, 1, nullptr, 0), DLCORE_OK);
        EXPECT_EQ(read(captured), read(eager)) << name << " step " << i;
      }
      EXPECT_EQ(state(a), state(b));
    }
  }
}

TEST_F(OptimizerStep, ACapturedStepNeedsGradientsToo) {
  dlcore_variable* v = variable(DLCORE_F32, {1}, {1});
  dlcore_optimizer* o = optimizer("SGD", {v}, {});
  ASSERT_EQ(dlcore_capture_begin(ctx_, "step"), DLCORE_OK);
  EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "no variable has a gradient");
  dlcore_capture_abort(ctx_);
}

}  // namespace
}  // namespace dlcore::test
