// SPDX-License-Identifier: Apache-2.0
// Dot products over positions, for the gradient of weights with few output channels: one pass over
// g serves several taps.
#if defined(DLCORE_CPU_CONVOLUTION_DOT_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_CONVOLUTION_DOT_TAPS_INL_H_
#undef DLCORE_CPU_CONVOLUTION_DOT_TAPS_INL_H_
#else
#define DLCORE_CPU_CONVOLUTION_DOT_TAPS_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backends/cpu/matmul/tile-inl.h"
#include "hwy/highway.h"
// These use what tile-inl.h defines.
#include "backends/cpu/matmul/pack-inl.h"
#include "backends/cpu/matmul/vector_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// sums[i] += g . x_i for N taps, over rows of `cols` positions; rows of g are padded to whole
// vectors, and x may be read that far.
template <class T, int N>
HWY_NOINLINE void dot_taps(const T* HWY_RESTRICT g, int64_t g_row, const T* HWY_RESTRICT x,
                           const int64_t* offsets, int64_t x_row, int64_t rows, int64_t cols,
                           T* sums) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  V acc[N];
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) acc[i] = hn::Zero(d);
  const int64_t whole = cols - cols % kLanes<T>;
  const auto rest = hn::FirstN(d, static_cast<size_t>(cols - whole));
  for (int64_t r = 0; r < rows; ++r, g += g_row, x += x_row) {
    for (int64_t q = 0; q < whole; q += kLanes<T>) {
      const V v = hn::LoadU(d, g + q);
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) acc[i] = hn::MulAdd(v, hn::LoadU(d, x + offsets[i] + q), acc[i]);
    }
    if (whole == cols) continue;
    // What lies behind the row is no part of it, and might not be finite.
    const V v = hn::LoadU(d, g + whole);
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      acc[i] =
          hn::MulAdd(v, hn::IfThenElseZero(rest, hn::LoadU(d, x + offsets[i] + whole)), acc[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) sums[i] = sums[i] + add_halves(d, acc[i]);
}

template <class T>
using DotTaps = void (*)(const T*, int64_t, const T*, const int64_t*, int64_t, int64_t, int64_t,
                         T*);
inline constexpr int64_t kMostTaps = 8;  // of one pass over g

template <class T, int... I>
constexpr std::array<DotTaps<T>, sizeof...(I)> dot_functions(std::integer_sequence<int, I...>) {
  return {&dot_taps<T, I + 1>...};
}
template <class T>
inline constexpr auto kDotTaps =
    dot_functions<T>(std::make_integer_sequence<int, static_cast<int>(kMostTaps)>());

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
