// SPDX-License-Identifier: Apache-2.0
// Elementwise arithmetic, comparisons and conversions against their definitions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "backends/cpu/elementwise/test_support.h"

namespace dlcore::cpu::test {
namespace {

__extension__ typedef __int128 Int128;

template <class T>
std::vector<T> corners() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result = {0, 1, 2, 3, 5, 7, 11, 100, Limits::max(), Limits::lowest()};
  if constexpr (std::is_signed_v<T>) {
    for (const int v : {-1, -2, -3, -7, -100}) result.push_back(static_cast<T>(v));
  }
  if constexpr (std::is_floating_point_v<T>) {
    for (const double v : {0.5, -0.5, 2.5, 1e-3, -1e10, 3.25}) result.push_back(static_cast<T>(v));
    result.push_back(-T{0});
    result.push_back(Limits::infinity());
    result.push_back(-Limits::infinity());
    result.push_back(Limits::quiet_NaN());
  }
  return result;
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  return a == b;
}

// All pairs of corners on which `valid` holds, against the reference.
template <class Out, class T, class Valid, class Reference>
void check_pairs(const KernelMap& kernels, Op op, Valid valid, Reference reference) {
  std::vector<T> x, y;
  for (const T a : corners<T>()) {
    for (const T b : corners<T>()) {
      if (!valid(a, b)) continue;
      x.push_back(a);
      y.push_back(b);
    }
  }
  const dlcore_dtype dtype = dtype_of<T>();
  const bool compares = op >= Op::kEqual && op <= Op::kGreaterEqual;
  const dlcore_dtype out = compares ? DLCORE_BOOL : dtype;
  const Outcome outcome = run(kernels.at({static_cast<int32_t>(op), dtype}),
                              {Operand::of(dtype, x), Operand::of(dtype, y)}, out);
  ASSERT_EQ(outcome.status, DLCORE_OK);
  const auto z = outcome.out.template values<Out>();
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(same(z[i], static_cast<Out>(reference(x[i], y[i]))))
        << "op " << static_cast<int>(op) << " dtype " << dtype << ": " << +x[i] << ", " << +y[i]
        << " gives " << +z[i];
  }
}

template <class T>
T python_remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    const Int128 wide = static_cast<Int128>(a) % b;
    return static_cast<T>(wide != 0 && (wide < 0) != (b < 0) ? wide + b : wide);
  }
}

template <class T>
void check_arithmetic(const KernelMap& kernels) {
  constexpr bool kFloat = std::is_floating_point_v<T>;
  using Big = std::conditional_t<kFloat, T, Int128>;
  const auto always = [](T, T) { return true; };
  const auto wrap = [](Big value) { return static_cast<T>(value); };
  const auto nan_or = [](T a, T b, T otherwise) { return a != a ? a : b != b ? b : otherwise; };
  check_pairs<T, T>(kernels, Op::kAdd, always, [&](T a, T b) { return wrap(Big{a} + b); });
  check_pairs<T, T>(kernels, Op::kSubtract, always, [&](T a, T b) { return wrap(Big{a} - b); });
  check_pairs<T, T>(kernels, Op::kMultiply, always, [&](T a, T b) { return wrap(Big{a} * b); });
  check_pairs<T, T>(kernels, Op::kMaximum, always,
                    [&](T a, T b) { return nan_or(a, b, a > b ? a : b); });
  check_pairs<T, T>(kernels, Op::kMinimum, always,
                    [&](T a, T b) { return nan_or(a, b, a < b ? a : b); });
  const auto divisible = [](T, T b) { return kFloat || b != 0; };
  check_pairs<T, T>(kernels, Op::kRemainder, divisible, python_remainder<T>);
  if constexpr (kFloat) {
    check_pairs<T, T>(kernels, Op::kDivide, always, [](T a, T b) { return a / b; });
  } else {
    check_pairs<T, T>(kernels, Op::kFloorDivide, divisible, [&](T a, T b) {
      return wrap((Big{a} - python_remainder<Int128>(a, b)) / b);
    });
    check_pairs<T, T>(
        kernels, Op::kPow, [](T, T b) { return b >= 0 && b < 101; },
        [&](T a, T b) {
          T result = 1;
          for (T i = 0; i < b; ++i) result = wrap(Big{result} * a);
          return result;
        });
  }
  check_pairs<uint8_t, T>(kernels, Op::kEqual, always, [](T a, T b) { return a == b; });
  check_pairs<uint8_t, T>(kernels, Op::kNotEqual, always, [](T a, T b) { return a != b; });
  check_pairs<uint8_t, T>(kernels, Op::kLess, always, [](T a, T b) { return a < b; });
  check_pairs<uint8_t, T>(kernels, Op::kLessEqual, always, [](T a, T b) { return a <= b; });
  check_pairs<uint8_t, T>(kernels, Op::kGreater, always, [](T a, T b) { return a > b; });
  check_pairs<uint8_t, T>(kernels, Op::kGreaterEqual, always, [](T a, T b) { return a >= b; });
}

