// SPDX-License-Identifier: Apache-2.0
// The 16-bit floating-point types: storage, and conversion with one rounding (to nearest, ties to
// even).
#pragma once

#include <bit>
#include <cstdint>

namespace dlcore {

struct Half {  // IEEE 754 binary16
  uint16_t bits;
};

struct BFloat16 {  // the upper half of a binary32
  uint16_t bits;
};

namespace half_internal {

// Rounds to a format of `kExponentBits` and `kMantissaBits`, straight from the double: going
// through float would round twice.
template <int kExponentBits, int kMantissaBits>
constexpr uint16_t round_from(double value) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr int kMaxExponent = (1 << kExponentBits) - 1;
  constexpr uint16_t kInfinity = static_cast<uint16_t>(kMaxExponent << kMantissaBits);
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 63) << 15);
  const uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  const int field = static_cast<int>((bits >> 52) & 0x7ff);
  if (field == 0x7ff && mantissa != 0) {  // NaN: keep the leading payload, make it quiet
    const uint16_t payload = static_cast<uint16_t>(mantissa >> (52 - kMantissaBits));
    return static_cast<uint16_t>(sign | kInfinity | payload | (1 << (kMantissaBits - 1)));
  }
  const int exponent = field - 1023 + kBias;
  if (exponent >= kMaxExponent) return static_cast<uint16_t>(sign | kInfinity);
  uint64_t significand = (static_cast<uint64_t>(exponent > 0 ? exponent : 0) << 52) | mantissa;
  int shift = 52 - kMantissaBits;
  if (exponent <= 0) {  // subnormal in the target
    significand = (uint64_t{1} << 52) | mantissa;
    shift += 1 - exponent;
    if (field == 0 || shift > 53) return sign;
  }
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rest = significand & (2 * half - 1);
  uint64_t rounded = significand >> shift;
  // A carry out of the mantissa raises the exponent, up to infinity, as it should.
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  return static_cast<uint16_t>(sign | rounded);
}

}  // namespace half_internal

constexpr Half half_from(double value) { return {half_internal::round_from<5, 10>(value)}; }
constexpr Half half_from(float value) { return half_from(static_cast<double>(value)); }

constexpr BFloat16 bfloat16_from(double value) { return {half_internal::round_from<8, 7>(value)}; }

constexpr BFloat16 bfloat16_from(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

constexpr float to_float(Half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  const uint32_t exponent = (value.bits >> 10) & 0x1f;
  const uint32_t mantissa = value.bits & 0x3ff;
  if (exponent == 0) {  // zero and subnormals: a multiple of 2^-24, exact in float
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

constexpr float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

constexpr double to_double(Half value) { return static_cast<double>(to_float(value)); }
constexpr double to_double(BFloat16 value) { return static_cast<double>(to_float(value)); }

}  // namespace dlcore
