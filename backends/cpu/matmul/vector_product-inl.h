// SPDX-License-Identifier: Apache-2.0
// Products of a row vector and a matrix, c[n] = x[k] . w[n, k], bound by how fast w is read.
//
// ORDER OF ARITHMETIC. An element is kept as L partial sums, L being the lanes of a vector: partial
// sum l is the chain of multiply-adds over k = l, l + L, l + 2 L ..., started at 0. They are added
// in halves: l and l + L/2, then l and l + L/4, and so on. Where the elements of w lie selects one
// of three loops but not this order.
#if defined(DLCORE_CPU_MATMUL_VECTOR_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_MATMUL_VECTOR_PRODUCT_INL_H_
#undef DLCORE_CPU_MATMUL_VECTOR_PRODUCT_INL_H_
#else
#define DLCORE_CPU_MATMUL_VECTOR_PRODUCT_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
T add_halves(T* partial) {
  for (int64_t half = kLanes<T> / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) partial[l] += partial[l + half];
  }
  return partial[0];
}

template <class D>
HWY_INLINE hn::TFromD<D> add_halves(D d, hn::Vec<D> partial) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    static_cast<void>(d);
    return hn::GetLane(partial);
  } else {
    const hn::Half<D> half;
    return add_halves(half, hn::Add(hn::LowerHalf(half, partial), hn::UpperHalf(half, partial)));
  }
}

// R rows of w with unit stride over k.
template <class T, int R>
void dot_rows(const T* HWY_RESTRICT x, const T* HWY_RESTRICT w, int64_t w_row, int64_t k, T* sums) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int64_t kWide = kLanes<T>;
  V acc[R];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) acc[i] = hn::Zero(d);
  int64_t at = 0;
  for (; at + kWide <= k; at += kWide) {
    const V part = hn::LoadU(d, x + at);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      acc[i] = hn::MulAdd(part, hn::LoadU(d, w + i * w_row + at), acc[i]);
    }
  }
  if (at == k) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) sums[i] = add_halves(d, acc[i]);
    return;
  }
  const hn::CappedTag<T, 1> one;
  alignas(64) T partial[kWide];
  for (int i = 0; i < R; ++i) {
    hn::Store(acc[i], d, partial);
    for (int64_t l = 0; l < k - at; ++l) {
      hn::Store(hn::MulAdd(hn::LoadU(one, x + at + l), hn::LoadU(one, w + i * w_row + at + l),
                           hn::Load(one, partial + l)),
                one, partial + l);
    }
    sums[i] = add_halves(partial);
  }
}

// One row of w with any stride.
template <class T>
T dot_strided(const T* x, const T* w, int64_t w_col, int64_t k) {
  const Full<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr int64_t kWide = kLanes<T>;
  alignas(64) T partial[kWide];
  alignas(64) T gathered[kWide];
  hn::Store(hn::Zero(d), d, partial);
  int64_t at = 0;
  for (; at + kWide <= k; at += kWide) {
    for (int64_t l = 0; l < kWide; ++l) gathered[l] = w[(at + l) * w_col];
    hn::Store(hn::MulAdd(hn::LoadU(d, x + at), hn::Load(d, gathered), hn::Load(d, partial)), d,
              partial);
  }
  for (int64_t l = 0; l < k - at; ++l) {
    hn::Store(hn::MulAdd(hn::LoadU(one, x + at + l), hn::LoadU(one, w + (at + l) * w_col),
                         hn::Load(one, partial + l)),
              one, partial + l);
  }
  return add_halves(partial);
}

// kStripVectors vectors of columns at a time of a w with unit stride over n: the partial sums stay
// in the nearest cache, and each is fetched once for kDepth rows of w.
inline constexpr int64_t kStripVectors = 16;
inline constexpr int64_t kDepth = 4;

// Adds `depth` rows, `lanes` apart, to one lane's partial sums.
template <class T, int kRows>
HWY_INLINE void add_rows(const T* HWY_RESTRICT x, const T* HWY_RESTRICT w, int64_t w_col,
                         int64_t vectors, T* HWY_RESTRICT partial) {
  const Full<T> d;
  constexpr int64_t kWide = kLanes<T>;
  for (int64_t v = 0; v < vectors; ++v) {
    auto acc = hn::Load(d, partial + v * kWide);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      acc = hn::MulAdd(hn::Set(d, x[r * kWide]), hn::LoadU(d, w + r * kWide * w_col + v * kWide),
                       acc);
    }
    hn::Store(acc, d, partial + v * kWide);
  }
}

template <class T>
void dot_columns(const T* x, const T* w, int64_t w_col, int64_t k, int64_t vectors, T* sums) {
  const Full<T> d;
  constexpr int64_t kWide = kLanes<T>;
  constexpr int64_t kStrip = kStripVectors * kWide;
  alignas(64) T partial[kWide * kStrip];
  for (int64_t l = 0; l < kWide; ++l) {
    for (int64_t v = 0; v < vectors; ++v) {
      hn::Store(hn::Zero(d), d, partial + l * kStrip + v * kWide);
    }
  }
  int64_t at = 0;
  for (; at + kDepth * kWide <= k; at += kDepth * kWide) {
    for (int64_t l = 0; l < kWide; ++l) {
      add_rows<T, kDepth>(x + at + l, w + (at + l) * w_col, w_col, vectors, partial + l * kStrip);
    }
  }
  for (; at < k; ++at) {
    add_rows<T, 1>(x + at, w + at * w_col, w_col, vectors, partial + at % kWide * kStrip);
  }
  for (int64_t half = kWide / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) {
      T* const low = partial + l * kStrip;
      for (int64_t v = 0; v < vectors * kWide; v += kWide) {
        hn::Store(hn::Add(hn::Load(d, low + v), hn::Load(d, low + half * kStrip + v)), d, low + v);
      }
    }
  }
  for (int64_t v = 0; v < vectors * kWide; ++v) sums[v] = partial[v];
}

// sums[n] = x[k] . w[n, k]; x has unit stride.
template <class T>
void dot_many(const T* x, const Block<T>& w, int64_t n, int64_t k, T* sums) {
  constexpr int64_t kWide = kLanes<T>;
  int64_t j = 0;
  if (w.col == 1) {
    for (; j + 8 <= n; j += 8) dot_rows<T, 8>(x, w.data + j * w.row, w.row, k, sums + j);
    for (; j < n; ++j) dot_rows<T, 1>(x, w.data + j * w.row, w.row, k, sums + j);
    return;
  }
  while (w.row == 1 && j + kWide <= n) {
    const int64_t left = (n - j) / kWide;
    const int64_t vectors = left < kStripVectors ? left : kStripVectors;
    dot_columns(x, w.data + j, w.col, k, vectors, sums + j);
    j += vectors * kWide;
  }
  for (; j < n; ++j) sums[j] = dot_strided(x, w.data + j * w.row, w.col, k);
}

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
