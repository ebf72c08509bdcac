// SPDX-License-Identifier: Apache-2.0
// Packing of matrices (see pack-inl.h) whose elements may be f16 or bf16: those are widened on the
// way, or put together in pairs along k, for pair_tile-inl.h.
#if defined(DLCORE_CPU_MATMUL_WIDEN_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_MATMUL_WIDEN_PACK_INL_H_
#undef DLCORE_CPU_MATMUL_WIDEN_PACK_INL_H_
#else
#define DLCORE_CPU_MATMUL_WIDEN_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
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

// 16-bit elements (j, 2 q) and (j, 2 q + 1) of rows j as element (j, q) of 32 bits, the first one
// in the lower half, 0 beyond the end of k.
Block<float> pair_block(const ConstMatrix& m, int64_t k, int64_t j, int64_t first, int64_t rows,
                        int64_t pairs, float* to) {
  uint32_t* const out = reinterpret_cast<uint32_t*>(to);
  const Block<uint16_t> from = block_at<uint16_t>(m, j, 2 * first);
  const int64_t whole = std::min(pairs, k / 2 - first);
  const bool tail = whole < pairs;  // half a pair
  if (from.row == 1 && from.col != 1) {
    const hn::ScalableTag<uint32_t> d;
    const hn::Rebind<uint16_t, decltype(d)> d16;
    constexpr int64_t kWide = static_cast<int64_t>(hn::MaxLanes(d));
    for (int64_t q = 0; q < whole; ++q) {
      const uint16_t* const low = from.data + 2 * q * from.col;
      const uint16_t* const high = low + from.col;
      uint32_t* const row = out + q * rows;
      int64_t r = 0;
      for (; r + kWide <= rows; r += kWide) {
        const auto upper = hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(d16, high + r)));
        hn::StoreU(hn::Or(upper, hn::PromoteTo(d, hn::LoadU(d16, low + r))), d, row + r);
      }
      for (; r < rows; ++r) row[r] = low[r] | static_cast<uint32_t>(high[r]) << 16;
    }
    for (int64_t r = 0; r < rows && tail; ++r) {
      out[whole * rows + r] = from.data[2 * whole * from.col + r];
    }
    return {to, 1, rows};
  }
  for (int64_t r = 0; r < rows; ++r) {
    const uint16_t* const row = from.data + r * from.row;
    uint32_t* const pair = out + r * pairs;
    if (from.col == 1) {
      std::memcpy(pair, row, static_cast<size_t>(whole) * sizeof *pair);
    } else {
      for (int64_t q = 0; q < whole; ++q) {
        const uint16_t* const low = row + 2 * q * from.col;
        pair[q] = low[0] | static_cast<uint32_t>(low[from.col]) << 16;
      }
    }
    if (tail) pair[whole] = row[2 * whole * from.col];
  }
  return {to, pairs, 1};
}

// What the elements of a and b are, where they are not of T.
struct Elements {
  const HalfConversion* half = nullptr;  // 16-bit elements, to be widened
  int64_t paired_k = 0;                  // or paired: the k of the 16-bit elements

  bool plain() const { return half == nullptr; }
};

// Rows from i on, columns from k on: pairs of them where elements are paired.
Block<float> wide_block(const Elements& elements, const ConstMatrix& m, int64_t i, int64_t k,
                        int64_t rows, int64_t cols, float* to) {
  if (elements.paired_k > 0) return pair_block(m, elements.paired_k, i, k, rows, cols, to);
  return widen_block(*elements.half, m, i, k, rows, cols, to);
}

template <class T>
void pack_tile(T* to, const Elements& elements, const ConstMatrix& m, int64_t i, int64_t k,
               int64_t rows, int64_t cols) {
  if constexpr (std::is_same_v<T, float>) {
    if (!elements.plain()) {
      alignas(64) float wide[kTileRows * kLongestBlock];
      return pack_tile(to, wide_block(elements, m, i, k, rows, cols, wide), rows, cols);
    }
  }
  pack_tile(to, block_at<T>(m, i, k), rows, cols);
}

template <class T>
void pack_panel(T* to, const Elements& elements, const ConstMatrix& m, int64_t k, int64_t j,
                int64_t rows, int64_t cols) {
  if constexpr (std::is_same_v<T, float>) {
    if (!elements.plain()) {
      constexpr int64_t kRows = 128;
      alignas(64) float wide[kRows * kTileCols<T>];
      const ConstMatrix other{m.data, m.col, m.row};
      for (int64_t r = 0; r < rows; r += kRows) {
        const int64_t n = std::min(kRows, rows - r);
        const Block<float> block = wide_block(elements, other, j, k + r, cols, n, wide);
        pack_panel(to + r * kTileCols<T>, Block<float>{block.data, block.col, block.row}, n, cols);
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
