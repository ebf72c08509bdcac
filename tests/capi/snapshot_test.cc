// SPDX-License-Identifier: Apache-2.0
// dlcore/module.h: snapshots, alone and while other threads train.
#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "counting_support.h"
#include "support/sanitized.h"

namespace dlcore::test {
namespace {

class Snapshot : public CountingTest {};

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
// The answers to each number are known beforehand.
class SnapshotThreads : public Snapshot {
 protected:
  static constexpr int kReaders = 8, kSteps = 300;
  // A step holds three locks for each variable and its state; TSan counts to 64 of a thread.
  static constexpr int kLayers = DLCORE_TEST_THREAD_SANITIZER ? 4 : 24;
  static constexpr int64_t kWidth = 8;
  static constexpr double kStep = 1.0 / 1024;

  SnapshotThreads() {
    std::vector<dlcore_module*> layers;
    for (int i = 0; i < kLayers; ++i) layers.push_back(linear(kWidth, kWidth));
    model_ = sequential(layers);
    sgd_ = sgd(model_);
    for (int i = 0; i <= kSteps; ++i) {
      dlcore_scope* scope = dlcore_scope_open(ctx_);
      fill(model_, i * kStep);
      answers_.push_back(elements(ctx_, call(model_, ones(ctx_))));
      dlcore_scope_close(ctx_, scope);
    }
    fill(model_, 0);
  }

  static dlcore_tensor* ones(dlcore_context* ctx) {
    const int64_t shape[] = {1, kWidth};
    return dlcore_full(ctx, shape, 2, 1);
  }
  // Returns the number of steps that it holds.
  size_t check(dlcore_context* ctx, dlcore_module* frozen) {
    std::set<double> numbers;
    for (int64_t i = 0; i < dlcore_module_variable_count(frozen); ++i) {
      const Doubles all =
          elements(ctx, dlcore_variable_read(ctx, dlcore_module_variable(ctx, frozen, i)));
      numbers.insert(all.begin(), all.end());
    }
    EXPECT_EQ(numbers.size(), 1u);
    const auto steps = static_cast<size_t>(std::lround(*numbers.begin() / kStep));
    EXPECT_EQ(elements(ctx, dlcore_module_call(ctx, frozen, ones(ctx))), answers_.at(steps));
    return steps;
  }
  // Each of the readers answers again and again while `train` runs, from a snapshot that it takes
  // itself, or from `given`.
  void read_while(const std::function<void()>& train, dlcore_module* given = nullptr) {
    std::atomic<bool> done{false};
    std::atomic<int> started{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < kReaders; ++r) {
      readers.emplace_back([&, r] {
        dlcore_context* ctx = open(static_cast<uint64_t>(r));
        dlcore_scope* scope = dlcore_scope_open(ctx);
        size_t last = 0;
        do {
          dlcore_module* frozen = given ? given : dlcore_module_snapshot(ctx, model_);
          const size_t now = check(ctx, frozen);
          EXPECT_GE(now, last);
          EXPECT_EQ(check(ctx, frozen), now);
          last = now;
          if (given == nullptr) dlcore_module_release(frozen);
          dlcore_scope_reset(ctx, scope);
          ++started;
        } while (!done && !HasFailure());
        EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
        dlcore_context_close(ctx);
      });
    }
    while (started < kReaders) std::this_thread::yield();
    train();
    done = true;
    for (std::thread& t : readers) t.join();
    EXPECT_EQ(values(model_)[0][0], kSteps * kStep);
  }

  dlcore_module* model_;
  dlcore_optimizer* sgd_;
  std::vector<Doubles> answers_;
};

TEST_F(SnapshotThreads, HoldWholeStepsOfAnOptimizer) {
  read_while([&] {
    for (int i = 0; i < kSteps; ++i) step_up(ctx_, model_, sgd_, kStep);
  });
}

TEST_F(SnapshotThreads, HoldWholeRunsOfAGraph) {
  dlcore_executable* step = captured_step(model_, sgd_, kStep);
  read_while([&] {
    for (int i = 0; i < kSteps; ++i) {
      ASSERT_EQ(dlcore_executable_run(ctx_, step, nullptr, 0, nullptr, 0), DLCORE_OK);
    }
  });
}

TEST_F(SnapshotThreads, OneServesManyWhileTheModelMovesOn) {
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, model_);
  read_while(
      [&] {
        for (int i = 0; i < kSteps; ++i) step_up(ctx_, model_, sgd_, kStep);
      },
      frozen);
  EXPECT_EQ(check(ctx_, frozen), 0u);
}

}  // namespace
}  // namespace dlcore::test
