// SPDX-License-Identifier: Apache-2.0
// dlcore/engine.h: options, limits, statistics, several engines, and what is left after closing.
#include <atomic>
#include <thread>

#include "support.h"

namespace dlcore::test {
namespace {

class EngineTest : public ApiTest {
 protected:
  static dlcore_engine_options options_with(int32_t threads, int32_t isa = forced_isa) {
    dlcore_engine_options options;
    dlcore_engine_options_init(&options, sizeof options);
    options.threads = threads;
    options.isa = isa;
    return options;
  }
  static dlcore_engine* engine_with(int32_t threads, int32_t isa = forced_isa) {
    const dlcore_engine_options options = options_with(threads, isa);
    return dlcore_engine_open(&options, nullptr);
  }
  static dlcore_engine_statistics statistics_of(dlcore_engine* engine) {
    dlcore_engine_statistics s;
    s.struct_size = sizeof s;
    EXPECT_EQ(dlcore_engine_get_statistics(engine, &s), DLCORE_OK);
    return s;
  }
  void expect_refused(const dlcore_engine_options& options, dlcore_status code) {
    dlcore_error* error = nullptr;
    EXPECT_EQ(dlcore_engine_open(&options, nullptr), nullptr);  // nobody asks why
    EXPECT_EQ(dlcore_engine_open(&options, &error), nullptr);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(dlcore_error_code(error), code) << dlcore_error_message(error);
    dlcore_error_release(error);
  }
};

TEST_F(EngineTest, OptionsAreChecked) {
  for (int32_t threads : {-1, INT32_MIN, 1 << 20}) {
    expect_refused(options_with(threads), DLCORE_INVALID_ARGUMENT);
  }
  for (int32_t isa : {-1, 5}) expect_refused(options_with(1, isa), DLCORE_INVALID_ARGUMENT);
  expect_refused({}, DLCORE_INVALID_ARGUMENT);  // without a size
}

TEST_F(EngineTest, AnErrorThatIsAskedForIsNullOnSuccess) {
  auto* error = reinterpret_cast<dlcore_error*>(this);
  dlcore_engine* engine = dlcore_engine_open(nullptr, &error);
  EXPECT_NE(engine, nullptr);
  EXPECT_EQ(error, nullptr);
  dlcore_engine_close(engine);
}

TEST_F(EngineTest, ShorterOptionsMeanDefaultsForTheRest) {
  dlcore_engine_options options;
  std::memset(&options, 0xff, sizeof options);
  options.struct_size = offsetof(dlcore_engine_options, threads) + sizeof options.threads;
  options.threads = 3;
  dlcore_engine* engine = dlcore_engine_open(&options, nullptr);
  ASSERT_NE(engine, nullptr);
  const bool threads = std::strstr(dlcore_build_info(), "threads none") == nullptr;
  EXPECT_EQ(statistics_of(engine).threads, threads ? 3 : 1);
  EXPECT_EQ(statistics_of(engine).memory_limit, 0u);
  dlcore_engine_close(engine);

  std::memset(&options, 0xff, sizeof options);
  dlcore_engine_options_init(&options, 8);  // writes 8 bytes and no more
  EXPECT_EQ(options.struct_size, 8u);
  EXPECT_EQ(options.isa, -1);
  dlcore_engine_options_init(nullptr, sizeof options);
}

TEST_F(EngineTest, InstructionSetsArePinnedOrUnavailable) {
  for (int32_t isa = DLCORE_ISA_BASELINE; isa <= DLCORE_ISA_AVX512_BF16; ++isa) {
    dlcore_engine* engine = engine_with(1, isa);
    if (engine == nullptr) {
      EXPECT_NE(isa, DLCORE_ISA_BASELINE);
      expect_refused(options_with(1, isa), DLCORE_UNAVAILABLE);
      continue;
    }
    EXPECT_EQ(statistics_of(engine).isa, isa);
    dlcore_engine_close(engine);
  }
  EXPECT_GE(statistics().isa, DLCORE_ISA_BASELINE);
}

TEST_F(EngineTest, AMemoryLimitHolds) {
  dlcore_engine_options options = options_with(1);
  options.memory_limit = 1 << 20;
  dlcore_engine* engine = dlcore_engine_open(&options, nullptr);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  const std::vector<float> data(1 << 18);
  const int64_t half[] = {1 << 17}, whole[] = {1 << 18}, small[] = {1024};
  dlcore_tensor* first = dlcore_tensor_f32(ctx, half, 1, data.data(), 1 << 17);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(dlcore_tensor_f32(ctx, whole, 1, data.data(), 1 << 18), nullptr);
  EXPECT_EQ(dlcore_context_status(ctx), DLCORE_RESOURCE_EXHAUSTED);
  EXPECT_NE(std::string(dlcore_context_error_message(ctx)).find("1 MiB limit"), std::string::npos);
  dlcore_context_clear_error(ctx);
  EXPECT_NE(dlcore_tensor_f32(ctx, small, 1, data.data(), 1024), nullptr);
  dlcore_tensor_release(first);
  EXPECT_EQ(dlcore_tensor_f32(ctx, whole, 1, data.data(), 1 << 18), nullptr);
  dlcore_context_close(ctx);
  EXPECT_EQ(statistics_of(engine).live_bytes, 0u);
  dlcore_engine_close(engine);
}

TEST_F(EngineTest, StatisticsCountWhatIsAlive) {
  const dlcore_engine_statistics before = statistics();
  dlcore_tensor* kept = f32({64, 64}, Doubles(4096, 1.0));
  f32({2}, {1, 2});
  dlcore_variable* v =
      dlcore_variable_create(ctx_, "v", f32({64}, Doubles(64)), DLCORE_VARIABLE_TRAINABLE);
  dlcore_context* second = open(1);
  const dlcore_engine_statistics during = statistics();
  EXPECT_GE(during.live_tensors, before.live_tensors + 3);
  EXPECT_EQ(during.live_variables, before.live_variables + 1);
  EXPECT_EQ(during.live_contexts, before.live_contexts + 1);
  EXPECT_GE(during.live_bytes, before.live_bytes + 4096 * 4 + 64 * 4);
  EXPECT_GE(during.peak_bytes, during.live_bytes);
  EXPECT_GT(during.allocations, before.allocations);
  dlcore_context_close(second);
  dlcore_variable_release(v);
  dlcore_tensor_release(kept);
  const dlcore_engine_statistics after = statistics();
  EXPECT_EQ(after.live_variables, before.live_variables);
  EXPECT_EQ(after.live_contexts, before.live_contexts);
  EXPECT_GT(after.cached_bytes, 0u);
  dlcore_engine_trim(engine_);
  EXPECT_EQ(statistics().cached_bytes, 0u);
}

TEST_F(EngineTest, StatisticsFillWhatFits) {
  struct {
    dlcore_engine_statistics s;
    char guard[8];
  } room;
  std::memset(&room, 0x5a, sizeof room);
  room.s.struct_size = offsetof(dlcore_engine_statistics, isa);
  EXPECT_EQ(dlcore_engine_get_statistics(engine_, &room.s), DLCORE_OK);
  EXPECT_GE(room.s.threads, 1);
  EXPECT_EQ(room.s.isa, 0x5a5a5a5a);
  room.s.struct_size = sizeof room;  // a program compiled against a newer header
  EXPECT_EQ(dlcore_engine_get_statistics(engine_, &room.s), DLCORE_OK);
  EXPECT_EQ(room.guard[0], 0x5a);
  room.s.struct_size = 3;
  EXPECT_EQ(dlcore_engine_get_statistics(engine_, &room.s), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_engine_get_statistics(engine_, nullptr), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_engine_get_statistics(nullptr, &room.s), DLCORE_INVALID_ARGUMENT);
}

TEST_F(EngineTest, DevicesAreListed) {
  EXPECT_EQ(dlcore_engine_device_count(engine_), 1);
  EXPECT_STREQ(dlcore_engine_device_name(engine_, 0), "cpu");
  EXPECT_EQ(dlcore_engine_device_name(engine_, 1), nullptr);
  EXPECT_EQ(dlcore_engine_device_name(engine_, -1), nullptr);
}

TEST_F(EngineTest, EnginesShareNothing) {
  dlcore_engine* other = open_engine();
  dlcore_context* there = dlcore_context_open(other, "cpu", 0, 0, nullptr);
  dlcore_tensor* here = f32({100}, Doubles(100, 2.0));
  EXPECT_EQ(statistics_of(other).live_bytes, 0u);
  EXPECT_EQ(dlcore_relu(there, here), nullptr);
  EXPECT_EQ(dlcore_context_status(there), DLCORE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(dlcore_context_error_message(there)).find("another engine"),
            std::string::npos);
  dlcore_context_clear_error(there);
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", here, 0);
  EXPECT_EQ(dlcore_variable_read(there, v), nullptr);
  EXPECT_EQ(dlcore_context_status(there), DLCORE_INVALID_ARGUMENT);
  dlcore_context_close(there);
  dlcore_engine_close(other);
  EXPECT_EQ(read(dlcore_relu(ctx_, here)), Doubles(100, 2.0));
}

TEST_F(EngineTest, WhatIsHeldAfterClosingCanBeReadAndReleased) {
  dlcore_engine* engine = engine_with(2);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  const int64_t shape[] = {2, 20};
  const std::vector<float> data(40, 3.0f);
  dlcore_tensor* x = dlcore_tensor_f32(ctx, shape, 2, data.data(), 40);
  const int64_t axes[] = {1, 0};
  dlcore_tensor* y = dlcore_permute_dims(ctx, x, axes, 2);
  dlcore_module* model = dlcore_linear_layer(ctx, 20, 3);
  dlcore_scope* scope = dlcore_scope_open(ctx);
  dlcore_engine_close(engine);

  std::vector<float> back(40);
  EXPECT_EQ(dlcore_tensor_read_f32(ctx, y, back.data(), 40), DLCORE_OK);
  EXPECT_EQ(back, data);
  EXPECT_EQ(dlcore_tensor_rank(y), 2);
  EXPECT_EQ(dlcore_exp(ctx, y), nullptr);
  EXPECT_EQ(dlcore_context_status(ctx), DLCORE_FAILED_PRECONDITION);
  dlcore_context_clear_error(ctx);
  EXPECT_EQ(dlcore_module_call(ctx, model, x), nullptr);
  EXPECT_EQ(dlcore_context_status(ctx), DLCORE_FAILED_PRECONDITION);
  dlcore_context_clear_error(ctx);
  dlcore_error* error = nullptr;
  EXPECT_EQ(dlcore_context_open(engine, "cpu", 0, 0, &error), nullptr);
  EXPECT_EQ(dlcore_error_code(error), DLCORE_FAILED_PRECONDITION);
  dlcore_error_release(error);
  dlcore_scope_close(ctx, scope);
  dlcore_engine_close(engine);
  dlcore_engine_release(engine);
  dlcore_module_release(model);
  dlcore_tensor_release(x);
  EXPECT_EQ(dlcore_context_status(ctx), DLCORE_OK);
  dlcore_context_close(ctx);
  EXPECT_EQ(dlcore_tensor_rank(y), -1);
  EXPECT_EQ(dlcore_engine_device_count(engine), 0);  // nobody holds it any more
}

TEST_F(EngineTest, AReferenceKeepsItOpen) {
  dlcore_engine* engine = engine_with(1);
  dlcore_engine_retain(engine);
  dlcore_engine_release(engine);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  EXPECT_NE(ctx, nullptr);
  EXPECT_EQ(dlcore_context_engine(ctx), engine);
  dlcore_engine_release(engine);
  EXPECT_NE(dlcore_tensor_scalar_f32(ctx, 1), nullptr);
  dlcore_context_close(ctx);
}

TEST_F(EngineTest, OpeningAndClosingAgainAndAgainReachesAPlateau) {
  for (int i = 0; i < 200; ++i) {
    dlcore_engine* engine = engine_with(2);
    dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
    dlcore_tensor* x = dlcore_tensor_scalar_f32(ctx, 1);
    EXPECT_NE(dlcore_exp(ctx, x), nullptr);
    if (i % 2 == 0) dlcore_context_close(ctx);
    dlcore_engine_close(engine);
    if (i % 2 != 0) dlcore_context_close(ctx);
  }
}

TEST_F(EngineTest, ClosingDuringRunsEndsThem) {
  for (int round = 0; round < 20; ++round) {
    dlcore_engine* engine = engine_with(2);
    std::atomic<int> running{0};
    std::vector<std::thread> callers;
    for (int k = 0; k < 3; ++k) {
      callers.emplace_back([&] {
        dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
        const int64_t shape[] = {150, 150};
        dlcore_tensor* x = dlcore_full(ctx, shape, 2, 0.5);
        ++running;
        dlcore_scope* scope = dlcore_scope_open(ctx);
        while (dlcore_sum(ctx, dlcore_exp(ctx, dlcore_matmul(ctx, x, x))) != nullptr) {
          dlcore_scope_reset(ctx, scope);
        }
        EXPECT_EQ(dlcore_context_status(ctx), DLCORE_FAILED_PRECONDITION)
            << dlcore_context_error_message(ctx);
        dlcore_context_close(ctx);
      });
    }
    while (running < 3) std::this_thread::yield();
    dlcore_engine_close(engine);
    for (std::thread& t : callers) t.join();
  }
}

TEST_F(EngineTest, VersionsAndNames) {
  EXPECT_EQ(dlcore_version(), DLCORE_VERSION);
  EXPECT_EQ(dlcore_require(DLCORE_VERSION), 1);
  EXPECT_EQ(dlcore_require(DLCORE_VERSION + 1), 0);
  EXPECT_EQ(dlcore_require(DLCORE_VERSION + 1000000), 0);
  EXPECT_NE(std::strlen(dlcore_build_info()), 0u);
  EXPECT_STREQ(dlcore_status_name(3), "INVALID_ARGUMENT");
  EXPECT_STREQ(dlcore_status_name(17), "UNKNOWN");
  EXPECT_STREQ(dlcore_status_name(-1), "UNKNOWN");
  for (dlcore_dtype d = DLCORE_BOOL; d <= DLCORE_F64; ++d) {
    EXPECT_EQ(dlcore_dtype_by_name(dlcore_dtype_name(d)), d);
    EXPECT_GT(dlcore_dtype_size(d), 0u);
  }
  for (dlcore_dtype d : {-1, 0, 11, 1 << 30}) {
    EXPECT_EQ(dlcore_dtype_name(d), nullptr);
    EXPECT_EQ(dlcore_dtype_size(d), 0u);
  }
  EXPECT_EQ(dlcore_dtype_by_name("f128"), DLCORE_DTYPE_NONE);
  EXPECT_EQ(dlcore_dtype_by_name(nullptr), DLCORE_DTYPE_NONE);
}

}  // namespace
}  // namespace dlcore::test
