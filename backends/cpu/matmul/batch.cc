// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/matmul/batch.h"

namespace dlcore::cpu {
namespace {

// The last two dimensions, exchanged when the call says so.
ConstMatrix matrix_of(const dlcore_operand& x, bool transposed) {
  const int64_t row = x.strides[x.rank - 2];
  const int64_t col = x.strides[x.rank - 1];
  return transposed ? ConstMatrix{x.data, col, row} : ConstMatrix{x.data, row, col};
}

}  // namespace

BatchedProduct BatchedProduct::of(const dlcore_launch& launch) {
  const dlcore_operand& a = launch.inputs[0];
  const dlcore_operand& b = launch.inputs[1];
  const dlcore_operand& c = launch.outputs[0];
  const bool transpose_a = launch.attrs[0] != 0;
  const bool transpose_b = launch.attrs[1] != 0;
  int64_t batch = 1;
  for (int32_t d = 0; d + 2 < c.rank; ++d) batch *= c.shape[d];
  Product first;
  first.m = c.shape[c.rank - 2];
  first.n = c.shape[c.rank - 1];
  first.k = a.shape[a.rank - (transpose_a ? 2 : 1)];
  first.a = matrix_of(a, transpose_a);
  first.b = matrix_of(b, transpose_b);
  first.c = {c.data, first.n, 1};
  return {&a, &b, &c, batch, first};
}

int64_t BatchedProduct::offset(const dlcore_operand& x, int64_t index) {
  int64_t offset = 0;
  for (int32_t d = x.rank - 3; d >= 0; --d) {
    offset += index % x.shape[d] * x.strides[d];
    index /= x.shape[d];
  }
  return offset;
}

bool BatchedProduct::is_one_product() const {
  int64_t expected = first.a.row * first.m;
  for (int32_t d = c->rank - 3; d >= 0; --d) {
    if (c->shape[d] == 1) continue;
    if (b->strides[d] != 0 || a->strides[d] != expected) return false;
    expected *= c->shape[d];
  }
  return true;
}

}  // namespace dlcore::cpu
