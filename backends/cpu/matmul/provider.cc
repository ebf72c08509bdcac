// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/matmul/provider.h"

#include <algorithm>

#include "backends/cpu/elementwise/half_conversion.h"
#include "backends/cpu/matmul/own_split.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu {
namespace {

// Columns that the own kernel pads a narrow side to: two vectors.
int64_t padded_to(int64_t target, dlcore_dtype dtype) {
  const int64_t f32 = target == HWY_AVX3 ? 32 : target == HWY_AVX2 ? 16 : 8;
  return dtype == DLCORE_F64 ? f32 / 2 : f32;
}

// Where OpenBLAS was measured to be faster: tall products whose narrow side needs more than one
// panel of the own kernel and wastes a fifth of its vectors, and large ones in f64. Elsewhere the
// own kernel is as fast or faster, most of all on rows, small shapes and transposed operands.
bool openblas_is_faster(int64_t target, dlcore_dtype dtype, int64_t m, int64_t n, int64_t k) {
  const int64_t narrow = std::min(m, n);
  if (narrow < 2 || is_half(dtype)) return false;
  if (dtype == DLCORE_F64 && std::min(narrow, k) >= 1024) return true;
  const int64_t unit = padded_to(target, dtype);
  return narrow > unit && narrow <= 64 && std::max(m, n) >= 1024 && k >= 8 && k <= 128 &&
         narrow * 5 < divide_up(narrow, unit) * unit * 4;
}

// CBLAS counts in 32 bits.
bool fits_openblas(int64_t m, int64_t n, int64_t k) {
  return std::max({m, n, k}) <= int64_t{0x7fffffff};
}

}  // namespace

const MatrixProvider& choose_provider(int64_t target, bool own_only, dlcore_dtype dtype, int64_t m,
                                      int64_t n, int64_t k) {
  if (!own_only && openblas_is_faster(target, dtype, m, n, k) && fits_openblas(m, n, k)) {
    const MatrixProvider* const openblas = openblas_provider();
    if (openblas != nullptr) return *openblas;
  }
  return own_provider(target);
}

uint64_t provider_workspace(int64_t target, dlcore_dtype dtype, int64_t m, int64_t n, int64_t k) {
  const uint64_t own = own_provider(target).workspace(dtype, m, n, k);
  const MatrixProvider& other = choose_provider(target, false, dtype, m, n, k);
  return std::max(own, other.workspace(dtype, m, n, k));
}

}  // namespace dlcore::cpu
