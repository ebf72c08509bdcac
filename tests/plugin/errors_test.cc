// SPDX-License-Identifier: Apache-2.0
// Failures on an asynchronous device: they show late, with the text of the CPU, and the engine
// stays usable.
#include "plugin_support.h"

namespace dlcore::test {
namespace {

constexpr const char* kBadLabel =
    "cross_entropy: label 12 at row 3 is out of bounds for 10 classes";
constexpr const char* kBadIndex = "one_hot: index 12 at element 1 is out of bounds for depth 10";

class LateErrorTest : public PluginTest {
 protected:
  dlcore_tensor* bad_loss() {
    return dlcore_cross_entropy(ctx_, f32({4, 10}, Doubles(40, 0.5)), i64({4}, {0, 1, 2, 12}));
  }
  dlcore_tensor* bad_one_hot() { return dlcore_one_hot(ctx_, i64({2}, {0, 12}), 10); }

  void expect_exactly(dlcore_status code, const std::string& message) {
    EXPECT_EQ(dlcore_context_status(ctx_), code);
    EXPECT_EQ(dlcore_context_error_message(ctx_), message);
    dlcore_context_clear_error(ctx_);
  }
  void expect_usable() {
    EXPECT_EQ(read(dlcore_add(ctx_, f32({2}, {1, 2}), f32({2}, {3, 4}))), (Doubles{4, 6}));
    EXPECT_EQ(dlcore_context_synchronize(ctx_), DLCORE_OK);
    expect_ok();
  }
};

TEST_F(LateErrorTest, TextIsThatOfTheCpu) {
  on_cpu([&] {
    bad_loss();
    expect_exactly(DLCORE_OUT_OF_RANGE, kBadLabel);
    bad_one_hot();
    expect_exactly(DLCORE_OUT_OF_RANGE, kBadIndex);
    return 0;
  });
}

TEST_F(LateErrorTest, CallsThemselvesSucceed) {
  dlcore_tensor* loss = bad_loss();
  EXPECT_NE(loss, nullptr);
  expect_ok();
  EXPECT_NE(dlcore_add(ctx_, loss, loss), nullptr);
  expect_ok();
  dlcore_context_synchronize(ctx_);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadLabel);
}

TEST_F(LateErrorTest, ShowsAtTheNextRead) {
  dlcore_tensor* loss = bad_loss();
  float value = -1;
  EXPECT_EQ(dlcore_tensor_read_f32(ctx_, loss, &value, 1), DLCORE_OUT_OF_RANGE);
  EXPECT_EQ(value, -1);  // written only on success
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadLabel);
  expect_usable();
}

TEST_F(LateErrorTest, ShowsAtAReadOfSomethingElse) {
  dlcore_tensor* other = f32({2}, {1, 2});
  bad_one_hot();
  read(other);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadIndex);
  EXPECT_EQ(read(other), (Doubles{1, 2}));
}

TEST_F(LateErrorTest, ShowsWhenSynchronising) {
  bad_one_hot();
  EXPECT_EQ(dlcore_context_synchronize(ctx_), DLCORE_OUT_OF_RANGE);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadIndex);
  expect_usable();
}

TEST_F(LateErrorTest, ShowsWhenSaving) {
  dlcore_module* m = linear(3, 2);
  bad_one_hot();
  const std::string path = file("late.safetensors");
  EXPECT_EQ(dlcore_module_save(ctx_, m, path.c_str()), DLCORE_OUT_OF_RANGE);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadIndex);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(dlcore_module_save(ctx_, m, path.c_str()), DLCORE_OK);
}

TEST_F(LateErrorTest, ShowsAtTheEndOfARunWhichChangesNothing) {
  dlcore_variable* total =
      dlcore_variable_create(ctx_, "total", f32({}, {1}), DLCORE_VARIABLE_TRAINABLE);
  dlcore_capture_begin(ctx_, "step");
  dlcore_tensor* logits = dlcore_capture_input(ctx_, "logits", DLCORE_F32, "[4, 10]");
  dlcore_tensor* labels = dlcore_capture_input(ctx_, "labels", DLCORE_I64, "[4]");
  dlcore_tensor* loss = dlcore_cross_entropy(ctx_, logits, labels);
  dlcore_variable_assign(ctx_, total, dlcore_add(ctx_, dlcore_variable_read(ctx_, total), loss));
  dlcore_graph* graph = dlcore_capture_end(ctx_, &loss, 1);
  dlcore_executable* step = dlcore_graph_compile(ctx_, graph, nullptr, 0);
  expect_ok();

  dlcore_tensor* output = nullptr;
  dlcore_tensor* inputs[] = {f32({4, 10}, Doubles(40, 0.5)), i64({4}, {0, 1, 2, 12})};
  EXPECT_EQ(dlcore_executable_run(ctx_, step, inputs, 2, &output, 1), DLCORE_OUT_OF_RANGE);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadLabel);
  EXPECT_EQ(read(total), Doubles{1});

  inputs[1] = i64({4}, {0, 1, 2, 3});
  EXPECT_EQ(dlcore_executable_run(ctx_, step, inputs, 2, &output, 1), DLCORE_OK);
  expect_close(read(total), {1 + std::log(10.0)}, 1e-6);
}

