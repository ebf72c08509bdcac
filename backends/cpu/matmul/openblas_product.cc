// SPDX-License-Identifier: Apache-2.0
// OpenBLAS as a matrix provider: single-threaded calls on rectangles of c spread over the engine's
// pool. Its own threads collapse when another core is busy; the engine switches them off when it
// opens.
//
// Which loop OpenBLAS takes may depend on how its arguments are stored, so it always gets
// contiguous row-major ones: what lies differently is copied first. Rectangles follow from the
// shape alone.
#include "backends/cpu/matmul/provider.h"

#if DLCORE_HAVE_OPENBLAS

#include <algorithm>
#include <cstring>

#include "backends/cpu/matmul/blas.h"
#include "backends/cpu/matmul/own_split.h"

namespace dlcore::cpu {
namespace {

constexpr int64_t kPanelRows = 256;
constexpr int64_t kPanelCols = 512;

struct Panels {
  int64_t rows;
  int64_t cols;
  static Panels of(int64_t m, int64_t n) {
    return {divide_up(m, kPanelRows), divide_up(n, kPanelCols)};
  }
};

void call_gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, int64_t b_row,
               float* c) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1.0f, a, static_cast<int>(std::max<int64_t>(1, k)), b,
              static_cast<int>(b_row), 0.0f, c, static_cast<int>(b_row));
}

void call_gemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, int64_t b_row,
               double* c) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1.0, a, static_cast<int>(std::max<int64_t>(1, k)), b,
              static_cast<int>(b_row), 0.0, c, static_cast<int>(b_row));
}

// The matrix as contiguous row-major elements: itself, or its copy in `to`.
template <class T>
const T* contiguous(const Queue& queue, const ConstMatrix& from, int64_t rows, int64_t cols,
                    T* to) {
  const T* const data = static_cast<const T*>(from.data);
  if (from.col == 1 && from.row == cols) return data;
  constexpr int64_t kSide = 32;
  queue.parallel_for(divide_up(rows, kSide), [&](int64_t part) {
    const int64_t end = std::min(rows, (part + 1) * kSide);
    for (int64_t j0 = 0; j0 < cols; j0 += kSide) {
      const int64_t j1 = std::min(cols, j0 + kSide);
      for (int64_t i = part * kSide; i < end; ++i) {
        for (int64_t j = j0; j < j1; ++j) to[i * cols + j] = data[i * from.row + j * from.col];
      }
    }
  });
  return to;
}

// Adds a finished rectangle, kept in `sums` as rows of p.n, to c.
template <class T>
void store(const Product& p, const T* sums, const Range& rows, const Range& cols) {
  const T* const bias = static_cast<const T*>(p.bias.data);
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = cols.begin; j < cols.end; ++j) {
      T* const to = static_cast<T*>(p.c.data) + i * p.c.row + j * p.c.col;
      T value = sums[i * p.n + j];
      if (p.accumulate) value = *to + value;
      if (bias != nullptr) value = value + bias[i * p.bias.row + j * p.bias.col];
      *to = value;
    }
  }
}

template <class T>
void multiply(const Queue& queue, const Product& p, void* workspace) {
  T* const scratch = static_cast<T*>(workspace);
  const T* const a = contiguous(queue, p.a, p.m, p.k, scratch);
  const T* const b = contiguous(queue, p.b, p.k, p.n, scratch + p.m * p.k);
  const bool direct = p.c.col == 1 && p.c.row == p.n && !p.accumulate;
  T* const sums = direct ? static_cast<T*>(p.c.data) : scratch + p.m * p.k + p.k * p.n;
  const Panels panels = Panels::of(p.m, p.n);
  queue.parallel_for(panels.rows * panels.cols, [&](int64_t part) {
    if (queue.stopped()) return;
    const Range rows = even_range({0, p.m}, panels.rows, part % panels.rows);
    const Range cols = even_range({0, p.n}, panels.cols, part / panels.rows);
    call_gemm(rows.size(), cols.size(), p.k, a + rows.begin * p.k, b + cols.begin, p.n,
              sums + rows.begin * p.n + cols.begin);
    if (!direct || p.bias.data != nullptr) store(p, sums, rows, cols);
    p.finish_rectangle(sizeof(T), rows, cols);
  });
}

void multiply_any(const Queue& queue, dlcore_dtype dtype, const Product& product, void* workspace) {
  if (dtype == DLCORE_F64) {
    multiply<double>(queue, product, workspace);
  } else {
    multiply<float>(queue, product, workspace);
  }
}

uint64_t workspace_any(dlcore_dtype dtype, int64_t m, int64_t n, int64_t k) {
  const uint64_t elements = static_cast<uint64_t>(m * k + k * n + m * n);
  return elements * (dtype == DLCORE_F64 ? sizeof(double) : sizeof(float));
}

constexpr MatrixProvider kOpenblas = {"openblas", workspace_any, multiply_any, false};

}  // namespace

const char* openblas_refusal() {
  if (openblas_get_parallel() == 0) {
    return "the loaded OpenBLAS is its serial build, which computes wrong results when several "
           "threads call it; using dlcore's own matrix kernels";
  }
  return nullptr;
}

const MatrixProvider* openblas_provider() {
  return openblas_refusal() == nullptr ? &kOpenblas : nullptr;
}

}  // namespace dlcore::cpu

#else

namespace dlcore::cpu {

const char* openblas_refusal() { return "this library was built without OpenBLAS"; }
const MatrixProvider* openblas_provider() { return nullptr; }

}  // namespace dlcore::cpu

#endif
