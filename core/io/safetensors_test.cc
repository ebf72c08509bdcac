// SPDX-License-Identifier: Apache-2.0
#include "core/io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/base/error.h"
#include "core/io/file.h"

namespace dlcore {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(data, data + text.size());
}

// A file with this header (its length is put in front) and so many data bytes 0, 1, 2 ...
Bytes file_of(const std::string& header, size_t data_bytes) {
  std::string text(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(text.data(), &length, 8);
  text += header;
  for (size_t i = 0; i < data_bytes; ++i) text += static_cast<char>(i);
  return bytes_of(text);
}

Error error_of(const Bytes& bytes) {
  try {
    parse_safetensors(bytes);
  } catch (const Error& error) {
    return error;
  }
  return Error(DLCORE_OK, "no error");
}

void expect_error(const Bytes& bytes, dlcore_status code, const std::string& message) {
  const Error error = error_of(bytes);
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_EQ(error.message, "safetensors: " + message);
  // A stream is judged like memory, whatever the pieces it comes in.
  size_t at = 0;
  const auto dribble = [&](std::span<std::byte> into) {
    const size_t n = std::min({into.size(), bytes.size() - at, size_t{3}});
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), n, into.begin());
    at += n;
    return n;
  };
  try {
    read_safetensors(dribble);
    ADD_FAILURE() << "no error for a stream: " << message;
  } catch (const Error& streamed) {
    EXPECT_EQ(streamed.code, code) << streamed.message;
  }
}

const std::string kTwo =
    R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("a":{"dtype":"U8","shape":[],"data_offsets":[8,9]},"__metadata__":{"k":"v"}})";

TEST(Safetensors, Parses) {
  const Bytes bytes = file_of(kTwo + "   ", 9);
  const Safetensors file = parse_safetensors(bytes);
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.tensors[0].dtype, DLCORE_U8);
  EXPECT_TRUE(file.tensors[0].shape.empty());
  EXPECT_EQ(file.tensors[0].data[0], std::byte{8});
  EXPECT_EQ(file.tensors[1].dtype, DLCORE_F32);
  EXPECT_EQ(file.tensors[1].shape, std::vector<int64_t>{2});
  EXPECT_EQ(file.tensors[1].data.size(), 8u);
  EXPECT_EQ(file.metadata, (SafetensorsMetadata{{"k", "v"}}));
  EXPECT_EQ(file.find("b"), &file.tensors[1]);
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(Safetensors, EmptyFileAndEmptyTensors) {
  EXPECT_TRUE(parse_safetensors(file_of("{}", 0)).tensors.empty());
  const Bytes bytes = file_of(R"({"e":{"dtype":"I64","shape":[0,7],"data_offsets":[2,2]},)"
                              R"("x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})",
                              2);
  EXPECT_EQ(parse_safetensors(bytes).find("e")->data.size(), 0u);
}