TEST_F(LateErrorTest, TheFirstOneWins) {
  bad_one_hot();
  bad_loss();
  dlcore_context_synchronize(ctx_);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadIndex);
  expect_usable();
}

TEST_F(LateErrorTest, IsToldOnce) {
  bad_one_hot();
  dlcore_context_synchronize(ctx_);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadIndex);
  EXPECT_EQ(dlcore_context_synchronize(ctx_), DLCORE_OK);
}

TEST_F(LateErrorTest, StaysWithItsContext) {
  bad_one_hot();
  dlcore_context* other = open_on(engine_, kDevice);
  dlcore_tensor* x = dlcore_tensor_scalar_f32(other, 2);
  float y = 0;
  EXPECT_EQ(dlcore_tensor_read_f32(other, dlcore_add(other, x, x), &y, 1), DLCORE_OK);
  EXPECT_EQ(dlcore_context_synchronize(other), DLCORE_OK);
  dlcore_context_close(other);
  dlcore_context_synchronize(ctx_);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadIndex);
}

TEST_F(LateErrorTest, FollowsWhatItSpoiledToAnotherContext) {
  dlcore_tensor* spoiled = bad_one_hot();
  dlcore_context* other = open_on(engine_, kDevice);
  std::vector<float> y(20);
  EXPECT_EQ(dlcore_tensor_read_f32(other, spoiled, y.data(), 20), DLCORE_OUT_OF_RANGE);
  EXPECT_STREQ(dlcore_context_error_message(other), kBadIndex);
  dlcore_context_close(other);
  dlcore_context_synchronize(ctx_);
  expect_exactly(DLCORE_OUT_OF_RANGE, kBadIndex);
}

TEST_F(LateErrorTest, GoesWithItsContext) {
  dlcore_context* other = open_on(engine_, kDevice);
  std::swap(ctx_, other);
  bad_one_hot();
  std::swap(ctx_, other);
  dlcore_context_close(other);
  expect_usable();
}

TEST_F(LateErrorTest, ATrainingStepLeavesParametersFinite) {
  dlcore_module* m = sequential({linear(6, 5), layer("ReLU"), linear(5, 3)});
  dlcore_optimizer* o = dlcore_adam(ctx_, m, 0.1);
  dlcore_backward(ctx_,
                  dlcore_cross_entropy(ctx_, dlcore_module_call(ctx_, m, f32({1, 6}, range(6))),
                                       i64({1}, {7})));
  dlcore_optimizer_step(ctx_, o);
  dlcore_context_synchronize(ctx_);
  expect_exactly(DLCORE_OUT_OF_RANGE,
                 "cross_entropy: label 7 at row 0 is out of bounds for 3 classes");
  for (double w : read(dlcore_module_variable(ctx_, m, 0))) EXPECT_TRUE(std::isfinite(w));
  expect_ok();
}

// ---- What shows at once.

TEST_F(LateErrorTest, AnOpThatTheDeviceLacks) {
  EXPECT_EQ(dlcore_erf(ctx_, f32({2}, {1, 2})), nullptr);
  expect_exactly(DLCORE_UNIMPLEMENTED, "erf: device 'host2' has no kernel for it with dtype f32");
  expect_usable();
}

TEST_F(LateErrorTest, ACallThatAKernelDoesNotAccept) {
  EXPECT_EQ(dlcore_astype(ctx_, f32({2}, {1, 2}), DLCORE_F16), nullptr);
  expect_exactly(DLCORE_UNIMPLEMENTED,
                 "astype: device 'host2' has no kernel for it with dtype f32");
}

TEST_F(LateErrorTest, ATensorOfAnotherDevice) {
  dlcore_tensor* there = on_cpu([&] { return f32({2}, {1, 2}); });
  EXPECT_EQ(dlcore_add(ctx_, f32({2}, {1, 2}), there), nullptr);
  expect_exactly(
      DLCORE_INVALID_ARGUMENT,
      "add: b is on device 'cpu', but another input is on 'host2'; use tensor_to_device");
  EXPECT_EQ(dlcore_add(ctx_, there, f32({2}, {1, 2})), nullptr);
  expect_exactly(
      DLCORE_INVALID_ARGUMENT,
      "add: b is on device 'host2', but another input is on 'cpu'; use tensor_to_device");
}

TEST_F(LateErrorTest, AModelOfAnotherDevice) {
  dlcore_module* there = on_cpu([&] {
    dlcore_module* m = linear(2, 2);
    read(dlcore_module_variable(ctx_, m, 0));
    return m;
  });
  EXPECT_EQ(dlcore_module_call(ctx_, there, f32({1, 2}, {1, 2})), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "use tensor_to_device");
}

TEST_F(LateErrorTest, ShapesAreChecked) {
  EXPECT_EQ(dlcore_matmul(ctx_, f32({2, 3}, range(6)), f32({2, 3}, range(6))), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "matmul: inner dimensions differ");
}

}  // namespace
}  // namespace dlcore::test
