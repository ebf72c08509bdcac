// SPDX-License-Identifier: Apache-2.0
// dlcore/module.h: snapshots, alone and while other threads train.
#include <atomic>
#include <functional>
#include <thread>

#include "module_support.h"

namespace dlcore::test {
namespace {

class Snapshot : public ModuleTest {
 protected:
  dlcore_optimizer* sgd(dlcore_module* m) { return dlcore_sgd(ctx_, m, /*lr=*/1); }
  // Every variable of a model at the same number.
  void fill(dlcore_module* m, double value) {
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      dlcore_variable* v = dlcore_module_variable(ctx_, m, i);
      const Shape shape = shape_of(dlcore_variable_read(ctx_, v));
      ASSERT_EQ(
          dlcore_variable_assign(
              ctx_, v, dlcore_full(ctx_, shape.data(), static_cast<int32_t>(shape.size()), value)),
          DLCORE_OK);
    }
  }
  // Adds 1 to every element of every variable, by one step of SGD.
  static void step_up(dlcore_context* ctx, dlcore_module* m, dlcore_optimizer* o) {
    dlcore_scope* scope = dlcore_scope_open(ctx);
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      dlcore_variable* v = dlcore_module_variable(ctx, m, i);
      const Shape shape = shape_of(dlcore_variable_read(ctx, v));
      dlcore_variable_set_gradient(
          ctx, v, dlcore_full(ctx, shape.data(), static_cast<int32_t>(shape.size()), -1));
    }
    EXPECT_EQ(dlcore_optimizer_step(ctx, o), DLCORE_OK) << dlcore_context_error_message(ctx);
    dlcore_scope_close(ctx, scope);
  }
  // The same as a graph.
  dlcore_executable* captured_step(dlcore_module* m, dlcore_optimizer* o) {
    EXPECT_EQ(dlcore_capture_begin(ctx_, "step"), DLCORE_OK);
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      dlcore_variable* v = dlcore_module_variable(ctx_, m, i);
      const Shape shape = shape_of(dlcore_variable_read(ctx_, v));
      dlcore_variable_set_gradient(
          ctx_, v, dlcore_full(ctx_, shape.data(), static_cast<int32_t>(shape.size()), -1));
    }
    EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
    dlcore_graph* graph = dlcore_capture_end(ctx_, nullptr, 0);
    return dlcore_graph_compile(ctx_, graph, nullptr, 0);
  }
  static Doubles elements(dlcore_context* ctx, dlcore_tensor* t) {
    std::vector<float> values(static_cast<size_t>(dlcore_tensor_count(t)));
    dlcore_tensor_read_f32(ctx, t, values.data(), static_cast<int64_t>(values.size()));
    return {values.begin(), values.end()};
  }
};

TEST_F(Snapshot, AnswersForEverAsAtItsMoment) {
  dlcore_module* m = classifier();
  dlcore_tensor* x = f32({2, 6}, range(12));
  const Doubles answer = read(call(m, x));
  const std::vector<Doubles> then = values(m);
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, m);
  expect_ok();
  ASSERT_EQ(dlcore_module_save(ctx_, m, file("then").c_str()), DLCORE_OK);
  const auto expect_frozen = [&] {
    EXPECT_EQ(values(frozen), then);
    EXPECT_EQ(read(call(frozen, x)), answer);
    EXPECT_NE(read(call(m, x)), answer);
  };
  dlcore_optimizer* o = sgd(m);
  step_up(ctx_, m, o);  // replaces what the snapshot shares
  expect_frozen();
  step_up(ctx_, m, o);  // overwrites its own
  expect_frozen();
  dlcore_executable* step = captured_step(m, o);
  ASSERT_EQ(dlcore_executable_run(ctx_, step, nullptr, 0, nullptr, 0), DLCORE_OK);
  expect_frozen();
  set(m, "0.bias", {1, 2, 3, 4, 5});
  expect_frozen();
  fill(m, 7);
  expect_frozen();
  EXPECT_EQ(paths(frozen), paths(m));
  EXPECT_STREQ(dlcore_module_kind(frozen), "Sequential");
  EXPECT_EQ(dlcore_module_child_count(frozen), 3);
  // It outlives the model, and can be saved like one.
  dlcore_module_release(m);
  dlcore_optimizer_release(o);
  EXPECT_EQ(read(call(frozen, x)), answer);
  ASSERT_EQ(dlcore_module_save(ctx_, frozen, file("frozen").c_str()), DLCORE_OK);
  EXPECT_EQ(read_file(file("frozen")), read_file(file("then")));
}

