// SPDX-License-Identifier: Apache-2.0
// dlcore/context.h: cancellation and deadlines inside ops that would otherwise run for many
// seconds.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "support.h"
#include "support/sanitized.h"

namespace dlcore::test {
namespace {

using Clock = std::chrono::steady_clock;

// Generous: an op looks after each part of its work, which takes far less than a millisecond.
// Sanitizers make that some ten times as long.
constexpr auto kPrompt =
    std::chrono::seconds(DLCORE_TEST_ADDRESS_SANITIZER || DLCORE_TEST_THREAD_SANITIZER ? 20 : 2);

class CancelTest : public ApiTest {
 protected:
  struct Case {
    const char* name;
    std::function<dlcore_tensor*()> op;
  };

  // Inputs that need no memory: one element, repeated.
  dlcore_tensor* repeated(dlcore_dtype dtype, double value, const Shape& shape) {
    return dlcore_broadcast_to(ctx_, tensor(dtype, {}, {value}), shape.data(),
                               static_cast<int32_t>(shape.size()));
  }

  std::vector<Case> cases() {
    const Shape endless = {int64_t{1} << 36}, rows = {64, int64_t{1} << 30};
    // A remainder takes a step for each bit of the quotient.
    const Shape many = {int64_t{1} << 23};
    dlcore_tensor* f = repeated(DLCORE_F32, 1, endless);
    dlcore_tensor* d = repeated(DLCORE_F64, 1, rows);
    dlcore_tensor* i = repeated(DLCORE_I32, 1, endless);
    dlcore_tensor* b = repeated(DLCORE_BOOL, 1, endless);
    dlcore_tensor* large = repeated(DLCORE_F64, 1e300, many);
    dlcore_tensor* small = repeated(DLCORE_F64, 3e-300, many);
    dlcore_tensor* square = dlcore_copy(ctx_, repeated(DLCORE_F64, 0.5, {6000, 6000}));
    dlcore_tensor* whole = dlcore_copy(ctx_, repeated(DLCORE_I32, 3, {4000, 4000}));
    const int64_t floats = int64_t{1} << 29, flags = int64_t{1} << 31;  // two gigabytes of them
    dlcore_tensor* image = repeated(DLCORE_F32, 0.5, {1, 64, 416, 416});
    dlcore_tensor* result = repeated(DLCORE_F32, 0.5, {1, 64, 400, 400});
    dlcore_tensor* weight = repeated(DLCORE_F32, 0.5, {64, 64, 17, 17});
    return {
        {"random_uniform", [=, this] { return dlcore_random_uniform(ctx_, &floats, 1); }},
        {"random_normal", [=, this] { return dlcore_random_normal(ctx_, &floats, 1); }},
        {"random_bernoulli", [=, this] { return dlcore_random_bernoulli(ctx_, &flags, 1, 0.5); }},
        {"conv2d", [=, this] { return dlcore_conv2d(ctx_, image, weight, dlcore_tensor_none()); }},
        {"conv2d_input_backward", [=, this] { return op2(113, result, weight); }},
        {"conv2d_weight_backward", [=, this] { return op2(114, result, image); }},
        {"sum", [=, this] { return dlcore_sum(ctx_, f); }},
        {"sum of rows",
         [=, this] {
           const int64_t axes[] = {1};
           return op1(80, d, Words().i(1).ints({axes[0]}));
         }},
        {"mean", [=, this] { return dlcore_mean(ctx_, f); }},
        {"max", [=, this] { return dlcore_max(ctx_, f); }},
        {"sum of integers", [=, this] { return dlcore_sum(ctx_, i); }},
        {"all", [=, this] { return dlcore_all(ctx_, b); }},
        {"logsumexp", [=, this] { return dlcore_logsumexp(ctx_, f); }},
        {"elementwise", [=, this] { return dlcore_remainder(ctx_, large, small); }},
        {"matmul", [=, this] { return dlcore_matmul(ctx_, square, square); }},
        {"matmul of integers", [=, this] { return dlcore_matmul(ctx_, whole, whole); }},
    };
  }

