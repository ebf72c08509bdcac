// SPDX-License-Identifier: Apache-2.0
#include "core/io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>
#include <vector>

#include "core/base/error.h"

namespace dlcore {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public ::testing::Test {
 protected:
  AtomicFile() {
    directory_ = fs::temp_directory_path() / ("dlcore-file-test-" + std::to_string(getpid()));
    fs::create_directories(directory_);
  }
  ~AtomicFile() override { fs::remove_all(directory_); }

  std::string path(const std::string& name = "f") const { return (directory_ / name).string(); }
  static void put(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  static std::string get(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(AtomicFileWriter& writer, const std::string& text) {
    writer.write(std::as_bytes(std::span(text)));
  }
  static void save(const std::string& file, const std::string& text) {
    AtomicFileWriter writer(file);
    write(writer, text);
    writer.commit();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(directory_))
      all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }

  fs::path directory_;
};

using Names = std::vector<std::string>;

TEST_F(AtomicFile, NothingChangesWithoutACommit) {
  put(path(), "old");
  {
    AtomicFileWriter writer(path());
    write(writer, "new");
    EXPECT_EQ(get(path()), "old");
  }
  EXPECT_EQ(get(path()), "old");
  EXPECT_EQ(names(), Names({"f"}));
  save(path(), "new");
  EXPECT_EQ(get(path()), "new");
  EXPECT_EQ(names(), Names({"f"}));
}

// Writers at the same time have files of their own; the last commit wins.
TEST_F(AtomicFile, WritersDoNotMix) {
  AtomicFileWriter a(path()), b(path());
  write(a, "first");
  write(b, "other");
  EXPECT_EQ(names(), Names({"f.saving-0.tmp", "f.saving-1.tmp"}));
  a.commit();
  EXPECT_EQ(get(path()), "first");
  AtomicFileWriter c(path());
  write(c, "third");
  b.commit();
  EXPECT_EQ(get(path()), "other");
  c.commit();
  EXPECT_EQ(get(path()), "third");
  EXPECT_EQ(names(), Names({"f"}));
}

TEST_F(AtomicFile, ManyThreadsWriteWholeFiles) {
  constexpr int kThreads = 8, kRounds = 60;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const std::string text(static_cast<size_t>(1000 + 500 * t + i), static_cast<char>('a' + t));
        if (i % 5 == 4) {
          AtomicFileWriter given_up(path());
          write(given_up, text);
        } else {
          save(path(), text);
        }
        const std::string now = get(path());
        const size_t other = now.find_first_not_of(now.substr(0, 1));
        EXPECT_EQ(other, std::string::npos) << now.size();
        EXPECT_GE(now.size(), 1000u + 500u * static_cast<size_t>(now[0] - 'a'));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(names(), Names({"f"}));
}

// What a killed process leaves is used again, so that it does not pile up.
TEST_F(AtomicFile, LeftoversAreUsedAgain) {
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      AtomicFileWriter writer(path());
      write(writer, std::string(100000, 'x'));
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(names(), Names({"f.saving-0.tmp"}));
  }
  save(path(), "short");
  EXPECT_EQ(get(path()), "short");
  EXPECT_EQ(names(), Names({"f"}));
}

// Files of that name which are not left over are nobody's to overwrite.
TEST_F(AtomicFile, LeavesOtherFilesAlone) {
  put(path("precious"), "precious");
  fs::create_symlink(path("precious"), path("f.saving-0.tmp"));
  fs::create_hard_link(path("precious"), path("f.saving-1.tmp"));
  fs::create_directory(path("f.saving-2.tmp"));
  ASSERT_EQ(mkfifo(path("f.saving-3.tmp").c_str(), 0600), 0);
  put(path("f.saving-4.tmp"), "of a writer");
  const int other = open(path("f.saving-4.tmp").c_str(), O_RDONLY);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const Names before = names();
  save(path(), "new");
  EXPECT_EQ(get(path()), "new");
  EXPECT_EQ(get(path("precious")), "precious");
  EXPECT_EQ(get(path("f.saving-4.tmp")), "of a writer");
  close(other);
  Names after = before;
  after.insert(after.begin(), "f");
  EXPECT_EQ(names(), after);
}

TEST_F(AtomicFile, SaysWhatIsWrong) {
  const auto expect_error = [](const std::string& file, dlcore_status code) {
    try {
      AtomicFileWriter writer(file);
      ADD_FAILURE() << file;
    } catch (const Error& e) {
      EXPECT_EQ(e.code, code) << e.message;
      EXPECT_NE(e.message.find(file), std::string::npos) << e.message;
    }
  };
  expect_error(path("none/f"), DLCORE_NOT_FOUND);
  expect_error(directory_.string(), DLCORE_INVALID_ARGUMENT);
  put(path(), "file");
  expect_error(path("f/g"), DLCORE_NOT_FOUND);
  expect_error("", DLCORE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace dlcore
