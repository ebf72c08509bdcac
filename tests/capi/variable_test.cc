// SPDX-License-Identifier: Apache-2.0
// dlcore/variable.h: cells that are read, assigned and added to, from one thread or several.
#include <atomic>
#include <thread>

#include "support.h"

namespace dlcore::test {
namespace {

class VariableTest : public ApiTest {
 protected:
  dlcore_variable* variable(const Shape& shape, const Doubles& values, uint64_t flags = 1) {
    return dlcore_variable_create(ctx_, "v", f32(shape, values), flags);
  }
  static Doubles read_on(dlcore_context* ctx, dlcore_tensor* t) {
    std::vector<float> values(static_cast<size_t>(std::max<int64_t>(dlcore_tensor_count(t), 0)));
    EXPECT_EQ(dlcore_tensor_read_f32(ctx, t, values.data(), static_cast<int64_t>(values.size())),
              DLCORE_OK)
        << dlcore_context_error_message(ctx);
    return {values.begin(), values.end()};
  }
};

TEST_F(VariableTest, HoldsWhatItIsGiven) {
  dlcore_variable* v = variable({2}, {1, 2});
  EXPECT_STREQ(dlcore_variable_name(v), "v");
  EXPECT_EQ(dlcore_variable_is_trainable(v), 1);
  EXPECT_EQ(read(v), (Doubles{1, 2}));
  EXPECT_EQ(dlcore_variable_assign(ctx_, v, f32({2}, {3, 4})), DLCORE_OK);
  EXPECT_EQ(read(v), (Doubles{3, 4}));
  EXPECT_EQ(dlcore_variable_accumulate(ctx_, v, f32({2}, {10, 20})), DLCORE_OK);
  EXPECT_EQ(read(v), (Doubles{13, 24}));
  EXPECT_EQ(dlcore_variable_assign(ctx_, v, dlcore_variable_read(ctx_, v)), DLCORE_OK);
  EXPECT_EQ(read(v), (Doubles{13, 24}));
}

TEST_F(VariableTest, DtypeAndShapeNeverChange) {
  dlcore_variable* v = variable({2}, {1, 2});
  for (dlcore_tensor* wrong : {f64({2}, {1, 2}), f32({3}, {1, 2, 3}), f32({2, 1}, {1, 2}),
                               f32({}, {1}), i64({2}, {1, 2})}) {
    EXPECT_EQ(dlcore_variable_assign(ctx_, v, wrong), DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "'v' holds f32 [2]");
    EXPECT_EQ(dlcore_variable_accumulate(ctx_, v, wrong), DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "variable_accumulate");
    EXPECT_EQ(dlcore_variable_set_gradient(ctx_, v, wrong), DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "variable_set_gradient");
  }
  EXPECT_EQ(read(v), (Doubles{1, 2}));
}

TEST_F(VariableTest, EveryDtypeCanBeHeldAndFloatsBeTrained) {
  for (dlcore_dtype d = DLCORE_BOOL; d <= DLCORE_F64; ++d) {
    dlcore_tensor* x = tensor(d, {2}, {0, 1});
    dlcore_variable* v = dlcore_variable_create(ctx_, "x", x, 0);
    EXPECT_EQ(read(v), (Doubles{0, 1}));
    EXPECT_EQ(dlcore_variable_is_trainable(v), 0);
    const bool floating = d >= DLCORE_F16;
    EXPECT_EQ(dlcore_variable_create(ctx_, "x", x, 1) != nullptr, floating);
    dlcore_context_clear_error(ctx_);
    EXPECT_EQ(dlcore_variable_set_trainable(ctx_, v, 1) == DLCORE_OK, floating);
    dlcore_context_clear_error(ctx_);
  }
}

TEST_F(VariableTest, ArgumentsAreChecked) {
  dlcore_tensor* x = f32({1}, {1});
  EXPECT_EQ(dlcore_variable_create(ctx_, nullptr, x, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "name is NULL");
  EXPECT_EQ(dlcore_variable_create(ctx_, "v", nullptr, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "value is NULL");
  EXPECT_EQ(dlcore_variable_create(ctx_, "v", dlcore_tensor_none(), 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "tensor_none()");
  EXPECT_EQ(dlcore_variable_create(ctx_, "v", x, 2), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "flags");
  EXPECT_EQ(dlcore_variable_read(ctx_, nullptr), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "NULL");
  EXPECT_EQ(dlcore_variable_is_trainable(nullptr), -1);
  EXPECT_EQ(dlcore_variable_name(nullptr), nullptr);
}

TEST_F(VariableTest, AssigningForgetsTheHistoryAndWhatIsWeak) {
  dlcore_tensor* x = dlcore_autograd_watch(ctx_, f64({}, {2}));
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", dlcore_square(ctx_, x), 0);
  EXPECT_EQ(dlcore_variable_assign(ctx_, v, dlcore_exp(ctx_, x)), DLCORE_OK);
  EXPECT_EQ(dlcore_backward(ctx_, dlcore_variable_read(ctx_, v)), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "history");
  EXPECT_EQ(dlcore_variable_assign(ctx_, v, dlcore_tensor_weak_f64(ctx_, 3)), DLCORE_OK);
  dlcore_tensor_description d;
  d.struct_size = sizeof d;
  EXPECT_EQ(dlcore_tensor_describe(ctx_, dlcore_variable_read(ctx_, v), &d), DLCORE_OK);
  EXPECT_EQ(d.is_weak, 0);
}

TEST_F(VariableTest, WhatWasReadDoesNotChangeWhenTheVariableDoes) {
  dlcore_variable* v = variable({100}, Doubles(100, 1.0));
  dlcore_tensor* before = dlcore_variable_read(ctx_, v);
  dlcore_optimizer* sgd =
      dlcore_optimizer_create(ctx_, dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPTIMIZERS, "SGD"),
                              nullptr, 0, Words().f(0.5).data(), 1);
  EXPECT_EQ(dlcore_optimizer_add_group(ctx_, sgd, &v, 1, nullptr, 0), DLCORE_OK);
  for (int step = 1; step <= 3; ++step) {
    EXPECT_EQ(dlcore_variable_set_gradient(ctx_, v, f32({100}, Doubles(100, 1.0))), DLCORE_OK);
    EXPECT_EQ(dlcore_optimizer_step(ctx_, sgd), DLCORE_OK);
    EXPECT_EQ(read(v), Doubles(100, 1 - 0.5 * step));
    EXPECT_EQ(read(before), Doubles(100, 1.0));
  }
  EXPECT_EQ(dlcore_variable_accumulate(ctx_, v, f32({100}, Doubles(100, 5.0))), DLCORE_OK);
  EXPECT_EQ(read(before), Doubles(100, 1.0));
}

TEST_F(VariableTest, NorDoesWhatWasAssigned) {
  dlcore_tensor* x = f32({100}, Doubles(100, 1.0));
  dlcore_variable* a = dlcore_variable_create(ctx_, "a", x, 1);
  dlcore_variable* b = dlcore_variable_create(ctx_, "b", x, 1);
  dlcore_optimizer* sgd =
      dlcore_optimizer_create(ctx_, dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPTIMIZERS, "SGD"),
                              nullptr, 0, Words().f(1).data(), 1);
  EXPECT_EQ(dlcore_optimizer_add_group(ctx_, sgd, &a, 1, nullptr, 0), DLCORE_OK);
  EXPECT_EQ(dlcore_variable_set_gradient(ctx_, a, x), DLCORE_OK);
  dlcore_tensor_release(x);
  EXPECT_EQ(dlcore_optimizer_step(ctx_, sgd), DLCORE_OK);
  EXPECT_EQ(read(a), Doubles(100, 0.0));
  EXPECT_EQ(read(b), Doubles(100, 1.0));
}

TEST_F(VariableTest, FourThreadsAccumulate) {
  for (int64_t n : {int64_t{1}, int64_t{1000}}) {
    const auto count = static_cast<size_t>(n);
    dlcore_variable* v = variable({n}, Doubles(count, 0.0));
    std::vector<std::thread> threads;
    for (uint64_t k = 0; k < 4; ++k) {
      threads.emplace_back([&, k] {
        dlcore_context* ctx = open(k);
        const std::vector<float> ones(count, 1.0f);
        dlcore_tensor* one = dlcore_tensor_f32(ctx, &n, 1, ones.data(), n);
        for (int i = 0; i < 250; ++i) {
          EXPECT_EQ(dlcore_variable_accumulate(ctx, v, one), DLCORE_OK);
        }
        dlcore_context_close(ctx);
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(read(v), Doubles(count, 1000.0));
  }
}

TEST_F(VariableTest, ThreadsReadTheSameLeafIntoScopesOfTheirOwn) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 200; ++round) {
    dlcore_variable* v = variable({50}, Doubles(50, 2.0));
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (uint64_t k = 0; k < kThreads; ++k) {
      threads.emplace_back([&, k] {
        dlcore_context* ctx = open(k);
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        for (int i = 0; i < 5; ++i) {
          dlcore_scope* scope = dlcore_scope_open(ctx);
          dlcore_tensor* x = dlcore_variable_read(ctx, v);
          EXPECT_EQ(read_on(ctx, x), Doubles(50, 2.0));
          dlcore_variable_gradient(ctx, v);
          EXPECT_EQ(dlcore_backward(ctx, dlcore_sum(ctx, dlcore_square(ctx, x))), DLCORE_OK);
          EXPECT_NE(dlcore_variable_gradient(ctx, v), nullptr);
          dlcore_scope_close(ctx, scope);
        }
        dlcore_context_close(ctx);
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(read(dlcore_variable_gradient(ctx_, v)), Doubles(50, 4.0 * 5 * kThreads));
    dlcore_variable_release(v);
    if (HasFailure()) break;
  }
}

TEST_F(VariableTest, ReadersSeeWholeValues) {
  dlcore_variable* v = variable({4096}, Doubles(4096, 0.0), 0);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    dlcore_context* ctx = open(1);
    const int64_t shape[] = {4096};
    for (int i = 1; i <= 200; ++i) {
      dlcore_scope* scope = dlcore_scope_open(ctx);
      const std::vector<float> values(4096, static_cast<float>(i));
      EXPECT_EQ(
          dlcore_variable_assign(ctx, v, dlcore_tensor_f32(ctx, shape, 1, values.data(), 4096)),
          DLCORE_OK);
      dlcore_scope_close(ctx, scope);
    }
    dlcore_context_close(ctx);
    done = true;
  });
  while (!done) {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    const Doubles values = read(v);
    EXPECT_EQ(values, Doubles(4096, values[0]));
    dlcore_scope_close(ctx_, scope);
  }
  writer.join();
}

TEST_F(VariableTest, AGradientIsAValueLikeAnyOther) {
  dlcore_variable* v = variable({2}, {1, 2});
  EXPECT_EQ(dlcore_variable_set_gradient(ctx_, v, f32({2}, {5, 6})), DLCORE_OK);
  dlcore_tensor* g = dlcore_variable_gradient(ctx_, v);
  EXPECT_EQ(dlcore_variable_set_gradient(ctx_, v, nullptr), DLCORE_OK);
  EXPECT_EQ(read(g), (Doubles{5, 6}));
  EXPECT_EQ(dlcore_variable_gradient(ctx_, v), nullptr);
  expect_ok();
}

}  // namespace
}  // namespace dlcore::test
