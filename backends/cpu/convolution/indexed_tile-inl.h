// SPDX-License-Identifier: Apache-2.0
// The inner kernel of matmul/tile-inl.h for a b whose rows lie anywhere: row k starts at
// b + offsets[k]. The order of arithmetic is the same.
#if defined(DLCORE_CPU_CONVOLUTION_INDEXED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_CONVOLUTION_INDEXED_TILE_INL_H_
#undef DLCORE_CPU_CONVOLUTION_INDEXED_TILE_INL_H_
#else
#define DLCORE_CPU_CONVOLUTION_INDEXED_TILE_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backends/cpu/matmul/tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// R rows of a and V vectors of columns. `sum` has R rows of V vectors and is aligned.
template <class T, int R, int V>
HWY_NOINLINE void multiply_indexed_tile(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b,
                                        const int64_t* HWY_RESTRICT offsets, int64_t k,
                                        T* HWY_RESTRICT sum, bool first) {
  const Full<T> d;
  using Vector = hn::Vec<Full<T>>;
  constexpr int64_t kWide = kLanes<T>;
  Vector acc[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) acc[i][v] = hn::Zero(d);
  }
  for (; k > 0; k -= kChunk) {
    const T* const end = a + (k < kChunk ? k : kChunk);
    const T* next = a + R * kChunk;
    for (; a != end; ++a, ++offsets) {
      const T* const row = b + *offsets;
      Vector columns[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) columns[v] = hn::LoadU(d, row + v * kWide);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const Vector x = hn::Set(d, a[i * kChunk]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) acc[i][v] = hn::MulAdd(x, columns[v], acc[i][v]);
      }
    }
    a = next;
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      T* const to = sum + (i * V + v) * kWide;
      if (!first) acc[i][v] = hn::Add(hn::Load(d, to), acc[i][v]);
      hn::Store(acc[i][v], d, to);
    }
  }
}

template <class T>
using IndexedTileFunction = void (*)(const T*, const T*, const int64_t*, int64_t, T*, bool);

template <class T, int... I>
constexpr std::array<IndexedTileFunction<T>, sizeof...(I)> indexed_tile_functions(
    std::integer_sequence<int, I...>) {
  return {&multiply_indexed_tile<T, I + 1, 2>...};
}

// The function for a tile of r rows and kTileCols columns is kIndexedTileFunctions<T>[r - 1].
template <class T>
inline constexpr auto kIndexedTileFunctions =
    indexed_tile_functions<T>(std::make_integer_sequence<int, static_cast<int>(kTileRows)>());

// One row of more columns, where there are no more rows to read them for.
inline constexpr int kRowVectors = kTileRows >= 12 ? 8 : 4;
template <class T>
inline constexpr int64_t kRowCols = kRowVectors* kLanes<T>;
template <class T>
inline constexpr IndexedTileFunction<T> kIndexedRowFunction =
    &multiply_indexed_tile<T, 1, kRowVectors>;

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