TEST_F(Snapshot, OfAPartAndOfItself) {
  dlcore_module* m = classifier();
  dlcore_module* part = dlcore_module_snapshot(ctx_, dlcore_module_child(m, 2));
  EXPECT_EQ(paths(part), std::vector<std::string>({"weight", "bias"}));
  dlcore_module* again = dlcore_module_snapshot(ctx_, dlcore_module_snapshot(ctx_, m));
  EXPECT_EQ(values(again), values(m));
  dlcore_tensor* x = f32({1, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(read(call(part, x)), read(call(dlcore_module_child(m, 2), x)));
  dlcore_module* empty = dlcore_module_snapshot(ctx_, layer("ReLU"));
  EXPECT_EQ(read(call(empty, f32({2}, {-1, 1}))), Doubles({0, 1}));
}

TEST_F(Snapshot, CopiesNothing) {
  dlcore_module* m = linear(512, 512);
  dlcore_module_variable(ctx_, m, 0);
  values(m);  // draws them
  const uint64_t before = statistics().live_bytes;
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, m);
  expect_ok();
  EXPECT_EQ(statistics().live_bytes, before);
  dlcore_module_release(frozen);
  EXPECT_EQ(statistics().live_bytes, before);
}

TEST_F(Snapshot, RunsInInferenceModeWhateverTheContextDoes) {
  dlcore_module* m = sequential({linear(6, 5), layer("Dropout", Words().f(0.5))});
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, m);
  ASSERT_EQ(dlcore_context_is_training(ctx_), 1);
  ASSERT_EQ(dlcore_context_is_recording(ctx_), 1);
  dlcore_tensor* x = dlcore_autograd_watch(ctx_, f32({4, 6}, Doubles(24, 1)));
  dlcore_tensor* y = call(frozen, x);
  for (double v : read(y)) EXPECT_NE(v, 0);  // nothing was dropped
  EXPECT_EQ(dlcore_context_is_training(ctx_), 1);
  EXPECT_EQ(dlcore_context_is_recording(ctx_), 1);
  EXPECT_EQ(dlcore_backward(ctx_, sum(y)), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "history");
}

TEST_F(Snapshot, NothingChangesIt) {
  dlcore_module* m = classifier();
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, m);
  const std::vector<Doubles> before = values(frozen);
  dlcore_variable* v = dlcore_module_find(ctx_, frozen, "0.bias");
  dlcore_tensor* other = f32({5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(dlcore_variable_is_trainable(v), 0);
  const auto expect_refused = [&](const char* call) {
    expect_error(DLCORE_FAILED_PRECONDITION, call);
    EXPECT_EQ(values(frozen), before);
  };
  dlcore_variable_assign(ctx_, v, other);
  expect_refused("variable_assign: '0.bias' belongs to a snapshot");
  dlcore_variable_accumulate(ctx_, v, other);
  expect_refused("variable_accumulate");
  dlcore_variable_set_gradient(ctx_, v, other);
  expect_refused("variable_set_gradient");
  dlcore_variable_set_trainable(ctx_, v, 1);
  expect_refused("variable_set_trainable");
  EXPECT_EQ(dlcore_module_set_training(ctx_, frozen, 1), -1);
  expect_refused("module_set_training");
  ASSERT_EQ(dlcore_module_save(ctx_, m, file("m").c_str()), DLCORE_OK);
  dlcore_module_load(ctx_, frozen, file("m").c_str());
  expect_refused("module_load");
  dlcore_optimizer* o = sgd(frozen);  // of nothing
  EXPECT_EQ(dlcore_optimizer_add_group(ctx_, o, &v, 1, nullptr, 0), DLCORE_FAILED_PRECONDITION);
  expect_refused("sgd: '0.bias' belongs to a snapshot");
  EXPECT_EQ(sequential({frozen}), nullptr);
  expect_refused("is a snapshot");
  EXPECT_EQ(sequential({dlcore_module_child(frozen, 1)}), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "inside a Sequential already");

  // A graph that would update it: bound to it by name, or captured.
  dlcore_variable* changing = dlcore_variable_create(ctx_, "0.bias", other, 0);
  dlcore_capture_begin(ctx_, "g");
  dlcore_variable_accumulate(ctx_, changing,
                             dlcore_capture_constant(ctx_, f32({5}, {1, 1, 1, 1, 1})));
  dlcore_graph* graph = dlcore_capture_end(ctx_, nullptr, 0);
  EXPECT_EQ(dlcore_graph_compile(ctx_, graph, &v, 1), nullptr);
  expect_refused("graph_compile: '0.bias' belongs to a snapshot");
  dlcore_capture_begin(ctx_, "g");
  dlcore_variable_assign(ctx_, v, dlcore_capture_constant(ctx_, other));
  EXPECT_EQ(dlcore_context_status(ctx_), DLCORE_FAILED_PRECONDITION);
  dlcore_context_clear_error(ctx_);
  EXPECT_EQ(dlcore_module_snapshot(ctx_, m), nullptr);
  dlcore_context_clear_error(ctx_);
  dlcore_capture_abort(ctx_);
  EXPECT_EQ(values(frozen), before);
}

TEST_F(Snapshot, CanBeCaptured) {
  dlcore_module* m = classifier();
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, m);
  dlcore_tensor* x = f32({3, 6}, range(18));
  dlcore_capture_begin(ctx_, "answer");
  dlcore_tensor* y = call(frozen, dlcore_capture_input(ctx_, "x", DLCORE_F32, "[B, 6]"));
  dlcore_executable* answer =
      dlcore_graph_compile(ctx_, dlcore_capture_end(ctx_, &y, 1), nullptr, 0);
  dlcore_tensor* result = nullptr;
  ASSERT_EQ(dlcore_executable_run(ctx_, answer, &x, 1, &result, 1), DLCORE_OK);
  EXPECT_EQ(read(result), read(call(frozen, x)));
}

