// SPDX-License-Identifier: Apache-2.0
// Runs of graphs and everything else that updates the same variable: each adds 1, and none is
// lost. A run pauses between what it reads and what it stores, for as long as the other update
// takes or, when that waits for the run, for a while.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "counting_support.h"

namespace dlcore::test {
namespace {

class LostUpdates : public CountingTest {
 protected:
  static constexpr int kRounds = 3;

  LostUpdates() {
    const auto infer = [](void*, dlcore_context*, dlcore_op_call* call) -> dlcore_status {
      return dlcore_op_call_set_output_like(call, 0, dlcore_op_call_input(call, 0));
    };
    const auto forward = [](void* self, dlcore_context*, dlcore_op_call* call) -> dlcore_status {
      auto* test = static_cast<LostUpdates*>(self);
      test->inside_ = true;
      for (int ms = 0; ms < 100 && !test->updated_; ++ms) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return dlcore_op_call_set_output(call, 0, dlcore_op_call_input(call, 0));
    };
    dlcore_op_register(ctx_, "pause", 1, 1, 0, infer, forward, nullptr, this, nullptr, &pause_);
  }
  dlcore_tensor* paused(dlcore_context* ctx, dlcore_tensor* x) {
    return dlcore_op_call1(ctx, pause_, x, nullptr, 0);
  }
  // v += 1
  dlcore_executable* increment(dlcore_variable* v) {
    dlcore_capture_begin(ctx_, "increment");
    dlcore_tensor* now = dlcore_variable_read(ctx_, v);
    dlcore_variable_assign(ctx_, v, dlcore_add_scalar(ctx_, paused(ctx_, now), 1));
    return dlcore_graph_compile(ctx_, dlcore_capture_end(ctx_, nullptr, 0), nullptr, 0);
  }
  // Runs, and calls `other` on another thread in the midst of each run.
  void run_beside(dlcore_executable* executable, const std::function<void(dlcore_context*)>& other,
                  int64_t outputs = 0) {
    dlcore_context* ctx = open(1);
    for (int i = 0; i < kRounds; ++i) {
      inside_ = updated_ = false;
      std::thread thread([&] {
        while (!inside_) std::this_thread::yield();
        other(ctx);
        updated_ = true;
      });
      dlcore_tensor* output = nullptr;
      EXPECT_EQ(dlcore_executable_run(ctx_, executable, nullptr, 0, &output, outputs), DLCORE_OK);
      thread.join();
    }
    EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
    dlcore_context_close(ctx);
  }

