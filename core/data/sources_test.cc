// SPDX-License-Identifier: Apache-2.0
#include "core/data/sources.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/data/idx.h"

namespace dlcore {
namespace {

namespace fs = std::filesystem;

class Sources : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sourcesXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    unsetenv("DLCORE_DATA");
  }
  void TearDown() override {
    fs::remove_all(directory_);
    unsetenv("DLCORE_DATA");
  }

  // Two images of 1 x 3, labels 7 and 250.
  void put_pair(const std::string& prefix) {
    put(prefix + "-images-idx3-ubyte",
        std::string("\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3", 16) + "abcdef");
    put(prefix + "-labels-idx1-ubyte", std::string("\0\0\x08\1\0\0\0\2\x07\xfa", 10));
  }
  void put(const std::string& name, const std::string& bytes) {
    fs::create_directories(fs::path(directory_ + "/" + name).parent_path());
    std::ofstream(directory_ + "/" + name, std::ios::binary) << bytes;
  }
  static Error error_of(const std::string& source, const std::string& directory = {}) {
    try {
      load_dataset(source, directory);
    } catch (const Error& error) {
      return error;
    }
    return Error(DLCORE_OK, "no error");
  }
  void expect_small(const Dataset& dataset) {
    EXPECT_EQ(dataset.count, 2);
    EXPECT_EQ(dataset.sample_shape, std::vector<int64_t>{3});
    const std::string_view samples(reinterpret_cast<const char*>(dataset.samples.data()),
                                   dataset.samples.size());
    EXPECT_EQ(samples, "abcdef");
    EXPECT_EQ(dataset.labels, (std::vector<int64_t>{7, 250}));
  }

  std::string directory_;
};

TEST_F(Sources, Idx) {
  put_pair("train");
  put_pair("t10k");
  put_pair("valid");
  for (const char* name : {"/train", "/test", "/t10k", "/valid"}) {
    expect_small(load_dataset("idx:" + directory_ + name));
  }
  const Error error = error_of("idx:" + directory_ + "/other");
  EXPECT_EQ(error.code, DLCORE_NOT_FOUND);
  EXPECT_NE(error.message.find(directory_ + "/other-images-idx3-ubyte.gz"), std::string::npos);
}

TEST_F(Sources, LabelsMayBeWider) {
  put_pair("train");
  put("train-labels-idx1-ubyte", std::string("\0\0\x0c\1\0\0\0\2\xff\xff\xff\xff\0\0\1\2", 16));
  EXPECT_EQ(load_dataset("idx:" + directory_ + "/train").labels, (std::vector<int64_t>{-1, 258}));
}

TEST_F(Sources, NamedDatasetFromADirectory) {
  put_pair("train");
  put_pair("sub/fashion-mnist/t10k");
  expect_small(load_dataset("fashion-mnist:train", directory_));
  expect_small(load_dataset("fashion-mnist:test", directory_ + "/sub"));
  expect_small(load_dataset("fashion-mnist:test", directory_ + "/sub/fashion-mnist"));
  setenv("DLCORE_DATA", directory_.c_str(), 1);
  expect_small(load_dataset("fashion-mnist:train"));
}

TEST_F(Sources, MissingDataListsWhatWasTried) {
  setenv("DLCORE_DATA", "/elsewhere", 1);  // a directory that is given is the only one
  const Error error = error_of("fashion-mnist:test", directory_);
  EXPECT_EQ(error.code, DLCORE_NOT_FOUND);
  EXPECT_EQ(error.message,
            "source 'fashion-mnist:test' was not found, tried '" + directory_ +
                "/fashion-mnist/t10k-images-idx3-ubyte[.gz]', '" + directory_ +
                "/t10k-images-idx3-ubyte[.gz]'; set DLCORE_DATA to the directory that "
                "holds it, or install Debian's dataset-fashion-mnist");
}

TEST_F(Sources, RefusesOtherStrings) {
  for (const char* source :
       {"", ":", "mnist", "mnist:train", "IDX:x/train", "idx", "idx:", "idx:dir/", "fashion-mnist",
        "fashion-mnist:", "fashion-mnist:valid"}) {
    EXPECT_EQ(error_of(source).code, DLCORE_INVALID_ARGUMENT) << source;
  }
}

TEST_F(Sources, RefusesFilesThatDoNotFit) {
  put_pair("train");
  const std::string source = "idx:" + directory_ + "/train";
  const std::string images = directory_ + "/train-images-idx3-ubyte";
  const std::string labels = directory_ + "/train-labels-idx1-ubyte";
  put("train-labels-idx1-ubyte", std::string("\0\0\x08\1\0\0\0\1\x07", 9));
  EXPECT_EQ(error_of(source).message,
            "'" + images + "' has 2 images, but '" + labels + "' has 1 labels");
  put("train-labels-idx1-ubyte", std::string("\0\0\x0d\1\0\0\0\0", 8));
  EXPECT_EQ(error_of(source).message,
            "'" + labels + "' holds floating-point numbers, expected integer labels");
  put("train-labels-idx1-ubyte", std::string("\0\0\x08\2\0\0\0\2\0\0\0\1ab", 14));
  EXPECT_EQ(error_of(source).code, DLCORE_INVALID_ARGUMENT);
  fs::remove(labels);
  EXPECT_EQ(error_of(source).code, DLCORE_NOT_FOUND);
  put("train-images-idx3-ubyte", std::string("\0\0\x0d\2\0\0\0\0\0\0\0\0", 12));
  EXPECT_EQ(error_of(source).code, DLCORE_INVALID_ARGUMENT);
}

TEST_F(Sources, FashionMnistOfDebian) {
  if (!idx_exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte")) {
    GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  }
  const Dataset train = load_dataset("fashion-mnist:train");
  EXPECT_EQ(train.count, 60000);
  EXPECT_EQ(train.sample_shape, std::vector<int64_t>{784});
  EXPECT_EQ(train.samples.size(), 60000u * 784);
  const Dataset test = load_dataset("fashion-mnist:test");
  EXPECT_EQ(test.count, 10000);
  for (int64_t label = 0; label < 10; ++label) {
    EXPECT_EQ(std::ranges::count(train.labels, label), 6000);
    EXPECT_EQ(std::ranges::count(test.labels, label), 1000);
  }
}

}  // namespace
}  // namespace dlcore