// All elements of all variables count the steps: a snapshot that holds two numbers is half a step.
class SnapshotThreads : public Snapshot {
 protected:
  static constexpr int kReaders = 8, kSteps = 150, kWidth = 48;

  void read_while(dlcore_module* m, const std::function<void()>& train) {
    std::atomic<bool> done{false};
    std::atomic<int64_t> read{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < kReaders; ++r) {
      readers.emplace_back([&, r] {
        dlcore_context* ctx = open(static_cast<uint64_t>(r));
        dlcore_scope* scope = dlcore_scope_open(ctx);
        double last = 0;
        while (!done || read < kReaders) {
          dlcore_module* frozen = dlcore_module_snapshot(ctx, m);
          for (int again = 0; again < 2; ++again) last = check(ctx, frozen, last);
          dlcore_module_release(frozen);
          dlcore_scope_reset(ctx, scope);
          ++read;
        }
        EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
        dlcore_context_close(ctx);
      });
    }
    train();
    done = true;
    for (std::thread& t : readers) t.join();
  }
  // x (W + W + ..) of ones is a number that follows from the step; returns the step.
  static double check(dlcore_context* ctx, dlcore_module* frozen, double last) {
    double step = -1;
    for (int64_t i = 0; i < dlcore_module_variable_count(frozen); ++i) {
      dlcore_variable* v = dlcore_module_variable(ctx, frozen, i);
      for (const double e : elements(ctx, dlcore_variable_read(ctx, v))) {
        if (step < 0) step = e;
        EXPECT_EQ(e, step);
        if (e != step) return step;
      }
    }
    EXPECT_GE(step, last);
    const int64_t shape[] = {1, kWidth};
    dlcore_tensor* y = dlcore_module_call(ctx, frozen, dlcore_full(ctx, shape, 2, 1));
    const double hidden = kWidth * step + step;
    for (const double e : elements(ctx, y)) {
      EXPECT_EQ(static_cast<float>(e), static_cast<float>(hidden * step * kWidth + step));
    }
    return step;
  }
  dlcore_module* counting() {
    dlcore_module* m = sequential({linear(kWidth, kWidth), linear(kWidth, kWidth)});
    fill(m, 0);
    return m;
  }
};

TEST_F(SnapshotThreads, HoldWholeStepsOfAnOptimizer) {
  dlcore_module* m = counting();
  dlcore_optimizer* o = sgd(m);
  read_while(m, [&] {
    for (int i = 0; i < kSteps; ++i) step_up(ctx_, m, o);
  });
  EXPECT_EQ(values(m)[0][0], kSteps);
}

TEST_F(SnapshotThreads, HoldWholeRunsOfAGraph) {
  dlcore_module* m = counting();
  dlcore_executable* step = captured_step(m, sgd(m));
  read_while(m, [&] {
    for (int i = 0; i < kSteps; ++i) {
      ASSERT_EQ(dlcore_executable_run(ctx_, step, nullptr, 0, nullptr, 0), DLCORE_OK);
    }
  });
  EXPECT_EQ(values(m)[0][0], kSteps);
}