  int32_t pause_ = -1;
  std::atomic<bool> inside_{false}, updated_{false};
};

TEST_F(LostUpdates, StepsOfOptimizers) {
  dlcore_module* m = linear(1, 100);
  fill(m, 0);
  dlcore_optimizer* o = sgd(m);
  run_beside(increment(dlcore_module_find(ctx_, m, "bias")),
             [&](dlcore_context* ctx) { step_up(ctx, m, o); });
  EXPECT_EQ(values(m)[1], Doubles(100, 2 * kRounds));
}

TEST_F(LostUpdates, Accumulation) {
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", f32({3}, {0, 0, 0}), 0);
  run_beside(increment(v), [&](dlcore_context* ctx) {
    const int64_t shape[] = {3};
    dlcore_variable_accumulate(ctx, v, dlcore_full(ctx, shape, 1, 1));
  });
  EXPECT_EQ(read(v), Doubles(3, 2 * kRounds));
}

TEST_F(LostUpdates, AssignmentsAndLoads) {
  dlcore_module* m = linear(1, 3);
  dlcore_variable* v = dlcore_module_find(ctx_, m, "bias");
  fill(m, 10);
  ASSERT_EQ(dlcore_module_save(ctx_, m, file("ten").c_str()), DLCORE_OK);
  dlcore_checkpoint* checkpoint = dlcore_checkpoint_create(ctx_);
  dlcore_checkpoint_add_module(ctx_, checkpoint, "m", m);
  ASSERT_EQ(dlcore_checkpoint_save(ctx_, checkpoint, file("all ten").c_str()), DLCORE_OK);
  const int64_t shape[] = {3};
  // What is stored during a run is there afterwards: the run comes before it.
  const std::function<void(dlcore_context*)> ways[] = {
      [&](dlcore_context* ctx) { dlcore_variable_assign(ctx, v, dlcore_full(ctx, shape, 1, 10)); },
      [&](dlcore_context* ctx) { dlcore_module_load(ctx, m, file("ten").c_str()); },
      [&](dlcore_context* ctx) {
        dlcore_checkpoint_load(ctx, checkpoint, file("all ten").c_str());
      },
  };
  for (const auto& way : ways) {
    fill(m, 0);
    run_beside(increment(v), way);
    EXPECT_EQ(read(v), Doubles(3, 10));
  }
}

// The number of the next random call: a run and eager calls draw from the same generator, and no
// number twice.
TEST_F(LostUpdates, RandomCalls) {
  dlcore_context* other = open(5);
  const int64_t shape[] = {8};
  dlcore_capture_begin(other, "draws");
  dlcore_tensor* draw = paused(other, dlcore_random_uniform(other, shape, 1));
  dlcore_executable* draws =
      dlcore_graph_compile(other, dlcore_capture_end(other, &draw, 1), nullptr, 0);
  run_beside(
      draws, [&](dlcore_context*) { dlcore_random_uniform(other, shape, 1); }, 1);
  EXPECT_EQ(read(dlcore_variable_read(ctx_, dlcore_context_generator(other))),
            Doubles({5, 0, 2 * kRounds}));
  dlcore_context_close(other);
}

// What a callback does inside a run belongs to it. A step would wait for the run that waits for it.
TEST_F(LostUpdates, AStepInsideARunIsRefused) {
  struct Inside {
    dlcore_module* module;
    dlcore_optimizer* optimizer;
  } inside;
  inside.module = linear(2, 2);
  fill(inside.module, 0);
  inside.optimizer = sgd(inside.module);
  const auto infer = [](void*, dlcore_context*, dlcore_op_call* call) -> dlcore_status {
    return dlcore_op_call_set_output_like(call, 0, dlcore_op_call_input(call, 0));
  };
  const auto forward = [](void* self, dlcore_context* child,
                          dlcore_op_call* call) -> dlcore_status {
    auto* in = static_cast<Inside*>(self);
    const int64_t shape[] = {2};
    dlcore_variable* bias = dlcore_module_find(child, in->module, "bias");
    EXPECT_EQ(dlcore_variable_assign(child, bias, dlcore_full(child, shape, 1, 3)), DLCORE_OK);
    dlcore_variable_set_gradient(child, bias, dlcore_full(child, shape, 1, 1));
    EXPECT_EQ(dlcore_optimizer_step(child, in->optimizer), DLCORE_FAILED_PRECONDITION);
    dlcore_context_clear_error(child);
    return dlcore_op_call_set_output(call, 0, dlcore_op_call_input(call, 0));
  };
  int32_t op = -1;
  ASSERT_EQ(
      dlcore_op_register(ctx_, "inside", 1, 1, 0, infer, forward, nullptr, &inside, nullptr, &op),
      DLCORE_OK);
  dlcore_capture_begin(ctx_, "g");
  dlcore_variable* bias = dlcore_module_find(ctx_, inside.module, "bias");
  dlcore_variable_assign(ctx_, bias, op1(op, dlcore_variable_read(ctx_, bias)));
  dlcore_executable* g =
      dlcore_graph_compile(ctx_, dlcore_capture_end(ctx_, nullptr, 0), nullptr, 0);
  ASSERT_EQ(dlcore_executable_run(ctx_, g, nullptr, 0, nullptr, 0), DLCORE_OK);
  EXPECT_EQ(read(bias), Doubles({0, 0}));  // the run's update comes last
}

}  // namespace
}  // namespace dlcore::test
