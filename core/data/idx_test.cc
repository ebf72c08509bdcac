// SPDX-License-Identifier: Apache-2.0
#include "core/data/idx.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/base/error.h"

namespace dlcore {
namespace {

namespace fs = std::filesystem;

std::string header(int type, std::vector<uint32_t> lengths) {
  std::string text = {0, 0, static_cast<char>(type), static_cast<char>(lengths.size())};
  for (uint32_t length : lengths) {
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(length >> shift);
  }
  return text;
}

class Idx : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "idxXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = name + "/data";
  }
  void TearDown() override { fs::remove_all(directory_); }

  void put(const std::string& bytes) { put_at(path_, bytes); }
  void put_at(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string zipped(const std::string& bytes) {
    const std::string path = directory_ + "/zip";
    gzFile file = gzopen(path.c_str(), "wb9");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void expect_error(dlcore_status code, const std::string& message) {
    try {
      read_idx(path_);
      ADD_FAILURE() << "no error: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, code);
      EXPECT_EQ(error.message, "idx: '" + path_ + "': " + message);
    }
  }

  std::string directory_;
  std::string path_;
};

template <class T>
std::vector<T> values(const IdxArray& array) {
  std::vector<T> result(array.data.size() / sizeof(T));
  std::memcpy(result.data(), array.data.data(), array.data.size());
  return result;
}

TEST_F(Idx, ReadsEachType) {
  put(header(0x08, {3}) + "abc");
  EXPECT_EQ(read_idx(path_).dtype, DLCORE_U8);
  EXPECT_EQ(read_idx(path_).shape, std::vector<int64_t>{3});
  EXPECT_EQ(values<char>(read_idx(path_)), (std::vector<char>{'a', 'b', 'c'}));
  put(header(0x09, {2}) + "\xff\x01");
  EXPECT_EQ(read_idx(path_).dtype, DLCORE_I8);
  EXPECT_EQ(values<int8_t>(read_idx(path_)), (std::vector<int8_t>{-1, 1}));
  put(header(0x0b, {1, 2}) + std::string("\x01\x02\xff\xfe", 4));
  EXPECT_EQ(read_idx(path_).dtype, DLCORE_I16);
  EXPECT_EQ(values<int16_t>(read_idx(path_)), (std::vector<int16_t>{0x102, -2}));
  put(header(0x0c, {1}) + std::string("\x01\x02\x03\x04", 4));
  EXPECT_EQ(values<int32_t>(read_idx(path_)), std::vector<int32_t>{0x01020304});
  put(header(0x0d, {1, 1, 1}) + std::string("\x3f\xc0\0\0", 4));
  EXPECT_EQ(values<float>(read_idx(path_)), std::vector<float>{1.5f});
  put(header(0x0e, {1, 1, 1, 1}) + std::string("\xc0\x04\0\0\0\0\0\0", 8));
  EXPECT_EQ(values<double>(read_idx(path_)), std::vector<double>{-2.5});
}

TEST_F(Idx, ReadsGzip) {
  std::string pixels(3'000'000, 'x');
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i * i >> 7);
  const std::string bytes = header(0x08, {3000, 1000}) + pixels;
  put(zipped(bytes));  // gzip without .gz
  EXPECT_EQ(values<char>(read_idx(path_)), std::vector<char>(pixels.begin(), pixels.end()));
  fs::rename(path_, path_ + ".gz");
  EXPECT_TRUE(idx_exists(path_));
  EXPECT_EQ(read_idx(path_).shape, (std::vector<int64_t>{3000, 1000}));
}

TEST_F(Idx, ReadsEmptyArrays) {
  put(header(0x0e, {0, 28, 28}));
  EXPECT_TRUE(read_idx(path_).data.empty());
}

TEST_F(Idx, MissingFilesAreNamed) {
  EXPECT_FALSE(idx_exists(path_));
  try {
    read_idx(path_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, DLCORE_NOT_FOUND);
    EXPECT_EQ(error.message, "idx: there is neither '" + path_ + "' nor '" + path_ + ".gz'");
  }
}

TEST_F(Idx, DirectoriesAreNoFiles) {
  fs::create_directory(path_);
  EXPECT_THROW(read_idx(path_), Error);
}

TEST_F(Idx, RefusesBrokenHeaders) {
  put("");
  expect_error(DLCORE_DATA_LOSS, "the header has 0 bytes, expected 4");
  put(std::string("\0\0\x08", 3));
  expect_error(DLCORE_DATA_LOSS, "the header has 3 bytes, expected 4");
  put(header(0x08, {1, 2, 3}).substr(0, 15));
  expect_error(DLCORE_DATA_LOSS, "the header has 15 bytes, expected 16");
  put("PNG and more");
  expect_error(DLCORE_DATA_LOSS, "the file starts with 0x50 0x4e, expected two zeros");
  put(header(0x0a, {1}) + "a");
  expect_error(DLCORE_DATA_LOSS, "the element type is 0x0a, expected 0x08, 0x09 or 0x0b to 0x0e");
  put(header(0x08, {}));
  expect_error(DLCORE_INVALID_ARGUMENT, "there are 0 dimensions, expected 1 to 4");
  put(header(0x08, {1, 1, 1, 1, 1}) + "a");
  expect_error(DLCORE_INVALID_ARGUMENT, "there are 5 dimensions, expected 1 to 4");
}

TEST_F(Idx, RefusesWrongSizes) {
  put(header(0x08, {2, 3}) + "12345");
  expect_error(DLCORE_DATA_LOSS, "there are 5 bytes of data, expected 6 for u8 of shape [2, 3]");
  put(header(0x08, {2, 3}) + "1234567");
  expect_error(DLCORE_DATA_LOSS, "there is more data than the 6 bytes of u8 of shape [2, 3]");
  put(header(0x0e, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}));
  expect_error(DLCORE_DATA_LOSS,
               "f64 of shape [4294967295, 4294967295, 4294967295, 4294967295] is too large");
  put(header(0x08, {0, 0xffffffff, 0xffffffff, 0xffffffff}));  // nor can they be counted
  expect_error(DLCORE_DATA_LOSS,
               "u8 of shape [0, 4294967295, 4294967295, 4294967295] is too large");
  put(header(0x08, {0xffffffff, 0x7fffffff}) + "few");  // must not take memory for them
  expect_error(DLCORE_DATA_LOSS,
               "there are 3 bytes of data, expected 9223372030412324865 for u8 of shape "
               "[4294967295, 2147483647]");
}

