// SPDX-License-Identifier: Apache-2.0
// A small model in training: equal bits whatever the number of threads, and memory that fails.
#include "support.h"

namespace dlcore::test {
namespace {

// An MLP on fixed data, as a program would write it.
class Trainer {
 public:
  Trainer(dlcore_engine* engine, uint64_t seed) : engine_(engine) {
    ctx_ = dlcore_context_open(engine, "cpu", seed, 0, nullptr);
    dlcore_module* layers[] = {dlcore_linear_layer(ctx_, kIn, kHidden), dlcore_relu_layer(ctx_),
                               dlcore_layer_norm_layer(ctx_, kHidden),
                               dlcore_linear_layer(ctx_, kHidden, kClasses)};
    model_ = dlcore_sequential(ctx_, layers, 4);
    optimizer_ = dlcore_adamw(ctx_, model_, 1e-2);
    std::vector<float> x;
    for (int64_t i = 0; i < kBatch * kIn; ++i) {
      x.push_back(static_cast<float>(std::sin(0.37 * static_cast<double>(i * i % 1013))));
    }
    std::vector<int64_t> y;
    for (int64_t i = 0; i < kBatch; ++i) y.push_back(i * 7 % kClasses);
    const int64_t shape[] = {kBatch, kIn};
    x_ = dlcore_tensor_f32(ctx_, shape, 2, x.data(), kBatch * kIn);
    y_ = dlcore_tensor_i64(ctx_, shape, 1, y.data(), kBatch);
  }
  ~Trainer() { dlcore_context_close(ctx_); }

  dlcore_context* ctx() const { return ctx_; }

  // Of one step; what it makes is released.
  dlcore_status step(float* loss) {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    dlcore_tensor* l = dlcore_cross_entropy(ctx_, dlcore_module_call(ctx_, model_, x_), y_);
    dlcore_backward(ctx_, l);
    dlcore_optimizer_clip_gradients(ctx_, optimizer_, 1.0);
    dlcore_optimizer_step(ctx_, optimizer_);
    const dlcore_status status = dlcore_context_status(ctx_);
    if (status == DLCORE_OK) dlcore_tensor_read_f32(ctx_, l, loss, 1);
    dlcore_scope_close(ctx_, scope);
    return status;
  }
  void forget_gradients() {
    EXPECT_EQ(dlcore_optimizer_zero_gradients(ctx_, optimizer_), DLCORE_OK);
  }

  // Parameters and optimizer state, as bytes.
  std::string bytes() {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    std::string all;
    for (int64_t i = 0; i < dlcore_module_variable_count(model_); ++i) {
      append(dlcore_module_variable(ctx_, model_, i), all);
    }
    for (int64_t i = 0; i < dlcore_optimizer_variable_count(optimizer_); ++i) {
      append(dlcore_optimizer_variable(ctx_, optimizer_, i), all);
    }
    dlcore_scope_close(ctx_, scope);
    return all;
  }

  std::vector<float> train(int steps) {
    std::vector<float> losses(static_cast<size_t>(steps));
    for (float& loss : losses) EXPECT_EQ(step(&loss), DLCORE_OK);
    return losses;
  }

 private:
  static constexpr int64_t kBatch = 320, kIn = 96, kHidden = 256, kClasses = 10;

  void append(dlcore_variable* v, std::string& all) {
    dlcore_tensor* t = dlcore_variable_read(ctx_, v);
    const dlcore_dtype dtype = dlcore_tensor_dtype(t);
    std::string raw(static_cast<size_t>(dlcore_tensor_count(t)) * dlcore_dtype_size(dtype), '\0');
    EXPECT_EQ(dlcore_tensor_read(ctx_, t, dtype, raw.data(), raw.size()), DLCORE_OK);
    all += raw;
  }

