// SPDX-License-Identifier: Apache-2.0
// dlcore_engine_open_with_allocator: memory of tensors from functions of the program.
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "support.h"

namespace dlcore::test {
namespace {

// A heap that notes every block, and fails when told to.
class Heap {
 public:
  static void* allocate(void* self, uint64_t bytes, uint64_t alignment) {
    return static_cast<Heap*>(self)->take(bytes, alignment);
  }
  static void deallocate(void* self, void* address, uint64_t bytes) {
    static_cast<Heap*>(self)->give_back(address, bytes);
  }
  static void destroy(void* self) {
    auto* heap = static_cast<Heap*>(self);
    EXPECT_TRUE(heap->blocks_.empty());
    ++heap->destroyed;
  }

  uint64_t live_bytes() {
    const std::lock_guard guard(lock_);
    uint64_t sum = 0;
    for (const auto& [address, bytes] : blocks_) sum += bytes;
    return sum;
  }

  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> destroyed{0};
  std::atomic<int64_t> fail_after{-1};  // this many more succeed; -1 for all
  std::atomic<uint64_t> offset{0};      // that addresses are out of line by

 private:
  void* take(uint64_t bytes, uint64_t alignment) {
    ++calls;
    EXPECT_EQ(alignment, 64u);
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(bytes % alignment, 0u);
    if (fail_after == 0) return nullptr;
    if (fail_after > 0) --fail_after;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, bytes + alignment));
    const std::lock_guard guard(lock_);
    blocks_[memory + offset] = bytes;
    return memory + offset;
  }
  void give_back(void* address, uint64_t bytes) {
    const std::lock_guard guard(lock_);
    const auto found = blocks_.find(static_cast<std::byte*>(address));
    ASSERT_NE(found, blocks_.end()) << "a foreign address, or one twice";
    EXPECT_EQ(found->second, bytes);
    std::free(found->first - offset);
    blocks_.erase(found);
  }

  std::mutex lock_;
  std::map<std::byte*, uint64_t> blocks_;
};

class AllocatorTest : public ApiTest {
 protected:
  static dlcore_engine* open_on(Heap& heap) {
    const dlcore_engine_options options = engine_options();
    dlcore_error* error = nullptr;
    dlcore_engine* engine = dlcore_engine_open_with_allocator(
        &options, Heap::allocate, Heap::deallocate, &heap, Heap::destroy, &error);
    EXPECT_NE(engine, nullptr) << dlcore_error_message(error);
    dlcore_error_release(error);
    return engine;
  }
  static dlcore_tensor* ones(dlcore_context* ctx, int64_t n) {
    return dlcore_full(ctx, &n, 1, 1.0);
  }
  // One step of a small model; its loss.
  static float step(dlcore_context* ctx, dlcore_module* model, dlcore_optimizer* adam) {
    const int64_t shape[] = {32, 40}, labels[] = {32};
    dlcore_scope* scope = dlcore_scope_open(ctx);
    dlcore_tensor* x = dlcore_random_uniform(ctx, shape, 2);
    dlcore_tensor* y = dlcore_random_integers(ctx, labels, 1, 0, 10);
    dlcore_tensor* loss = dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y);
    dlcore_backward(ctx, loss);
    dlcore_optimizer_step(ctx, adam);
    float value = -1;
    dlcore_tensor_read_f32(ctx, loss, &value, 1);
    dlcore_scope_close(ctx, scope);
    return value;
  }
};

TEST_F(AllocatorTest, AllMemoryOfTensorsComesFromItAndGoesBack) {
  Heap heap;
  dlcore_engine* engine = open_on(heap);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  for (int64_t n : {17, 100, 1000, 65, 1 << 20}) {
    dlcore_tensor* y = dlcore_exp(ctx, ones(ctx, n));
    ASSERT_NE(y, nullptr);
    EXPECT_GE(heap.live_bytes(), static_cast<uint64_t>(2 * 4 * n));
    dlcore_engine_statistics s;
    s.struct_size = sizeof s;
    dlcore_engine_get_statistics(engine, &s);
    EXPECT_EQ(heap.live_bytes(), s.live_bytes + s.cached_bytes);
  }
  dlcore_context_close(ctx);
  dlcore_engine_trim(engine);
  EXPECT_EQ(heap.live_bytes(), 0u);
  EXPECT_EQ(heap.destroyed, 0);
  dlcore_engine_close(engine);
  EXPECT_EQ(heap.destroyed, 1);
}