// One answers from a snapshot all the time, without ever taking another.
TEST_F(SnapshotThreads, OneIsSharedByMany) {
  dlcore_module* m = counting();
  dlcore_optimizer* o = sgd(m);
  step_up(ctx_, m, o);
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, m);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < kReaders; ++r) {
    readers.emplace_back([&] {
      dlcore_context* ctx = open(1);
      dlcore_scope* scope = dlcore_scope_open(ctx);
      do {
        EXPECT_EQ(check(ctx, frozen, 0), 1);
        dlcore_scope_reset(ctx, scope);
      } while (!done);
      dlcore_context_close(ctx);
    });
  }
  for (int i = 0; i < kSteps; ++i) step_up(ctx_, m, o);
  done = true;
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(values(frozen)[3][0], 1);
}

// ---- Runs of graphs, which take a while, and everything else that updates the same variable: each
// adds 1, and none of them is lost.

class LostUpdates : public Snapshot {
 protected:
  static constexpr int kRounds = 150;

  // Adds 1 by a run that takes longer than an update by others.
  dlcore_executable* slow_increment(dlcore_variable* v) {
    dlcore_capture_begin(ctx_, "slow");
    dlcore_tensor* y = dlcore_variable_read(ctx_, v);
    dlcore_tensor* result = dlcore_add_scalar(ctx_, y, 1);
    for (int i = 0; i < 40; ++i) {
      result = dlcore_subtract_scalar(ctx_, dlcore_add_scalar(ctx_, result, 1), 1);
    }
    dlcore_variable_assign(ctx_, v, result);
    return dlcore_graph_compile(ctx_, dlcore_capture_end(ctx_, nullptr, 0), nullptr, 0);
  }
  void expect_no_loss(const std::function<void(dlcore_context*)>& other, dlcore_variable* v,
                      const std::function<double()>& now) {
    dlcore_executable* slow = slow_increment(v);
    const double before = now();
    dlcore_context* ctx = open(1);
    std::atomic<int> ready{0};
    std::thread thread([&] {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      for (int i = 0; i < kRounds; ++i) other(ctx);
      EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
    });
    ++ready;
    while (ready < 2) std::this_thread::yield();
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_EQ(dlcore_executable_run(ctx_, slow, nullptr, 0, nullptr, 0), DLCORE_OK);
    }
    thread.join();
    dlcore_context_close(ctx);
    EXPECT_EQ(now(), before + 2 * kRounds);
  }
};

TEST_F(LostUpdates, StepsOfOptimizers) {
  dlcore_module* m = linear(1, 100);
  fill(m, 0);
  dlcore_optimizer* o = sgd(m);
  dlcore_variable* v = dlcore_module_find(ctx_, m, "bias");
  expect_no_loss([&](dlcore_context* ctx) { step_up(ctx, m, o); }, v,
                 [&] { return values(m)[1][99]; });
}

TEST_F(LostUpdates, Accumulation) {
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", f32({100}, Doubles(100, 0)), 0);
  expect_no_loss(
      [&](dlcore_context* ctx) {
        dlcore_scope* scope = dlcore_scope_open(ctx);
        const int64_t shape[] = {100};
        dlcore_variable_accumulate(ctx, v, dlcore_full(ctx, shape, 1, 1));
        dlcore_scope_close(ctx, scope);
      },
      v, [&] { return read(v)[99]; });
}

// The number of the next random call: a run and the eager calls of its context draw from the same
// generator, and no number twice.
TEST_F(LostUpdates, Generators) {
  dlcore_context* other = open(5);
  dlcore_variable* generator = dlcore_context_generator(other);
  const int64_t shape[] = {8};
  dlcore_capture_begin(other, "draws");
  dlcore_tensor* draw = dlcore_random_uniform(other, shape, 1);
  for (int i = 0; i < 40; ++i) draw = dlcore_add_scalar(other, draw, 1);
  dlcore_executable* draws =
      dlcore_graph_compile(other, dlcore_capture_end(other, &draw, 1), nullptr, 0);
  std::thread thread([&] {
    dlcore_context* ctx = open(1);
    dlcore_tensor* result;
    for (int i = 0; i < kRounds; ++i) dlcore_executable_run(ctx, draws, nullptr, 0, &result, 1);
    EXPECT_EQ(dlcore_ok(ctx), 1);
    dlcore_context_close(ctx);
  });
  for (int i = 0; i < kRounds; ++i) dlcore_random_uniform(other, shape, 1);
  thread.join();
  EXPECT_EQ(read(dlcore_variable_read(ctx_, generator)), Doubles({5, 0, 2 * kRounds}));
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
