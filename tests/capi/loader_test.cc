// SPDX-License-Identifier: Apache-2.0
// dlcore/data.h: batches, their order, and the end of an epoch.
#include <algorithm>
#include <map>
#include <numeric>

#include "support.h"

namespace dlcore::test {
namespace {

struct Batch {
  Doubles x, y;
  bool operator==(const Batch&) const = default;
};

class Loader : public ApiTest {
 protected:
  // n samples [2] whose elements tell which one it is; the label is its number.
  dlcore_loader* numbered(int64_t n, int64_t batch, uint64_t flags, dlcore_context* ctx = nullptr) {
    Doubles x, y;
    for (int64_t i = 0; i < n; ++i) {
      x.insert(x.end(), {10.0 * static_cast<double>(i), 10.0 * static_cast<double>(i) + 1});
      y.push_back(static_cast<double>(i));
    }
    return dlcore_loader_from_tensors(ctx == nullptr ? ctx_ : ctx, f32({n, 2}, x),
                                      tensor(DLCORE_I64, {n}, y), batch, flags);
  }
  // One epoch, up to the 0 that ends it.
  std::vector<Batch> epoch(dlcore_loader* loader) {
    std::vector<Batch> batches;
    dlcore_tensor *x, *y;
    while (dlcore_loader_next(ctx_, loader, &x, &y) == 1) batches.push_back({read(x), read(y)});
    EXPECT_EQ(x, nullptr);
    EXPECT_EQ(y, nullptr);
    return batches;
  }
  static Doubles labels(const std::vector<Batch>& batches) {
    Doubles all;
    for (const Batch& b : batches) all.insert(all.end(), b.y.begin(), b.y.end());
    return all;
  }
  static Doubles counting(int64_t n) {
    Doubles all(static_cast<size_t>(n));
    std::iota(all.begin(), all.end(), 0.0);
    return all;
  }

  static std::string big_endian(uint32_t v) {
    return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8),
            static_cast<char>(v)};
  }
  void write_idx(const std::string& prefix, uint32_t n, const std::string& pixels) {
    write_file(file(prefix + "-images-idx3-ubyte"), std::string("\0\0\x08\x03", 4) + big_endian(n) +
                                                        big_endian(2) + big_endian(3) + pixels);
    std::string digits;
    for (uint32_t i = 0; i < n; ++i) digits += static_cast<char>(i % 10);
    write_file(file(prefix + "-labels-idx1-ubyte"),
               std::string("\0\0\x08\x01", 4) + big_endian(n) + digits);
  }
};

TEST_F(Loader, GoesThroughAnEpochInOrder) {
  dlcore_loader* loader = numbered(7, 3, 0);
  EXPECT_EQ(dlcore_loader_samples(loader), 7);
  EXPECT_EQ(dlcore_loader_batches(loader), 3);
  for (int64_t e = 0; e < 3; ++e) {
    const std::vector<Batch> batches = epoch(loader);
    ASSERT_EQ(batches.size(), 3u);
    EXPECT_EQ(batches[0].x, Doubles({0, 1, 10, 11, 20, 21}));
    EXPECT_EQ(batches[2].x, Doubles({60, 61}));
    EXPECT_EQ(labels(batches), counting(7));
    EXPECT_EQ(dlcore_loader_epoch(loader), e);
  }
}

TEST_F(Loader, ShufflesByEpochNameAndSeed) {
  const auto shuffled = [&](dlcore_context* ctx, int64_t n) {
    std::vector<Doubles> epochs;
    dlcore_loader* loader = numbered(n, 16, DLCORE_LOADER_SHUFFLE, ctx);
    for (int e = 0; e < 3; ++e) epochs.push_back(labels(epoch(loader)));
    return epochs;
  };
  dlcore_context* same = open(42);
  dlcore_context* other = open(43);
  const auto a = shuffled(ctx_, 100), b = shuffled(same, 100), c = shuffled(other, 100);
  EXPECT_EQ(a, b);
  EXPECT_NE(a[0], c[0]);
  EXPECT_NE(a[0], shuffled(ctx_, 100)[0]);  // the second loader has another name
  EXPECT_NE(a[0], a[1]);
  EXPECT_NE(a[1], a[2]);
  for (Doubles order : a) {
    EXPECT_NE(order, counting(100));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, counting(100));
  }
  dlcore_context_close(same);
  dlcore_context_close(other);
}

