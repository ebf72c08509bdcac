// SPDX-License-Identifier: Apache-2.0
// A training whose processes are killed again and again, each of which goes on from the checkpoint
// that the last one left, ends with the bits of one that was never interrupted.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "resumable_training.h"

namespace dlcore::test {
namespace {

namespace fs = std::filesystem;

constexpr int kEndless = 1 << 30, kLastSteps = 10, kKills = 25;

void append_values(dlcore_context* ctx, dlcore_variable* v, std::string& to) {
  dlcore_tensor* t = dlcore_variable_read(ctx, v);
  std::string bytes(
      static_cast<size_t>(dlcore_tensor_count(t)) * dlcore_dtype_size(dlcore_tensor_dtype(t)),
      '\0');
  dlcore_tensor_read(ctx, t, dlcore_tensor_dtype(t), bytes.data(), bytes.size());
  to += bytes;
}

// What a child does: trains from the checkpoint at `path`, if there is one, saves after each step
// until it has taken `steps`, trains some more and writes what came of it to `result`: how many
// steps were saved, a line, and the bits. The answer is its exit status.
int train(const char* path, const char* result, const char* seed, int steps) {
  dlcore_engine* engine = dlcore_engine_open(nullptr, nullptr);
  dlcore_context* ctx =
      dlcore_context_open(engine, "cpu", std::strtoull(seed, nullptr, 10), 0, nullptr);
  Training t(ctx, "Adam", 3);
  if (fs::exists(path)) {
    if (dlcore_checkpoint_load(ctx, t.checkpoint, path) != DLCORE_OK) return 3;
    t.taken = std::atoi(dlcore_checkpoint_text(t.checkpoint, "taken"));
  }
  while (t.taken < steps) {
    t.run(1);
    dlcore_checkpoint_set_text(ctx, t.checkpoint, "taken", std::to_string(t.taken).c_str());
    if (dlcore_checkpoint_save(ctx, t.checkpoint, path) != DLCORE_OK) return 4;
  }
  std::string all = std::to_string(t.taken) + "\n";
  const Doubles seen = t.run(kLastSteps);
  all.append(reinterpret_cast<const char*>(seen.data()), seen.size() * sizeof(double));
  for (int64_t i = 0; i < dlcore_module_variable_count(t.model); ++i) {
    append_values(ctx, dlcore_module_variable(ctx, t.model, i), all);
  }
  for (int64_t i = 0; i < dlcore_optimizer_variable_count(t.optimizer); ++i) {
    append_values(ctx, dlcore_optimizer_variable(ctx, t.optimizer, i), all);
  }
  append_values(ctx, dlcore_context_generator(ctx), all);
  std::ofstream(result, std::ios::binary) << all;
  const bool fine = dlcore_ok(ctx) == 1;
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
  return fine ? 0 : 5;
}

class Resume : public ::testing::Test {
 protected:
  Resume() {
    directory_ = fs::temp_directory_path() / ("dlcore-resume-" + std::to_string(getpid()));
    fs::create_directories(directory_);
  }
  ~Resume() override { fs::remove_all(directory_); }

  std::string file(const std::string& name) const { return (directory_ / name).string(); }

  pid_t start(const std::string& name, int seed, int steps) const {
    const std::string path = file(name), result = file(name + ".result");
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // it has no end of its own
      execl("/proc/self/exe", "resume", "--train", path.c_str(), result.c_str(),
            std::to_string(seed).c_str(), std::to_string(steps).c_str(), nullptr);
      _exit(6);
    }
    return child;
  }
  static int ended(pid_t child) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }
  std::string result(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(file(name + ".result"), std::ios::binary).rdbuf();
    return text.str();
  }

  fs::path directory_;
};

TEST_F(Resume, InOtherProcessesAfterKillsWithEveryBit) {
  std::minstd_rand random(7);
  int seed = 42;  // the checkpoint decides, not the seeds of later processes
  for (int kills = 0; kills < kKills; ++kills, ++seed) {
    const pid_t child = start("killed", seed, kEndless);
    ASSERT_GT(child, 0);
    // The first leaves a checkpoint at least; in sanitizers' builds all of it takes longer.
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!fs::exists(file("killed")) && std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100000));
    kill(child, SIGKILL);
    const int status = ended(child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
  }
  ASSERT_EQ(ended(start("killed", seed, 0)), 0);
  const std::string killed = result("killed");
  const int saved = std::atoi(killed.c_str());
  EXPECT_GT(saved, 0);
  ASSERT_EQ(ended(start("straight", 42, saved)), 0);
  EXPECT_EQ(killed, result("straight"));
  EXPECT_GT(killed.size(), 1000u);
}

}  // namespace
}  // namespace dlcore::test

int main(int argc, char** argv) {
  if (argc == 6 && std::strcmp(argv[1], "--train") == 0) {
    return dlcore::test::train(argv[2], argv[3], argv[4], std::atoi(argv[5]));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
