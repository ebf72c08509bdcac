// SPDX-License-Identifier: Apache-2.0
// dlcore/schedule.h: schedules in trainings: in graphs, from checkpoints, on several threads, and
// steps that happen wholly or not at all.
#include <atomic>

#include "schedule_support.h"

namespace dlcore::test {
namespace {

class ScheduleTraining : public ScheduleTest {
 protected:
  // Two groups with rates of their own, and a step of both.
  struct Run {
    std::vector<dlcore_variable*> weights;
    dlcore_optimizer* optimizer = nullptr;
    dlcore_schedule* schedule = nullptr;
  };
  Run start(const ScheduleCase& c, double first_rate = .3) {
    Run run;
    run.optimizer = make("Adam", {}, {});
    for (const double r : {first_rate, .01}) {
      run.weights.push_back(variable(DLCORE_F32, {5}, {1, -2, .25, 0, 5}));
      add_group(run.optimizer, {run.weights.back()}, Words().f(r));
    }
    run.schedule = schedule(c.name, run.optimizer, c.attrs);
    return run;
  }
  dlcore_status train(const Run& run, dlcore_tensor* x) {
    dlcore_tensor* loss = nullptr;
    for (dlcore_variable* w : run.weights) {
      dlcore_tensor* y = multiply(dlcore_variable_read(ctx_, w), x);
      dlcore_tensor* part = sum(multiply(y, y));
      loss = loss == nullptr ? part : dlcore_add(ctx_, loss, part);
    }
    dlcore_backward(ctx_, loss);
    dlcore_optimizer_step(ctx_, run.optimizer);
    return dlcore_schedule_step(ctx_, run.schedule);
  }
  dlcore_tensor* input(int i) { return tensor(DLCORE_F32, {5}, gradient_at(i, 5)); }
  std::vector<Doubles> everything(const Run& run) {
    std::vector<Doubles> all = state(run.optimizer);
    for (dlcore_variable* w : run.weights) all.push_back(read(w));
    all.push_back(read(dlcore_schedule_count(ctx_, run.schedule)));
    for (int64_t g = 0; g < 2; ++g) {
      all.push_back(read(dlcore_schedule_base_rate(ctx_, run.schedule, g)));
    }
    return all;
  }
  dlcore_checkpoint* checkpoint(const Run& run) {
    dlcore_checkpoint* c = dlcore_checkpoint_create(ctx_);
    dlcore_checkpoint_add_variable(ctx_, c, "a", run.weights[0]);
    dlcore_checkpoint_add_variable(ctx_, c, "b", run.weights[1]);
    dlcore_checkpoint_add_optimizer(ctx_, c, "adam", run.optimizer);
    dlcore_checkpoint_add_schedule(ctx_, c, "rates", run.schedule);
    return c;
  }
  static dlcore_status append(void* to, const void* data, uint64_t size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
    return DLCORE_OK;
  }
};

TEST_F(ScheduleTraining, CapturedStepsHaveTheSameBits) {
  for (const ScheduleCase& c : schedule_cases()) {
    const Run eager = start(c), captured = start(c);
    ASSERT_EQ(dlcore_capture_begin(ctx_, "step"), DLCORE_OK);
    ASSERT_EQ(train(captured, dlcore_capture_input(ctx_, "x", DLCORE_F32, "[5]")), DLCORE_OK)
        << c.name << ": " << dlcore_context_error_message(ctx_);
    dlcore_graph* graph = dlcore_capture_end(ctx_, nullptr, 0);
    EXPECT_EQ(everything(captured), everything(eager)) << "nothing changes until it is run";
    std::vector<char> text(1 << 16);
    dlcore_graph_to_text(ctx_, graph, text.data(), static_cast<int64_t>(text.size()));
    dlcore_graph* parsed =
        dlcore_graph_parse(ctx_, text.data(), static_cast<int64_t>(std::strlen(text.data())));
    EXPECT_EQ(dlcore_graph_verify(ctx_, parsed), DLCORE_OK);
    dlcore_executable* run =
        dlcore_graph_compile(ctx_, dlcore_graph_apply(ctx_, graph, "cse"), nullptr, 0);
    expect_ok();
    for (int i = 0; i < 24; ++i) {
      ASSERT_EQ(train(eager, input(i)), DLCORE_OK);
      dlcore_tensor* fed = input(i);
      ASSERT_EQ(dlcore_executable_run(ctx_, run, &fed, 1, nullptr, 0), DLCORE_OK);
      ASSERT_EQ(everything(captured), everything(eager)) << c.name << " step " << i;
    }
    // A captured schedule follows its base rate.
    set(dlcore_schedule_base_rate(ctx_, eager.schedule, 1), .125);
    set(dlcore_schedule_base_rate(ctx_, captured.schedule, 1), .125);
    train(eager, input(0));
    dlcore_tensor* fed = input(0);
    ASSERT_EQ(dlcore_executable_run(ctx_, run, &fed, 1, nullptr, 0), DLCORE_OK);
    EXPECT_EQ(everything(captured), everything(eager)) << c.name;
  }
}

TEST_F(ScheduleTraining, TwoStepsInOneGraphAreTwo) {
  const ScheduleCase c = {"ExponentialLR", Words().f(.5), {}};
  const Run run = start(c, .5);
  ASSERT_EQ(dlcore_capture_begin(ctx_, "steps"), DLCORE_OK);
  step(run.schedule, 2);
  dlcore_executable* twice =
      dlcore_graph_compile(ctx_, dlcore_capture_end(ctx_, nullptr, 0), nullptr, 0);
  ASSERT_EQ(dlcore_executable_run(ctx_, twice, nullptr, 0, nullptr, 0), DLCORE_OK);
  EXPECT_EQ(count(run.schedule), 2);
  EXPECT_EQ(rate(run.optimizer), .125);

  ASSERT_EQ(dlcore_capture_begin(ctx_, "given up"), DLCORE_OK);
  step(run.schedule);
  ASSERT_EQ(dlcore_capture_abort(ctx_), DLCORE_OK);
  EXPECT_EQ(count(run.schedule), 2);
  EXPECT_EQ(rate(run.optimizer), .125);

  ASSERT_EQ(dlcore_capture_begin(ctx_, "too late"), DLCORE_OK);
  EXPECT_EQ(schedule(c.name, run.optimizer, c.attrs), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "exponential_lr: a capture is open");
  dlcore_capture_abort(ctx_);
}

TEST_F(ScheduleTraining, ATrainingGoesOnWithEveryBit) {
  for (const ScheduleCase& c : schedule_cases()) {
    for (const int before : {0, 4, 13}) {
      const Run straight = start(c);
      for (int i = 0; i < before; ++i) train(straight, input(i));
      ASSERT_EQ(dlcore_checkpoint_save(ctx_, checkpoint(straight), file("c").c_str()), DLCORE_OK);
      const std::vector<Doubles> saved = everything(straight);
      for (int i = before; i < before + 9; ++i) train(straight, input(i));

      // As in another process: other threads, and a first rate that the file overrides.
      const std::vector<Doubles> expected = everything(straight);
      dlcore_engine* const old_engine = engine_;
      dlcore_context* const old = ctx_;
      dlcore_engine_options options = engine_options();
      options.threads = 1 + before % 3;
      engine_ = dlcore_engine_open(&options, nullptr);
      ctx_ = open(99);
      const Run resumed = start(c, 7);
      train(resumed, input(40));
      ASSERT_EQ(dlcore_checkpoint_load(ctx_, checkpoint(resumed), file("c").c_str()), DLCORE_OK)
          << dlcore_context_error_message(ctx_);
      EXPECT_EQ(everything(resumed), saved);
      for (int i = before; i < before + 9; ++i) train(resumed, input(i));
      EXPECT_EQ(everything(resumed), expected) << c.name << " after " << before;
      expect_ok();
      dlcore_context_close(ctx_);
      expect_nothing_left();
      dlcore_engine_close(engine_);
      engine_ = old_engine;
      ctx_ = old;
    }
  }
}

TEST_F(ScheduleTraining, ACheckpointHoldsItUnderItsName) {
  const Run run = start(schedule_cases()[0]);
  dlcore_checkpoint* c = checkpoint(run);
  EXPECT_EQ(dlcore_checkpoint_add_schedule(ctx_, c, "rates", run.schedule), DLCORE_ALREADY_EXISTS);
  expect_error(DLCORE_ALREADY_EXISTS, "checkpoint_add_schedule: schedule 'rates' is in the");
  EXPECT_EQ(dlcore_checkpoint_add_schedule(ctx_, c, "x", run.schedule), DLCORE_ALREADY_EXISTS);
  expect_error(DLCORE_ALREADY_EXISTS, "is the same object");
  EXPECT_EQ(dlcore_checkpoint_add_schedule(ctx_, c, "a/b", run.schedule), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "name is 'a/b'");
  ASSERT_EQ(dlcore_checkpoint_save(ctx_, c, file("c").c_str()), DLCORE_OK);
  dlcore_archive* archive = dlcore_archive_open(ctx_, file("c").c_str());
  EXPECT_EQ(read(dlcore_archive_tensor(ctx_, archive, "schedule/rates/count")), Doubles({0}));
  EXPECT_EQ(read(dlcore_archive_tensor(ctx_, archive, "schedule/rates/1.base_rate")),
            Doubles({.01}));

  dlcore_checkpoint* without = dlcore_checkpoint_create(ctx_);
  ASSERT_EQ(dlcore_checkpoint_save(ctx_, without, file("without").c_str()), DLCORE_OK);
  EXPECT_EQ(dlcore_checkpoint_load(ctx_, c, file("without").c_str()), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "'schedule/rates/count' is missing");
}

TEST_F(ScheduleTraining, ACancelledStepChangesNothing) {
  const Run run = start(schedule_cases()[2]);
  const std::vector<Doubles> before = everything(run);
  dlcore_context_cancel(ctx_);
  EXPECT_EQ(dlcore_schedule_step(ctx_, run.schedule), DLCORE_CANCELLED);
  expect_error(DLCORE_CANCELLED, "cancelled");
  EXPECT_EQ(everything(run), before);
  step(run.schedule);
  EXPECT_NE(everything(run), before);
}

// While other threads step, every save holds a count and the rates of that count.
TEST_F(ScheduleTraining, StepsAreWholeAndNoneIsLost) {
  constexpr double kEnd = 1 << 20;  // so that every rate is exact
  const ScheduleCase c = {"LinearLR", Words().f(0).f(1).i(1 << 20), {}};
  const Run run = start(c, .5);
  std::atomic<int> steps{0};
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      dlcore_context* ctx = open(i);
      for (; !enough; ++steps) EXPECT_EQ(dlcore_schedule_step(ctx, run.schedule), DLCORE_OK);
      dlcore_context_close(ctx);
    });
  }
  dlcore_checkpoint* saved = checkpoint(run);
  for (int saves = 0; saves < 4000 || steps < 1000; ++saves) {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    std::string bytes;
    EXPECT_EQ(dlcore_checkpoint_write(ctx_, saved, append, &bytes), DLCORE_OK);
    dlcore_archive* archive = dlcore_archive_open_buffer(ctx_, bytes.data(), bytes.size());
    const auto number = [&](const char* name) {
      return read(dlcore_archive_tensor(ctx_, archive, name))[0];
    };
    const double at = std::min(number("schedule/rates/count"), kEnd) / kEnd;
    EXPECT_EQ(number("optimizer/adam/0.learning_rate"), .5 * at);
    EXPECT_EQ(number("optimizer/adam/1.learning_rate"), .01 * at);
    dlcore_archive_release(archive);
    dlcore_scope_close(ctx_, scope);
  }
  enough = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count(run.schedule), steps);
}

