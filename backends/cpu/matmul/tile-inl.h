// SPDX-License-Identifier: Apache-2.0
// The inner kernel: a tile of up to kTileRows x kTileCols elements of c in registers.
//
// ORDER OF ARITHMETIC. Every element is one chain of multiply-adds over k inside a block of k,
// started at 0; the blocks' sums are added in order. Where blocks end follows from k alone
// (split_k), so the bits of an element depend neither on the tile that it falls in nor on how a and
// b are packed.
#if defined(DLCORE_CPU_MATMUL_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_MATMUL_TILE_INL_H_
#undef DLCORE_CPU_MATMUL_TILE_INL_H_
#else
#define DLCORE_CPU_MATMUL_TILE_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Accumulators, two vectors of b and one broadcast of a fill the registers: 32 of them, or 16.
#if HWY_TARGET == HWY_AVX3
inline constexpr int64_t kTileRows = 14;
#elif HWY_TARGET == HWY_NEON
inline constexpr int64_t kTileRows = 12;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int64_t kTileRows = 6;
#else
inline constexpr int64_t kTileRows = 4;
#endif

template <class T>
using Full = hn::ScalableTag<T>;
template <class T>
inline constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Full<T>()));
template <class T>
inline constexpr int64_t kTileCols = 2 * kLanes<T>;

// Columns of a that lie together in a packed tile: [k / kChunk][row][k % kChunk].
inline constexpr int64_t kChunk = 16;

// Rows of b that are asked for before they are needed.
inline constexpr int64_t kAhead = 24;

// sum[R][kTileCols] = (first ? 0 : sum) + a[R, k] . b[k, kTileCols], `a` packed, rows of b `b_row`
// apart. `sum` is aligned.
template <class T, int R>
HWY_NOINLINE void multiply_tile(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t b_row,
                                int64_t k, T* HWY_RESTRICT sum, bool first) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int64_t kWide = kLanes<T>;
  V acc[R][2];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    acc[i][0] = hn::Zero(d);
    acc[i][1] = hn::Zero(d);
  }
  for (; k > 0; k -= kChunk) {
    const T* const end = a + (k < kChunk ? k : kChunk);
    const T* next = a + R * kChunk;
    for (; a != end; ++a, b += b_row) {
      __builtin_prefetch(b + kAhead * b_row);
      __builtin_prefetch(b + kAhead * b_row + kWide);
      const V b0 = hn::LoadU(d, b);
      const V b1 = hn::LoadU(d, b + kWide);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const V x = hn::Set(d, a[i * kChunk]);
        acc[i][0] = hn::MulAdd(x, b0, acc[i][0]);
        acc[i][1] = hn::MulAdd(x, b1, acc[i][1]);
      }
    }
    a = next;
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    T* const row = sum + i * kTileCols<T>;
    if (!first) {
      acc[i][0] = hn::Add(hn::Load(d, row), acc[i][0]);
      acc[i][1] = hn::Add(hn::Load(d, row + kWide), acc[i][1]);
    }
    hn::Store(acc[i][0], d, row);
    hn::Store(acc[i][1], d, row + kWide);
  }
}

template <class T>
using TileFunction = void (*)(const T*, const T*, int64_t, int64_t, T*, bool);

template <class T, int... I>
constexpr std::array<TileFunction<T>, sizeof...(I)> tile_functions(
    std::integer_sequence<int, I...>) {
  return {&multiply_tile<T, I + 1>...};
}

// The function for a tile of r rows is kTileFunctions<T>[r - 1].
template <class T>
inline constexpr auto kTileFunctions =
    tile_functions<T>(std::make_integer_sequence<int, static_cast<int>(kTileRows)>());

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
