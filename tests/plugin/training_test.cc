// SPDX-License-Identifier: Apache-2.0
// A model trains on the device by the change of one name, and as on the CPU.
#include "plugin_support.h"

namespace dlcore::test {
namespace {

constexpr int64_t kBatch = 32, kFeatures = 784, kClasses = 10;

struct History {
  Doubles losses;
  double accuracy = 0;
  std::vector<Doubles> parameters;
};

enum class Method { kAdam, kAdamW, kSgd, kMomentum };

class TrainingTest : public PluginTest {
 protected:
  // Blobs around one centre for each class, the same on every device.
  dlcore_tensor* samples(dlcore_context* ctx, int64_t step) {
    std::vector<float> x;
    for (int64_t n = 0; n < kBatch; ++n) {
      for (int64_t i = 0; i < kFeatures; ++i) {
        const auto noise = std::sin(static_cast<double>(step * 7919 + n * 104729 + i * i));
        const auto centre = std::cos(static_cast<double>((n % kClasses + 1) * (i + 1)));
        x.push_back(static_cast<float>(0.5 * centre + 0.5 * noise));
      }
    }
    const int64_t shape[] = {kBatch, kFeatures};
    return dlcore_tensor_f32(ctx, shape, 2, x.data(), kBatch * kFeatures);
  }
  dlcore_tensor* labels(dlcore_context* ctx) {
    std::vector<int64_t> y;
    for (int64_t n = 0; n < kBatch; ++n) y.push_back(n % kClasses);
    const int64_t shape[] = {kBatch};
    return dlcore_tensor_i64(ctx, shape, 1, y.data(), kBatch);
  }
  static dlcore_module* model(dlcore_context* ctx) {
    dlcore_module* layers[] = {dlcore_linear_layer(ctx, kFeatures, 256), dlcore_relu_layer(ctx),
                               dlcore_linear_layer(ctx, 256, 128), dlcore_relu_layer(ctx),
                               dlcore_linear_layer(ctx, 128, kClasses)};
    return dlcore_sequential(ctx, layers, 5);
  }
  static dlcore_optimizer* optimizer(dlcore_context* ctx, dlcore_module* m, Method method) {
    dlcore_sgd_options sgd;
    dlcore_sgd_options_init(&sgd, sizeof sgd);
    sgd.momentum = 0.9;
    switch (method) {
      case Method::kAdam:
        return dlcore_adam(ctx, m, 1e-3);
      case Method::kAdamW:
        return dlcore_adamw(ctx, m, 1e-3);
      case Method::kSgd:
        return dlcore_sgd(ctx, m, 0.2);
      default:
        return dlcore_sgd_ex(ctx, m, 0.05, &sgd);
    }
  }
  static dlcore_tensor* accuracy(dlcore_context* ctx, dlcore_tensor* logits,
                                 dlcore_tensor* labels) {
    dlcore_tensor* hits = dlcore_equal(ctx, dlcore_argmax(ctx, logits, 1), labels);
    return dlcore_mean(ctx, dlcore_astype(ctx, hits, DLCORE_F32));
  }

  History train(const char* device, Method method, int64_t steps, double max_norm = 0) {
    dlcore_context* ctx = open_on(engine_, device);
    dlcore_module* m = model(ctx);
    dlcore_optimizer* o = optimizer(ctx, m, method);
    History history;
    for (int64_t step = 0; step < steps; ++step) {
      dlcore_scope* scope = dlcore_scope_open(ctx);
      dlcore_tensor* logits = dlcore_module_call(ctx, m, samples(ctx, step));
      dlcore_tensor* loss = dlcore_cross_entropy(ctx, logits, labels(ctx));
      dlcore_backward(ctx, loss);
      if (max_norm > 0) dlcore_optimizer_clip_gradients(ctx, o, max_norm);
      dlcore_optimizer_step(ctx, o);
      float value = NAN, share = NAN;
      dlcore_tensor_read_f32(ctx, loss, &value, 1);
      dlcore_tensor_read_f32(ctx, accuracy(ctx, logits, labels(ctx)), &share, 1);
      history.losses.push_back(value);
      history.accuracy = share;
      dlcore_scope_close(ctx, scope);
    }
    EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      dlcore_tensor* value = dlcore_variable_read(ctx, dlcore_module_variable(ctx, m, i));
      std::vector<float> elements(static_cast<size_t>(dlcore_tensor_count(value)));
      dlcore_tensor_read_f32(ctx, value, elements.data(), dlcore_tensor_count(value));
      history.parameters.emplace_back(elements.begin(), elements.end());
    }
    EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
    dlcore_context_close(ctx);
    return history;
  }

