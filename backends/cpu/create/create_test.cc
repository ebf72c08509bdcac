// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/create/create.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "backends/cpu/movement/fill.h"
#include "backends/cpu/movement/test_launch.h"
#include "core/base/philox.h"

namespace dlcore::cpu {
namespace {

using test::dims_words;
using test::find_kernel;
using test::launch;
using test::Operand;
using test::Outcome;

__extension__ using Wide = unsigned __int128;

int64_t word(double value) { return std::bit_cast<int64_t>(value); }

TEST(Full, EveryDtypeAndSize) {
  for (dlcore_dtype dtype = DLCORE_BOOL; dtype <= DLCORE_F64; ++dtype) {
    for (const int64_t n : {0, 1, 3, 7, 64, 1000, 300001}) {
      std::vector<int64_t> attrs = dims_words({n});
      attrs.insert(attrs.end(), {word(-2.5), dtype});
      const Outcome got = launch(find_kernel(fill_kernels, 0, Op::kFull, dtype), {},
                                 Operand::contiguous(dtype, {n}), attrs);
      ASSERT_EQ(got.status, DLCORE_OK) << got.message;
      const uint64_t bits = element_bits(dtype, -2.5);
      const size_t size = static_cast<size_t>(element_size(dtype));
      for (size_t i = 0; i < got.out.memory.size(); ++i) {
        ASSERT_EQ(got.out.memory[i], std::byte(bits >> (8 * (i % size)))) << i;
      }
    }
  }
}

TEST(Eye, WideAndTall) {
  for (const auto& [n, m] : {std::pair<int64_t, int64_t>{3, 5}, {5, 3}, {4, 4}, {0, 3}, {1, 1}}) {
    const Outcome got = launch(find_kernel(fill_kernels, 0, Op::kEye, DLCORE_I16), {},
                               Operand::contiguous(DLCORE_I16, {n, m}), {n, 1, m, DLCORE_I16});
    ASSERT_EQ(got.status, DLCORE_OK);
    const std::vector<int16_t> values = got.out.values<int16_t>();
    for (int64_t i = 0; i < n * m; ++i) EXPECT_EQ(values[size_t(i)], i / m == i % m ? 1 : 0);
  }
}

template <class T>
std::vector<T> arange(double start, double step, int64_t n) {
  return launch(find_kernel(fill_kernels, 0, Op::kArange, dtype_of<T>()), {},
                Operand::contiguous(dtype_of<T>(), {n}),
                {word(start), word(0), word(step), dtype_of<T>()})
      .out.template values<T>();
}

TEST(Arange, CountsInTheDtype) {
  EXPECT_EQ(arange<int64_t>(5, -2, 4), (std::vector<int64_t>{5, 3, 1, -1}));
  EXPECT_EQ(arange<uint8_t>(250, 1, 4), (std::vector<uint8_t>{250, 251, 252, 253}));
  EXPECT_EQ(arange<float>(0.5, 0.25, 3), (std::vector<float>{0.5f, 0.75f, 1.0f}));
  EXPECT_EQ(arange<int64_t>(0x1p60, 1, 3)[2], (int64_t{1} << 60) + 2);
  EXPECT_EQ(arange<int32_t>(0.5, 0.75, 4), (std::vector<int32_t>{0, 1, 2, 2}));
  const std::vector<double> many = arange<double>(1, 0.1, 100000);
  for (size_t i = 0; i < many.size(); ++i) ASSERT_EQ(many[i], 1 + double(i) * 0.1);
}

const int64_t kKeys[][3] = {{0, 0, 0}, {-5, 3, 0x1'00000007}, {0x123456789abcdef, 70000, 9}};
const int64_t kSizes[] = {0, 1, 2, 3, 5, 31, 32, 33, 1000, 20003};

Operand key_operand(const int64_t* key) {
  return Operand::of(DLCORE_I64, std::vector<int64_t>(key, key + 3));
}

RandomCall call_of(const int64_t* key) {
  return {static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1]),
          static_cast<uint64_t>(key[2])};
}

template <class T>
std::vector<T> random(KernelFile file, int64_t target, Op op, const int64_t* key, int64_t n,
                      std::vector<int64_t> rest) {
  constexpr dlcore_dtype kDtype = dtype_of<T>();
  std::vector<int64_t> attrs = dims_words({n});
  attrs.insert(attrs.end(), rest.begin(), rest.end());
  const Outcome got = launch(find_kernel(file, target, op, kDtype), {key_operand(key)},
                             Operand::contiguous(kDtype, {n}), attrs);
  EXPECT_EQ(got.status, DLCORE_OK) << got.message;
  return got.out.values<T>();
}

std::vector<int64_t> targets() {
  std::vector<int64_t> found;
  for (const TargetKernels& table : random_float_kernels()) {
    if (test::supported(table.target)) found.push_back(table.target);
  }
  return found;
}

TEST(RandomUniform, FollowsTheDefinitionBitForBit) {
  for (const int64_t target : targets()) {
    for (const auto& key : kKeys) {
      for (const int64_t n : kSizes) {
        const RandomCall call = call_of(key);
        const auto f32 = random<float>(random_float_kernels, target, Op::kRandomUniform, key, n,
                                       {word(-1), word(2), DLCORE_F32});
        for (size_t i = 0; i < f32.size(); ++i) {
          const float unit = static_cast<float>(call.draw32(i) >> 8) * 0x1p-24f;
          ASSERT_EQ(f32[i], std::min(-1.0f + 3.0f * unit, std::nextafter(2.0f, 0.0f)));
        }
        const auto f64 = random<double>(random_float_kernels, target, Op::kRandomUniform, key, n,
                                        {word(0), word(1), DLCORE_F64});
        for (size_t i = 0; i < f64.size(); ++i) {
          ASSERT_EQ(f64[i], static_cast<double>(call.draw64(i) >> 11) * 0x1p-53);
        }
      }
    }
  }
}

TEST(RandomUniform, StaysBelowItsUpperEnd) {
  for (const int64_t target : targets()) {
    // A quarter of all draws would round up to 16777216 + 2.
    const auto x = random<float>(random_float_kernels, target, Op::kRandomUniform, kKeys[1], 1000,
                                 {word(16777216), word(16777218), DLCORE_F32});
    for (const float value : x) ASSERT_EQ(value, 16777216.0f);
    const auto same = random<float>(random_float_kernels, target, Op::kRandomUniform, kKeys[1], 10,
                                    {word(3), word(3), DLCORE_F32});
    for (const float value : same) ASSERT_EQ(value, 3.0f);
  }
}

// Two normal numbers from two uniform ones, in long double.
void box_muller(long double u1, long double u2, double out[2]) {
  const long double radius = std::sqrt(-2 * std::log(u1));
  const long double angle = 2 * std::acos(-1.0L) * u2;
  out[0] = static_cast<double>(radius * std::cos(angle));
  out[1] = static_cast<double>(radius * std::sin(angle));
}

TEST(RandomNormal, FollowsTheDefinition) {
  for (const int64_t target : targets()) {
    for (const auto& key : kKeys) {
      for (const int64_t n : kSizes) {
        const RandomCall call = call_of(key);
        const auto f32 = random<float>(random_float_kernels, target, Op::kRandomNormal, key, n,
                                       {word(0.5), word(2), DLCORE_F32});
        const auto f64 = random<double>(random_float_kernels, target, Op::kRandomNormal, key, n,
                                        {word(0), word(1), DLCORE_F64});
        for (size_t i = 0; i < f32.size(); ++i) {
          double z[2];
          box_muller(((call.draw32(i & ~size_t{1}) >> 8) + 1) * 0x1p-24L,
                     (call.draw32(i | 1) >> 8) * 0x1p-24L, z);
          ASSERT_NEAR(f32[i], 0.5 + 2 * z[i & 1], 1e-6 * (1 + std::abs(z[i & 1])));
          box_muller(static_cast<long double>((call.draw64(i & ~size_t{1}) >> 11) + 1) * 0x1p-53L,
                     static_cast<long double>(call.draw64(i | 1) >> 11) * 0x1p-53L, z);
          ASSERT_NEAR(f64[i], z[i & 1], 1e-14);
        }
      }
    }
  }
}

TEST(RandomNormal, HasItsMoments) {
  const auto x = random<float>(random_float_kernels, targets().back(), Op::kRandomNormal, kKeys[2],
                               1000000, {word(0), word(1), DLCORE_F32});
  double moments[4] = {};
  for (const float value : x) {
    double power = 1;
    for (double& moment : moments) moment += (power *= value);
  }
  EXPECT_NEAR(moments[0] / 1e6, 0, 5e-3);
  EXPECT_NEAR(moments[1] / 1e6, 1, 1e-2);
  EXPECT_NEAR(moments[2] / 1e6, 0, 2e-2);
  EXPECT_NEAR(moments[3] / 1e6, 3, 5e-2);
}

TEST(RandomBernoulli, FollowsTheDefinition) {
  for (const auto& key : kKeys) {
    for (const int64_t n : kSizes) {
      std::vector<int64_t> attrs = dims_words({n});
      attrs.push_back(word(0.3));
      const auto x =
          launch(find_kernel(random_discrete_kernels, 0, Op::kRandomBernoulli, DLCORE_BOOL),
                 {key_operand(key)}, Operand::contiguous(DLCORE_BOOL, {n}), attrs)
              .out.values<uint8_t>();
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(x[i], (call_of(key).draw32(i) >> 8) * 0x1p-24 < 0.3 ? 1 : 0);
      }
    }
  }
}

TEST(RandomIntegers, FollowsTheDefinition) {
  const std::pair<int64_t, int64_t> ranges[] = {
      {0, 10}, {-7, -3}, {5, 6}, {INT64_MIN, INT64_MAX}, {0, int64_t{1} << 40}};
  for (const auto& [low, high] : ranges) {
    const auto x = random<int64_t>(random_discrete_kernels, 0, Op::kRandomIntegers, kKeys[1], 10001,
                                   {low, high});
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_GE(x[i], low);
      ASSERT_LT(x[i], high);
      const Wide product = static_cast<Wide>(call_of(kKeys[1]).draw64(i)) *
                           (static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
      ASSERT_EQ(static_cast<uint64_t>(x[i]),
                static_cast<uint64_t>(low) + static_cast<uint64_t>(product >> 64));
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu
