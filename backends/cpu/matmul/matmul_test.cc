// SPDX-License-Identifier: Apache-2.0
// The matrix providers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/matmul/product_testing.h"
#include "backends/cpu/matmul/provider.h"
#include "backends/cpu/targets.h"

#if DLCORE_HAVE_OPENBLAS
#include "backends/cpu/matmul/blas.h"
#endif

namespace dlcore::cpu::test {
namespace {

const Shape kShapes[] = {
    {1, 1, 0},       {1, 1, 1},      {1, 5, 3},     {3, 1, 700},    {1, 300, 100}, {1, 77, 33},
    {2, 2, 2},       {4, 8, 0},      {5, 7, 9},     {14, 32, 16},   {15, 33, 17},  {64, 10, 128},
    {10, 64, 257},   {29, 65, 513},  {100, 31, 40}, {300, 20, 20},  {7, 2100, 30}, {33, 40, 1300},
    {130, 140, 150}, {3, 200, 100},  {8, 90, 784},  {200, 5, 130},  {7, 9, 65},    {2, 33, 64},
    {6, 300, 95},    {300, 10, 300}, {117, 32, 77}, {1001, 20, 20}, {20, 513, 40}, {130, 24, 600},
    {150, 6, 1200},  {200, 17, 0},   {140, 7, 65},  {113, 12, 260}};

template <class T>
void check_provider(const MatrixProvider& provider, const Shape& shape) {
  ThreadPool pool(3);
  Queue serial;
  Queue parallel;
  parallel.pool = &pool;
  const Case<T> test(shape);
  for (const bool extras : {false, true}) {
    const std::vector<T> first = test.run(provider, serial, 0, 0, extras);
    test.check(first, extras);
    for (int layout = 0; layout < 25; ++layout) {
      EXPECT_TRUE(same_bits(
          first, test.run(provider, parallel, layout / 5, layout % 5, extras, layout % 2 == 1)))
          << provider.name << " " << shape.m << "x" << shape.n << "x" << shape.k << " layouts "
          << layout / 5 << ", " << layout % 5;
    }
  }
}

TEST(OwnProduct, MatchesTheDefinitionWithEqualBitsForEveryLayout) {
  for (const int64_t target : targets()) {
    for (const Shape& shape : kShapes) {
      check_provider<float>(own_provider(target), shape);
      check_provider<double>(own_provider(target), shape);
    }
  }
}

TEST(OwnProduct, BitsOfAnElementDoNotDependOnRowsAndColumns) {
  for (const int64_t target : targets()) {
    const Queue queue;
    const Case<float> whole({37, 70, 600});
    const std::vector<float> all = whole.run(own_provider(target), queue, 0, 0, false);
    Case<float> part({9, 70, 600});
    part.a.assign(whole.a.begin() + 11 * 600, whole.a.begin() + 20 * 600);
    part.b = whole.b;
    const std::vector<float> rows = part.run(own_provider(target), queue, 0, 0, false);
    EXPECT_TRUE(same_bits(rows, {all.begin() + 11 * 70, all.begin() + 20 * 70}));
  }
}

// f16 and bf16: the product of the same numbers in f32, with its bias, rounded.
template <class T>
void check_half(int64_t target, const Shape& shape) {
  const auto round = [](float x) {
    if constexpr (std::is_same_v<T, Half>) return half_from(x);
    if constexpr (std::is_same_v<T, BFloat16>) return bfloat16_from(x);
  };
  const auto [m, n, k] = shape;
  Case<float> wide(shape);
  std::vector<T> a, b, bias;
  const auto round_all = [&](std::vector<float>& from, std::vector<T>& to) {
    for (float& x : from) {
      to.push_back(round(x));
      x = to_float(to.back());
    }
  };
  round_all(wide.a, a);
  round_all(wide.b, b);
  round_all(wide.bias, bias);
  const std::vector<float> sums = wide.run(own_provider(target), Queue(), 0, 0, false);
  ThreadPool pool(3);
  Queue queue;
  queue.pool = &pool;
  const MatrixProvider& provider = own_provider(target);
  std::vector<double> work(provider.workspace(dtype_of<T>(), m, n, k) / 8 + 9);
  void* const aligned =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(work.data()) + 63) & ~uintptr_t{63});
  for (int layout = 0; layout < 25; ++layout) {
    const Stored<T> sa(a, m, k, layout / 5);
    const Stored<T> sb(b, k, n, layout % 5);
    std::vector<T> out(size_t(m * n));
    Product p{m, n, k, sa.view, sb.view, {bias.data(), 0, 1}, {out.data(), n, 1}};
    provider.multiply(queue, dtype_of<T>(), p, aligned);
    for (int64_t i = 0; i < m * n; ++i) {
      const float sum = sums[size_t(i)] + wide.bias[size_t(i % n)];
      ASSERT_EQ(out[size_t(i)].bits, round(sum).bits)
          << m << "x" << n << "x" << k << ", layouts " << layout / 5 << ", " << layout % 5;
    }
  }
}

