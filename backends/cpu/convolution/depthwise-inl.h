// SPDX-License-Identifier: Apache-2.0
// Results that need one channel of the source each: rows of them straight from its planes, without
// the columns that lie between rows there. The order of arithmetic is that of matmul/tile-inl.h.
#if defined(DLCORE_CPU_CONVOLUTION_DEPTHWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_CONVOLUTION_DEPTHWISE_INL_H_
#undef DLCORE_CPU_CONVOLUTION_DEPTHWISE_INL_H_
#else
#define DLCORE_CPU_CONVOLUTION_DEPTHWISE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/convolution/planes-inl.h"
#include "backends/cpu/matmul/tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// One filter over the planes of one channel: result[r][q] is the sum over taps of weights[tap] *
// planes[offsets[tap] + r * pitch + q], then + bias.
template <class T>
struct Filter {
  int64_t taps;
  const int64_t* offsets;
  const T* weights;
  int64_t pitch;
  T bias;
};

// Where results go; strides in elements.
template <class S>
struct Field {
  S* data;
  int64_t row, col;
  int64_t rows, cols;
};

template <class S, class V>
HWY_INLINE void store_results(V v, const Field<S>& to, int64_t r, int64_t q) {
  using T = Wide<S>;
  const Full<T> d;
  const int64_t n = std::min(kLanes<T>, to.cols - q);
  S* const at = to.data + r * to.row + q * to.col;
  if constexpr (std::is_same_v<S, T>) {
    if (to.col == 1) {
      if (n == kLanes<T>) return hn::StoreU(v, d, at);
      return store_run(v, at, n);
    }
  }
  alignas(64) T values[static_cast<size_t>(kLanes<T>)];
  hn::Store(v, d, values);
  for (int64_t i = 0; i < n; ++i) at[i * to.col] = narrowed<S>(values[i]);
}

// R rows of V vectors from (r, q) on; the planes may be read to the end of the last vector.
template <class S, int R, int V>
HWY_INLINE void filter_block(const Filter<Wide<S>>& f, const Wide<S>* HWY_RESTRICT planes,
                             const Field<S>& to, int64_t r, int64_t q) {
  using T = Wide<S>;
  const Full<T> d;
  hn::Vec<Full<T>> acc[R][V];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) acc[i][v] = hn::Zero(d);
  }
  const T* const first = planes + r * f.pitch + q;
  for (int64_t tap = 0; tap < f.taps; ++tap) {
    const auto weight = hn::Set(d, f.weights[tap]);
    const T* const x = first + f.offsets[tap];
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        acc[i][v] = hn::MulAdd(weight, hn::LoadU(d, x + i * f.pitch + v * kLanes<T>), acc[i][v]);
      }
    }
  }
  const auto bias = hn::Set(d, f.bias);
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      store_results<S>(hn::Add(acc[i][v], bias), to, r + i, q + v * kLanes<T>);
    }
  }
}

template <class S, int R>
HWY_INLINE void filter_rows(const Filter<Wide<S>>& f, const Wide<S>* planes, const Field<S>& to,
                            int64_t r) {
  constexpr int64_t kWide = kLanes<Wide<S>>;
  int64_t q = 0;
  for (; q + kWide < to.cols; q += 2 * kWide) filter_block<S, R, 2>(f, planes, to, r, q);
  if (q < to.cols) filter_block<S, R, 1>(f, planes, to, r, q);
}

template <class S>
HWY_NOINLINE void filter(const Filter<Wide<S>>& f, const Wide<S>* planes, const Field<S>& to) {
  constexpr int kRows = 4;
  int64_t r = 0;
  for (; r + kRows <= to.rows; r += kRows) filter_rows<S, kRows>(f, planes, to, r);
  for (; r < to.rows; ++r) filter_rows<S, 1>(f, planes, to, r);
}

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