TEST_F(AllocatorTest, ItOutlivesWhatIsHeldAfterClosing) {
  Heap heap;
  dlcore_engine* engine = open_on(heap);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, DLCORE_CONTEXT_MANUAL, nullptr);
  dlcore_tensor* x = ones(ctx, 100);
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
  EXPECT_EQ(heap.destroyed, 0);
  EXPECT_GT(heap.live_bytes(), 0u);
  dlcore_tensor_release(x);
  EXPECT_EQ(heap.live_bytes(), 0u);
  EXPECT_EQ(heap.destroyed, 1);
}

TEST_F(AllocatorTest, NoMemoryIsAnErrorAndEverythingStaysUsable) {
  Heap heap;
  dlcore_engine* engine = open_on(heap);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  dlcore_tensor* x = ones(ctx, 1000);
  ASSERT_NE(x, nullptr);
  heap.fail_after = 0;
  EXPECT_EQ(dlcore_exp(ctx, ones(ctx, 1 << 20)), nullptr);
  EXPECT_EQ(dlcore_context_status(ctx), DLCORE_RESOURCE_EXHAUSTED);
  EXPECT_NE(std::string(dlcore_context_error_message(ctx)).find("4194304 bytes"), std::string::npos)
      << dlcore_context_error_message(ctx);
  dlcore_context_clear_error(ctx);
  heap.fail_after = -1;
  float sum = 0;
  dlcore_tensor_read_f32(ctx, dlcore_sum(ctx, x), &sum, 1);
  EXPECT_EQ(sum, 1000);
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
  EXPECT_EQ(heap.destroyed, 1);
}

// What is kept for reuse goes back before a request is given up.
TEST_F(AllocatorTest, IsAskedAgainOnceTheCacheIsBack) {
  Heap heap;
  dlcore_engine* engine = open_on(heap);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  dlcore_tensor_release(ones(ctx, 1 << 18));
  EXPECT_GT(heap.live_bytes(), 0u);
  const int64_t before = heap.calls;
  heap.fail_after = 0;
  EXPECT_EQ(ones(ctx, 1 << 19), nullptr);
  EXPECT_EQ(heap.calls, before + 2);
  EXPECT_EQ(heap.live_bytes(), 0u);
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
}

// Wherever a training step fails for want of memory, the next one trains on as if it had not been.
TEST_F(AllocatorTest, AFailureAtAnyAllocationOfATrainingStepIsOnlyThat) {
  Heap heap;
  dlcore_engine* engine = open_on(heap);
  int64_t failures = 0;
  for (int64_t n = 0;; ++n) {
    dlcore_context* ctx = dlcore_context_open(engine, "cpu", 9, 0, nullptr);
    dlcore_module* layers[] = {dlcore_linear_layer(ctx, 40, 30), dlcore_relu_layer(ctx),
                               dlcore_linear_layer(ctx, 30, 10)};
    dlcore_module* model = dlcore_sequential(ctx, layers, 3);
    dlcore_optimizer* adam = dlcore_adam(ctx, model, 1e-3);
    dlcore_engine_trim(engine);
    heap.fail_after = n;
    step(ctx, model, adam);
    heap.fail_after = -1;
    const bool failed = !dlcore_ok(ctx);
    if (failed) {
      EXPECT_EQ(dlcore_context_status(ctx), DLCORE_RESOURCE_EXHAUSTED)
          << n << ": " << dlcore_context_error_message(ctx);
      dlcore_context_clear_error(ctx);
      dlcore_optimizer_zero_gradients(ctx, adam);
      ++failures;
    }
    const float loss = step(ctx, model, adam);
    EXPECT_TRUE(dlcore_ok(ctx)) << n << ": " << dlcore_context_error_message(ctx);
    EXPECT_TRUE(loss > 2.0f && loss < 2.8f) << n << ": " << loss;  // ln 10 = 2.303
    dlcore_context_close(ctx);
    if (!failed) break;
  }
  EXPECT_GT(failures, 10);
  dlcore_engine_close(engine);
  EXPECT_EQ(heap.destroyed, 1);
}

