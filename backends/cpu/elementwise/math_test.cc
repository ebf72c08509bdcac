// SPDX-License-Identifier: Apache-2.0
// Accuracy of the floating-point functions, in units of the last place of the right value, which
// long double gives.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "backends/cpu/elementwise/test_support.h"

namespace dlcore::cpu::test {
namespace {

using Wide = long double;

template <class T>
double error_in_ulp(T got, Wide want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : 1e9;
  const T rounded = static_cast<T>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    // Within a few ulp of the largest number either is right.
    return got == rounded || std::fabs(want) > std::numeric_limits<T>::max() * 0.999999L ? 0 : 1e9;
  }
  int exponent = -20000;
  if (want != 0) std::frexp(want, &exponent);
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr int kLeast = std::numeric_limits<T>::min_exponent - kDigits;
  const Wide ulp = std::ldexp(Wide{1}, std::max(exponent - kDigits, kLeast));
  return static_cast<double>(std::fabs(static_cast<Wide>(got) - want) / ulp);
}

template <class T>
std::vector<T> samples(double low, double high) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> uniform(low, high);
  std::uniform_real_distribution<double> exponent(Limits::min_exponent10 - 6, std::log10(high));
  std::vector<T> result;
  for (int i = 0; i < 8000; ++i) {
    result.push_back(static_cast<T>(uniform(generator)));
    const T scaled = static_cast<T>(std::pow(10.0, exponent(generator)));
    result.push_back(scaled);
    if (low < 0 && -scaled >= static_cast<T>(low)) result.push_back(-scaled);
  }
  for (const T edge : {T{0}, T{1}, Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
                       Limits::min(), Limits::max()}) {
    result.push_back(edge);
    result.push_back(-edge);
  }
  return result;
}

