// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/matmul/provider.h"
#include "backends/cpu/targets.h"

#if DLCORE_HAVE_OPENBLAS
#include "backends/cpu/matmul/blas.h"
#endif

namespace dlcore::cpu {
namespace {

std::vector<int64_t> targets() {
  std::vector<int64_t> found;
#if HWY_ARCH_X86
  found.push_back(HWY_SSE4);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(HWY_AVX2);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    found.push_back(HWY_AVX3);
  }
#else
  found.push_back(HWY_STATIC_TARGET);
#endif
  return found;
}

template <class T>
T random_value(std::mt19937& engine) {
  return static_cast<T>(static_cast<int>(engine() % 2001) - 1000) / static_cast<T>(300);
}

template <class T>
T nan_value() {
  return T(NAN);
}
template <>
Half nan_value() {
  return half_from(NAN);
}
template <>
BFloat16 nan_value() {
  return bfloat16_from(NAN);
}

// A matrix stored with some order of elements, at an odd offset, surrounded by NaN.
template <class T>
struct Stored {
  std::vector<T> memory;
  ConstMatrix view;

  Stored(const std::vector<T>& values, int64_t rows, int64_t cols, int layout) {
    int64_t row = cols;
    int64_t col = 1;
    if (layout == 1) row = 1, col = rows;
    if (layout == 2) row = cols + 3;
    if (layout == 3) row = 1, col = rows + 5;
    if (layout == 4) row = 2 * cols + 1, col = 2;
    const int64_t offset = 3 + layout;
    memory.assign(static_cast<size_t>(offset + (rows + 6) * (2 * cols + 7)), nan_value<T>());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        memory[static_cast<size_t>(offset + i * row + j * col)] =
            values[static_cast<size_t>(i * cols + j)];
      }
    }
    view = {memory.data() + offset, row, col};
  }
};

struct Shape {
  int64_t m, n, k;
};

template <class T>
struct Case {
  Shape shape;
  std::vector<T> a, b, c, bias;

  explicit Case(const Shape& s) : shape(s) {
    std::mt19937 engine(static_cast<uint32_t>(s.m * 7 + s.n * 11 + s.k * 13));
    auto fill = [&](std::vector<T>& v, int64_t n) {
      v.resize(static_cast<size_t>(n));
      for (T& x : v) x = random_value<T>(engine);
    };
    fill(a, s.m * s.k);
    fill(b, s.k * s.n);
    fill(c, s.m * s.n);
    fill(bias, s.n);
  }

  std::vector<T> run(const MatrixProvider& provider, const Queue& queue, int layout_a, int layout_b,
                     bool extras, bool transposed_c = false) const {
    const auto [m, n, k] = shape;
    const Stored<T> sa(a, m, k, layout_a);
    const Stored<T> sb(b, k, n, layout_b);
    std::vector<T> out = c;
    if (transposed_c) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) out[size_t(j * m + i)] = c[size_t(i * n + j)];
      }
    }
    const dlcore_dtype dtype = dtype_of<T>();
    std::vector<double> work(provider.workspace(dtype, m, n, k) / 8 + 9);
    void* const aligned =
        reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(work.data()) + 63) & ~uintptr_t{63});
    Product p{m, n, k, sa.view, sb.view, {}, {out.data(), n, 1}, extras};
    if (transposed_c) p.c = {out.data(), 1, m};
    if (extras) p.bias = {bias.data(), 0, 1};
    provider.multiply(queue, dtype, p, aligned);
    if (!transposed_c) return out;
    std::vector<T> back(out.size());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) back[size_t(i * n + j)] = out[size_t(j * m + i)];
    }
    return back;
  }

  void check(const std::vector<T>& got, bool extras) const {
    const auto [m, n, k] = shape;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = extras ? c[size_t(i * n + j)] + double(bias[size_t(j)]) : 0;
        double size = std::abs(sum);
        for (int64_t q = 0; q < k; ++q) {
          const double x = double(a[size_t(i * k + q)]) * double(b[size_t(q * n + j)]);
          sum += x;
          size += std::abs(x);
        }
        const double eps = sizeof(T) == 4 ? 6e-8 : 1.2e-16;
        // The sums of a block grow like its square root; four times that is generous.
        ASSERT_NEAR(double(got[size_t(i * n + j)]), sum, size * eps * (4 + std::sqrt(double(k))))
            << m << "x" << n << "x" << k << " at " << i << ", " << j;
      }
    }
  }
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

