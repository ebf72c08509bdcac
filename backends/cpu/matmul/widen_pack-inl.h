// SPDX-License-Identifier: Apache-2.0
// Packing of matrices (see pack-inl.h) whose elements may be f16 or bf16: those are widened on the
// way.
#if defined(DLCORE_CPU_MATMUL_WIDEN_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_MATMUL_WIDEN_PACK_INL_H_
#undef DLCORE_CPU_MATMUL_WIDEN_PACK_INL_H_
#else
#define DLCORE_CPU_MATMUL_WIDEN_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/elementwise/half_conversion.h"
#include "backends/cpu/matmul/own_split.h"
#include "backends/cpu/matmul/pack-inl.h"
#include "backends/cpu/matmul/provider.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

template <class T>
Block<T> block_at(const ConstMatrix& m, int64_t i, int64_t j) {
  return {static_cast<const T*>(m.data) + i * m.row + j * m.col, m.row, m.col};
}

// Widened copies of blocks of 16-bit elements, dense in rows or columns.
void widen_run(const HalfConversion& half, const uint16_t* from, int64_t step, int64_t n,
               float* to) {
  if (step == 1) return half.widen(n, from, to);
  constexpr int64_t kTile = 256;
  uint16_t tile[kTile];
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t length = std::min(kTile, n - i);
    for (int64_t j = 0; j < length; ++j) tile[j] = from[(i + j) * step];
    half.widen(length, tile, to + i);
  }
}

Block<float> widen_block(const HalfConversion& half, const ConstMatrix& m, int64_t i, int64_t j,
                         int64_t rows, int64_t cols, float* to) {
  const Block<uint16_t> from = block_at<uint16_t>(m, i, j);
  if (from.row == 1 && from.col != 1) {
    for (int64_t c = 0; c < cols; ++c) {
      widen_run(half, from.data + c * from.col, 1, rows, to + c * rows);
    }
    return {to, 1, rows};
  }
  for (int64_t r = 0; r < rows; ++r) {
    widen_run(half, from.data + r * from.row, from.col, cols, to + r * cols);
  }
  return {to, cols, 1};
}

// `half` is null where the elements of m are of T.
template <class T>
void pack_tile(T* to, const HalfConversion* half, const ConstMatrix& m, int64_t i, int64_t k,
               int64_t rows, int64_t cols) {
  if constexpr (std::is_same_v<T, float>) {
    if (half != nullptr) {
      alignas(64) float wide[kTileRows * kLongestBlock];
      return pack_tile(to, widen_block(*half, m, i, k, rows, cols, wide), rows, cols);
    }
  }
  pack_tile(to, block_at<T>(m, i, k), rows, cols);
}

template <class T>
void pack_panel(T* to, const HalfConversion* half, const ConstMatrix& m, int64_t k, int64_t j,
                int64_t rows, int64_t cols) {
  if constexpr (std::is_same_v<T, float>) {
    if (half != nullptr) {
      constexpr int64_t kRows = 128;
      alignas(64) float wide[kRows * kTileCols<T>];
      for (int64_t r = 0; r < rows; r += kRows) {
        const int64_t n = std::min(kRows, rows - r);
        pack_panel(to + r * kTileCols<T>, widen_block(*half, m, k + r, j, n, cols, wide), n, cols);
      }
      return;
    }
  }
  pack_panel(to, block_at<T>(m, k, j), rows, cols);
}

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