template <class Function>
void for_numeric(Function function) {
  function(uint8_t{});
  function(int8_t{});
  function(int16_t{});
  function(int32_t{});
  function(int64_t{});
  function(float{});
  function(double{});
}

TEST(ElementwiseValues, Pairs) {
  for (const auto& [target, kernels] : all_kernels()) {
    for_numeric([&, &table = kernels](auto zero) { check_arithmetic<decltype(zero)>(table); });
  }
}

template <class T, class Reference>
void check_unary(const KernelMap& kernels, Op op, Reference reference,
                 const std::vector<int64_t>& attrs = {}) {
  const std::vector<T> x = corners<T>();
  const dlcore_dtype dtype = dtype_of<T>();
  const auto y =
      run(kernels.at({static_cast<int32_t>(op), dtype}), {Operand::of(dtype, x)}, dtype, attrs)
          .out.template values<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(same(y[i], static_cast<T>(reference(x[i]))))
        << "op " << static_cast<int>(op) << " dtype " << dtype << ": " << +x[i] << " gives "
        << +y[i];
  }
}

TEST(ElementwiseValues, Unary) {
  const auto bits = [](double value) { return std::bit_cast<int64_t>(value); };
  for (const auto& [target, table] : all_kernels()) {
    for_numeric([&, &kernels = table](auto zero) {
      using T = decltype(zero);
      using Big = std::conditional_t<std::is_floating_point_v<T>, T, Int128>;
      check_unary<T>(kernels, Op::kNegative, [](T x) { return static_cast<T>(-Big{x}); });
      check_unary<T>(kernels, Op::kAbs,
                     [](T x) { return static_cast<T>(x < 0 ? -Big{x} : Big{x}); });
      check_unary<T>(kernels, Op::kSquare, [](T x) { return static_cast<T>(Big{x} * Big{x}); });
      check_unary<T>(kernels, Op::kSign,
                     [](T x) { return x != x ? x : static_cast<T>((x > 0) - (x < 0)); });
      check_unary<T>(kernels, Op::kRelu, [](T x) { return x <= 0 ? T{0} : x; });
      check_unary<T>(kernels, Op::kClip, [](T x) { return x < 2   ? T{2}
                                                          : x > 7 ? T{7}
                                                                  : x; },
                     {1, bits(2), 1, bits(7)});
      check_unary<T>(kernels, Op::kClip, [](T x) { return x > 7 ? T{7} : x; }, {0, 1, bits(7)});
      check_unary<T>(kernels, Op::kClip, [](T x) { return x < 2 ? T{2} : x; }, {1, bits(2), 0});
      if constexpr (std::is_floating_point_v<T>) {
        check_unary<T>(kernels, Op::kLeakyRelu, [](T x) { return x > 0 ? x : x * T{0.125}; },
                       {bits(0.125)});
      } else {
        check_unary<T>(kernels, Op::kClip, [](T x) { return x < 2 ? T{2} : x; },
                       {1, bits(1.5), 1, bits(1e300)});
      }
    });
  }
}

TEST(ElementwiseValues, FailuresNameTheFirstElement) {
  std::vector<int32_t> ones(200000, 1), divisors(200000, 3), exponents(200000, 2);
  divisors[150001] = divisors[199999] = 0;
  exponents[70000] = exponents[180000] = -1;
  for (const auto& [target, kernels] : all_kernels()) {
    for (const Op op : {Op::kRemainder, Op::kFloorDivide}) {
      const Outcome outcome =
          run(kernels.at({static_cast<int32_t>(op), DLCORE_I32}),
              {Operand::of(DLCORE_I32, ones), Operand::of(DLCORE_I32, divisors)}, DLCORE_I32);
      EXPECT_EQ(outcome.status, DLCORE_INVALID_ARGUMENT);
      EXPECT_EQ(outcome.message, "division by zero: element 150001 of b is 0");
    }
    const Outcome outcome =
        run(kernels.at({static_cast<int32_t>(Op::kPow), DLCORE_I32}),
            {Operand::of(DLCORE_I32, ones), Operand::of(DLCORE_I32, exponents)}, DLCORE_I32);
    EXPECT_EQ(outcome.status, DLCORE_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message, "negative exponent of an integer: element 70000 of b is -1");
  }
}

