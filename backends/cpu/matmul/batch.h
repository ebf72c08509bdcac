// SPDX-License-Identifier: Apache-2.0
// A launch of matmul read as a batch of matrices.
#pragma once

#include <cstdint>

#include "backends/cpu/matmul/provider.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// c[..., m, n] = a[..., m, k] . b[..., k, n]; a and b have the batch dimensions of c, expanded.
struct BatchedProduct {
  const dlcore_operand* a;
  const dlcore_operand* b;
  const dlcore_operand* c;
  int64_t batch;
  Product first;  // data of the first item

  static BatchedProduct of(const dlcore_launch& launch);

  // Offsets of item `index`, in elements. The items of c follow each other.
  int64_t offset_a(int64_t index) const { return offset(*a, index); }
  int64_t offset_b(int64_t index) const { return offset(*b, index); }

  // True where all items share b and the rows of all of a are evenly spaced: a single product then
  // computes the same.
  bool is_one_product() const;

 private:
  static int64_t offset(const dlcore_operand& x, int64_t index);
};

}  // namespace dlcore::cpu
