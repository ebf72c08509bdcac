// SPDX-License-Identifier: Apache-2.0
// The inner kernel of tile-inl.h for pairs of bf16, on processors that have AVX-512 BF16.
//
// ORDER OF ARITHMETIC. As there, with k in pairs: each adds two products to a sum of f32 as the
// instruction VDPBF16PS does, which takes subnormal numbers for 0.
#if defined(DLCORE_CPU_MATMUL_PAIR_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_MATMUL_PAIR_TILE_INL_H_
#undef DLCORE_CPU_MATMUL_PAIR_TILE_INL_H_
#else
#define DLCORE_CPU_MATMUL_PAIR_TILE_INL_H_
#endif

#include "backends/cpu/matmul/tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3

inline constexpr bool kHasPairTile = true;

#define DLCORE_CPU_BF16_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

// A pair of elements of a or b is 32 bits, here a float.
template <int R>
DLCORE_CPU_BF16_TARGET HWY_NOINLINE void multiply_pair_tile(const float* HWY_RESTRICT a,
                                                            const float* HWY_RESTRICT b,
                                                            int64_t b_row, int64_t k,
                                                            float* HWY_RESTRICT sum, bool first) {
  __m512 acc[R][2];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) acc[i][0] = acc[i][1] = _mm512_setzero_ps();
  for (; k > 0; k -= kChunk) {
    const float* const end = a + (k < kChunk ? k : kChunk);
    const float* next = a + R * kChunk;
    for (; a != end; ++a, b += b_row) {
      __builtin_prefetch(b + kAhead * b_row);
      __builtin_prefetch(b + kAhead * b_row + 16);
      const __m512bh b0 = (__m512bh)_mm512_loadu_ps(b);
      const __m512bh b1 = (__m512bh)_mm512_loadu_ps(b + 16);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const __m512bh x = (__m512bh)_mm512_set1_ps(a[i * kChunk]);
        acc[i][0] = _mm512_dpbf16_ps(acc[i][0], x, b0);
        acc[i][1] = _mm512_dpbf16_ps(acc[i][1], x, b1);
      }
    }
    a = next;
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    float* const row = sum + i * 32;
    if (!first) {
      acc[i][0] = _mm512_add_ps(_mm512_load_ps(row), acc[i][0]);
      acc[i][1] = _mm512_add_ps(_mm512_load_ps(row + 16), acc[i][1]);
    }
    _mm512_store_ps(row, acc[i][0]);
    _mm512_store_ps(row + 16, acc[i][1]);
  }
}

template <int... I>
constexpr std::array<TileFunction<float>, sizeof...(I)> pair_tile_functions(
    std::integer_sequence<int, I...>) {
  return {&multiply_pair_tile<I + 1>...};
}

inline constexpr auto kPairTileFunctions =
    pair_tile_functions(std::make_integer_sequence<int, static_cast<int>(kTileRows)>());

#else

inline constexpr bool kHasPairTile = false;

#endif

// The kernel for tiles of `rows` rows.
template <class T>
TileFunction<T> tile_function(bool pairs, int64_t rows) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<T, float>) {
    if (pairs) return kPairTileFunctions[static_cast<size_t>(rows - 1)];
  }
#else
  static_cast<void>(pairs);
#endif
  return kTileFunctions<T>[static_cast<size_t>(rows - 1)];
}

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