  dlcore_engine* engine_;
  dlcore_context* ctx_;
  dlcore_module* model_;
  dlcore_optimizer* optimizer_;
  dlcore_tensor* x_;
  dlcore_tensor* y_;
};

class TrainingTest : public ApiTest {
 protected:
  static dlcore_engine* engine_with(int32_t threads, int32_t isa) {
    dlcore_engine_options options;
    dlcore_engine_options_init(&options, sizeof options);
    options.threads = threads;
    options.isa = isa;
    return dlcore_engine_open(&options, nullptr);
  }
  struct Outcome {
    std::vector<float> losses;
    std::string bytes;
    bool operator==(const Outcome&) const = default;
  };
  static Outcome train(int32_t threads, int32_t isa) {
    dlcore_engine* engine = engine_with(threads, isa);
    if (engine == nullptr) return {};
    Outcome outcome;
    {
      Trainer trainer(engine, 3);
      outcome.losses = trainer.train(12);
      outcome.bytes = trainer.bytes();
    }
    dlcore_engine_close(engine);
    return outcome;
  }
};

TEST_F(TrainingTest, LossesAreEqualForEveryNumberOfThreads) {
  for (int32_t isa = DLCORE_ISA_BEST; isa <= DLCORE_ISA_AVX512_BF16; ++isa) {
    const Outcome one = train(1, isa);
    if (one.losses.empty()) continue;  // not an instruction set of this processor
    EXPECT_LT(one.losses.back(), 0.5f * one.losses.front());
    for (int32_t threads : {1, 2, 4}) {
      EXPECT_TRUE(train(threads, isa) == one) << "isa " << isa << ", " << threads << " threads";
    }
  }
}

TEST_F(TrainingTest, SeedsDecideTheOutcome) {
  Trainer a(engine_, 1), b(engine_, 1), c(engine_, 2);
  EXPECT_EQ(a.bytes(), b.bytes());
  EXPECT_NE(a.bytes(), c.bytes());
}

TEST_F(TrainingTest, StepsLeaveNothingBehind) {
  Trainer trainer(engine_, 1);
  trainer.train(3);
  const dlcore_engine_statistics before = statistics();
  trainer.train(50);
  const dlcore_engine_statistics after = statistics();
  EXPECT_EQ(after.live_tensors, before.live_tensors);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.source_allocations, before.source_allocations);
  EXPECT_EQ(after.peak_bytes, before.peak_bytes);
}

TEST_F(TrainingTest, MakingModelsAgainAndAgainReachesAPlateau) {
  dlcore_engine_statistics early = {};
  for (int i = 0; i < 100; ++i) {
    {
      Trainer trainer(engine_, static_cast<uint64_t>(i));
      trainer.train(1);
    }
    if (i == 5) early = statistics();
  }
  const dlcore_engine_statistics late = statistics();
  EXPECT_EQ(late.live_tensors, early.live_tensors);
  EXPECT_EQ(late.live_bytes, early.live_bytes);
  EXPECT_EQ(late.cached_bytes, early.cached_bytes);
  EXPECT_EQ(late.source_allocations, early.source_allocations);
}

TEST_F(TrainingTest, AMillionCallsLeaveNothingBehind) {
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_tensor* x = f32({20}, Doubles(20, 1.0));
  dlcore_tensor* odd = f32({3}, Doubles(3, 1.0));
  const dlcore_engine_statistics before = statistics();
  for (int i = 0; i < 333333; ++i) {
    dlcore_tensor* y = dlcore_add_scalar(ctx_, x, 1);
    dlcore_tensor* z = dlcore_relu(ctx_, y);
    if (dlcore_add(ctx_, z, odd) != nullptr) ADD_FAILURE();
    dlcore_context_clear_error(ctx_);
    dlcore_tensor_release(y);
    dlcore_tensor_release(z);
  }
  const dlcore_engine_statistics after = statistics();
  EXPECT_EQ(after.live_tensors, before.live_tensors);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_LE(after.cached_bytes, before.cached_bytes + 4096);
  dlcore_scope_close(ctx_, scope);
}

TEST_F(TrainingTest, EveryAllocationMayFailOnce) {
  constexpr int kBefore = 2, kAfter = 3;
  Trainer untroubled(engine_, 5);
  untroubled.train(kBefore);
  const std::string at_start = untroubled.bytes();
  const std::vector<float> expected_losses = untroubled.train(kAfter);
  const std::string expected = untroubled.bytes();

  Trainer trainer(engine_, 5);
  trainer.train(kBefore);
  ASSERT_EQ(trainer.bytes(), at_start);
  const dlcore_engine_statistics before = statistics();
  int failures = 0;
  float loss = 0;
  for (int64_t n = 1;; ++n) {
    dlcore_engine_fail_allocation(engine_, n);
    const dlcore_status status = trainer.step(&loss);
    dlcore_engine_fail_allocation(engine_, 0);
    if (status == DLCORE_OK) break;  // the step has fewer than n allocations
    ++failures;
    ASSERT_EQ(status, DLCORE_RESOURCE_EXHAUSTED) << "allocation " << n;
    dlcore_error* error = dlcore_context_take_error(trainer.ctx());
    EXPECT_NE(std::string(dlcore_error_message(error)).find("cannot allocate"), std::string::npos)
        << dlcore_error_message(error);
    dlcore_error_release(error);
    trainer.forget_gradients();
    ASSERT_EQ(trainer.bytes(), at_start) << "allocation " << n;
    ASSERT_EQ(statistics().live_tensors, before.live_tensors) << "allocation " << n;
    ASSERT_EQ(statistics().live_bytes, before.live_bytes) << "allocation " << n;
  }
  EXPECT_GT(failures, 20);
  std::vector<float> losses = {loss};
  for (float l : trainer.train(kAfter - 1)) losses.push_back(l);
  EXPECT_EQ(losses, expected_losses);
  EXPECT_EQ(trainer.bytes(), expected);
}

TEST_F(TrainingTest, ACancelledStepIsNoStep) {
  Trainer trainer(engine_, 5);
  trainer.train(1);
  const std::string before = trainer.bytes();
  float loss = 0;
  dlcore_context_cancel(trainer.ctx());
  EXPECT_EQ(trainer.step(&loss), DLCORE_CANCELLED);
  dlcore_context_clear_error(trainer.ctx());
  trainer.forget_gradients();
  EXPECT_EQ(trainer.bytes(), before);
  EXPECT_EQ(trainer.step(&loss), DLCORE_OK);
  EXPECT_NE(trainer.bytes(), before);
}

}  // namespace
}  // namespace dlcore::test