TEST(Safetensors, EscapedNames) {
  const Bytes bytes =
      file_of(R"({"caf\u00e9 \"x\"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1);
  EXPECT_NE(parse_safetensors(bytes).find("caf\xc3\xa9 \"x\""), nullptr);
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{" + tensor("w", dtype, shape, offsets) + "}";
}

TEST(Safetensors, RefusesBrokenFraming) {
  expect_error({}, DLCORE_DATA_LOSS, "there are 0 bytes, too few for the header's length");
  expect_error(bytes_of("1234567"), DLCORE_DATA_LOSS,
               "there are 7 bytes, too few for the header's length");
  expect_error(bytes_of(std::string("\5\0\0\0\0\0\0\0{}", 10)), DLCORE_DATA_LOSS,
               "the header is 5 bytes long, but only 2 are there");
  expect_error(bytes_of(std::string(8, '\xff') + "{}"), DLCORE_DATA_LOSS,
               "the header is 18446744073709551615 bytes long, expected at most 100000000");
  expect_error(file_of("{}", 1), DLCORE_DATA_LOSS,
               "there are bytes after the last tensor, which ends at 0");
  expect_error(file_of(kTwo, 10), DLCORE_DATA_LOSS,
               "there are bytes after the last tensor, which ends at 9");
  expect_error(file_of(kTwo, 8), DLCORE_DATA_LOSS,
               "tensor 'a': data_offsets are [8, 9], but the data has 8 bytes");
  expect_error(file_of("", 0), DLCORE_DATA_LOSS,
               "the header does not start with '{'; this is no safetensors file");
  expect_error(file_of(" {}", 0), DLCORE_DATA_LOSS,
               "the header does not start with '{'; this is no safetensors file");
}

TEST(Safetensors, RefusesBrokenJson) {
  expect_error(file_of("{", 0), DLCORE_DATA_LOSS, "the header is not valid JSON at byte 2");
  expect_error(file_of("{}{}", 0), DLCORE_DATA_LOSS, "the header is not valid JSON at byte 3");
  expect_error(file_of("{\"\xff\":1}", 0), DLCORE_DATA_LOSS,
               "the header is not valid JSON at byte 3");
  expect_error(file_of(R"({"w":{"dtype":"U8","shape":[1e999]}})", 0), DLCORE_DATA_LOSS,
               "the header is not valid JSON at byte 33");
  for (const char* text :
       {"{,}", "{\"w\"}", "{\"w\":}", "{\"w\":{\"dtype\":\"U8\",}}", "{\"w\":nan}"}) {
    EXPECT_EQ(error_of(file_of(text, 0)).code, DLCORE_DATA_LOSS) << text;
  }
  const std::string deep = "{\"w\":" + std::string(1'000'000, '[');
  EXPECT_EQ(error_of(file_of(deep, 0)).code, DLCORE_DATA_LOSS);
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "{\"w\":";
  EXPECT_EQ(error_of(file_of(nested, 0)).code, DLCORE_DATA_LOSS);
}

TEST(Safetensors, RefusesUnexpectedMembers) {
  expect_error(file_of(R"({"w":3})", 0), DLCORE_DATA_LOSS,
               "'w' in the header is a number, expected an object");
  expect_error(file_of(R"({"__metadata__":[]})", 0), DLCORE_DATA_LOSS,
               "'__metadata__' in the header is a list, expected an object");
  expect_error(file_of(R"({"__metadata__":{"k":1}})", 0), DLCORE_DATA_LOSS,
               "'k' in __metadata__ is a number, expected a string");
  expect_error(file_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0), DLCORE_DATA_LOSS,
               "__metadata__ has 'k' twice");
  expect_error(file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), DLCORE_DATA_LOSS,
               "__metadata__ is there twice");
  const std::string expected =
      ", expected dtype, shape and data_offsets as a string and two lists of numbers";
  expect_error(file_of(R"({"w":{"extra":true}})", 0), DLCORE_DATA_LOSS,
               "tensor 'w': 'extra' holds a boolean" + expected);
  expect_error(file_of(R"({"w":{"dtype":{}}})", 0), DLCORE_DATA_LOSS,
               "tensor 'w': 'dtype' holds an object" + expected);
  expect_error(file_of(R"({"w":{"shape":[[1]]}})", 0), DLCORE_DATA_LOSS,
               "tensor 'w': 'shape' holds a list" + expected);
  expect_error(file_of(R"({"w":{"shape":null}})", 0), DLCORE_DATA_LOSS,
               "tensor 'w': 'shape' holds null" + expected);
  expect_error(file_of(R"({"w":{"dtype":"U8","dtype":"U8"}})", 0), DLCORE_DATA_LOSS,
               "tensor 'w': dtype is there twice");
  expect_error(file_of(R"({"w":{"shape":[],"shape":[]}})", 0), DLCORE_DATA_LOSS,
               "tensor 'w': shape is there twice");
  expect_error(file_of(R"({"w":{}})", 0), DLCORE_DATA_LOSS, "tensor 'w': dtype is missing");
  expect_error(file_of(R"({"w":{"dtype":"U8","shape":[1]}})", 0), DLCORE_DATA_LOSS,
               "tensor 'w': a number of data_offsets is missing");
  expect_error(file_of("{" + tensor("a\\u0000b", "U8", "[1]", "[0,1]") + "}", 1), DLCORE_DATA_LOSS,
               "tensor 'a?b': the name holds a zero character");
}

