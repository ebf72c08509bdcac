// SPDX-License-Identifier: Apache-2.0
// Matrices stored in any order, and products of them, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/matmul/matmul.h"
#include "backends/cpu/matmul/provider.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu::test {

// The instruction sets that were compiled and that this processor has.
inline std::vector<int64_t> targets() {
  std::vector<int64_t> found;
  for (const TargetKernels& table : matmul_kernels()) {
#if HWY_ARCH_X86
    if (table.target == HWY_AVX2 &&
        !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) {
      continue;
    }
    if (table.target == HWY_AVX3 &&
        !(__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))) {
      continue;
    }
#endif
    found.push_back(table.target);
  }
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
inline Half nan_value() {
  return half_from(NAN);
}
template <>
inline BFloat16 nan_value() {
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

}  // namespace dlcore::cpu::test