const Shape kShapes[] = {
    {1, 1, 0},     {1, 1, 1},     {1, 5, 3},      {3, 1, 700},     {1, 300, 100},
    {1, 77, 33},   {2, 2, 2},     {4, 8, 0},      {5, 7, 9},       {14, 32, 16},
    {15, 33, 17},  {64, 10, 128}, {10, 64, 257},  {29, 65, 513},   {100, 31, 40},
    {300, 20, 20}, {7, 2100, 30}, {33, 40, 1300}, {130, 140, 150}, {3, 200, 100},
    {8, 90, 784},  {200, 5, 130}, {7, 9, 65},     {2, 33, 64},     {6, 300, 95}};

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

// A tensor for a launch.
template <class T>
struct Tensor {
  std::vector<T> data;
  std::vector<int64_t> shape, strides;

  explicit Tensor(std::vector<int64_t> dims, uint32_t seed = 0) : shape(std::move(dims)) {
    strides.resize(shape.size());
    int64_t count = 1;
    for (size_t d = shape.size(); d-- > 0;) strides[d] = count, count *= shape[d];
    std::mt19937 engine(seed + 1);
    data.resize(static_cast<size_t>(count));
    for (T& x : data) x = static_cast<T>(static_cast<int>(engine() % 201) - 100);
  }
  dlcore_operand operand() {
    int64_t count = 1;
    for (const int64_t d : shape) count *= d;
    return {data.data(), shape.data(),  strides.data(),
            count,       dtype_of<T>(), static_cast<int32_t>(shape.size())};
  }
};

void launch(std::span<const TargetKernels> file, int64_t target, Op op, dlcore_dtype dtype,
            std::vector<dlcore_operand> inputs, dlcore_operand output, std::vector<int64_t> attrs) {
  for (const TargetKernels& table : file) {
    if (table.target != target) continue;
    for (const dlcore_kernel& kernel : table.kernels) {
      if (kernel.op != static_cast<int32_t>(op) || kernel.dtype != dtype) continue;
      dlcore_failure failure{sizeof(dlcore_failure), 0, ""};
      dlcore_launch call{};
      call.struct_size = sizeof call;
      call.op = kernel.op;
      call.inputs = inputs.data();
      call.outputs = &output;
      call.n_inputs = static_cast<int32_t>(inputs.size());
      call.n_outputs = 1;
      call.attrs = attrs.data();
      call.n_words = static_cast<int32_t>(attrs.size());
      call.failure = &failure;
      std::vector<double> work((kernel.workspace ? kernel.workspace(&call) : 0) / 8 + 9);
      call.workspace =
          reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(work.data()) + 63) & ~uintptr_t{63});
      ThreadPool pool(2);
      Queue queue;
      queue.pool = &pool;
      ASSERT_EQ(kernel.launch(&queue, &call), DLCORE_OK) << failure.message;
      return;
    }
  }
  FAIL() << "no kernel";
}

// Values are small integers, so every sum is exact.
template <class T>
void check_batch(std::span<const TargetKernels> file, int64_t target, bool transpose_a,
                 bool transpose_b, bool share_b, int64_t m, int64_t n, int64_t k) {
  Tensor<T> a(transpose_a ? std::vector<int64_t>{2, 3, k, m} : std::vector<int64_t>{2, 3, m, k}, 1);
  Tensor<T> b(transpose_b ? std::vector<int64_t>{2, 3, n, k} : std::vector<int64_t>{2, 3, k, n}, 2);
  if (share_b) b.strides[0] = b.strides[1] = 0;
  Tensor<T> c({2, 3, m, n}, 3);
  launch(file, target, Op::kMatmul, dtype_of<T>(), {a.operand(), b.operand()}, c.operand(),
         {transpose_a, transpose_b});
  for (int64_t item = 0; item < 6; ++item) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (int64_t q = 0; q < k; ++q) {
          sum +=
              a.data[size_t(item * m * k + (transpose_a ? q * m + i : i * k + q))] *
              b.data[size_t((share_b ? 0 : item * n * k) + (transpose_b ? j * k + q : q * n + j))];
        }
        ASSERT_EQ(c.data[size_t((item * m + i) * n + j)], sum);
      }
    }
  }
}

TEST(Matmul, Batches) {
  for (int bits = 0; bits < 8; ++bits) {
    for (const Shape& s :
         {Shape{5, 7, 9}, {1, 7, 9}, {40, 33, 70}, {3, 1, 4}, {2, 3, 0}, {0, 3, 4}}) {
      for (const int64_t target : targets()) {
        check_batch<float>(matmul_kernels(), target, bits & 1, bits & 2, bits & 4, s.m, s.n, s.k);
        check_batch<double>(matmul_kernels(), target, bits & 1, bits & 2, bits & 4, s.m, s.n, s.k);
      }
      check_batch<int32_t>(integer_matmul_kernels(), 0, bits & 1, bits & 2, bits & 4, s.m, s.n,
                           s.k);
      check_batch<int64_t>(integer_matmul_kernels(), 0, bits & 1, bits & 2, bits & 4, s.m, s.n,
                           s.k);
    }
  }
}

