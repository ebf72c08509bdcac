// SPDX-License-Identifier: Apache-2.0
// Things that a service does again and again: resident memory reaches a plateau.
//
// The environment variable DLCORE_SOAK_CYCLES says how often each is done; 100 by default.
#include <dlcore/dlcore.h>
#include <dlcore/ops.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  file >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

int cycles() {
  const char* const wanted = std::getenv("DLCORE_SOAK_CYCLES");
  return wanted == nullptr ? 100 : std::max(20, std::atoi(wanted));
}

// A model of 3.2 MB.
dlcore_module* make_model(dlcore_context* ctx) {
  dlcore_module* layers[] = {dlcore_linear_layer(ctx, 784, 784), dlcore_relu_layer(ctx),
                             dlcore_linear_layer(ctx, 784, 256), dlcore_dropout_layer(ctx, 0.1),
                             dlcore_linear_layer(ctx, 256, 10)};
  return dlcore_sequential(ctx, layers, 5);
}

void answer(dlcore_context* ctx, dlcore_module* model) {
  const int64_t shape[] = {8, 784};
  float scores[80];
  dlcore_tensor_read_f32(ctx, dlcore_module_call(ctx, model, dlcore_full(ctx, shape, 2, 0.5)),
                         scores, 80);
}

void train(dlcore_context* ctx, dlcore_module* model, dlcore_optimizer* optimizer,
           dlcore_loader* loader, int steps) {
  dlcore_scope* scope = dlcore_scope_open(ctx);
  dlcore_tensor *x, *y;
  for (int i = 0; i < steps; ++i) {
    while (dlcore_loader_next(ctx, loader, &x, &y) == 0 && dlcore_ok(ctx) == 1) {
    }
    dlcore_backward(ctx, dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y));
    dlcore_optimizer_step(ctx, optimizer);
    dlcore_scope_reset(ctx, scope);
  }
  dlcore_scope_close(ctx, scope);
}

dlcore_loader* make_loader(dlcore_context* ctx, int64_t prefetch) {
  const int64_t x_shape[] = {256, 784}, y_shape[] = {256};
  dlcore_tensor* y = dlcore_astype(ctx, dlcore_full(ctx, y_shape, 1, 3), DLCORE_I64);
  dlcore_loader* loader = dlcore_loader_from_tensors(ctx, dlcore_random_uniform(ctx, x_shape, 2), y,
                                                     32, DLCORE_LOADER_SHUFFLE);
  dlcore_loader_set_prefetch(ctx, loader, prefetch);
  return loader;
}

class Soak : public ::testing::Test {
 protected:
  Soak()
      : path_((fs::temp_directory_path() / ("dlcore-soak-" + std::to_string(getpid()))).string()) {}
  ~Soak() override { fs::remove(path_); }

  // What grows with every cycle makes the peak of each further round higher. The heap may take a
  // step up at any time, as when two threads want memory at once, but does not do so round after
  // round.
  void expect_plateau(const char* what, const std::function<void()>& cycle) {
    constexpr int kRounds = 3;
    const auto peak = [&] {
      int64_t bytes = 0;
      for (int i = 0; i < cycles(); ++i) {
        cycle();
        bytes = std::max(bytes, resident_bytes());
      }
      return bytes;
    };
    int64_t highest = peak();
    for (int round = 0; round < kRounds; ++round) {
      const int64_t next = peak();
      std::printf("%s: %d cycles, resident at most %.1f MB, then %.1f MB\n", what, cycles(),
                  static_cast<double>(highest) / 1e6, static_cast<double>(next) / 1e6);
      if (next <= highest + (int64_t{1} << 20)) return;
      highest = next;
    }
    ADD_FAILURE() << what << ": resident memory has grown in each of " << kRounds << " rounds";
  }

  const std::string path_;
};

TEST_F(Soak, LoadingAndUnloadingAModel) {
  dlcore_engine* engine = dlcore_engine_open(nullptr, nullptr);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
  dlcore_module* saved = make_model(ctx);
  ASSERT_EQ(dlcore_module_save(ctx, saved, path_.c_str()), DLCORE_OK);
  expect_plateau("load and unload", [&] {
    dlcore_context* worker =
        dlcore_context_open(engine, "cpu", 1, DLCORE_CONTEXT_INFERENCE, nullptr);
    dlcore_module* model = make_model(worker);
    EXPECT_EQ(dlcore_module_load(worker, model, path_.c_str()), DLCORE_OK);
    answer(worker, model);
    dlcore_module* frozen = dlcore_module_snapshot(worker, model);
    answer(worker, frozen);
    EXPECT_EQ(dlcore_ok(worker), 1) << dlcore_context_error_message(worker);
    dlcore_context_close(worker);
  });
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
}

TEST_F(Soak, TrainingSavingAndResuming) {
  dlcore_engine* engine = dlcore_engine_open(nullptr, nullptr);
  expect_plateau("train, save, resume", [&] {
    dlcore_context* ctx = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
    dlcore_module* model = make_model(ctx);
    dlcore_optimizer* adam = dlcore_adam(ctx, model, 1e-3);
    dlcore_loader* loader = make_loader(ctx, 3);
    dlcore_checkpoint* checkpoint = dlcore_checkpoint_create(ctx);
    dlcore_checkpoint_add_module(ctx, checkpoint, "model", model);
    dlcore_checkpoint_add_optimizer(ctx, checkpoint, "adam", adam);
    dlcore_checkpoint_add_loader(ctx, checkpoint, "data", loader);
    train(ctx, model, adam, loader, 2);
    EXPECT_EQ(dlcore_checkpoint_save(ctx, checkpoint, path_.c_str()), DLCORE_OK);
    train(ctx, model, adam, loader, 1);
    EXPECT_EQ(dlcore_checkpoint_load(ctx, checkpoint, path_.c_str()), DLCORE_OK);
    EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
    dlcore_context_close(ctx);
  });
  dlcore_engine_close(engine);
}

TEST_F(Soak, SnapshotsWhileTraining) {
  dlcore_engine* engine = dlcore_engine_open(nullptr, nullptr);
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
  dlcore_module* model = make_model(ctx);
  dlcore_optimizer* adam = dlcore_adam(ctx, model, 1e-3);
  dlcore_loader* loader = make_loader(ctx, 2);
  expect_plateau("snapshots while training", [&] {
    std::thread reader([&] {
      dlcore_context* worker = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
      for (int i = 0; i < 3; ++i) {
        dlcore_module* frozen = dlcore_module_snapshot(worker, model);
        answer(worker, frozen);
        dlcore_module_release(frozen);
      }
      EXPECT_EQ(dlcore_ok(worker), 1) << dlcore_context_error_message(worker);
      dlcore_context_close(worker);
    });
    train(ctx, model, adam, loader, 2);
    reader.join();
  });
  EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
}

TEST_F(Soak, OpeningAndClosingEngines) {
  expect_plateau("open and close engines", [&] {
    dlcore_engine* engine = dlcore_engine_open(nullptr, nullptr);
    dlcore_context* ctx = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
    dlcore_module* model = make_model(ctx);
    dlcore_loader* loader = make_loader(ctx, 2);
    train(ctx, model, dlcore_sgd(ctx, model, 0.1), loader, 2);
    EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
    dlcore_context_close(ctx);
    dlcore_engine_close(engine);
  });
}

}  // namespace