TEST_F(AllocatorTest, MisalignedMemoryIsRefusedAndGoesBack) {
  Heap heap;
  dlcore_engine* engine = open_on(heap);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  heap.offset = 16;
  EXPECT_EQ(ones(ctx, 1000), nullptr);
  EXPECT_EQ(dlcore_context_status(ctx), DLCORE_FAILED_PRECONDITION);
  EXPECT_NE(std::string(dlcore_context_error_message(ctx)).find("expected a multiple of 64"),
            std::string::npos)
      << dlcore_context_error_message(ctx);
  EXPECT_EQ(heap.live_bytes(), 0u);
  heap.offset = 0;
  dlcore_context_clear_error(ctx);
  EXPECT_NE(ones(ctx, 1000), nullptr);
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
  EXPECT_EQ(heap.destroyed, 1);
}

TEST_F(AllocatorTest, DestroyRunsOnceAlsoWhenOpeningFails) {
  const auto refused = [](dlcore_engine_options options, dlcore_allocate_fn allocate,
                          dlcore_deallocate_fn deallocate, dlcore_status code) {
    Heap heap;
    dlcore_error* error = nullptr;
    EXPECT_EQ(dlcore_engine_open_with_allocator(&options, allocate, deallocate, &heap,
                                                Heap::destroy, &error),
              nullptr);
    EXPECT_EQ(dlcore_error_code(error), code) << dlcore_error_message(error);
    dlcore_error_release(error);
    EXPECT_EQ(heap.destroyed, 1);
    EXPECT_EQ(heap.calls, 0);
  };
  dlcore_engine_options options = engine_options();
  refused(options, nullptr, Heap::deallocate, DLCORE_INVALID_ARGUMENT);
  refused(options, Heap::allocate, nullptr, DLCORE_INVALID_ARGUMENT);
  options.threads = -1;
  refused(options, Heap::allocate, Heap::deallocate, DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_engine_open_with_allocator(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
            nullptr);
}

TEST_F(AllocatorTest, WorksWithoutUserDataOptionsAndDestroy) {
  dlcore_engine* engine = dlcore_engine_open_with_allocator(
      nullptr, [](void*, uint64_t bytes, uint64_t to) { return std::aligned_alloc(to, bytes); },
      [](void*, void* address, uint64_t) { std::free(address); }, nullptr, nullptr, nullptr);
  ASSERT_NE(engine, nullptr);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  EXPECT_NE(dlcore_exp(ctx, ones(ctx, 1000)), nullptr);
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
}

TEST_F(AllocatorTest, ServesManyThreads) {
  Heap heap;
  dlcore_engine* engine = open_on(heap);
  std::vector<std::thread> callers;
  for (int k = 0; k < 4; ++k) {
    callers.emplace_back([&] {
      dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
      for (int64_t i = 0; i < 200; ++i) {
        dlcore_scope* scope = dlcore_scope_open(ctx);
        EXPECT_NE(dlcore_exp(ctx, ones(ctx, 17 + i * 37 % 5000)), nullptr);
        dlcore_scope_close(ctx, scope);
        if (i % 20 == 0) dlcore_engine_trim(engine);
      }
      dlcore_context_close(ctx);
    });
  }
  for (std::thread& caller : callers) caller.join();
  dlcore_engine_close(engine);
  EXPECT_EQ(heap.destroyed, 1);
}

}  // namespace
}  // namespace dlcore::test