TEST(ElementwiseValues, FloorDivideOfFloats) {
  const std::vector<double> a = {7, -7, 7, -7, 1, 0.3, -0.0, 5, 1e300};
  const std::vector<double> b = {2, 2, -2, -2, 0, 0.1, 3, INFINITY, 1e-300};
  const std::vector<double> want = {3, -4, -4, 3, INFINITY, 2, -0.0, 0, INFINITY};
  for (const auto& [target, kernels] : all_kernels()) {
    const auto got = run(kernels.at({static_cast<int32_t>(Op::kFloorDivide), DLCORE_F64}),
                         {Operand::of(DLCORE_F64, a), Operand::of(DLCORE_F64, b)}, DLCORE_F64)
                         .out.values<double>();
    EXPECT_EQ(got, want);
  }
}

TEST(ElementwiseValues, Logic) {
  const std::vector<uint8_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  for (const auto& [target, kernels] : all_kernels()) {
    const auto of = [&, &table = kernels](Op op, bool unary) {
      std::vector<Operand> inputs = {Operand::of(DLCORE_BOOL, a)};
      if (!unary) inputs.push_back(Operand::of(DLCORE_BOOL, b));
      return run(table.at({static_cast<int32_t>(op), DLCORE_BOOL}), inputs, DLCORE_BOOL)
          .out.values<uint8_t>();
    };
    EXPECT_EQ(of(Op::kLogicalAnd, false), (std::vector<uint8_t>{0, 0, 0, 1}));
    EXPECT_EQ(of(Op::kLogicalOr, false), (std::vector<uint8_t>{0, 1, 1, 1}));
    EXPECT_EQ(of(Op::kLogicalXor, false), (std::vector<uint8_t>{0, 1, 1, 0}));
    EXPECT_EQ(of(Op::kLogicalNot, true), (std::vector<uint8_t>{1, 1, 0, 0}));
    EXPECT_EQ(of(Op::kLess, false), (std::vector<uint8_t>{0, 1, 0, 0}));
  }
}

TEST(ElementwiseValues, TestsAndReluBackward) {
  const float inf = INFINITY, nan = NAN;
  const std::vector<float> x = {1, inf, -inf, nan, 0, -2};
  const std::vector<float> g = {5, 6, 7, 8, 9, 10};
  for (const auto& [target, kernels] : all_kernels()) {
    const auto of = [&, &table = kernels](Op op) {
      return run(table.at({static_cast<int32_t>(op), DLCORE_F32}), {Operand::of(DLCORE_F32, x)},
                 DLCORE_BOOL)
          .out.values<uint8_t>();
    };
    EXPECT_EQ(of(Op::kIsnan), (std::vector<uint8_t>{0, 0, 0, 1, 0, 0}));
    EXPECT_EQ(of(Op::kIsinf), (std::vector<uint8_t>{0, 1, 1, 0, 0, 0}));
    EXPECT_EQ(of(Op::kIsfinite), (std::vector<uint8_t>{1, 0, 0, 0, 1, 1}));
    const auto d = run(kernels.at({static_cast<int32_t>(Op::kReluBackward), DLCORE_F32}),
                       {Operand::of(DLCORE_F32, g), Operand::of(DLCORE_F32, x)}, DLCORE_F32)
                       .out.values<float>();
    EXPECT_EQ(d[0], 5);
    EXPECT_EQ(d[1], 6);
    EXPECT_EQ(d[2], 0);
    EXPECT_TRUE(std::isnan(d[3]));
    EXPECT_EQ(d[4], 0);
    EXPECT_EQ(d[5], 0);
  }
}

template <class From, class To>
void check_astype(const std::vector<From>& x, const std::vector<To>& want, dlcore_dtype from,
                  dlcore_dtype to) {
  for (const auto& [target, kernels] : all_kernels()) {
    const auto got =
        run(kernels.at({static_cast<int32_t>(Op::kAstype), from}), {Operand::of(from, x)}, to, {to})
            .out.template values<To>();
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(same(got[i], want[i]))
          << from << " to " << to << ": " << +x[i] << " gives " << +got[i];
    }
  }
}