TEST(Safetensors, RefusesWrongTensors) {
  expect_error(
      file_of(one("U7", "[1]", "[0,1]"), 1), DLCORE_INVALID_ARGUMENT,
      "tensor 'w': dtype is 'U7', expected BOOL, U8, I8, I16, I32, I64, F16, BF16, F32 or F64");
  expect_error(file_of(one("U8", "[-1]", "[0,1]"), 1), DLCORE_DATA_LOSS,
               "tensor 'w': shape holds -1, expected integers from 0 to 2^63 - 1");
  expect_error(file_of(one("U8", "[1.5]", "[0,1]"), 1), DLCORE_DATA_LOSS,
               "tensor 'w': shape holds 1.5, expected integers from 0 to 2^63 - 1");
  expect_error(file_of(one("U8", "[9223372036854775808]", "[0,1]"), 1), DLCORE_DATA_LOSS,
               "tensor 'w': shape holds 9223372036854775808, expected integers from 0 to 2^63 - 1");
  expect_error(file_of(one("F32", "[4611686018427387904,4]", "[0,0]"), 0), DLCORE_INVALID_ARGUMENT,
               "tensor 'w': shape [4611686018427387904, 4] is too large");
  expect_error(file_of(one("F32", "[4611686018427387904,4,0]", "[0,0]"), 0),
               DLCORE_INVALID_ARGUMENT,
               "tensor 'w': shape [4611686018427387904, 4, 0] is too large");
  expect_error(file_of(one("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), 1),
               DLCORE_INVALID_ARGUMENT, "tensor 'w': shape has more than 16 dimensions");
  expect_error(file_of(one("U8", "[1]", "[1,0]"), 1), DLCORE_DATA_LOSS,
               "tensor 'w': data_offsets are [1, 0], expected them to rise");
  expect_error(file_of(one("U8", "[1]", "[0]"), 1), DLCORE_DATA_LOSS,
               "tensor 'w': a number of data_offsets is missing");
  expect_error(file_of(one("U8", "[1]", "[0,1,2]"), 1), DLCORE_DATA_LOSS,
               "tensor 'w': data_offsets has more than 2 numbers");
  expect_error(file_of(one("U8", "[1]", "[0,-1]"), 1), DLCORE_DATA_LOSS,
               "tensor 'w': data_offsets holds -1, expected integers from 0 to 2^63 - 1");
  expect_error(file_of(one("F64", "[3]", "[0,23]"), 23), DLCORE_DATA_LOSS,
               "tensor 'w': data_offsets [0, 23] span 23 bytes, expected 24 for F64 of shape [3]");
  expect_error(file_of(one("U8", "[5]", "[0,5]"), 4), DLCORE_DATA_LOSS,
               "tensor 'w': data_offsets are [0, 5], but the data has 4 bytes");
  expect_error(file_of(one("BOOL", "[3]", "[0,3]"), 3), DLCORE_DATA_LOSS,
               "tensor 'w': element 2 of a BOOL tensor is 2, expected 0 or 1");
}

TEST(Safetensors, RefusesOffsetsThatReachAroundZero) {
  // The ends are near 2^64: no sum may wrap.
  const std::string a = tensor("a", "U8", "[9223372036854775807]", "[0,9223372036854775807]");
  const std::string b =
      tensor("b", "U8", "[9223372036854775807]", "[9223372036854775807,18446744073709551614]");
  const std::string c = tensor("c", "U8", "[1]", "[18446744073709551614,18446744073709551615]");
  expect_error(file_of("{" + a + "," + b + "," + c + "}", 4), DLCORE_DATA_LOSS,
               "tensor 'a': data_offsets are [0, 9223372036854775807], but the data has 4 bytes");
}

TEST(Safetensors, RefusesOverlapsHolesAndDuplicates) {
  const std::string a = tensor("a", "U8", "[2]", "[0,2]");
  expect_error(file_of("{" + a + "," + tensor("b", "U8", "[2]", "[1,3]") + "}", 3),
               DLCORE_DATA_LOSS, "tensors 'a' [0, 2] and 'b' [1, 3] overlap");
  expect_error(file_of("{" + a + "," + tensor("b", "U8", "[2]", "[0,2]") + "}", 2),
               DLCORE_DATA_LOSS, "tensors 'a' [0, 2] and 'b' [0, 2] overlap");
  expect_error(file_of("{" + a + "," + tensor("b", "U8", "[2]", "[3,5]") + "}", 5),
               DLCORE_DATA_LOSS, "bytes 2 to 3 before tensor 'b' belong to no tensor");
  expect_error(file_of("{" + tensor("b", "U8", "[2]", "[1,3]") + "}", 3), DLCORE_DATA_LOSS,
               "bytes 0 to 1 before tensor 'b' belong to no tensor");
  expect_error(file_of("{" + tensor("b", "U8", "[0]", "[1,1]") + "," + a + "}", 2),
               DLCORE_DATA_LOSS, "tensors 'a' [0, 2] and 'b' [1, 1] overlap");
  expect_error(file_of("{" + a + "," + tensor("a", "U8", "[2]", "[2,4]") + "}", 4),
               DLCORE_DATA_LOSS, "tensor 'a' is there twice");
}

TEST(Safetensors, MessagesStayShort) {
  const std::string name(100'000, 'x');
  EXPECT_LT(error_of(file_of("{\"" + name + "\":1}", 0)).message.size(), 300u);
}

SafetensorsTensor make(const std::string& name, dlcore_dtype dtype, std::vector<int64_t> shape,
                       const Bytes& data) {
  return {name, dtype, std::move(shape), data};
}

TEST(Safetensors, WritesTheSameBytesInAnyOrder) {
  const Bytes one_byte(1), eight(8), six(6, std::byte{7});
  const SafetensorsTensor a = make("a", DLCORE_BOOL, {1}, one_byte);
  const SafetensorsTensor b = make("b", DLCORE_F32, {2, 1}, eight);
  const SafetensorsTensor c = make("c\n\"", DLCORE_I16, {3}, six);
  const std::vector<SafetensorsTensor> forward = {a, b, c}, backward = {c, b, a};
  const SafetensorsMetadata metadata = {{"z", "1"}, {"y", "\xc3\xa9"}};
  const Bytes bytes = write_safetensors(forward, metadata);
  EXPECT_EQ(bytes, write_safetensors(backward, metadata));
  const std::string header = R"({"__metadata__":{"y":"é","z":"1"},)"
                             R"("a":{"dtype":"BOOL","shape":[1],"data_offsets":[14,15]},)"
                             R"("b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                             R"("c\n\"":{"dtype":"I16","shape":[3],"data_offsets":[8,14]}})";
  EXPECT_EQ(std::to_integer<size_t>(bytes[0]), (header.size() + 7) / 8 * 8);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()) + 8, header.size()), header);

  const Safetensors back = parse_safetensors(bytes);
  EXPECT_EQ(back.metadata, metadata);
  ASSERT_EQ(back.tensors.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back.tensors[i].name, forward[i].name);
    EXPECT_EQ(back.tensors[i].dtype, forward[i].dtype);
    EXPECT_EQ(back.tensors[i].shape, forward[i].shape);
    EXPECT_TRUE(std::ranges::equal(back.tensors[i].data, forward[i].data));
  }
  EXPECT_EQ(write_safetensors(back.tensors, back.metadata), bytes);
}

