// SPDX-License-Identifier: Apache-2.0
// The kernels of matmul and linear.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "backends/cpu/matmul/matmul.h"
#include "backends/cpu/matmul/product_testing.h"

namespace dlcore::cpu::test {
namespace {

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
}  // namespace dlcore::cpu::test