TEST(ElementwiseValues, Astype) {
  const double inf = INFINITY, nan = NAN;
  check_astype<double, int32_t>({1.9, -1.9, 3e9, -3e9, nan, inf, -inf},
                                {1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX, INT32_MIN}, DLCORE_F64,
                                DLCORE_I32);
  check_astype<double, int64_t>({-1.5, 9.3e18, -9.3e18, nan}, {-1, INT64_MAX, INT64_MIN, 0},
                                DLCORE_F64, DLCORE_I64);
  check_astype<float, uint8_t>({-3, 255, 256, 2.7f, NAN}, {0, 255, 255, 2, 0}, DLCORE_F32,
                               DLCORE_U8);
  check_astype<float, int64_t>({1e19f, -1e19f}, {INT64_MAX, INT64_MIN}, DLCORE_F32, DLCORE_I64);
  check_astype<float, uint8_t>({0, -0.0f, 0.5f, NAN}, {0, 0, 1, 1}, DLCORE_F32, DLCORE_BOOL);
  check_astype<int32_t, int8_t>({127, 128, -129, 256}, {127, -128, 127, 0}, DLCORE_I32, DLCORE_I8);
  check_astype<int32_t, uint8_t>({0, 256, -1}, {0, 1, 1}, DLCORE_I32, DLCORE_BOOL);
  check_astype<uint8_t, float>({0, 1, 1}, {0, 1, 1}, DLCORE_BOOL, DLCORE_F32);
  check_astype<uint8_t, float>({0, 1, 255}, {0, 1, 255}, DLCORE_U8, DLCORE_F32);
  check_astype<int32_t, float>({16777217, INT32_MIN}, {16777216, -2147483648.0f}, DLCORE_I32,
                               DLCORE_F32);
  check_astype<int32_t, double>({16777217, INT32_MIN}, {16777217, -2147483648.0}, DLCORE_I32,
                                DLCORE_F64);
  check_astype<double, float>({1e40, 1.0 + 0x1p-30, 1e-45}, {INFINITY, 1, 1e-45f}, DLCORE_F64,
                              DLCORE_F32);
  check_astype<float, double>({1e-45f, NAN, 2}, {static_cast<double>(1e-45f), nan, 2}, DLCORE_F32,
                              DLCORE_F64);
  // Just above a tie: rounding to f32 first would give the even neighbour.
  check_astype<double, uint16_t>(
      {1 + 0x1p-11 + 0x1p-40, 65519.99, 65520, 0x1p-25, 0x1.01p-25, -nan},
      {0x3c01, 0x7bff, 0x7c00, 0, 1, 0xfe00}, DLCORE_F64, DLCORE_F16);
  check_astype<double, uint16_t>({1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8}, {0x3f81, 0x3f80}, DLCORE_F64,
                                 DLCORE_BF16);
  check_astype<float, uint16_t>({1 + 0x1p-8f, 1 + 0x1.8p-7f, INFINITY, 3.4e38f},
                                {0x3f80, 0x3f82, 0x7f80, 0x7f80}, DLCORE_F32, DLCORE_BF16);
  check_astype<int64_t, uint16_t>({(int64_t{257} << 54) + 1, int64_t{257} << 54}, {0x5e81, 0x5e80},
                                  DLCORE_I64, DLCORE_BF16);
}

TEST(Half, RoundTripsEveryValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const BFloat16 brain{static_cast<uint16_t>(bits)};
    if (!std::isnan(to_float(half))) {
      ASSERT_EQ(half_from(to_double(half)).bits, bits);
      ASSERT_EQ(half_from(to_float(half)).bits, bits);
    }
    if (!std::isnan(to_float(brain))) {
      ASSERT_EQ(bfloat16_from(to_double(brain)).bits, bits);
      ASSERT_EQ(bfloat16_from(to_float(brain)).bits, bits);
    }
  }
  EXPECT_EQ(to_float(Half{0x3555}), 0.333251953125f);
  EXPECT_EQ(to_float(Half{1}), 0x1p-24f);
  EXPECT_EQ(to_float(Half{0x8400}), -0x1p-14f);
}

TEST(Half, RoundsToTheNearest) {
  std::mt19937_64 generator(1);
  for (int i = 0; i < 200000; ++i) {
    const double value = std::ldexp(static_cast<double>(generator()) - 0x1p63,
                                    static_cast<int>(generator() % 45) - 90);
    const double got = to_double(half_from(value));
    if (std::fabs(value) >= 65520) continue;
    const uint16_t bits = half_from(value).bits;
    for (const int step : {-1, 1}) {  // no neighbour is nearer
      const double neighbour = to_double(Half{static_cast<uint16_t>(bits + step)});
      if (std::isnan(neighbour) || std::signbit(neighbour) != std::signbit(got)) continue;
      ASSERT_LE(std::fabs(value - got), std::fabs(value - neighbour)) << value;
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu::test