TEST(Safetensors, WritesNothing) { EXPECT_EQ(write_safetensors({}, {}).size(), 16u); }

TEST(Safetensors, RefusesToWriteWrongTensors) {
  const Bytes four(4);
  const auto code_of = [&](std::vector<SafetensorsTensor> tensors,
                           SafetensorsMetadata metadata = {}) {
    bool wrote = false;
    try {
      write_safetensors([&](auto) { wrote = true; }, tensors, metadata);
    } catch (const Error& error) {
      EXPECT_FALSE(wrote);
      return error.code;
    }
    return DLCORE_OK + 0;
  };
  const auto good = make("w", DLCORE_F32, {1}, four);
  EXPECT_EQ(code_of({good}), DLCORE_OK);
  EXPECT_EQ(code_of({good, good}), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({make("w", DLCORE_F32, {2}, four)}), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({make("w", DLCORE_F32, {-1}, four)}), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({make("w", 77, {1}, four)}), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({make("__metadata__", DLCORE_F32, {1}, four)}), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({make("\xff", DLCORE_F32, {1}, four)}), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({make(std::string("a\0b", 3), DLCORE_F32, {1}, four)}),
            DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of({good}, {{"k", "\xff"}}), DLCORE_INVALID_ARGUMENT);
}

class SafetensorsFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "safetensorsXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = name + "/model.safetensors";
  }
  void TearDown() override { fs::remove_all(directory_); }
  void put(const Bytes& bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }

  std::string directory_;
  std::string path_;
};