TEST_F(ScheduleTraining, AStepInsideARunIsRefused) {
  const Run run = start(schedule_cases()[0]);
  const auto infer = [](void*, dlcore_context*, dlcore_op_call* call) -> dlcore_status {
    return dlcore_op_call_set_output_like(call, 0, dlcore_op_call_input(call, 0));
  };
  const auto forward = [](void* self, dlcore_context* child,
                          dlcore_op_call* call) -> dlcore_status {
    const auto* in = static_cast<const Run*>(self);
    EXPECT_EQ(dlcore_schedule_step(child, in->schedule), DLCORE_FAILED_PRECONDITION);
    EXPECT_NE(std::string(dlcore_context_error_message(child)).find("inside a run"),
              std::string::npos);
    dlcore_context_clear_error(child);
    EXPECT_EQ(dlcore_exponential_lr(child, in->optimizer, .5), nullptr);
    EXPECT_EQ(dlcore_context_status(child), DLCORE_FAILED_PRECONDITION);
    dlcore_context_clear_error(child);
    return dlcore_op_call_set_output(call, 0, dlcore_op_call_input(call, 0));
  };
  int32_t op = -1;
  Run* self = const_cast<Run*>(&run);
  ASSERT_EQ(
      dlcore_op_register(ctx_, "inside", 1, 1, 0, infer, forward, nullptr, self, nullptr, &op),
      DLCORE_OK);
  dlcore_capture_begin(ctx_, "g");
  dlcore_tensor* y = op1(op, dlcore_variable_read(ctx_, run.weights[0]));
  dlcore_executable* g = dlcore_graph_compile(ctx_, dlcore_capture_end(ctx_, &y, 1), nullptr, 0);
  ASSERT_EQ(dlcore_executable_run(ctx_, g, nullptr, 0, &y, 1), DLCORE_OK);
  EXPECT_EQ(count(run.schedule), 0);
}

}  // namespace
}  // namespace dlcore::test
