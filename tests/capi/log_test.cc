// SPDX-License-Identifier: Apache-2.0
// dlcore/log.h: records that wait to be taken.
#include <chrono>
#include <thread>

#include "support.h"

namespace dlcore::test {
namespace {

class LogTest : public ApiTest {
 protected:
  LogTest() { record_.struct_size = sizeof record_; }
  bool next(int64_t milliseconds = 0) {
    return dlcore_engine_next_log(engine_, &record_, milliseconds) == 1;
  }
  dlcore_status log(const std::string& message, int32_t level = DLCORE_LOG_INFO) {
    return dlcore_engine_log(engine_, level, "test", message.c_str());
  }
  dlcore_log_record record_;
};

TEST_F(LogTest, RecordsComeInTheirOrder) {
  EXPECT_FALSE(next());
  EXPECT_EQ(log("one"), DLCORE_OK);
  EXPECT_EQ(log("two\nlines \xf0\x9f\x99\x82", DLCORE_LOG_ERROR), DLCORE_OK);
  ASSERT_TRUE(next());
  EXPECT_STREQ(record_.message, "one");
  EXPECT_STREQ(record_.source, "test");
  EXPECT_EQ(record_.level, DLCORE_LOG_INFO);
  EXPECT_EQ(record_.lost, 0);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(static_cast<double>(record_.time),
              static_cast<double>(std::chrono::nanoseconds(now).count()), 60e9);
  ASSERT_TRUE(next());
  EXPECT_STREQ(record_.message, "two lines \xf0\x9f\x99\x82");
  EXPECT_FALSE(next());
}

TEST_F(LogTest, TheOldestAreLostAndCounted) {
  for (int i = 0; i < 300; ++i) log(std::to_string(i));
  int64_t taken = 0, lost = 0;
  std::string first;
  while (next()) {
    if (taken == 0) first = record_.message;
    ++taken;
    lost += record_.lost;
  }
  EXPECT_EQ(taken + lost, 300);
  EXPECT_EQ(first, std::to_string(lost));
  EXPECT_STREQ(record_.message, "299");
}

TEST_F(LogTest, LevelsBelowAreNotKept) {
  EXPECT_EQ(log("quiet", DLCORE_LOG_DEBUG), DLCORE_OK);
  EXPECT_FALSE(next());
  EXPECT_EQ(dlcore_engine_set_log_level(engine_, DLCORE_LOG_DEBUG), DLCORE_LOG_INFO);
  log("heard", DLCORE_LOG_DEBUG);
  EXPECT_TRUE(next());
}

TEST_F(LogTest, LongTextIsCutBetweenCharacters) {
  std::string text;
  while (text.size() < 2000) text += "\xe2\x82\xac";  // 3 bytes each
  log("x" + text);
  ASSERT_TRUE(next());
  const std::string got = record_.message;
  EXPECT_EQ((got.size() - 1) % 3, 0u);
  EXPECT_GT(got.size(), sizeof record_.message - 5);
}

TEST_F(LogTest, FillsInWhatFits) {
  log("text");
  dlcore_log_record small;
  std::memset(&small, 7, sizeof small);
  small.struct_size = 8;
  EXPECT_EQ(dlcore_engine_next_log(engine_, &small, 0), 1);
  EXPECT_EQ(small.level, DLCORE_LOG_INFO);
  EXPECT_EQ(small.struct_size, 8u);
  EXPECT_EQ(small.source[0], 7);
}

TEST_F(LogTest, RefusesWhatIsWrong) {
  EXPECT_EQ(log("text", 25), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_engine_log(nullptr, DLCORE_LOG_INFO, "a", "b"), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_engine_log(engine_, DLCORE_LOG_INFO, nullptr, "b"), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_engine_log(engine_, DLCORE_LOG_INFO, "a", nullptr), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_engine_next_log(engine_, nullptr, 0), 0);
  EXPECT_EQ(dlcore_engine_next_log(nullptr, &record_, 0), 0);
  EXPECT_EQ(dlcore_engine_set_log_level(nullptr, 0), -1);
  EXPECT_FALSE(next());
}

TEST_F(LogTest, WaitsForARecordAndForTheEnd) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(next(20));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));

  dlcore_engine* other = open_engine();
  std::vector<std::string> heard;
  std::thread reader([&] {
    dlcore_log_record record;
    record.struct_size = sizeof record;
    while (dlcore_engine_next_log(other, &record, -1) == 1) heard.push_back(record.message);
  });
  dlcore_engine_retain(other);
  for (int i = 0; i < 10; ++i) dlcore_engine_log(other, DLCORE_LOG_WARNING, "test", "hello");
  dlcore_engine_close(other);
  reader.join();
  dlcore_engine_release(other);
  EXPECT_EQ(heard.size(), 10u);
}

}  // namespace
}  // namespace dlcore::test
