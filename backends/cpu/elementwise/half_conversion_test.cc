// SPDX-License-Identifier: Apache-2.0
// Conversions of arrays against those of single numbers.
#include "backends/cpu/elementwise/half_conversion.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/elementwise/test_support.h"
#include "core/base/half.h"

namespace dlcore::cpu {
namespace {

float widened(dlcore_dtype dtype, uint16_t bits) {
  return dtype == DLCORE_F16 ? to_float(Half{bits}) : to_float(BFloat16{bits});
}

uint16_t narrowed(dlcore_dtype dtype, float value) {
  return dtype == DLCORE_F16 ? half_from(value).bits : bfloat16_from(value).bits;
}

std::vector<int64_t> targets() {
  std::vector<int64_t> found = {0};
  for (const auto& [target, kernels] : test::all_kernels()) found.push_back(target);
  return found;
}

// Bits, but for the payload of a NaN.
void expect_same(float got, float expected) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got));
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected));
  }
}

TEST(HalfConversion, WidensEveryNumberAndBringsItBack) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const int64_t target : targets()) {
    for (const dlcore_dtype dtype : {DLCORE_F16, DLCORE_BF16}) {
      const HalfConversion& conversion = half_conversion(target, dtype);
      std::vector<float> wide(all.size());
      std::vector<uint16_t> back(all.size());
      conversion.widen(static_cast<int64_t>(all.size()), all.data(), wide.data());
      conversion.narrow(static_cast<int64_t>(all.size()), wide.data(), back.data());
      for (size_t i = 0; i < all.size(); ++i) {
        expect_same(wide[i], widened(dtype, all[i]));
        if (!std::isnan(wide[i])) {
          EXPECT_EQ(back[i], all[i]);
        } else {
          EXPECT_TRUE(std::isnan(widened(dtype, back[i])));
        }
      }
    }
  }
}

// Numbers beside the middle between two of the dtype, where rounding is decided, and any others.
TEST(HalfConversion, RoundsToNearestEven) {
  std::mt19937 engine(3);
  std::vector<float> values;
  for (int i = 0; i < 40000; ++i) values.push_back(std::bit_cast<float>(uint32_t(engine())));
  for (const dlcore_dtype dtype : {DLCORE_F16, DLCORE_BF16}) {
    for (uint32_t bits = 0; bits < 0x7fff; bits += 7) {
      const float low = widened(dtype, static_cast<uint16_t>(bits));
      const float high = widened(dtype, static_cast<uint16_t>(bits + 1));
      const float middle = low + (high - low) / 2;
      if (!std::isfinite(middle)) continue;
      for (const float value :
           {middle, std::nextafter(middle, low), std::nextafter(middle, high)}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
  }
  for (const int64_t target : targets()) {
    for (const dlcore_dtype dtype : {DLCORE_F16, DLCORE_BF16}) {
      std::vector<uint16_t> got(values.size());
      half_conversion(target, dtype)
          .narrow(static_cast<int64_t>(values.size()), values.data(), got.data());
      for (size_t i = 0; i < values.size(); ++i) {
        expect_same(widened(dtype, got[i]), widened(dtype, narrowed(dtype, values[i])));
      }
    }
  }
}

TEST(HalfConversion, TouchesNothingBeyondTheEnd) {
  for (const int64_t target : targets()) {
    for (const dlcore_dtype dtype : {DLCORE_F16, DLCORE_BF16}) {
      for (size_t n = 0; n < 70; ++n) {
        // Memory to the byte, so that a sanitizer sees every excess.
        const std::vector<float> wide(n, 1.5f);
        std::vector<uint16_t> half(n);
        std::vector<float> back(n);
        half_conversion(target, dtype).narrow(static_cast<int64_t>(n), wide.data(), half.data());
        half_conversion(target, dtype).widen(static_cast<int64_t>(n), half.data(), back.data());
        EXPECT_EQ(back, wide);
      }
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu
