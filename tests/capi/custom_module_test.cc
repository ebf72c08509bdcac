// SPDX-License-Identifier: Apache-2.0
// dlcore/module.h: modules whose forward is a function of the program.
#include <thread>

#include "module_support.h"

namespace dlcore::test {
namespace {

// y = scale * child(x), with one child and one variable.
struct Scaled {
  int calls = 0, destroyed = 0;
  bool training = false;
  dlcore_status status = DLCORE_OK;
  bool silent = false;  // answers nothing
};

dlcore_status scaled_forward(void* data, dlcore_context* ctx, dlcore_module* self,
                             dlcore_op_call* call) {
  auto* s = static_cast<Scaled*>(data);
  ++s->calls;
  s->training = dlcore_context_is_training(ctx) == 1;
  if (s->status != DLCORE_OK) return dlcore_context_set_error(ctx, s->status, "out of ideas");
  if (s->silent) return DLCORE_OK;
  dlcore_tensor* inner =
      dlcore_module_call(ctx, dlcore_module_child(self, 0), dlcore_op_call_input(call, 0));
  dlcore_tensor* scale = dlcore_variable_read(ctx, dlcore_module_variable(ctx, self, 0));
  return dlcore_op_call_set_output(call, 0, dlcore_multiply(ctx, inner, scale));
}

class CustomModuleTest : public ModuleTest {
 protected:
  dlcore_variable* variable(const char* name, double value = 2) {
    return dlcore_variable_create(ctx_, name, f32({}, {value}), DLCORE_VARIABLE_TRAINABLE);
  }
  dlcore_module* scaled(const char* names = "inner", const char* own = "scale") {
    dlcore_module* child = linear(2, 1);
    dlcore_variable* v = variable(own);
    return dlcore_module_define(ctx_, "Scaled", &child, 1, names, &v, 1, scaled_forward, &data_,
                                [](void* d) { ++static_cast<Scaled*>(d)->destroyed; });
  }
  void set_weights(dlcore_module* m) {
    set(m, "inner.weight", {1, 2});
    set(m, "inner.bias", {3});
  }
  Scaled data_;
};

TEST_F(CustomModuleTest, IsLikeAnyOther) {
  dlcore_module* m = scaled();
  expect_ok();
  EXPECT_STREQ(dlcore_module_kind(m), "Scaled");
  EXPECT_EQ(paths(m), std::vector<std::string>({"scale", "inner.weight", "inner.bias"}));
  set_weights(m);
  EXPECT_EQ(read(call(m, f32({1, 2}, {10, 100}))), Doubles{2 * 213});
  EXPECT_TRUE(data_.training);

  dlcore_tensor* loss = dlcore_sum(ctx_, call(m, f32({1, 2}, {10, 100})));
  ASSERT_EQ(dlcore_backward(ctx_, loss), DLCORE_OK);
  EXPECT_EQ(read(dlcore_variable_gradient(ctx_, dlcore_module_find(ctx_, m, "scale"))),
            Doubles{213});
  EXPECT_EQ(read(dlcore_variable_gradient(ctx_, dlcore_module_find(ctx_, m, "inner.weight"))),
            Doubles({20, 200}));

  const std::string path = (directory_ / "scaled.safetensors").string();
  ASSERT_EQ(dlcore_module_save(ctx_, m, path.c_str()), DLCORE_OK);
  dlcore_module* copy = scaled();
  ASSERT_EQ(dlcore_module_load(ctx_, copy, path.c_str()), DLCORE_OK);
  EXPECT_EQ(read(call(copy, f32({1, 2}, {10, 100}))), Doubles{2 * 213});
}

TEST_F(CustomModuleTest, NestsInOthersAndNumbersItsChildren) {
  dlcore_module* parts[] = {scaled(nullptr), layer("ReLU", {})};
  dlcore_module* m = dlcore_sequential(ctx_, parts, 2);
  EXPECT_EQ(paths(m), std::vector<std::string>({"0.scale", "0.0.weight", "0.0.bias"}));
  EXPECT_NE(call(m, f32({1, 2}, {1, 1})), nullptr);
  EXPECT_EQ(data_.calls, 1);
}

TEST_F(CustomModuleTest, SnapshotsStayAsTheyWere) {
  dlcore_module* m = scaled();
  set_weights(m);
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, m);
  set(m, "scale", {5});
  EXPECT_EQ(read(call(frozen, f32({1, 2}, {0, 0}))), Doubles{6});
  EXPECT_FALSE(data_.training);
  EXPECT_EQ(read(call(m, f32({1, 2}, {0, 0}))), Doubles{15});
}

TEST_F(CustomModuleTest, IsCapturedLikeAnyOther) {
  dlcore_module* m = scaled();
  set_weights(m);
  const float data[] = {10, 100};
  ASSERT_EQ(dlcore_capture_begin(ctx_, "step"), DLCORE_OK);
  dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[B, 2]");
  dlcore_tensor* y = call(m, x);
  dlcore_graph* graph = dlcore_capture_end(ctx_, &y, 1);
  ASSERT_NE(graph, nullptr) << dlcore_context_error_message(ctx_);
  dlcore_executable* run = dlcore_graph_compile(ctx_, graph, nullptr, 0);
  const int64_t shape[] = {1, 2};
  dlcore_tensor* in = dlcore_tensor_f32(ctx_, shape, 2, data, 2);
  dlcore_tensor* out = nullptr;
  ASSERT_EQ(dlcore_executable_run(ctx_, run, &in, 1, &out, 1), DLCORE_OK);
  EXPECT_EQ(read(out), Doubles{2 * 213});
  EXPECT_EQ(data_.calls, 1);
}

TEST_F(CustomModuleTest, DestroyRunsWhenTheEngineCollects) {
  dlcore_module* m = scaled();
  dlcore_module* frozen = dlcore_module_snapshot(ctx_, m);
  dlcore_module_release(m);
  EXPECT_EQ(dlcore_engine_collect(engine_), 0);  // the snapshot needs it
  EXPECT_NE(call(frozen, f32({1, 2}, {0, 0})), nullptr);
  dlcore_module_release(frozen);
  EXPECT_EQ(data_.destroyed, 0);
  EXPECT_EQ(dlcore_engine_collect(engine_), 1);
  EXPECT_EQ(data_.destroyed, 1);
  EXPECT_EQ(dlcore_engine_collect(nullptr), -1);
}

TEST_F(CustomModuleTest, DestroyRunsAtTheEndOfTheEngine) {
  Scaled other;
  dlcore_engine* engine = open_engine();
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
  dlcore_module_define(ctx, "Empty", nullptr, 0, nullptr, nullptr, 0, scaled_forward, &other,
                       [](void* d) { ++static_cast<Scaled*>(d)->destroyed; });
  dlcore_context_close(ctx);
  EXPECT_EQ(other.destroyed, 0);
  dlcore_engine_close(engine);
  EXPECT_EQ(other.destroyed, 1);
}

TEST_F(CustomModuleTest, FailuresOfTheFunctionReachTheCaller) {
  dlcore_module* m = scaled();
  data_.status = DLCORE_OUT_OF_RANGE;
  EXPECT_EQ(call(m, f32({1, 2}, {0, 0})), nullptr);
  dlcore_error* error = dlcore_context_take_error(ctx_);
  EXPECT_EQ(dlcore_error_code(error), DLCORE_OUT_OF_RANGE);
  EXPECT_STREQ(dlcore_error_message(error),
               "Scaled: its forward callback failed with OUT_OF_RANGE: out of ideas");
  EXPECT_STREQ(dlcore_error_message(dlcore_error_cause(error)), "out of ideas");
  dlcore_error_release(error);
  data_.status = DLCORE_OK;
  data_.silent = true;
  EXPECT_EQ(call(m, f32({1, 2}, {0, 0})), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "Scaled: its forward callback set no output");
}

TEST_F(CustomModuleTest, RefusesWhatIsWrong) {
  const auto refused = [&](const char* part) {
    expect_error(DLCORE_INVALID_ARGUMENT, part);
    EXPECT_EQ(data_.destroyed, 1);
    data_.destroyed = 0;
  };
  EXPECT_EQ(scaled("a,b"), nullptr);
  refused("Scaled: names is 'a,b', expected 1 for 1 children");
  EXPECT_EQ(scaled("a.b"), nullptr);
  refused("'a.b' is no name");
  EXPECT_EQ(scaled("same", "same"), nullptr);
  refused("two children or variables are called 'same'");
  EXPECT_EQ(scaled("a,"), nullptr);
  refused("expected 1");
  EXPECT_EQ(
      dlcore_module_define(ctx_, "X", nullptr, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr),
      nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "forward");
  EXPECT_EQ(dlcore_module_define(ctx_, nullptr, nullptr, 0, nullptr, nullptr, 0, scaled_forward,
                                 nullptr, nullptr),
            nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "kind");
  EXPECT_EQ(dlcore_module_define(ctx_, "", nullptr, 0, nullptr, nullptr, 0, scaled_forward, nullptr,
                                 nullptr),
            nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "module_define: kind is ''");
  EXPECT_EQ(dlcore_module_define(ctx_, "X", nullptr, 1, nullptr, nullptr, 0, scaled_forward,
                                 nullptr, nullptr),
            nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "children");
  EXPECT_EQ(dlcore_module_define(nullptr, "X", nullptr, 0, nullptr, nullptr, 0, scaled_forward,
                                 nullptr, nullptr),
            nullptr);
}

// On a manual context the callback releases what it makes, and nothing is left.
TEST_F(CustomModuleTest, OnAManualContextTheCallbackReleases) {
  dlcore_context* manual = open(1, DLCORE_CONTEXT_MANUAL);
  const auto forward = [](void*, dlcore_context* ctx, dlcore_module*, dlcore_op_call* call) {
    dlcore_tensor* y = dlcore_negative(ctx, dlcore_op_call_input(call, 0));
    const dlcore_status status = dlcore_op_call_set_output(call, 0, y);
    dlcore_tensor_release(y);
    return status;
  };
  dlcore_module* m = dlcore_module_define(manual, "Negative", nullptr, 0, nullptr, nullptr, 0,
                                          forward, nullptr, nullptr);
  dlcore_tensor* x = dlcore_tensor_scalar_f32(manual, 3);
  dlcore_tensor* y = dlcore_module_call(manual, m, x);
  float value = 0;
  EXPECT_EQ(dlcore_tensor_read_f32(manual, y, &value, 1), DLCORE_OK);
  EXPECT_EQ(value, -3);
  dlcore_tensor_release(y);
  dlcore_tensor_release(x);
  dlcore_module_release(m);
  dlcore_context_close(manual);
}

// Whoever cancels the caller cancels the callback's own calls.
TEST_F(CustomModuleTest, CancellationAndDeadlineReachTheCallback) {
  const auto endless = [](void*, dlcore_context* ctx, dlcore_module*, dlcore_op_call* call) {
    while (dlcore_ok(ctx) == 1) {
      dlcore_scope* scope = dlcore_scope_open(ctx);
      dlcore_negative(ctx, dlcore_op_call_input(call, 0));
      dlcore_scope_close(ctx, scope);
    }
    return dlcore_context_status(ctx);
  };
  dlcore_module* m = dlcore_module_define(ctx_, "Endless", nullptr, 0, nullptr, nullptr, 0, endless,
                                          nullptr, nullptr);
  dlcore_context_set_deadline(ctx_, 20);
  EXPECT_EQ(call(m, f32({}, {1})), nullptr);
  expect_error(DLCORE_DEADLINE_EXCEEDED, "Endless");
  dlcore_context_set_deadline(ctx_, -1);
  dlcore_context_clear_error(ctx_);

  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    dlcore_context_cancel(ctx_);
  });
  EXPECT_EQ(call(m, f32({}, {1})), nullptr);
  other.join();
  expect_error(DLCORE_CANCELLED, "Endless");
}

}  // namespace
}  // namespace dlcore::test
