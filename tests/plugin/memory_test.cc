// SPDX-License-Identifier: Apache-2.0
// The device's memory under a limit.
#include "plugin_support.h"

namespace dlcore::test {
namespace {

class DeviceMemoryTest : public PluginTest {
 protected:
  static constexpr uint64_t kLimit = 8 << 20;
  static constexpr int64_t kMiB = (1 << 20) / 4;  // floats

  DeviceMemoryTest() {
    dlcore_engine_options options;
    dlcore_engine_options_init(&options, sizeof options);
    options.memory_limit = kLimit;
    small_ = dlcore_engine_open(&options, nullptr);
    load(small_);
    tight_ = open_on(small_, kDevice, DLCORE_CONTEXT_MANUAL);
  }
  ~DeviceMemoryTest() override {
    EXPECT_EQ(dlcore_context_synchronize(tight_), DLCORE_OK);
    EXPECT_EQ(use().live_bytes, 0u);
    dlcore_context_close(tight_);
    dlcore_engine_close(small_);
  }
  dlcore_tensor* full(int64_t count, double value) { return dlcore_full(tight_, &count, 1, value); }
  dlcore_engine_statistics use() {
    dlcore_engine_statistics s;
    s.struct_size = sizeof s;
    dlcore_engine_get_statistics(small_, &s);
    return s;
  }
  float first(dlcore_tensor* x) {
    std::vector<float> values(static_cast<size_t>(dlcore_tensor_count(x)), NAN);
    dlcore_tensor_read_f32(tight_, x, values.data(), dlcore_tensor_count(x));
    return values[0];
  }
  void expect_exhausted() {
    EXPECT_EQ(dlcore_context_status(tight_), DLCORE_RESOURCE_EXHAUSTED);
    const std::string message = dlcore_context_error_message(tight_);
    EXPECT_NE(message.find("8 MiB limit"), std::string::npos) << message;
    dlcore_context_clear_error(tight_);
  }

  dlcore_engine* small_;
  dlcore_context* tight_;
};

TEST_F(DeviceMemoryTest, TooMuchIsRefusedAndTheRestGoesOn) {
  EXPECT_EQ(full(9 * kMiB, 1), nullptr);
  expect_exhausted();
  dlcore_tensor* x = full(6 * kMiB, 1);
  EXPECT_EQ(dlcore_add(tight_, x, x), nullptr);
  expect_exhausted();
  EXPECT_EQ(first(x), 1);
  dlcore_tensor_release(x);
  x = full(7 * kMiB, 2);
  EXPECT_EQ(first(x), 2);
  dlcore_tensor_release(x);
}

TEST_F(DeviceMemoryTest, MemoryThatQueuesStillUseIsWaitedFor) {
  for (int i = 0; i < 40; ++i) {  // 200 MiB through 8, faster than the device works
    dlcore_tensor* x = full(5 * kMiB / 2, i);
    dlcore_tensor* y = dlcore_add(tight_, x, x);
    dlcore_tensor_release(x);
    ASSERT_NE(y, nullptr) << dlcore_context_error_message(tight_);
    if (i % 10 == 0) {
      EXPECT_EQ(first(y), 2.0f * static_cast<float>(i));
    }
    dlcore_tensor_release(y);
  }
  EXPECT_EQ(dlcore_context_synchronize(tight_), DLCORE_OK);
  EXPECT_LE(use().peak_bytes, kLimit);
}

TEST_F(DeviceMemoryTest, MemoryComesBack) {
  dlcore_tensor* x = full(kMiB, 1);
  EXPECT_EQ(first(x), 1);
  EXPECT_GE(use().live_bytes, uint64_t{1} << 20);
  dlcore_tensor_release(x);
  EXPECT_EQ(use().live_bytes, 0u);
  dlcore_engine_trim(small_);
  EXPECT_EQ(use().cached_bytes, 0u);
}

TEST_F(DeviceMemoryTest, AskedFailuresAreNotHidden) {
  dlcore_tensor* x = full(kMiB, 1);
  dlcore_tensor_release(dlcore_add(tight_, x, x));  // leaves memory in use behind
  dlcore_engine_fail_allocation(small_, 1);
  EXPECT_EQ(dlcore_add(tight_, x, x), nullptr);
  EXPECT_EQ(dlcore_context_status(tight_), DLCORE_RESOURCE_EXHAUSTED);
  dlcore_context_clear_error(tight_);
  dlcore_engine_fail_allocation(small_, 0);
  EXPECT_EQ(first(x), 1);
  dlcore_tensor_release(x);
}

// Wherever memory runs out in a training step, nothing has changed, and the next step is as if
// nothing happened.
TEST_F(DeviceMemoryTest, AStepThatRunsOutOfMemoryChangesNothing) {
  const auto weights = [&](dlcore_module* m) { return read(dlcore_module_variable(ctx_, m, 0)); };
  const auto step = [&](dlcore_module* m, dlcore_optimizer* o) {
    dlcore_backward(ctx_, dlcore_sum(ctx_, dlcore_module_call(ctx_, m, f32({2, 16}, range(32)))));
    dlcore_optimizer_step(ctx_, o);
  };
  dlcore_module* m = linear(16, 16);
  dlcore_optimizer* o = dlcore_adam(ctx_, m, 0.1);
  const Doubles before = weights(m);
  int failures = 0;
  for (int n = 1; n < 200; ++n) {
    dlcore_engine_fail_allocation(engine_, n);
    step(m, o);
    dlcore_engine_fail_allocation(engine_, 0);
    if (dlcore_ok(ctx_) == 1) break;
    EXPECT_EQ(dlcore_context_status(ctx_), DLCORE_RESOURCE_EXHAUSTED);
    dlcore_context_clear_error(ctx_);
    EXPECT_EQ(weights(m), before) << "allocation " << n;
    dlcore_optimizer_zero_gradients(ctx_, o);
    ++failures;
  }
  EXPECT_GT(failures, 5);
  expect_ok();
  EXPECT_NE(weights(m), before);
}

}  // namespace
}  // namespace dlcore::test
