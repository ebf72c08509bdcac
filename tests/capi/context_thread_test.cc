// SPDX-License-Identifier: Apache-2.0
// dlcore/context.h: a context used by several threads, as it should be and as it should not.
#include <atomic>
#include <chrono>
#include <thread>

#include "support.h"

namespace dlcore::test {
namespace {

class ContextThreadTest : public ApiTest {
 protected:
  // Inside the forward callback of a custom op a call on ctx_ is running.
  int32_t register_op(void (*inside)(dlcore_context*)) {
    inside_ = inside;
    const auto infer = [](void*, dlcore_context*, dlcore_op_call* call) -> dlcore_status {
      return dlcore_op_call_set_output_like(call, 0, dlcore_op_call_input(call, 0));
    };
    const auto forward = [](void* self, dlcore_context*, dlcore_op_call* call) -> dlcore_status {
      auto* test = static_cast<ContextThreadTest*>(self);
      test->inside_(test->ctx_);
      return dlcore_op_call_set_output(call, 0, dlcore_op_call_input(call, 0));
    };
    int32_t op = -1;
    EXPECT_EQ(
        dlcore_op_register(ctx_, "inside", 1, 1, 0, infer, forward, nullptr, this, nullptr, &op),
        DLCORE_OK);
    return op;
  }

  void (*inside_)(dlcore_context*) = nullptr;
};

TEST_F(ContextThreadTest, AContextMayMoveBetweenThreads) {
  dlcore_tensor* x = f32({100}, range(100));
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      x = dlcore_add_scalar(ctx_, x, 1);
      EXPECT_NE(x, nullptr);
    }).join();
  }
  EXPECT_EQ(read(x)[5], 25);
}

TEST_F(ContextThreadTest, AnIntruderIsRefusedAndTheOwnerLearnsOfIt) {
  const int32_t op = register_op([](dlcore_context* ctx) {
    std::thread([ctx] {
      EXPECT_EQ(dlcore_tensor_scalar_f32(ctx, 1), nullptr);
      EXPECT_EQ(dlcore_context_set_seed(ctx, 1), DLCORE_FAILED_PRECONDITION);
      EXPECT_EQ(dlcore_ok(ctx), 0);
      EXPECT_EQ(dlcore_context_take_error(ctx), nullptr);
    }).join();
  });
  EXPECT_NE(op1(op, f32({2}, {1, 2})), nullptr);  // the call that ran is not harmed
  EXPECT_EQ(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "two threads");
  EXPECT_NE(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
}

TEST_F(ContextThreadTest, ClosingDuringACallWaitsForItsEnd) {
  static dlcore_context* closing;
  closing = open(7);
  const int32_t op = register_op([](dlcore_context*) {
    std::thread([] { dlcore_context_close(closing); }).join();
    dlcore_context_close(closing);
    EXPECT_NE(dlcore_context_device(closing), nullptr);
  });
  const float value = 1;
  dlcore_tensor* x = dlcore_tensor_f32(closing, nullptr, 0, &value, 1);
  EXPECT_NE(dlcore_op_call1(closing, op, x, nullptr, 0), nullptr);
  EXPECT_EQ(dlcore_context_status(closing), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_tensor_rank(x), -1);
  EXPECT_EQ(statistics().live_contexts, 1);
}

TEST_F(ContextThreadTest, ClosingRacesWithCallsWithoutHarm) {
  for (int i = 0; i < 500; ++i) {
    dlcore_context* ctx = open(1);
    std::atomic<bool> started{false};
    std::thread caller([&] {
      started = true;
      for (int k = 0; k < 20 && dlcore_tensor_scalar_f32(ctx, 1) != nullptr; ++k) {
      }
    });
    while (!started) std::this_thread::yield();
    dlcore_context_close(ctx);
    caller.join();
    EXPECT_EQ(dlcore_context_device(ctx), nullptr) << "round " << i;
    if (HasFailure()) break;
  }
  EXPECT_EQ(statistics().live_contexts, 1);
}

TEST_F(ContextThreadTest, ACancellationFromAnotherThreadEndsALongRun) {
  dlcore_tensor* x = f32({64}, Doubles(64, 1.0));
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    dlcore_context_cancel(ctx_);
  });
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (dlcore_relu(ctx_, x) != nullptr && std::chrono::steady_clock::now() < end) {
    dlcore_scope_reset(ctx_, scope);
  }
  canceller.join();
  expect_error(DLCORE_CANCELLED, "cancelled");
  dlcore_scope_close(ctx_, scope);
}

TEST_F(ContextThreadTest, ACancellationReachesTheCallThatRuns) {
  const int32_t op = register_op(
      [](dlcore_context* ctx) { std::thread([ctx] { dlcore_context_cancel(ctx); }).join(); });
  // One op that is made of several: it notices at its next kernel.
  dlcore_tensor* leaf = dlcore_autograd_watch(ctx_, f32({2}, {1, 2}));
  dlcore_tensor* y = op1(op, leaf);
  if (y != nullptr) {
    EXPECT_EQ(dlcore_relu(ctx_, y), nullptr);
  }
  expect_error(DLCORE_CANCELLED, "cancelled");
}

TEST_F(ContextThreadTest, AnotherThreadMayReleaseEarlyAndRetain) {
  // Slots enough, and they are reused oldest first: none of those that are looked at below.
  std::vector<dlcore_tensor*> tensors;
  for (int i = 0; i < 1000; ++i) tensors.push_back(f32({32}, Doubles(32, i)));
  dlcore_tensor_release_many(tensors.data(), 1000);
  tensors.clear();
  for (int i = 0; i < 400; ++i) tensors.push_back(f32({32}, Doubles(32, i)));
  std::vector<std::thread> threads;
  for (size_t k = 0; k < 4; ++k) {
    threads.emplace_back([&, k] {
      for (size_t i = k; i < tensors.size(); i += 4) {
        dlcore_tensor_retain(tensors[i]);
        dlcore_tensor_release(tensors[i]);
        dlcore_tensor_release(tensors[i]);
        dlcore_tensor_release(tensors[i]);  // once too often
      }
    });
  }
  for (int i = 0; i < 200; ++i) f32({32}, Doubles(32, i));
  for (std::thread& t : threads) t.join();
  for (dlcore_tensor* t : tensors) EXPECT_EQ(dlcore_tensor_rank(t), -1);
}

TEST_F(ContextThreadTest, ContextsOfOneEngineShareTensors) {
  dlcore_tensor* shared = f32({1000}, Doubles(1000, 2.0));
  std::vector<std::thread> threads;
  for (uint64_t k = 0; k < 8; ++k) {
    threads.emplace_back([&, k] {
      dlcore_context* ctx = open(k);
      for (int i = 0; i < 50; ++i) {
        dlcore_scope* scope = dlcore_scope_open(ctx);
        dlcore_tensor* y = dlcore_sum(ctx, dlcore_multiply(ctx, shared, shared));
        float value = 0;
        EXPECT_EQ(dlcore_tensor_read_f32(ctx, y, &value, 1), DLCORE_OK);
        EXPECT_EQ(value, 4000);
        dlcore_scope_close(ctx, scope);
      }
      dlcore_context_close(ctx);
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace dlcore::test