  void expect_usable() {
    dlcore_tensor* x = f32({3}, {1, 2, 3});
    EXPECT_EQ(read(dlcore_add(ctx_, x, x)), Doubles({2, 4, 6}));
    EXPECT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
  }
};

TEST_F(CancelTest, EndsLongOps) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    ASSERT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
    Clock::time_point asked;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      asked = Clock::now();
      dlcore_context_cancel(ctx_);
    });
    dlcore_tensor* y = c.op();
    const Clock::time_point ended = Clock::now();
    canceller.join();
    EXPECT_EQ(y, nullptr);
    EXPECT_LT(ended - asked, kPrompt);
    expect_error(DLCORE_CANCELLED, "cancelled");
    expect_usable();
  }
}

TEST_F(CancelTest, DeadlinesEndLongOps) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    ASSERT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
    ASSERT_EQ(dlcore_context_set_deadline(ctx_, 30), DLCORE_OK);
    const Clock::time_point begun = Clock::now();
    EXPECT_EQ(c.op(), nullptr);
    EXPECT_LT(Clock::now() - begun, kPrompt);
    expect_error(DLCORE_DEADLINE_EXCEEDED, "deadline");
    expect_usable();
  }
  // One that is taken back does not end anything.
  ASSERT_EQ(dlcore_context_set_deadline(ctx_, 1), DLCORE_OK);
  ASSERT_EQ(dlcore_context_set_deadline(ctx_, -1), DLCORE_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(read(dlcore_sum(ctx_, repeated(DLCORE_F64, 1, {1 << 20}))), Doubles({1 << 20}));
}

// Every element has made the same number of steps, whenever the cancellation came.
TEST_F(CancelTest, OptimizerStepsAreWhole) {
  constexpr int64_t kCount = 1 << 20;
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", repeated(DLCORE_F32, 0, {kCount}),
                                              DLCORE_VARIABLE_TRAINABLE);
  const int32_t adam = dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPTIMIZERS, "Adam");
  const Words rate = Words().f(0.5);
  dlcore_optimizer* optimizer =
      dlcore_optimizer_create(ctx_, adam, nullptr, 0, rate.data(), rate.size());
  ASSERT_EQ(dlcore_optimizer_add_group(ctx_, optimizer, &v, 1, nullptr, 0), DLCORE_OK);
  dlcore_tensor* gradient = dlcore_copy(ctx_, repeated(DLCORE_F32, 1, {kCount}));
  ASSERT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
  std::atomic<bool> over{false};
  std::atomic<int> round{0};
  std::thread canceller([&] {
    for (int seen = 0; !over;) {
      if (round == seen) continue;
      seen = round;
      // 0 to 2 ms later: before, in and after the step.
      const auto until = Clock::now() + std::chrono::microseconds(seen * 37 % 2000);
      while (Clock::now() < until) {
      }
      dlcore_context_cancel(ctx_);
    }
  });
  const int rounds = DLCORE_TEST_ADDRESS_SANITIZER ? 50 : 200;
  std::vector<float> before(kCount), after(kCount);
  int cancelled = 0, applied = 0;
  for (int i = 0; i < rounds || (cancelled == 0 && i < 100 * rounds); ++i) {
    dlcore_variable_set_gradient(ctx_, v, gradient);
    dlcore_context_clear_error(ctx_);
    ++round;
    const dlcore_status status = dlcore_optimizer_step(ctx_, optimizer);
    (status == DLCORE_OK ? applied : cancelled) += 1;
    dlcore_context_clear_error(ctx_);
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    while (dlcore_tensor_read_f32(ctx_, dlcore_variable_read(ctx_, v), after.data(), kCount) !=
           DLCORE_OK) {
      dlcore_context_clear_error(ctx_);  // the cancellation, come late
      if (scope == nullptr) scope = dlcore_scope_open(ctx_);
    }
    dlcore_scope_close(ctx_, scope);
    ASSERT_EQ(std::count(after.begin(), after.end(), after[0]), kCount) << "round " << i;
    ASSERT_EQ(after[0] != before[0], status == DLCORE_OK) << "round " << i;
    std::swap(before, after);
  }
  over = true;
  canceller.join();
  dlcore_context_status(ctx_);  // learns of a cancellation that came late
  dlcore_context_clear_error(ctx_);
  EXPECT_GT(cancelled, 0);
}

}  // namespace
}  // namespace dlcore::test