Wide sigmoid(Wide x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
Wide normal_below(Wide x) { return std::erfc(-x / std::sqrt(Wide{2})) / 2; }
// A product in which 0 wins over infinity, for limits at infinity.
Wide limit_product(Wide x, Wide factor) { return factor == 0 ? 0 : x * factor; }

struct Case {
  Op op;
  Wide (*reference)(Wide);
  double low, high;  // for f32; for f64 these times `stretch`
  double stretch;
  double bound;  // ulp
};

const Case kCases[] = {
    {Op::kExp, [](Wide x) { return std::exp(x); }, -110, 110, 6.9, 1.5},
    {Op::kExpm1, [](Wide x) { return std::expm1(x); }, -110, 110, 6.9, 2.0},
    {Op::kExpm1, [](Wide x) { return std::expm1(x); }, -2, 2, 1, 2.0},
    {Op::kLog, [](Wide x) { return std::log(x); }, 0, 1e30, 1, 1.5},
    {Op::kLog, [](Wide x) { return std::log(x); }, 0.5, 2, 1, 1.5},
    {Op::kLog1p, [](Wide x) { return std::log1p(x); }, -1, 1e6, 1, 1.5},
    {Op::kLog1p, [](Wide x) { return std::log1p(x); }, -0.7, 1.5, 1, 1.5},
    {Op::kSqrt, [](Wide x) { return std::sqrt(x); }, 0, 1e30, 1, 0.51},
    {Op::kRsqrt, [](Wide x) { return 1 / std::sqrt(x); }, 0, 1e30, 1, 1.6},
    {Op::kReciprocal, [](Wide x) { return 1 / x; }, -1e30, 1e30, 1, 0.51},
    {Op::kSin, [](Wide x) { return std::sin(x); }, -10, 10, 1, 1.0},
    {Op::kSin, [](Wide x) { return std::sin(x); }, -1e7, 1e7, 1, 1.0},
    {Op::kCos, [](Wide x) { return std::cos(x); }, -10, 10, 1, 1.0},
    {Op::kCos, [](Wide x) { return std::cos(x); }, -1e7, 1e7, 1, 1.0},
    {Op::kTanh, [](Wide x) { return std::tanh(x); }, -12, 12, 2, 2.4},
    {Op::kTanh, [](Wide x) { return std::tanh(x); }, -1, 1, 1, 2.4},
    {Op::kSigmoid, sigmoid, -110, 110, 6.9, 2.4},
    {Op::kSigmoid, sigmoid, -10, 10, 1, 2.4},
    {Op::kErf, [](Wide x) { return std::erf(x); }, -6, 6, 1, 2.4},
    {Op::kErf, [](Wide x) { return std::erf(x); }, -1.2, 1.2, 1, 2.4},
    {Op::kGelu, [](Wide x) { return limit_product(x, normal_below(x)); }, -14, 14, 2.7, 7},
    {Op::kGelu, [](Wide x) { return limit_product(x, normal_below(x)); }, -3, 3, 1, 7},
    {Op::kSilu, [](Wide x) { return limit_product(x, sigmoid(x)); }, -86, 86, 8, 3},
    {Op::kSilu, [](Wide x) { return limit_product(x, sigmoid(x)); }, -5, 5, 1, 3},
    {Op::kSoftplus,
     [](Wide x) { return std::fmax(x, Wide{0}) + std::log1p(std::exp(-std::fabs(x))); }, -100, 100,
     6.9, 2.4},
    {Op::kRound, [](Wide x) { return std::nearbyint(x); }, -9, 9, 1, 0},
    {Op::kFloor, [](Wide x) { return std::floor(x); }, -9, 9, 1, 0},
    {Op::kCeil, [](Wide x) { return std::ceil(x); }, -9, 9, 1, 0},
};

int64_t word(const char* text) {
  int64_t result = 0;
  std::memcpy(&result, text, 4);
  return result;
}

template <class T>
void check(const KernelMap& kernels, const Case& c, int64_t target) {
  const dlcore_dtype dtype = dtype_of<T>();
  const double stretch = sizeof(T) == 8 ? c.stretch : 1;
  const std::vector<T> x = samples<T>(c.low * stretch, c.high * stretch);
  const dlcore_kernel& kernel = kernels.at({static_cast<int32_t>(c.op), dtype});
  const std::vector<T> y =
      run(kernel, {Operand::of(dtype, x)}, dtype, {4, word("none")}).out.template values<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    const Wide want = c.reference(static_cast<Wide>(x[i]));
    ASSERT_LE(error_in_ulp(y[i], want), c.bound)
        << "op " << kernel.op << " target " << target << " at " << x[i] << " gives " << y[i];
  }
}

TEST(ElementwiseMath, Accuracy) {
  for (const auto& [target, kernels] : all_kernels()) {
    for (const Case& c : kCases) {
      check<float>(kernels, c, target);
      check<double>(kernels, c, target);
    }
  }
}

template <class T>
void check_pow(const KernelMap& kernels) {
  std::vector<T> x, y;
  using Limits = std::numeric_limits<T>;
  const T edges[] = {0,
                     -T{0},
                     1,
                     -1,
                     2,
                     -2,
                     T{0.5},
                     T{-0.5},
                     3,
                     T{-3},
                     T{1.5},
                     7,
                     Limits::infinity(),
                     -Limits::infinity(),
                     Limits::quiet_NaN(),
                     Limits::max(),
                     Limits::denorm_min(),
                     T{1e9},
                     T{-1e9}};
  for (const T a : edges) {
    for (const T b : edges) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> base(0, 20), exponent(-30, 30);
  for (int i = 0; i < 20000; ++i) {
    const double sign = i % 3 == 0 ? -1 : 1;
    x.push_back(static_cast<T>(sign * base(generator)));
    y.push_back(static_cast<T>(i % 3 == 0 ? std::round(exponent(generator)) : exponent(generator)));
  }
  const dlcore_dtype dtype = dtype_of<T>();
  const auto z = run(kernels.at({static_cast<int32_t>(Op::kPow), dtype}),
                     {Operand::of(dtype, x), Operand::of(dtype, y)}, dtype)
                     .out.template values<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    const Wide want = std::pow(static_cast<Wide>(x[i]), static_cast<Wide>(y[i]));
    ASSERT_LE(error_in_ulp(z[i], want), 1.0) << x[i] << " to " << y[i] << " gives " << z[i];
    if (!std::isnan(z[i])) {
      ASSERT_EQ(std::signbit(z[i]), std::signbit(want)) << x[i] << " to " << y[i];
    }
  }
}