  void expect_same_training(Method method, double max_norm = 0) {
    const History cpu = train("cpu", method, 10, max_norm);
    const History here = train(kDevice, method, 10, max_norm);
    expect_close(here.losses, cpu.losses, 1e-5);
    EXPECT_LT(cpu.losses.back(), 0.9 * cpu.losses.front());
    EXPECT_EQ(here.accuracy, cpu.accuracy);
    for (size_t i = 0; i < cpu.parameters.size(); ++i) {
      expect_close(here.parameters[i], cpu.parameters[i], 1e-3);
    }
  }
};

TEST_F(TrainingTest, StartsFromTheSameParameters) {
  const History cpu = train("cpu", Method::kAdam, 0);
  EXPECT_EQ(train(kDevice, Method::kAdam, 0).parameters, cpu.parameters);
}
TEST_F(TrainingTest, AdamTrainsAsOnTheCpu) { expect_same_training(Method::kAdam); }
TEST_F(TrainingTest, AdamWTrainsAsOnTheCpu) { expect_same_training(Method::kAdamW); }
TEST_F(TrainingTest, SgdTrainsAsOnTheCpu) { expect_same_training(Method::kSgd); }
TEST_F(TrainingTest, MomentumTrainsAsOnTheCpu) { expect_same_training(Method::kMomentum); }
TEST_F(TrainingTest, ClippedTrainingIsAsOnTheCpu) { expect_same_training(Method::kAdam, 0.5); }
TEST_F(TrainingTest, EveryRunGivesTheSameBits) {
  EXPECT_EQ(train(kDevice, Method::kAdam, 3).losses, train(kDevice, Method::kAdam, 3).losses);
}

TEST_F(TrainingTest, CapturedStepTrainsAsTheEagerOne) {
  const History eager = train(kDevice, Method::kAdam, 3);
  dlcore_module* m = model(ctx_);
  dlcore_optimizer* o = optimizer(ctx_, m, Method::kAdam);
  dlcore_capture_begin(ctx_, "step");
  dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[32, 784]");
  dlcore_tensor* y = dlcore_capture_input(ctx_, "y", DLCORE_I64, "[32]");
  dlcore_tensor* loss = dlcore_cross_entropy(ctx_, dlcore_module_call(ctx_, m, x), y);
  dlcore_backward(ctx_, loss);
  dlcore_optimizer_step(ctx_, o);
  dlcore_graph* graph = dlcore_capture_end(ctx_, &loss, 1);
  dlcore_executable* step = dlcore_graph_compile(ctx_, graph, nullptr, 0);
  expect_ok();
  Doubles losses;
  for (int64_t i = 0; i < 3; ++i) {
    dlcore_tensor* inputs[] = {samples(ctx_, i), labels(ctx_)};
    dlcore_tensor* output = nullptr;
    dlcore_executable_run(ctx_, step, inputs, 2, &output, 1);
    losses.push_back(read(output).at(0));
  }
  expect_ok();
  EXPECT_EQ(losses, eager.losses);
}

TEST_F(TrainingTest, ParametersMoveThroughAFile) {
  dlcore_module* m = model(ctx_);
  ASSERT_EQ(dlcore_module_save(ctx_, m, file("model.safetensors").c_str()), DLCORE_OK);
  const Doubles mine = read(dlcore_module_variable(ctx_, m, 0));
  const Doubles theirs = on_cpu([&] {
    dlcore_context_set_seed(ctx_, 7);
    dlcore_module* other = model(ctx_);
    EXPECT_EQ(dlcore_module_load(ctx_, other, file("model.safetensors").c_str()), DLCORE_OK);
    return read(dlcore_module_variable(ctx_, other, 0));
  });
  EXPECT_EQ(mine, theirs);
}

TEST_F(TrainingTest, LoaderServesTheDevice) {
  dlcore_loader* loader =
      dlcore_loader_from_tensors(ctx_, samples(ctx_, 0), labels(ctx_), 10, DLCORE_LOADER_SHUFFLE);
  dlcore_tensor *x = nullptr, *y = nullptr;
  int batches = 0;
  while (dlcore_loader_next(ctx_, loader, &x, &y) == 1) {
    EXPECT_EQ(device_of(ctx_, x), kDevice);
    EXPECT_EQ(read(y).size(), static_cast<size_t>(dlcore_tensor_dim(x, 0)));
    ++batches;
  }
  EXPECT_EQ(batches, 4);
}

}  // namespace
}  // namespace dlcore::test