TEST(OwnProduct, SumsHalfPrecisionInF32AndRoundsOnce) {
  for (const int64_t target : targets()) {
    for (const Shape& shape : kShapes) {
      check_half<Half>(target, shape);
      check_half<BFloat16>(target, shape);
    }
  }
}

#if HWY_ARCH_X86
// Each element of c is right to one rounding to bf16 and those of a sum in f32.
void check_pairs(const Shape& shape) {
  const auto [m, n, k] = shape;
  Case<float> wide(shape);
  std::vector<BFloat16> a, b;
  for (float& x : wide.a) x = to_float(a.emplace_back(bfloat16_from(x)));
  for (float& x : wide.b) x = to_float(b.emplace_back(bfloat16_from(x)));
  ThreadPool pool(3);
  Queue queue;
  queue.pool = &pool;
  queue.bf16_pairs = true;
  const MatrixProvider& provider = own_provider(HWY_AVX3);
  std::vector<double> work(provider.workspace(DLCORE_BF16, m, n, k) / 8 + 9);
  void* const aligned =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(work.data()) + 63) & ~uintptr_t{63});
  std::vector<BFloat16> first;
  for (int layout = 0; layout < 25; ++layout) {
    const Stored<BFloat16> sa(a, m, k, layout / 5);
    const Stored<BFloat16> sb(b, k, n, layout % 5);
    std::vector<BFloat16> out(size_t(m * n));
    Product p{m, n, k, sa.view, sb.view, {}, {out.data(), n, 1}};
    p.one_of_many = true;  // few rows, too
    provider.multiply(queue, DLCORE_BF16, p, aligned);
    if (layout == 0) first = out;
    EXPECT_TRUE(same_bits(out, first)) << m << "x" << n << "x" << k << ", layout " << layout;
  }
  for (int64_t i = 0; i < m * n; ++i) {
    double sum = 0;
    double size = 0;
    for (int64_t q = 0; q < k; ++q) {
      const double x =
          double(wide.a[size_t(i / n * k + q)]) * double(wide.b[size_t(q * n + i % n)]);
      sum += x;
      size += std::abs(x);
    }
    const double once = std::ldexp(1.0, (sum == 0 ? -126 : std::ilogb(sum)) - 8);
    ASSERT_NEAR(double(to_float(first[size_t(i)])), sum,
                once + size * 6e-8 * (4 + std::sqrt(double(k))))
        << m << "x" << n << "x" << k << " at " << i;
  }
}

TEST(OwnProduct, PairsOfBf16) {
  const std::vector<int64_t> compiled = targets();
  if (std::find(compiled.begin(), compiled.end(), HWY_AVX3) == compiled.end() ||
      !__builtin_cpu_supports("avx512bf16")) {
    GTEST_SKIP() << "the processor has no dot products of bf16";
  }
  for (const Shape& shape : kShapes) check_pairs(shape);
  for (int64_t k = 0; k < 40; ++k) check_pairs({17, 35, k});
  check_pairs({15, 33, 511});
  check_pairs({15, 33, 1025});
  check_pairs({20, 40, 4101});
}
#endif

TEST(OwnProduct, KeepsNanAndInfinityWhereTheyBelong) {
  for (const int64_t target : targets()) {
    Case<float> test({20, 40, 50});
    test.a[3 * 50 + 7] = NAN;
    test.b[9 * 40 + 5] = INFINITY;
    const std::vector<float> c = test.run(own_provider(target), Queue(), 0, 1, false);
    for (int64_t i = 0; i < 20; ++i) {
      for (int64_t j = 0; j < 40; ++j) {
        const float value = c[size_t(i * 40 + j)];
        if (i == 3) {
          EXPECT_TRUE(std::isnan(value));
        } else {
          EXPECT_EQ(std::isfinite(value), j != 5) << i << ", " << j;
        }
      }
    }
  }
}

TEST(OpenblasProduct, MatchesTheDefinitionWithEqualBitsForEveryLayout) {
  const MatrixProvider* const provider = openblas_provider();
  if (provider == nullptr) GTEST_SKIP() << openblas_refusal();
#if DLCORE_HAVE_OPENBLAS
  openblas_set_num_threads(1);  // as the engine does
#endif
  for (const Shape& shape :
       {Shape{2, 2, 2}, {64, 10, 128}, {29, 65, 513}, {600, 20, 20}, {33, 1100, 300}}) {
    check_provider<float>(*provider, shape);
    check_provider<double>(*provider, shape);
  }
}

TEST(OpenblasProduct, IsNotChosenWhenTheEngineWantsItsOwn) {
  for (const int64_t target : targets()) {
    EXPECT_STREQ(choose_provider(target, true, DLCORE_F64, 2048, 2048, 2048).name, "own");
    EXPECT_GE(provider_workspace(target, DLCORE_F64, 2048, 2048, 2048),
              own_provider(target).workspace(DLCORE_F64, 2048, 2048, 2048));
  }
}

}  // namespace
}  // namespace dlcore::cpu::test
