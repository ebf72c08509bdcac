// SPDX-License-Identifier: Apache-2.0
// dlcore/context.h: errors that stick, modes, deadlines, seeds.
#include <chrono>
#include <thread>

#include "support.h"

namespace dlcore::test {
namespace {

class ContextTest : public ApiTest {
 protected:
  void fail_once() { EXPECT_EQ(dlcore_tensor_create(ctx_, 99, nullptr, 0, nullptr, 0), nullptr); }
};

TEST_F(ContextTest, OpeningChecksItsArguments) {
  dlcore_error* error = nullptr;
  const auto refused = [&](dlcore_context* ctx, dlcore_status code, const char* part) {
    EXPECT_EQ(ctx, nullptr);
    EXPECT_EQ(dlcore_error_code(error), code);
    EXPECT_NE(std::string(dlcore_error_message(error)).find(part), std::string::npos)
        << dlcore_error_message(error);
    dlcore_error_release(error);
    error = nullptr;
  };
  refused(dlcore_context_open(engine_, "gpu", 0, 0, &error), DLCORE_NOT_FOUND, "cpu");
  refused(dlcore_context_open(engine_, nullptr, 0, 0, &error), DLCORE_INVALID_ARGUMENT, "device");
  refused(dlcore_context_open(nullptr, "cpu", 0, 0, &error), DLCORE_INVALID_ARGUMENT, "engine");
  refused(dlcore_context_open(engine_, "cpu", 0, 4, &error), DLCORE_INVALID_ARGUMENT, "flags");
  auto* foreign = reinterpret_cast<dlcore_engine*>(ctx_);
  refused(dlcore_context_open(foreign, "cpu", 0, 0, &error), DLCORE_INVALID_ARGUMENT, "a context");
  EXPECT_STREQ(dlcore_context_device(ctx_), "cpu");
  EXPECT_EQ(dlcore_context_engine(ctx_), engine_);
}

TEST_F(ContextTest, TheFirstErrorSticksAndChainsRunOn) {
  dlcore_tensor* x = f32({2}, {1, 2});
  dlcore_tensor* bad = dlcore_add(ctx_, x, f32({3}, {1, 2, 3}));
  EXPECT_EQ(bad, nullptr);
  EXPECT_EQ(dlcore_ok(ctx_), 0);
  const std::string message = dlcore_context_error_message(ctx_);
  // Everything that follows does nothing, whatever it is given.
  EXPECT_EQ(dlcore_relu(ctx_, bad), nullptr);
  EXPECT_EQ(dlcore_matmul(ctx_, bad, nullptr), nullptr);
  EXPECT_EQ(dlcore_relu(ctx_, x), nullptr);
  float out[2] = {7, 7};
  EXPECT_EQ(dlcore_tensor_read_f32(ctx_, x, out, 2), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(dlcore_backward(ctx_, nullptr), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_linear_layer(ctx_, 2, 2), nullptr);
  EXPECT_EQ(dlcore_context_set_error(ctx_, DLCORE_ABORTED, "mine"), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_scope_open(ctx_), nullptr);
  EXPECT_EQ(message, dlcore_context_error_message(ctx_));
  expect_error(DLCORE_INVALID_ARGUMENT, "add");
  EXPECT_EQ(read(dlcore_relu(ctx_, x)), (Doubles{1, 2}));
  // Without an error NULL is one.
  EXPECT_EQ(dlcore_relu(ctx_, nullptr), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "input 0");
}

TEST_F(ContextTest, CallsThatAlwaysRunDoSoUnderAnErrorAndLeaveIt) {
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_tensor* x = f32({2}, {1, 2});
  dlcore_tensor* y = f32({2}, {1, 2});
  dlcore_transform* level = dlcore_vmap_open(ctx_, 3);
  EXPECT_EQ(dlcore_capture_begin(ctx_, "inside"), DLCORE_FAILED_PRECONDITION);
  const std::string message = dlcore_context_error_message(ctx_);
  dlcore_tensor_description d;
  d.struct_size = sizeof d;
  EXPECT_EQ(dlcore_tensor_describe(ctx_, x, &d), DLCORE_OK);
  EXPECT_EQ(d.count, 2);
  EXPECT_NE(dlcore_tensor_describe(ctx_, nullptr, &d), DLCORE_OK);
  EXPECT_EQ(dlcore_scope_keep(ctx_, x), x);
  EXPECT_EQ(dlcore_transform_close(ctx_, level), DLCORE_OK);
  EXPECT_EQ(dlcore_context_set_recording(ctx_, 0), 1);
  EXPECT_EQ(dlcore_context_set_recording(ctx_, 1), 0);
  EXPECT_EQ(dlcore_context_set_training(ctx_, 0), 1);
  EXPECT_EQ(dlcore_context_set_training(ctx_, 1), 0);
  EXPECT_EQ(dlcore_context_is_recording(ctx_), 1);
  EXPECT_STREQ(dlcore_op_name(ctx_, 1) ? dlcore_op_name(ctx_, 1) : "", "add");
  dlcore_scope_close(ctx_, scope);
  EXPECT_EQ(dlcore_tensor_rank(x), 1);
  EXPECT_EQ(dlcore_tensor_rank(y), -1);
  dlcore_tensor_release(x);
  EXPECT_EQ(message, dlcore_context_error_message(ctx_));
  expect_error(DLCORE_FAILED_PRECONDITION, "capture");
}

TEST_F(ContextTest, ErrorsAreTakenOnce) {
  EXPECT_EQ(dlcore_context_take_error(ctx_), nullptr);
  EXPECT_STREQ(dlcore_context_error_message(ctx_), "");
  EXPECT_EQ(dlcore_matmul(ctx_, f32({2, 3}, range(6)), f32({2, 3}, range(6))), nullptr);
  dlcore_error* error = dlcore_context_take_error(ctx_);
  expect_ok();
  EXPECT_EQ(dlcore_context_take_error(ctx_), nullptr);
  EXPECT_EQ(dlcore_error_code(error), DLCORE_INVALID_ARGUMENT);
  EXPECT_STREQ(dlcore_error_op(error), "matmul");
  EXPECT_NE(std::string(dlcore_error_message(error)).find("[2, 3]"), std::string::npos);
  EXPECT_EQ(dlcore_error_cause(error), nullptr);
  dlcore_error_release(error);
  dlcore_error_release(error);
  EXPECT_EQ(dlcore_error_code(error), DLCORE_OK);
  EXPECT_STREQ(dlcore_error_message(error), "");
}

TEST_F(ContextTest, TheErrorOfACallThatIsNoOpNamesNone) {
  fail_once();
  dlcore_error* error = dlcore_context_take_error(ctx_);
  EXPECT_STREQ(dlcore_error_op(error), "");
  dlcore_error_release(error);
}

TEST_F(ContextTest, ErrorsOutliveContextAndEngine) {
  dlcore_engine* engine = open_engine();
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  dlcore_relu(ctx, nullptr);
  dlcore_error* error = dlcore_context_take_error(ctx);
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
  EXPECT_EQ(dlcore_error_code(error), DLCORE_INVALID_ARGUMENT);
  dlcore_error_release(error);
}

TEST_F(ContextTest, AProgramsOwnErrorSticksLikeAnyOther) {
  EXPECT_EQ(dlcore_context_set_error(ctx_, DLCORE_DATA_LOSS, "row {7} is torn"), DLCORE_DATA_LOSS);
  EXPECT_EQ(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  expect_error(DLCORE_DATA_LOSS, "row {7} is torn");
  for (dlcore_status code : {0, -1, 17}) {
    EXPECT_EQ(dlcore_context_set_error(ctx_, code, "x"), DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "code");
  }
  EXPECT_EQ(dlcore_context_set_error(ctx_, DLCORE_ABORTED, nullptr), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "message is NULL");
}

TEST_F(ContextTest, ACancellationHitsTheNextCallAndSticks) {
  dlcore_context_cancel(ctx_);
  EXPECT_EQ(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  expect_error(DLCORE_CANCELLED, "cancelled");
  EXPECT_NE(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  dlcore_context_cancel(nullptr);
  dlcore_context_cancel(ctx_);
  EXPECT_EQ(dlcore_ok(ctx_), 0);
  dlcore_context_clear_error(ctx_);
}

TEST_F(ContextTest, DeadlinesPassOnce) {
  EXPECT_EQ(dlcore_context_set_deadline(ctx_, 3600 * 1000), DLCORE_OK);
  EXPECT_NE(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  EXPECT_EQ(dlcore_context_set_deadline(ctx_, INT64_MAX), DLCORE_OK);
  EXPECT_NE(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  EXPECT_EQ(dlcore_context_set_deadline(ctx_, 0), DLCORE_OK);
  EXPECT_EQ(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  expect_error(DLCORE_DEADLINE_EXCEEDED, "deadline");
  EXPECT_NE(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  EXPECT_EQ(dlcore_context_set_deadline(ctx_, 5), DLCORE_OK);
  EXPECT_EQ(dlcore_context_set_deadline(ctx_, -1), DLCORE_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(dlcore_tensor_scalar_f32(ctx_, 1), nullptr);
  EXPECT_EQ(dlcore_context_synchronize(ctx_), DLCORE_OK);
}

TEST_F(ContextTest, ModesReturnWhatTheyWere) {
  EXPECT_EQ(dlcore_context_is_recording(ctx_), 1);
  EXPECT_EQ(dlcore_context_is_training(ctx_), 1);
  EXPECT_EQ(dlcore_context_set_recording(ctx_, 0), 1);
  EXPECT_EQ(dlcore_context_set_recording(ctx_, 7), 0);
  EXPECT_EQ(dlcore_context_is_recording(ctx_), 1);
  EXPECT_EQ(dlcore_context_set_training(nullptr, 1), -1);
  EXPECT_EQ(dlcore_context_is_training(nullptr), -1);
  dlcore_context* inference = open(0, DLCORE_CONTEXT_INFERENCE);
  EXPECT_EQ(dlcore_context_is_recording(inference), 0);
  EXPECT_EQ(dlcore_context_is_training(inference), 0);
  dlcore_context_close(inference);
}

TEST_F(ContextTest, WithoutRecordingThereIsNoHistory) {
  dlcore_tensor* x = dlcore_autograd_watch(ctx_, f32({}, {3}));
  dlcore_context_set_recording(ctx_, 0);
  dlcore_tensor* y = dlcore_square(ctx_, x);
  dlcore_context_set_recording(ctx_, 1);
  EXPECT_EQ(dlcore_backward(ctx_, y), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "history");
}

TEST_F(ContextTest, AClosedContextAnswersNeutrally) {
  dlcore_context* ctx = open(0);
  dlcore_tensor* x = dlcore_tensor_scalar_f32(ctx, 1);
  dlcore_scope* scope = dlcore_scope_open(ctx);
  dlcore_variable* generator = dlcore_context_generator(ctx);
  dlcore_context_close(ctx);
  dlcore_context_close(ctx);
  EXPECT_EQ(dlcore_context_status(ctx), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_ok(ctx), 0);
  EXPECT_STREQ(dlcore_context_error_message(ctx), "");
  EXPECT_EQ(dlcore_context_device(ctx), nullptr);
  EXPECT_EQ(dlcore_context_engine(ctx), nullptr);
  EXPECT_EQ(dlcore_tensor_scalar_f32(ctx, 1), nullptr);
  EXPECT_EQ(dlcore_relu(ctx, x), nullptr);
  EXPECT_EQ(dlcore_context_set_deadline(ctx, 1), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_context_generator(ctx), nullptr);
  dlcore_scope_close(ctx, scope);
  dlcore_scope_reset(ctx, scope);
  dlcore_context_clear_error(ctx);
  dlcore_context_cancel(ctx);
  EXPECT_EQ(dlcore_relu(ctx_, x), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "released or closed");
  EXPECT_EQ(dlcore_variable_read(ctx_, generator), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "released or closed");
}

TEST_F(ContextTest, ObjectsOfAnotherTypeAreRefused) {
  dlcore_tensor* x = f32({1}, {1});
  EXPECT_EQ(dlcore_relu(ctx_, reinterpret_cast<dlcore_tensor*>(ctx_)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "input 0 is a context, expected a tensor");
  EXPECT_EQ(dlcore_relu(ctx_, reinterpret_cast<dlcore_tensor*>(engine_)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "an engine");
  EXPECT_EQ(dlcore_variable_read(ctx_, reinterpret_cast<dlcore_variable*>(x)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "a tensor");
  EXPECT_EQ(dlcore_module_call(ctx_, reinterpret_cast<dlcore_module*>(x), x), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "a tensor");
  EXPECT_EQ(dlcore_context_status(reinterpret_cast<dlcore_context*>(x)), DLCORE_INVALID_ARGUMENT);
  dlcore_variable_release(reinterpret_cast<dlcore_variable*>(x));
  dlcore_engine_close(reinterpret_cast<dlcore_engine*>(x));
  dlcore_context_close(reinterpret_cast<dlcore_context*>(x));
  dlcore_tensor_release(reinterpret_cast<dlcore_tensor*>(ctx_));
  EXPECT_EQ(read(x), Doubles{1});
}

TEST_F(ContextTest, SeedsDecideWhatIsDrawn) {
  const int64_t shape[] = {5};
  dlcore_context* same = open(42);
  dlcore_context* other = open(43);
  const auto draw = [&](dlcore_context* ctx) {
    std::vector<float> values(5);
    EXPECT_EQ(dlcore_tensor_read_f32(ctx, dlcore_random_uniform(ctx, shape, 1), values.data(), 5),
              DLCORE_OK);
    return values;
  };
  const std::vector<float> first = draw(ctx_), second = draw(ctx_);
  EXPECT_NE(first, second);
  EXPECT_EQ(draw(same), first);
  EXPECT_NE(draw(other), first);
  EXPECT_EQ(dlcore_context_set_seed(ctx_, 42), DLCORE_OK);
  EXPECT_EQ(draw(ctx_), first);
  EXPECT_EQ(draw(ctx_), second);
  dlcore_context_close(same);
  dlcore_context_close(other);
}

}  // namespace
}  // namespace dlcore::test
