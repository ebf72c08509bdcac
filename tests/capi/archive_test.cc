// SPDX-License-Identifier: Apache-2.0
// dlcore/io.h: tensors in files and buffers.
#include <map>

#include "support.h"

namespace dlcore::test {
namespace {

class Archive : public ApiTest {
 protected:
  dlcore_status save(const std::string& path,
                     const std::vector<std::pair<std::string, dlcore_tensor*>>& tensors) {
    std::vector<const char*> names;
    std::vector<dlcore_tensor*> values;
    for (const auto& [name, t] : tensors) {
      names.push_back(name.c_str());
      values.push_back(t);
    }
    return dlcore_archive_save(ctx_, path.c_str(), names.data(), values.data(),
                               static_cast<int64_t>(names.size()));
  }
  dlcore_archive* open_buffer(const std::string& bytes) {
    return dlcore_archive_open_buffer(ctx_, bytes.data(), bytes.size());
  }
  static std::string with_header(const std::string& json, const std::string& data) {
    std::string length(8, '\0');
    const uint64_t n = json.size();
    std::memcpy(length.data(), &n, sizeof n);
    return length + json + data;
  }
};

TEST_F(Archive, KeepsEveryDtypeShapeAndBit) {
  const std::map<dlcore_dtype, Doubles> values = {
      {DLCORE_BOOL, {1, 0, 1}},      {DLCORE_U8, {0, 1, 100}},
      {DLCORE_I8, {-128, 0, 127}},   {DLCORE_I16, {-32768, 0, 32767}},
      {DLCORE_I32, {-5, 0, 7}},      {DLCORE_I64, {-5, 0, 1e15}},
      {DLCORE_F16, {0x3c00, 1, 2}},  {DLCORE_BF16, {0x3f80, 1, 2}},
      {DLCORE_F32, {-0.5, 1e30, 0}}, {DLCORE_F64, {-0.5, 1e300, 0.1}}};
  std::vector<std::pair<std::string, dlcore_tensor*>> tensors;
  for (const auto& [dtype, list] : values) {
    tensors.emplace_back(std::string("t.") + dlcore_dtype_name(dtype), tensor(dtype, {3, 1}, list));
  }
  tensors.emplace_back("scalar", f32({}, {2.5}));
  tensors.emplace_back("empty", f32({2, 0, 3}, {}));
  tensors.emplace_back("\xF0\x9F\x99\x82", f32({1}, {1}));
  ASSERT_EQ(save(file("all"), tensors), DLCORE_OK);

  const std::string bytes = read_file(file("all"));
  for (dlcore_archive* archive :
       {dlcore_archive_open(ctx_, file("all").c_str()), open_buffer(bytes)}) {
    ASSERT_EQ(dlcore_archive_count(archive), static_cast<int64_t>(tensors.size()));
    for (int64_t i = 1; i < dlcore_archive_count(archive); ++i) {
      EXPECT_LT(std::string(dlcore_archive_name(archive, i - 1)), dlcore_archive_name(archive, i));
    }
    for (const auto& [name, t] : tensors) {
      dlcore_tensor* loaded = dlcore_archive_tensor(ctx_, archive, name.c_str());
      EXPECT_EQ(dlcore_tensor_dtype(loaded), dlcore_tensor_dtype(t)) << name;
      EXPECT_EQ(shape_of(loaded), shape_of(t)) << name;
      EXPECT_EQ(read(loaded), read(t)) << name;
    }
    dlcore_archive_release(archive);
  }
}

TEST_F(Archive, WritesViewsInRowMajorOrder) {
  dlcore_tensor* x = f32({2, 3}, {0, 1, 2, 3, 4, 5});
  dlcore_tensor* transposed = op1(121, x, Words().ints({1, 0}));
  ASSERT_EQ(save(file("views"), {{"x", transposed}}), DLCORE_OK);
  dlcore_archive* archive = dlcore_archive_open(ctx_, file("views").c_str());
  EXPECT_EQ(read(dlcore_archive_tensor(ctx_, archive, "x")), Doubles({0, 3, 1, 4, 2, 5}));
}

TEST_F(Archive, TensorsOutliveTheArchiveAndTheBuffer) {
  ASSERT_EQ(save(file("one"), {{"x", f32({40}, Doubles(40, 3))}}), DLCORE_OK);
  std::string bytes = read_file(file("one"));
  dlcore_archive* archive = open_buffer(bytes);
  bytes.assign(bytes.size(), 'x');
  dlcore_tensor* x = dlcore_archive_tensor(ctx_, archive, "x");
  dlcore_archive_release(archive);
  EXPECT_EQ(read(x), Doubles(40, 3));
  EXPECT_EQ(dlcore_archive_count(archive), -1);
  EXPECT_EQ(dlcore_archive_name(archive, 0), nullptr);
  EXPECT_EQ(dlcore_archive_tensor(ctx_, archive, "x"), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "archive_tensor: archive");
}

TEST_F(Archive, SaysWhichNamesThereAre) {
  ASSERT_EQ(save(file("two"), {{"weight", f32({1}, {1})}, {"bias", f32({1}, {2})}}), DLCORE_OK);
  dlcore_archive* archive = dlcore_archive_open(ctx_, file("two").c_str());
  EXPECT_EQ(dlcore_archive_tensor(ctx_, archive, "wieght"), nullptr);
  expect_error(DLCORE_NOT_FOUND, "no tensor is called 'wieght'; there are bias, weight");
  EXPECT_EQ(dlcore_archive_name(archive, 2), nullptr);
  EXPECT_EQ(dlcore_archive_name(archive, -1), nullptr);
}

TEST_F(Archive, RefusesDamagedAndHostileFiles) {
  EXPECT_EQ(dlcore_archive_open(ctx_, file("none").c_str()), nullptr);
  expect_error(DLCORE_NOT_FOUND, file("none"));
  const std::string entry = R"("dtype":"F32","shape":[2],"data_offsets":)";
  const std::string hostile[] = {
      "",
      "1234567",
      std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8),
      with_header("{", ""),
      with_header("[]", ""),
      with_header("{\"w\":{" + entry + "[0,8]}}", "1234567"),
      with_header("{\"w\":{" + entry + "[0,8]}}", "123456789"),
      with_header("{\"w\":{" + entry + "[0,12]}}", "123456789abc"),
      with_header("{\"w\":{" + entry + "[4,12]}}", "123456789abc"),
      with_header("{\"w\":{" + entry + "[8,0]}}", "12345678"),
      with_header("{\"a\":{" + entry + "[0,8]},\"b\":{" + entry + "[4,12]}}", "123456789abc"),
      with_header("{\"a\":{" + entry + "[0,8]},\"a\":{" + entry + "[8,16]}}", std::string(16, 'x')),
      with_header(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678"),
      with_header(R"({"w":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "\x02"),
      with_header(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
                  ""),
  };
  for (const std::string& bytes : hostile) {
    EXPECT_EQ(open_buffer(bytes), nullptr);
    EXPECT_TRUE(dlcore_context_status(ctx_) == DLCORE_DATA_LOSS ||
                dlcore_context_status(ctx_) == DLCORE_INVALID_ARGUMENT)
        << bytes << ": " << dlcore_context_error_message(ctx_);
    dlcore_context_clear_error(ctx_);
  }
}

TEST_F(Archive, AFailedSaveLeavesTheOldFile) {
  ASSERT_EQ(save(file("kept"), {{"x", f32({1}, {1})}}), DLCORE_OK);
  const std::string before = read_file(file("kept"));
  EXPECT_EQ(save(file("kept"), {{"x", f32({1}, {2})}, {"x", f32({1}, {3})}}),
            DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "'x' is there twice");
  EXPECT_EQ(save(file("kept"), {{"x", nullptr}}), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "archive_save");
  EXPECT_EQ(read_file(file("kept")), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
  EXPECT_EQ(save(file("no/such/folder"), {{"x", f32({1}, {1})}}), DLCORE_NOT_FOUND);
  expect_error(DLCORE_NOT_FOUND, file("no/such/folder"));
}

TEST_F(Archive, ChecksArguments) {
  EXPECT_EQ(dlcore_archive_save(ctx_, nullptr, nullptr, nullptr, 0), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "path");
  EXPECT_EQ(dlcore_archive_save(ctx_, file("x").c_str(), nullptr, nullptr, 1),
            DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "names");
  EXPECT_EQ(dlcore_archive_open_buffer(ctx_, nullptr, 10), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "data");
  EXPECT_EQ(dlcore_archive_count(nullptr), -1);
  EXPECT_EQ(dlcore_archive_open(nullptr, "x"), nullptr);
  dlcore_archive_release(nullptr);
  EXPECT_EQ(dlcore_archive_save(ctx_, file("nothing").c_str(), nullptr, nullptr, 0), DLCORE_OK);
  EXPECT_EQ(dlcore_archive_count(dlcore_archive_open(ctx_, file("nothing").c_str())), 0);
}

}  // namespace
}  // namespace dlcore::test
