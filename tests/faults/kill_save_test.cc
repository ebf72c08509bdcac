// SPDX-License-Identifier: Apache-2.0
// Processes are killed at random instants of saving: afterwards the old file is there or the new
// one, whole, and what they leave behind does not pile up.
//
// The environment variable DLCORE_KILLS says how many for each kind of file; 100 by default.
#include <dlcore/dlcore.h>
#include <dlcore/ops.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int64_t kWidth = 400;  // some hundred kilobytes, which take a while

// A training whose every variable holds one number, that of its save.
struct Numbered {
  explicit Numbered(dlcore_engine* engine)
      : ctx(dlcore_context_open(engine, "cpu", 1, 0, nullptr)) {
    dlcore_module* layers[] = {dlcore_linear_layer(ctx, kWidth, kWidth),
                               dlcore_layer_norm_layer(ctx, kWidth),
                               dlcore_linear_layer(ctx, kWidth, 10)};
    model = dlcore_sequential(ctx, layers, 3);
    adam = dlcore_adam(ctx, model, 1);
    checkpoint = dlcore_checkpoint_create(ctx);
    dlcore_checkpoint_add_module(ctx, checkpoint, "model", model);
    dlcore_checkpoint_add_optimizer(ctx, checkpoint, "adam", adam);
  }
  ~Numbered() { dlcore_context_close(ctx); }

  std::vector<dlcore_variable*> variables(bool with_state) {
    std::vector<dlcore_variable*> all;
    for (int64_t i = 0; i < dlcore_module_variable_count(model); ++i) {
      all.push_back(dlcore_module_variable(ctx, model, i));
    }
    for (int64_t i = 0; with_state && i < dlcore_optimizer_variable_count(adam); ++i) {
      all.push_back(dlcore_optimizer_variable(ctx, adam, i));
    }
    return all;
  }
  void fill(double number, bool with_state) {
    dlcore_scope* scope = dlcore_scope_open(ctx);
    for (dlcore_variable* v : variables(with_state)) {
      dlcore_tensor* old = dlcore_variable_read(ctx, v);
      int64_t shape[DLCORE_MAX_RANK];
      const int32_t rank = dlcore_tensor_rank(old);
      for (int32_t i = 0; i < rank; ++i) shape[i] = dlcore_tensor_dim(old, i);
      dlcore_tensor* filled = dlcore_full(ctx, shape, rank, number);
      dlcore_variable_assign(ctx, v, dlcore_astype(ctx, filled, dlcore_tensor_dtype(old)));
    }
    dlcore_scope_close(ctx, scope);
  }
  // The one number; -1 when there are several.
  double number(bool with_state) {
    double one = -1;
    dlcore_scope* scope = dlcore_scope_open(ctx);
    for (dlcore_variable* v : variables(with_state)) {
      dlcore_tensor* t = dlcore_astype(ctx, dlcore_variable_read(ctx, v), DLCORE_F64);
      std::vector<double> values(static_cast<size_t>(dlcore_tensor_count(t)));
      dlcore_tensor_read_f64(ctx, t, values.data(), static_cast<int64_t>(values.size()));
      for (double e : values) {
        if (one < 0) one = e;
        if (e != one) one = -2;
        if (one < -1) break;
      }
    }
    dlcore_scope_close(ctx, scope);
    return one < 0 ? -1 : one;
  }
  dlcore_status save(bool as_checkpoint, const char* path) {
    return as_checkpoint ? dlcore_checkpoint_save(ctx, checkpoint, path)
                         : dlcore_module_save(ctx, model, path);
  }
  dlcore_status load(bool as_checkpoint, const char* path) {
    return as_checkpoint ? dlcore_checkpoint_load(ctx, checkpoint, path)
                         : dlcore_module_load(ctx, model, path);
  }

  dlcore_context* ctx;
  dlcore_module* model;
  dlcore_optimizer* adam;
  dlcore_checkpoint* checkpoint;
};

