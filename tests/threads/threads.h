// SPDX-License-Identifier: Apache-2.0
// An engine for tests with threads, and a small model.
#pragma once

#include <array>
#include <functional>
#include <thread>

#include "support.h"

namespace dlcore::test {

constexpr uint64_t kSeed = 11;

inline std::vector<float> elements(dlcore_context* ctx, dlcore_tensor* t) {
  std::vector<float> all(static_cast<size_t>(std::max<int64_t>(dlcore_tensor_count(t), 0)));
  EXPECT_EQ(dlcore_tensor_read_f32(ctx, t, all.data(), static_cast<int64_t>(all.size())), DLCORE_OK)
      << dlcore_context_error_message(ctx);
  return all;
}

inline void run_threads(size_t n, const std::function<void(size_t)>& body) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < n; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// As a program would write it. Used by one thread, except for the module.
class Model {
 public:
  explicit Model(dlcore_context* ctx)
      : module_(make_module(ctx)), optimizer_(dlcore_adam(ctx, module_, 1e-2)) {}
  ~Model() {
    dlcore_optimizer_release(optimizer_);
    dlcore_module_release(module_);
  }

  static dlcore_module* make_module(dlcore_context* ctx) {
    dlcore_module* layers[] = {dlcore_linear_layer(ctx, kIn, 40), dlcore_relu_layer(ctx),
                               dlcore_linear_layer(ctx, 40, kClasses)};
    return dlcore_sequential(ctx, layers, 3);
  }
  dlcore_module* module() const { return module_; }

  dlcore_tensor* x(dlcore_context* ctx) const {
    std::array<float, kBatch * kIn> data;
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i * i % 31) / 31;
    const int64_t shape[] = {kBatch, kIn};
    return dlcore_tensor_f32(ctx, shape, 2, data.data(), kBatch * kIn);
  }
  dlcore_tensor* y(dlcore_context* ctx) const {
    std::array<int64_t, kBatch> data;
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int64_t>(i * 3) % kClasses;
    const int64_t shape[] = {kBatch};
    return dlcore_tensor_i64(ctx, shape, 1, data.data(), kBatch);
  }
  dlcore_tensor* loss(dlcore_context* ctx, dlcore_tensor* x, dlcore_tensor* y) const {
    return dlcore_cross_entropy(ctx, dlcore_module_call(ctx, module_, x), y);
  }
  float forward(dlcore_context* ctx) const { return elements(ctx, loss(ctx, x(ctx), y(ctx)))[0]; }
  float step(dlcore_context* ctx) const {
    dlcore_scope* scope = dlcore_scope_open(ctx);
    dlcore_tensor* l = loss(ctx, x(ctx), y(ctx));
    dlcore_backward(ctx, l);
    EXPECT_EQ(dlcore_optimizer_step(ctx, optimizer_), DLCORE_OK)
        << dlcore_context_error_message(ctx);
    const float value = elements(ctx, l)[0];
    dlcore_scope_close(ctx, scope);
    return value;
  }

 private:
  static constexpr int64_t kBatch = 16, kIn = 12, kClasses = 5;
  dlcore_module* module_;
  dlcore_optimizer* optimizer_;
};

class ThreadsTest : public ApiTest {
 protected:
  ThreadsTest() {
    dlcore_engine_options_init(&options_, sizeof options_);
    options_.threads = 3;  // more than one, on any machine
    dlcore_context_close(ctx_);
    dlcore_engine_close(engine_);
    engine_ = dlcore_engine_open(&options_, nullptr);
    ctx_ = open(kSeed);
  }

  // body(i, context of its own) on n threads.
  void in_threads(size_t n, const std::function<void(size_t, dlcore_context*)>& body) {
    run_threads(n, [&](size_t i) {
      dlcore_context* ctx = open(kSeed);
      body(i, ctx);
      EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
      dlcore_context_close(ctx);
    });
  }

  dlcore_engine_options options_;
};

}  // namespace dlcore::test