// Items that share b may be computed as one tall product: with the same bits as one by one.
TEST(Matmul, SharedAndRepeatedOperandsGiveTheSameBits) {
  std::mt19937 engine(5);
  for (const int64_t target : targets()) {
    for (const Shape& s : {Shape{4, 50, 300}, {2, 9, 64}, {20, 33, 70}, {50, 3, 80}}) {
      Tensor<float> a({2, 3, s.m, s.k}), shared({1, 1, s.k, s.n}), repeated({2, 3, s.k, s.n});
      Tensor<float> c({2, 3, s.m, s.n}), d({2, 3, s.m, s.n});
      for (float& x : a.data) x = random_value<float>(engine);
      for (float& x : shared.data) x = random_value<float>(engine);
      for (size_t i = 0; i < repeated.data.size(); ++i) {
        repeated.data[i] = shared.data[i % shared.data.size()];
      }
      shared.shape = {2, 3, s.k, s.n};
      shared.strides[0] = shared.strides[1] = 0;
      launch(matmul_kernels(), target, Op::kMatmul, DLCORE_F32, {a.operand(), shared.operand()},
             c.operand(), {0, 0});
      launch(matmul_kernels(), target, Op::kMatmul, DLCORE_F32, {a.operand(), repeated.operand()},
             d.operand(), {0, 0});
      EXPECT_TRUE(same_bits(c.data, d.data)) << s.m << "x" << s.n << "x" << s.k;
    }
  }
}

TEST(Matmul, IntegersWrap) {
  Tensor<int32_t> a({1, 2}), b({2, 1}), c({1, 1});
  a.data = {INT32_MAX, INT32_MAX};
  b.data = {INT32_MAX, 2};
  launch(integer_matmul_kernels(), 0, Op::kMatmul, DLCORE_I32, {a.operand(), b.operand()},
         c.operand(), {0, 0});
  EXPECT_EQ(c.data[0], -1);  // (2^31 - 1)(2^31 + 1) = 2^62 - 1
}

template <class T>
void check_linear(int64_t target, bool with_bias, bool permuted) {
  Tensor<T> x({3, 4, 50}, 1);
  if (permuted) {
    x.shape = {4, 3, 50};
    x.strides = {50, 200, 1};
  }
  Tensor<T> w({37, 50}, 2), bias({37}, 3), y({x.shape[0], x.shape[1], 37}, 4);
  dlcore_operand none{};
  launch(matmul_kernels(), target, Op::kLinear, dtype_of<T>(),
         {x.operand(), w.operand(), with_bias ? bias.operand() : none}, y.operand(), {});
  for (int64_t p = 0; p < x.shape[0]; ++p) {
    for (int64_t q = 0; q < x.shape[1]; ++q) {
      for (int64_t o = 0; o < 37; ++o) {
        T sum = with_bias ? bias.data[size_t(o)] : T(0);
        for (int64_t i = 0; i < 50; ++i) {
          sum +=
              x.data[size_t(p * x.strides[0] + q * x.strides[1] + i)] * w.data[size_t(o * 50 + i)];
        }
        ASSERT_EQ(y.data[size_t((p * x.shape[1] + q) * 37 + o)], sum);
      }
    }
  }
}

TEST(Linear, BiasAndUnevenRows) {
  for (const int64_t target : targets()) {
    for (int bits = 0; bits < 4; ++bits) {
      check_linear<float>(target, bits & 1, bits & 2);
      check_linear<double>(target, bits & 1, bits & 2);
    }
  }
}

TEST(Linear, OneVectorAndNoRows) {
  for (const int64_t target : targets()) {
    Tensor<float> x({5}, 1), w({3, 5}, 2), y({3}, 3), none_x({0, 5}), none_y({0, 3});
    launch(matmul_kernels(), target, Op::kLinear, DLCORE_F32, {x.operand(), w.operand()},
           y.operand(), {});
    for (size_t o = 0; o < 3; ++o) {
      float sum = 0;
      for (size_t i = 0; i < 5; ++i) sum += x.data[i] * w.data[o * 5 + i];
      EXPECT_EQ(y.data[o], sum);
    }
    launch(matmul_kernels(), target, Op::kLinear, DLCORE_F32, {none_x.operand(), w.operand()},
           none_y.operand(), {});
  }
}

}  // namespace
}  // namespace dlcore::cpu