// What a child does: saves number after number, and says so before the first.
[[noreturn]] void save_for_ever(bool as_checkpoint, const char* path, double number, int ready) {
  dlcore_engine* engine = dlcore_engine_open(nullptr, nullptr);
  Numbered numbered(engine);
  numbered.fill(number, true);
  const char byte = 0;
  if (write(ready, &byte, 1) != 1) _exit(2);
  for (;;) {
    if (numbered.save(as_checkpoint, path) != DLCORE_OK) _exit(3);
    numbered.fill(++number, true);
  }
}

class KillSave : public ::testing::TestWithParam<bool> {
 protected:
  KillSave() : engine_(dlcore_engine_open(nullptr, nullptr)) {
    directory_ = fs::temp_directory_path() / ("dlcore-kill-save-" + std::to_string(getpid()));
    fs::create_directories(directory_);
  }
  ~KillSave() override {
    dlcore_engine_close(engine_);
    fs::remove_all(directory_);
  }

  // Starts a child that saves `number` and the following ones, and kills it after some time.
  static void save_and_die(bool as_checkpoint, const std::string& path, double number,
                           std::chrono::microseconds after) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // it has no end of its own
      close(ends[0]);
      const std::string ready = std::to_string(ends[1]), from = std::to_string(number);
      execl("/proc/self/exe", "kill_save", "--save", as_checkpoint ? "1" : "0", path.c_str(),
            from.c_str(), ready.c_str(), nullptr);
      _exit(4);
    }
    ASSERT_GT(child, 0);
    close(ends[1]);
    char byte;
    const bool ready = read(ends[0], &byte, 1) == 1;
    std::this_thread::sleep_for(after);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    close(ends[0]);
    ASSERT_TRUE(ready);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
  }
  int64_t files() const {
    const fs::directory_iterator all(directory_);
    return std::distance(begin(all), end(all));
  }

  dlcore_engine* engine_;
  fs::path directory_;
};

TEST_P(KillSave, LeavesTheOldFileOrTheNewOne) {
  const bool as_checkpoint = GetParam();
  const char* const wanted = std::getenv("DLCORE_KILLS");
  const int kills = wanted == nullptr ? 100 : std::atoi(wanted);
  const std::string path = (directory_ / "file").string();
  Numbered numbered(engine_);
  numbered.fill(1, true);
  ASSERT_EQ(numbered.save(as_checkpoint, path.c_str()), DLCORE_OK)
      << dlcore_context_error_message(numbered.ctx);

  std::minstd_rand random(static_cast<unsigned>(1 + as_checkpoint));
  double last = 1;
  int leftovers = 0;
  for (int i = 0; i < kills && !HasFatalFailure(); ++i) {
    const std::chrono::microseconds after(random() % 12000);
    save_and_die(as_checkpoint, path, last + 1, after);
    leftovers += files() > 1 ? 1 : 0;
    ASSERT_LE(files(), 2) << "round " << i;
    numbered.fill(0, true);
    ASSERT_EQ(numbered.load(as_checkpoint, path.c_str()), DLCORE_OK)
        << "round " << i << ": " << dlcore_context_error_message(numbered.ctx);
    const double number = numbered.number(as_checkpoint);
    ASSERT_GE(number, last) << "round " << i;
    last = number;
  }
  std::printf("%d kills, %d of them in the midst of writing; %.0f saves survived\n", kills,
              leftovers, last - 1);
  EXPECT_GT(last, 1);
  EXPECT_GT(leftovers, 0);
  // The next save of the same path takes away what is left.
  ASSERT_EQ(numbered.save(as_checkpoint, path.c_str()), DLCORE_OK);
  EXPECT_EQ(files(), 1);
}

INSTANTIATE_TEST_SUITE_P(Of, KillSave, ::testing::Values(false, true),
                         [](const auto& kind) { return kind.param ? "Checkpoints" : "Modules"; });

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::strcmp(argv[1], "--save") == 0) {
    save_for_ever(std::atoi(argv[2]) != 0, argv[3], std::atof(argv[4]), std::atoi(argv[5]));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