TEST(ElementwiseMath, Pow) {
  for (const auto& [target, kernels] : all_kernels()) {
    check_pow<float>(kernels);
    check_pow<double>(kernels);
  }
}

// Derivatives pass through zero, so their error is measured against the size of the gradient.
template <class T>
void check_derivative(const KernelMap& kernels, Op op, const char* approximate,
                      Wide (*derivative)(Wide)) {
  std::vector<T> x = samples<T>(-20, 20);
  const dlcore_dtype dtype = dtype_of<T>();
  const std::vector<T> g(x.size(), T{2});
  const auto y = run(kernels.at({static_cast<int32_t>(op), dtype}),
                     {Operand::of(dtype, g), Operand::of(dtype, x)}, dtype, {4, word(approximate)})
                     .out.template values<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    const Wide want = 2 * derivative(static_cast<Wide>(x[i]));
    if (std::isnan(x[i])) {
      ASSERT_TRUE(std::isnan(y[i]));
    } else if (std::fabs(x[i]) < 30 || std::isinf(x[i])) {
      ASSERT_NEAR(static_cast<double>(y[i]), static_cast<double>(want),
                  40 * static_cast<double>(std::numeric_limits<T>::epsilon()))
          << static_cast<int>(op) << " at " << x[i];
    }
  }
}

Wide gelu_derivative(Wide x) {
  if (std::isinf(x)) return x > 0;
  return normal_below(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Wide{-1}));
}

Wide gelu_tanh_derivative(Wide x) {
  if (std::isinf(x)) return x > 0;
  const Wide k = std::sqrt(2 / std::acos(Wide{-1}));
  const Wide s = sigmoid(2 * k * (x + 0.044715L * x * x * x));
  return s + x * s * (1 - s) * 2 * k * (1 + 3 * 0.044715L * x * x);
}

Wide silu_derivative(Wide x) {
  if (std::isinf(x)) return x > 0;
  return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
}

TEST(ElementwiseMath, Derivatives) {
  for (const auto& [target, kernels] : all_kernels()) {
    check_derivative<float>(kernels, Op::kGeluBackward, "none", gelu_derivative);
    check_derivative<double>(kernels, Op::kGeluBackward, "none", gelu_derivative);
    check_derivative<float>(kernels, Op::kGeluBackward, "tanh", gelu_tanh_derivative);
    check_derivative<double>(kernels, Op::kGeluBackward, "tanh", gelu_tanh_derivative);
    check_derivative<float>(kernels, Op::kSiluBackward, "none", silu_derivative);
    check_derivative<double>(kernels, Op::kSiluBackward, "none", silu_derivative);
  }
}

TEST(ElementwiseMath, GeluTanh) {
  const std::vector<double> x = samples<double>(-20, 20);
  for (const auto& [target, kernels] : all_kernels()) {
    const auto y = run(kernels.at({static_cast<int32_t>(Op::kGelu), DLCORE_F64}),
                       {Operand::of(DLCORE_F64, x)}, DLCORE_F64, {4, word("tanh")})
                       .out.values<double>();
    for (size_t i = 0; i < x.size(); ++i) {
      if (!(std::fabs(x[i]) <= 6)) continue;
      const Wide w = x[i];
      const Wide u = std::sqrt(2 / std::acos(Wide{-1})) * (w + 0.044715L * w * w * w);
      const Wide want = w * sigmoid(2 * u);
      ASSERT_NEAR(y[i], static_cast<double>(want), 1e-14 * static_cast<double>(std::fabs(want)));
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu::test