TEST_F(Loader, EveryOrderIsAboutAsLikely) {
  std::map<Doubles, int> seen;
  dlcore_loader* loader = numbered(3, 3, DLCORE_LOADER_SHUFFLE);
  constexpr int kEpochs = 1200;
  for (int e = 0; e < kEpochs; ++e) ++seen[labels(epoch(loader))];
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, kEpochs / 6, 65);  // 5 deviations
}

TEST_F(Loader, SamplesAndLabelsStayTogether) {
  for (const Batch& b : epoch(numbered(50, 8, DLCORE_LOADER_SHUFFLE))) {
    for (size_t i = 0; i < b.y.size(); ++i) {
      EXPECT_EQ(b.x[2 * i], 10 * b.y[i]);
      EXPECT_EQ(b.x[2 * i + 1], 10 * b.y[i] + 1);
    }
  }
}

TEST_F(Loader, SeeksToAnyBatch) {
  dlcore_loader* loader = numbered(20, 6, DLCORE_LOADER_SHUFFLE);
  std::vector<std::vector<Batch>> epochs;
  for (int e = 0; e < 3; ++e) epochs.push_back(epoch(loader));
  for (const int64_t e : {2, 0, 1, 1}) {
    for (int64_t b = 0; b <= 4; ++b) {
      ASSERT_EQ(dlcore_loader_seek(ctx_, loader, e, b), DLCORE_OK);
      EXPECT_EQ(dlcore_loader_epoch(loader), e);
      const auto& expected = epochs[static_cast<size_t>(e)];
      EXPECT_EQ(epoch(loader), std::vector<Batch>(expected.begin() + b, expected.end()));
    }
  }
  EXPECT_EQ(dlcore_loader_seek(ctx_, loader, -1, 0), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "epoch is -1");
  EXPECT_EQ(dlcore_loader_seek(ctx_, loader, 0, 5), DLCORE_OUT_OF_RANGE);
  expect_error(DLCORE_OUT_OF_RANGE, "batch is 5, but an epoch has 4");
}

TEST_F(Loader, TakesAnyDtypeShapeAndLayout) {
  for (const dlcore_dtype dtype : {DLCORE_BOOL, DLCORE_U8, DLCORE_I8, DLCORE_I16, DLCORE_I32,
                                   DLCORE_I64, DLCORE_F16, DLCORE_BF16, DLCORE_F32, DLCORE_F64}) {
    // [2, 2, 3] seen as [3, 2, 2]: sample i is the i-th column
    dlcore_tensor* x = tensor(dtype, {2, 2, 3}, {1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0});
    dlcore_tensor* samples = op1(121, x, Words().ints({2, 0, 1}));
    dlcore_tensor* targets = f32({3, 1}, {7, 8, 9});
    dlcore_loader* loader = dlcore_loader_from_tensors(ctx_, samples, targets, 2, 0);
    dlcore_tensor *bx, *by;
    ASSERT_EQ(dlcore_loader_next(ctx_, loader, &bx, &by), 1);
    EXPECT_EQ(dlcore_tensor_dtype(bx), dtype);
    EXPECT_EQ(shape_of(bx), Shape({2, 2, 2}));
    EXPECT_EQ(shape_of(by), Shape({2, 1}));
    EXPECT_EQ(read(bx), Doubles({1, 0, 1, 0, 0, 0, 1, 1}));
  }
}

TEST_F(Loader, AnEmptySetHasEmptyEpochs) {
  dlcore_loader* loader =
      dlcore_loader_from_tensors(ctx_, f32({0, 4}, {}), tensor(DLCORE_I64, {0}, {}), 3, 0);
  EXPECT_EQ(dlcore_loader_samples(loader), 0);
  EXPECT_EQ(dlcore_loader_batches(loader), 0);
  EXPECT_TRUE(epoch(loader).empty());
  EXPECT_TRUE(epoch(loader).empty());
  EXPECT_EQ(dlcore_loader_epoch(loader), 1);
}

TEST_F(Loader, ABatchMayBeLargerThanTheSet) {
  dlcore_loader* loader = numbered(3, INT64_MAX, 0);
  EXPECT_EQ(dlcore_loader_batches(loader), 1);
  EXPECT_EQ(labels(epoch(loader)), counting(3));
}