TEST_F(SafetensorsFile, RoundTrip) {
  Bytes data(5'000'000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  const std::vector<SafetensorsTensor> tensors = {make("big", DLCORE_U8, {1000, 5000}, data)};
  write_safetensors_file(path_, tensors, {});
  write_safetensors_file(path_, tensors, {{"step", "2"}});  // replaces
  Safetensors file = read_safetensors_file(path_);
  const Safetensors moved = std::move(file);
  EXPECT_TRUE(std::ranges::equal(moved.find("big")->data, data));
  EXPECT_EQ(moved.metadata.at("step"), "2");
  EXPECT_EQ(files(), 1u);
}

TEST_F(SafetensorsFile, ErrorsNameThePath) {
  const auto message = [&] {
    try {
      read_safetensors_file(path_);
    } catch (const Error& error) {
      return error.message;
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(), "cannot open '" + path_ + "': No such file or directory");
  put(file_of(kTwo, 8));
  EXPECT_EQ(message(), "safetensors: '" + path_ +
                           "': tensor 'a': data_offsets are [8, 9], but the data has 8 bytes");
  put(bytes_of(std::string("\377\377\377\5\0\0\0\0{}", 10)));
  EXPECT_EQ(message(), "safetensors: '" + path_ +
                           "': the header is 100663295 bytes long, expected at most 100000000");
  put(bytes_of(std::string("\377\377\377\4\0\0\0\0{}", 10)));
  EXPECT_EQ(message(), "safetensors: '" + path_ +
                           "': the header is 83886079 bytes long, but only 2 are there");
  put(bytes_of("abc"));
  EXPECT_EQ(message(),
            "safetensors: '" + path_ + "': there are 3 bytes, too few for the header's length");
}

TEST_F(SafetensorsFile, FailedWritesLeaveTheOldFile) {
  put(file_of("{}", 0));
  const Bytes four(4);
  const std::vector<SafetensorsTensor> wrong = {make("w", DLCORE_F32, {2}, four)};
  EXPECT_THROW(write_safetensors_file(path_, wrong, {}), Error);
  EXPECT_TRUE(read_safetensors_file(path_).tensors.empty());
  EXPECT_EQ(files(), 1u);
  const auto code_of = [&](const std::string& path) {
    try {
      write_safetensors_file(path, {}, {});
    } catch (const Error& error) {
      return error.code;
    }
    return DLCORE_OK + 0;
  };
  EXPECT_EQ(code_of(directory_ + "/none/x"), DLCORE_NOT_FOUND);
  EXPECT_EQ(code_of(directory_), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(""), DLCORE_INVALID_ARGUMENT);
}

// Damages a good file everywhere, in memory of exactly its size: ASan sees any step outside, and
// what is accepted has to be sound.
TEST(Safetensors, SurvivesDamage) {
  const Bytes good = file_of(kTwo, 9);
  std::mt19937 random(1);
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(error_of(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(length))).code,
              DLCORE_DATA_LOSS);
  }
  for (int round = 0; round < 20000; ++round) {
    Bytes bad = good;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      static constexpr char kInteresting[] = "{}[]\",:0129-.eE\\u\0\xff ";
      bad[random() % bad.size()] = static_cast<std::byte>(
          random() % 2 ? random()
                       : static_cast<unsigned char>(kInteresting[random() % sizeof kInteresting]));
    }
    try {
      const Safetensors file = parse_safetensors(bad);
      for (const SafetensorsTensor& t : file.tensors) {
        ASSERT_GE(t.data.data(), bad.data());
        ASSERT_LE(t.data.data() + t.data.size(), bad.data() + bad.size());
      }
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace dlcore