TEST_F(Idx, RefusesBrokenGzip) {
  std::string pixels(10'000, 'x');
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i * i >> 5);
  const std::string bytes = zipped(header(0x08, {10'000}) + pixels);
  for (size_t cut : {size_t{1}, size_t{8}, size_t{9}, bytes.size() / 2, bytes.size() - 10}) {
    put(bytes.substr(0, bytes.size() - cut));
    expect_error(DLCORE_DATA_LOSS, "the gzip data ends early");
  }
  std::string bad = bytes;
  bad[bad.size() - 6] ^= 1;  // the checksum
  put(bad);
  expect_error(DLCORE_DATA_LOSS, "the gzip data is damaged: incorrect data check");
  put(zipped(header(0x08, {10}) + "12345"));
  expect_error(DLCORE_DATA_LOSS, "there are 5 bytes of data, expected 10 for u8 of shape [10]");
}

TEST_F(Idx, DoesNotInflateBeyondTheHeadersSize) {
  std::string bomb = zipped(header(0x08, {4}) + std::string(20'000'000, '\0'));
  bomb[bomb.size() - 6] ^= 1;  // the checksum, which is reported only by who gets to the end
  put(bomb);
  expect_error(DLCORE_DATA_LOSS, "there is more data than the 4 bytes of u8 of shape [4]");
}

TEST_F(Idx, SurvivesDamage) {
  const std::string plain = header(0x0c, {2, 3}) + std::string(24, '\1');
  std::mt19937 random(1);
  for (const std::string& good : {plain, zipped(plain)}) {
    for (int round = 0; round < 300; ++round) {
      std::string bad = good;
      for (int i = 0; i < 2; ++i) bad[random() % bad.size()] = static_cast<char>(random());
      put(bad);
      try {
        const IdxArray array = read_idx(path_);
        int64_t count = 1;
        for (int64_t length : array.shape) count *= length;
        ASSERT_GE(array.data.size(), static_cast<size_t>(count));
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace dlcore
