// SPDX-License-Identifier: Apache-2.0
// Contexts on several threads, each with a queue of its own, that use each other's tensors.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "plugin_support.h"

namespace dlcore::test {
namespace {

class QueuesTest : public PluginTest {
 protected:
  QueuesTest() : PluginTest(DLCORE_CONTEXT_MANUAL) {}

  static constexpr int64_t kSize = 96;

  dlcore_tensor* eye(dlcore_context* ctx, float factor) {
    std::vector<float> values(kSize * kSize, 0);
    for (int64_t i = 0; i < kSize; ++i) values[static_cast<size_t>(i * kSize + i)] = factor;
    const int64_t shape[] = {kSize, kSize};
    return dlcore_tensor_f32(ctx, shape, 2, values.data(), kSize * kSize);
  }
  static float corner(dlcore_context* ctx, dlcore_tensor* x) {
    std::vector<float> values(static_cast<size_t>(dlcore_tensor_count(x)), NAN);
    dlcore_tensor_read_f32(ctx, x, values.data(), dlcore_tensor_count(x));
    return values[0];
  }
  // x <- x y, taking over x.
  static dlcore_tensor* multiply_on(dlcore_context* ctx, dlcore_tensor* x, dlcore_tensor* y) {
    dlcore_tensor* product = dlcore_matmul(ctx, x, y);
    dlcore_tensor_release(x);
    return product;
  }
};

TEST_F(QueuesTest, AQueueWaitsForWhatItReads) {
  dlcore_context* other = open_on(engine_, kDevice, DLCORE_CONTEXT_MANUAL);
  dlcore_tensor* two = eye(ctx_, 2);
  dlcore_tensor* half = eye(other, 0.5f);
  dlcore_tensor* x = eye(ctx_, 1);
  for (int i = 0; i < 40; ++i) {  // long work in one queue, its result used at once in the other
    x = multiply_on(ctx_, x, two);
    x = multiply_on(other, x, half);
  }
  EXPECT_EQ(corner(other, x), 1);
  dlcore_tensor* const all[] = {two, half, x};
  dlcore_tensor_release_many(all, 3);
  dlcore_context_close(other);
}

TEST_F(QueuesTest, MemoryInUseIsNotHandedOutAgain) {
  dlcore_context* other = open_on(engine_, kDevice, DLCORE_CONTEXT_MANUAL);
  dlcore_tensor* x = eye(ctx_, 3);
  for (int i = 0; i < 50; ++i) {
    dlcore_tensor* slow = dlcore_matmul(ctx_, x, x);
    dlcore_tensor* sum = dlcore_add(ctx_, slow, slow);
    dlcore_tensor_release(slow);            // read by work that has not run yet
    dlcore_tensor* fresh = eye(other, -1);  // would like its memory
    EXPECT_EQ(corner(ctx_, sum), 18);
    EXPECT_EQ(corner(other, fresh), -1);
    dlcore_tensor_release(sum);
    dlcore_tensor_release(fresh);
  }
  dlcore_tensor_release(x);
  dlcore_context_close(other);
}

TEST_F(QueuesTest, TensorsOutliveTheirContext) {
  dlcore_context* other = open_on(engine_, kDevice, DLCORE_CONTEXT_MANUAL);
  dlcore_tensor* two = eye(other, 2);
  dlcore_tensor* x = dlcore_matmul(other, two, two);
  for (int i = 0; i < 10; ++i) x = multiply_on(other, x, two);
  dlcore_tensor_release(two);
  dlcore_context_close(other);  // with work in its queue
  EXPECT_EQ(corner(ctx_, x), 4096);
  dlcore_tensor_release(x);
}

TEST_F(QueuesTest, ReadersThatAreGoneAreForgotten) {
  dlcore_tensor* x = eye(ctx_, 2);
  for (int i = 0; i < 200; ++i) {
    dlcore_context* reader = open_on(engine_, kDevice, DLCORE_CONTEXT_MANUAL);
    dlcore_tensor* y = dlcore_add(reader, x, x);
    EXPECT_EQ(corner(reader, y), 4);
    dlcore_tensor_release(y);
    dlcore_context_close(reader);
  }
  size_t threads = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++threads;
  }
  EXPECT_LT(threads, 100u);
  dlcore_tensor_release(x);
}

// A ring of threads: each takes what its neighbour made, works on it, and passes it on.
TEST_F(QueuesTest, ThreadsPassTensorsOn) {
  constexpr size_t kThreads = 4;
  constexpr int kTurns = 25;
  struct Place {
    std::mutex lock;
    std::condition_variable filled;
    dlcore_tensor* tensor = nullptr;
  };
  std::vector<Place> places(kThreads);
  for (Place& place : places) place.tensor = eye(ctx_, 1);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      dlcore_context* ctx = open_on(engine_, kDevice, DLCORE_CONTEXT_MANUAL);
      dlcore_tensor* factor = eye(ctx, t % 2 == 0 ? 2.0f : 0.5f);
      for (int turn = 0; turn < kTurns; ++turn) {
        Place& from = places[t];
        std::unique_lock guard(from.lock);
        from.filled.wait(guard, [&] { return from.tensor != nullptr; });
        dlcore_tensor* x = std::exchange(from.tensor, nullptr);
        guard.unlock();
        x = multiply_on(ctx, x, factor);
        Place& to = places[(t + 1) % kThreads];
        std::unique_lock next(to.lock);
        to.filled.wait(next, [&] { return to.tensor == nullptr; });
        to.tensor = x;
        next.unlock();
        to.filled.notify_all();
        from.filled.notify_all();
      }
      dlcore_tensor_release(factor);
      if (dlcore_ok(ctx) == 0) ++failures;
      dlcore_context_close(ctx);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  double product = 1;  // every tensor met equally many factors 2 and 1/2, or one more of either
  for (Place& place : places) {
    product *= corner(ctx_, place.tensor);
    dlcore_tensor_release(place.tensor);
  }
  EXPECT_EQ(product, 1);
}

TEST_F(QueuesTest, OneModelTrainsWhileAnotherThreadReadsIt) {
  dlcore_context* ctx = open_on(engine_, kDevice);
  dlcore_module* m = dlcore_linear_layer(ctx, 64, 64);
  dlcore_optimizer* o = dlcore_adam(ctx, m, 0.01);
  std::vector<float> ones(64, 1);
  const int64_t shape[] = {1, 64};
  const auto call = [&](dlcore_context* c) {
    return dlcore_sum(c, dlcore_module_call(c, m, dlcore_tensor_f32(c, shape, 2, ones.data(), 64)));
  };
  float first = 0;
  dlcore_tensor_read_f32(ctx, call(ctx), &first, 1);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    dlcore_context* c = open_on(engine_, kDevice, DLCORE_CONTEXT_INFERENCE);
    while (!stop) {
      dlcore_scope* scope = dlcore_scope_open(c);
      float y = NAN;
      dlcore_tensor_read_f32(c, call(c), &y, 1);
      EXPECT_TRUE(std::isfinite(y));
      dlcore_scope_close(c, scope);
    }
    EXPECT_EQ(dlcore_ok(c), 1) << dlcore_context_error_message(c);
    dlcore_context_close(c);
  });
  for (int i = 0; i < 50; ++i) {
    dlcore_scope* scope = dlcore_scope_open(ctx);
    dlcore_backward(ctx, call(ctx));
    dlcore_optimizer_step(ctx, o);
    dlcore_scope_close(ctx, scope);
  }
  float last = 0;
  dlcore_tensor_read_f32(ctx, call(ctx), &last, 1);
  stop = true;
  reader.join();
  EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
  EXPECT_LT(last, first);
  dlcore_context_close(ctx);
}

}  // namespace
}  // namespace dlcore::test
