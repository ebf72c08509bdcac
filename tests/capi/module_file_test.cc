// SPDX-License-Identifier: Apache-2.0
// dlcore/module.h: saving and loading the variables of a model.
#include <utility>

#include "module_support.h"

namespace dlcore::test {
namespace {

class ModuleFile : public ModuleTest {};

TEST_F(ModuleFile, SavesAndLoadsEveryBit) {
  dlcore_module* a = classifier();
  const std::vector<Doubles> saved = values(a);
  ASSERT_EQ(dlcore_module_save(ctx_, a, file("model").c_str()), DLCORE_OK);
  dlcore_module* b = classifier();
  ASSERT_NE(values(b), saved);
  ASSERT_EQ(dlcore_module_load(ctx_, b, file("model").c_str()), DLCORE_OK);
  EXPECT_EQ(values(b), saved);
  dlcore_tensor* x = f32({2, 6}, Doubles(12, 0.5));
  EXPECT_EQ(read(call(b, x)), read(call(a, x)));
  dlcore_archive* archive = dlcore_archive_open(ctx_, file("model").c_str());
  EXPECT_EQ(dlcore_archive_count(archive), 4);
  EXPECT_STREQ(dlcore_archive_name(archive, 0), "0.bias");
}

TEST_F(ModuleFile, LoadsAllOrNothing) {
  const auto write = [&](const std::vector<std::pair<const char*, Shape>>& list,
                         dlcore_dtype dtype) {
    std::vector<const char*> names;
    std::vector<dlcore_tensor*> tensors;
    for (const auto& [name, shape] : list) {
      int64_t count = 1;
      for (int64_t d : shape) count *= d;
      names.push_back(name);
      tensors.push_back(tensor(dtype, shape, Doubles(static_cast<size_t>(count), 9)));
    }
    ASSERT_EQ(dlcore_archive_save(ctx_, file("m").c_str(), names.data(), tensors.data(),
                                  static_cast<int64_t>(names.size())),
              DLCORE_OK);
  };
  dlcore_module* m = classifier();
  const std::vector<Doubles> before = values(m);
  const auto expect_refused = [&](dlcore_status code, const std::string& part) {
    EXPECT_EQ(dlcore_module_load(ctx_, m, file("m").c_str()), code);
    expect_error(code, part);
    EXPECT_EQ(values(m), before);
  };
  expect_refused(DLCORE_NOT_FOUND, file("m"));
  write({{"0.weight", {5, 6}}, {"0.bias", {5}}, {"2.weight", {3, 5}}}, DLCORE_F32);
  expect_refused(DLCORE_INVALID_ARGUMENT, "'2.bias' is missing");
  write({{"0.weight", {5, 6}}, {"0.bias", {5}}, {"2.weight", {3, 5}}, {"2.bias", {3}}, {"x", {1}}},
        DLCORE_F32);
  expect_refused(DLCORE_INVALID_ARGUMENT, "'x' is not in the model");
  write({{"0.weight", {6, 5}}, {"0.bias", {5}}, {"2.weight", {3, 5}}, {"2.bias", {3}}}, DLCORE_F32);
  expect_refused(DLCORE_INVALID_ARGUMENT, "'0.weight' is f32 [6, 5], expected f32 [5, 6]");
  write({{"0.weight", {5, 6}}, {"0.bias", {5}}, {"2.weight", {3, 5}}, {"2.bias", {3}}}, DLCORE_F64);
  expect_refused(DLCORE_INVALID_ARGUMENT, "'2.bias' is f64 [3], expected f32 [3]");
  const std::string good = read_file(file("m"));
  write_file(file("m"), good.substr(0, good.size() - 1));
  expect_refused(DLCORE_DATA_LOSS, file("m"));
  write_file(file("m"), "");
  expect_refused(DLCORE_DATA_LOSS, file("m"));

  write({{"0.weight", {5, 6}}, {"0.bias", {5}}, {"2.weight", {3, 5}}, {"2.bias", {3}}}, DLCORE_F32);
  dlcore_engine_fail_allocation(engine_, 1);
  expect_refused(DLCORE_RESOURCE_EXHAUSTED, "");
  EXPECT_EQ(dlcore_module_load(ctx_, m, file("m").c_str()), DLCORE_OK);
  EXPECT_EQ(values(m)[3], Doubles(3, 9));
}

TEST_F(ModuleFile, AFailedSaveLeavesTheOldFile) {
  dlcore_module* m = classifier();
  EXPECT_EQ(dlcore_module_save(ctx_, m, file("no/model").c_str()), DLCORE_NOT_FOUND);
  expect_error(DLCORE_NOT_FOUND, file("no/model"));
  EXPECT_EQ(dlcore_module_save(ctx_, m, directory_.c_str()), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, directory_.string());
  EXPECT_EQ(dlcore_module_save(ctx_, m, nullptr), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "path");
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace dlcore::test
