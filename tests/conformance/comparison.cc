// SPDX-License-Identifier: Apache-2.0
#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace dlcore::conformance {
namespace {

struct Format {
  int fraction_bits;
  int least_exponent;
};

Format format_of(dlcore_dtype dtype) {
  switch (dtype) {
    case DLCORE_F16:
      return {10, -14};
    case DLCORE_BF16:
      return {7, -126};
    case DLCORE_F32:
      return {23, -126};
    default:
      return {52, -1022};
  }
}

// Distance to the next number of the dtype.
double spacing(double value, dlcore_dtype dtype) {
  const Format format = format_of(dtype);
  const int exponent =
      value == 0 ? format.least_exponent : std::max(std::ilogb(value), format.least_exponent);
  return std::ldexp(1.0, exponent - format.fraction_bits);
}

// To nearest even; f64 as it is.
double round_to(double value, dlcore_dtype dtype) {
  if (dtype == DLCORE_F32) return static_cast<double>(static_cast<float>(value));
  if (dtype == DLCORE_F64 || value == 0 || !std::isfinite(value)) return value;
  const double step = spacing(value, dtype);
  const double rounded = std::nearbyint(value / step) * step;
  const double largest = dtype == DLCORE_F16 ? 65504 : std::ldexp(2 - std::ldexp(1.0, -7), 127);
  return std::abs(rounded) > largest ? std::copysign(HUGE_VAL, value)
                                     : std::copysign(rounded, value);
}

bool agree(double got, double expected, dlcore_dtype dtype, const Tolerance& tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  const double rounded = round_to(expected, dtype);
  if (tolerance.signed_zero && rounded == 0 && std::signbit(got) != std::signbit(rounded))
    return false;
  if (got == rounded) return true;
  if (!std::isfinite(got) || !std::isfinite(expected)) return false;
  double allowed = tolerance.absolute + tolerance.relative * std::abs(expected);
  if (tolerance.ulp > 0) allowed += tolerance.ulp * spacing(expected, dtype);
  return std::abs(got - expected) <= allowed;
}

std::string show(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string show(int64_t value) { return std::to_string(value); }

template <class T, class Agree>
std::string list_differences(const std::vector<T>& got, const std::vector<T>& expected,
                             const Agree& same) {
  constexpr size_t kShown = 4;
  size_t count = 0;
  std::string text;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (same(got[i], expected[i])) continue;
    if (++count > kShown) continue;
    text += "; element " + std::to_string(i) + " is " + show(got[i]) + ", expected " +
            show(expected[i]);
  }
  if (count == 0) return {};
  return std::to_string(count) + " of " + std::to_string(expected.size()) + " elements differ" +
         text;
}

}  // namespace

Tolerance Tolerance::from(const Json& json) {
  return {json.value("rtol", 0.0), json.value("atol", 0.0), json.value("ulp", 0.0), false};
}

std::string difference(const Numbers& got, const Numbers& expected, dlcore_dtype dtype,
                       const Tolerance& tolerance) {
  if (got.integral != expected.integral || got.size() != expected.size()) {
    return "has " + std::to_string(got.size()) + " elements, expected " +
           std::to_string(expected.size());
  }
  if (got.integral) {
    return list_differences(got.integers, expected.integers,
                            [](int64_t a, int64_t b) { return a == b; });
  }
  return list_differences(got.reals, expected.reals,
                          [&](double a, double b) { return agree(a, b, dtype, tolerance); });
}

}  // namespace dlcore::conformance
