// SPDX-License-Identifier: Apache-2.0
// matmul of integers: a plain loop. Sums wrap, which no order of adding changes.
#include <algorithm>
#include <type_traits>

#include "backends/cpu/matmul/batch.h"
#include "backends/cpu/matmul/matmul.h"
#include "backends/cpu/matmul/own_split.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu {
namespace plain {
namespace {

template <class T>
void multiply_row(const BatchedProduct& batched, int64_t row_of_all) {
  using U = std::make_unsigned_t<T>;
  const Product& p = batched.first;
  const int64_t item = row_of_all / p.m;
  const int64_t row = row_of_all % p.m;
  T* const c = static_cast<T*>(p.c.data) + row_of_all * p.n;
  std::fill(c, c + p.n, T{0});
  if (p.k == 0) return;  // a and b then have no elements to point at
  const T* const a = static_cast<const T*>(p.a.data) + batched.offset_a(item) + row * p.a.row;
  const T* const b = static_cast<const T*>(p.b.data) + batched.offset_b(item);
  for (int64_t k = 0; k < p.k; ++k) {
    const U x = static_cast<U>(a[k * p.a.col]);
    const T* const b_row = b + k * p.b.row;
    for (int64_t j = 0; j < p.n; ++j) {
      c[j] = static_cast<T>(static_cast<U>(c[j]) + x * static_cast<U>(b_row[j * p.b.col]));
    }
  }
}

template <class T>
dlcore_status matmul(void* queue, const dlcore_launch* launch) {
  if (launch->outputs[0].count == 0) return DLCORE_OK;
  const Queue& q = *static_cast<const Queue*>(queue);
  const BatchedProduct batched = BatchedProduct::of(*launch);
  const int64_t rows = batched.batch * batched.first.m;
  const int64_t row_work = std::max<int64_t>(1, batched.first.n * batched.first.k);
  const int64_t per_part = std::max<int64_t>(1, (int64_t{1} << 15) / row_work);
  q.parallel_for(divide_up(rows, per_part), [&](int64_t part) {
    const int64_t end = std::min(rows, (part + 1) * per_part);
    for (int64_t i = part * per_part; i < end && !q.stopped(); ++i) multiply_row<T>(batched, i);
  });
  return DLCORE_OK;
}

constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kMatmul, DLCORE_I32, DLCORE_KERNEL_STRIDED, matmul<int32_t>),
    make_kernel(Op::kMatmul, DLCORE_I64, DLCORE_KERNEL_STRIDED, matmul<int64_t>),
};

}  // namespace
}  // namespace plain

DLCORE_CPU_PLAIN_KERNEL_FILE(integer_matmul)

}  // namespace dlcore::cpu
