// SPDX-License-Identifier: Apache-2.0
// Matrix products. Kernels that need one (matmul, linear, and others built on it) describe it as a
// Product and hand it to the provider that choose_provider names. The choice, and so the order of
// arithmetic, follows from dtype, shape and instruction set (and the engine's wish for our own
// kernel only), never from strides or threads.
#pragma once

#include <cstdint>

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/matmul/own_split.h"
#include "backends/cpu/queue.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Elements of a matrix lie at data + i * row + j * col, in elements; strides may be 0 or negative.
struct ConstMatrix {
  const void* data = nullptr;
  int64_t row = 0;
  int64_t col = 0;
};

struct MutableMatrix {
  void* data = nullptr;
  int64_t row = 0;
  int64_t col = 0;
};

// c[m, n] = a[m, k] . b[k, n], then + bias[m, n] where bias.data is not null (a row of n values has
// bias.row 0). With `accumulate` it is c + a . b (+ bias). c overlaps none of the others.
struct Product {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  ConstMatrix a;
  ConstMatrix b;
  ConstMatrix bias;
  MutableMatrix c;
  bool accumulate = false;
  // Where m and n are 2 or more, the order of arithmetic follows from k alone: so that items of a
  // batch may be computed together or one by one.
  bool one_of_many = false;
  // What becomes of finished elements while they are in the caches, in place; null: nothing. Of f32
  // and f64, whose c is dense in rows or columns.
  Loop finish = nullptr;

  // The same product seen from the other side: c^T = b^T . a^T.
  Product transposed() const {
    return {n,
            m,
            k,
            {b.data, b.col, b.row},
            {a.data, a.col, a.row},
            {bias.data, bias.col, bias.row},
            {c.data, c.col, c.row},
            accumulate,
            one_of_many,
            finish};
  }

  // Every element of c is in one rectangle, once it is finished.
  void finish_rectangle(int64_t element_bytes, const Range& rows, const Range& cols) const {
    if (finish == nullptr) return;
    const bool by_rows = c.col == 1;
    Range outer = by_rows ? rows : cols, inner = by_rows ? cols : rows;
    const int64_t step = by_rows ? c.row : c.col;
    if (inner.size() == step) {  // one run
      inner = {outer.begin * step, outer.end * step};
      outer = {0, 1};
    }
    for (int64_t i = outer.begin; i < outer.end; ++i) {
      char* const run = static_cast<char*>(c.data) + (i * step + inner.begin) * element_bytes;
      finish(inner.size(), run, run, nullptr, nullptr, nullptr);
    }
  }
};

// f32 and f64; the library's own also f16 and bf16, of which it sums the widened elements in f32
// and rounds each result, bias included, once. There `bias` is a row or a column, `c` is dense in
// rows or columns, and `accumulate` is false.
struct MatrixProvider {
  const char* name;
  // Bytes of workspace, aligned to kWorkspaceAlignment, that `multiply` needs for these sizes.
  uint64_t (*workspace)(dlcore_dtype dtype, int64_t m, int64_t n, int64_t k);
  void (*multiply)(const Queue& queue, dlcore_dtype dtype, const Product& product, void* workspace);
  // True where Product::one_of_many is heeded.
  bool bits_ignore_m_and_n;
};

inline constexpr uint64_t kWorkspaceAlignment = 64;

// `target` is the instruction set of the calling kernel: HWY_TARGET.
const MatrixProvider& choose_provider(int64_t target, bool own_only, dlcore_dtype dtype, int64_t m,
                                      int64_t n, int64_t k);

// Bytes enough for whichever provider choose_provider names for these sizes.
uint64_t provider_workspace(int64_t target, dlcore_dtype dtype, int64_t m, int64_t n, int64_t k);

// The packed kernel of this library; any of the compiled instruction sets.
const MatrixProvider& own_provider(int64_t target);

// OpenBLAS, or null when this library was built without it or the one loaded is refused.
const MatrixProvider* openblas_provider();

// Why the loaded OpenBLAS is not used, or null when it is. The serial build computes wrong results
// when several threads call it at the same time.
const char* openblas_refusal();

}  // namespace dlcore::cpu