TEST_F(Loader, ReadsIdxFilesScaledToOne) {
  std::string pixels;
  for (int i = 0; i < 43 * 6; ++i) pixels += static_cast<char>(i % 256);
  write_idx("train", 43, pixels);
  dlcore_loader* loader =
      dlcore_loader_open(ctx_, ("idx:" + directory_.string() + "/train").c_str(), 10, 0);
  expect_ok();
  EXPECT_EQ(dlcore_loader_samples(loader), 43);
  dlcore_tensor *x, *y;
  size_t at = 0;
  while (dlcore_loader_next(ctx_, loader, &x, &y) == 1) {
    EXPECT_EQ(dlcore_tensor_dtype(x), DLCORE_F32);
    EXPECT_EQ(dlcore_tensor_dtype(y), DLCORE_I64);
    EXPECT_EQ(dlcore_tensor_dim(x, 1), 6);
    for (double v : read(x)) {
      EXPECT_EQ(static_cast<float>(v), static_cast<float>(at++ % 256) / 255.0f);
    }
  }
  EXPECT_EQ(at, 43u * 6);
}

TEST_F(Loader, FindsDataSetsInTheContextsDirectory) {
  std::filesystem::create_directories(directory_ / "fashion-mnist");
  write_idx("fashion-mnist/t10k", 2, std::string(12, '\x7f'));
  ASSERT_EQ(dlcore_context_set_data_directory(ctx_, directory_.c_str()), DLCORE_OK);
  dlcore_loader* loader = dlcore_loader_open(ctx_, "fashion-mnist:test", 2, 0);
  expect_ok();
  EXPECT_EQ(dlcore_loader_samples(loader), 2);
  EXPECT_EQ(dlcore_loader_open(ctx_, "fashion-mnist:train", 2, 0), nullptr);
  expect_error(DLCORE_NOT_FOUND, directory_.string());
  EXPECT_EQ(dlcore_context_set_data_directory(ctx_, nullptr), DLCORE_OK);
}

TEST_F(Loader, RefusesWhatItCannotRead) {
  const std::string source = "idx:" + directory_.string() + "/train";
  EXPECT_EQ(dlcore_loader_open(ctx_, source.c_str(), 4, 0), nullptr);
  expect_error(DLCORE_NOT_FOUND, "train-images");
  write_idx("train", 4, "too few");
  EXPECT_EQ(dlcore_loader_open(ctx_, source.c_str(), 4, 0), nullptr);
  expect_error(DLCORE_DATA_LOSS, "train-images");
  EXPECT_EQ(dlcore_loader_open(ctx_, "cifar:train", 4, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "cifar:train");
  EXPECT_EQ(dlcore_loader_open(ctx_, nullptr, 4, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "source");
}

TEST_F(Loader, ChecksArguments) {
  for (const int64_t batch : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(numbered(3, batch, 0), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "batch is " + std::to_string(batch));
  }
  EXPECT_EQ(numbered(3, 1, 2), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "flags are 0x2");
  EXPECT_EQ(dlcore_loader_from_tensors(ctx_, f32({2}, {1, 2}), f32({3}, {1, 2, 3}), 1, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "there are 2 samples, but 3 labels");
  EXPECT_EQ(dlcore_loader_from_tensors(ctx_, f32({}, {1}), f32({1}, {1}), 1, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "samples have rank 0");
  dlcore_tensor *x = nullptr, *y = nullptr;
  EXPECT_EQ(dlcore_loader_next(ctx_, numbered(3, 1, 0), nullptr, &y), 0);
  expect_error(DLCORE_INVALID_ARGUMENT, "x is NULL");
  EXPECT_EQ(dlcore_loader_next(nullptr, nullptr, &x, &y), 0);
  EXPECT_EQ(dlcore_loader_samples(nullptr), -1);
  EXPECT_EQ(dlcore_loader_batches(nullptr), -1);
  EXPECT_EQ(dlcore_loader_epoch(nullptr), -1);
  dlcore_loader* closed = numbered(3, 1, 0);
  dlcore_loader_release(closed);
  EXPECT_EQ(dlcore_loader_samples(closed), -1);
  EXPECT_EQ(dlcore_loader_next(ctx_, closed, &x, &y), 0);
  expect_error(DLCORE_FAILED_PRECONDITION, "loader");
}

TEST_F(Loader, ABatchThatFailsIsNotSkipped) {
  dlcore_loader* loader = numbered(200, 100, 0);
  dlcore_tensor *x, *y;
  for (int64_t n = 1; n <= 2; ++n) {  // samples, labels
    dlcore_engine_fail_allocation(engine_, n);
    EXPECT_EQ(dlcore_loader_next(ctx_, loader, &x, &y), 0);
    EXPECT_EQ(x, nullptr);
    EXPECT_EQ(y, nullptr);
    expect_error(DLCORE_RESOURCE_EXHAUSTED, "");
  }
  dlcore_engine_fail_allocation(engine_, 0);
  EXPECT_EQ(labels(epoch(loader)), counting(200));
}

}  // namespace
}  // namespace dlcore::test
