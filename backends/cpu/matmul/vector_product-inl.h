// SPDX-License-Identifier: Apache-2.0
// Products of a few rows and a matrix, c[m, n] = x[m, k] . w[n, k], bound by how fast w is read, or
// by how fast it would be packed.
//
// x is of T; w is of T, or of a 16-bit dtype S whose elements are widened as they are read.
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

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backends/cpu/elementwise/half_vectors.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class S>
HWY_INLINE hn::Vec<D> load_as(D d, const S* from) {
  if constexpr (std::is_same_v<S, hn::TFromD<D>>) {
    return hn::LoadU(d, from);
  } else {
    const uint16_t* const bits = reinterpret_cast<const uint16_t*>(from);
    return HalfVectors<S>::widen(d, hn::LoadU(HalfTag<D>(), bits));
  }
}

// The first n elements, zeros behind them.
template <class D, class S>
HWY_INLINE hn::Vec<D> load_first(D d, const S* from, size_t n) {
  constexpr bool kMasked = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;
  if constexpr (kMasked && std::is_same_v<S, hn::TFromD<D>>) {
    return hn::MaskedLoad(hn::FirstN(d, n), d, from);
  } else {
    HWY_ALIGN S lanes[hn::MaxLanes(D())] = {};
    std::memcpy(lanes, from, n * sizeof(S));
    return load_as(d, lanes);
  }
}

template <class T, class S>
HWY_INLINE T value_as(S from) {
  if constexpr (std::is_same_v<S, T>) {
    return from;
  } else {
    return to_float(from);
  }
}

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

// add_halves of four vectors at once, each lane of the result having the same sums.
template <class D>
HWY_INLINE void store_four_sums(D d, hn::Vec<D> v0, hn::Vec<D> v1, hn::Vec<D> v2, hn::Vec<D> v3,
                                hn::TFromD<D>* to) {
  constexpr size_t kWide = hn::MaxLanes(D());
  if constexpr (sizeof(hn::TFromD<D>) == 4 && kWide == 16) {
    const hn::Half<D> half;
    const auto p02 = hn::Add(hn::ConcatLowerLower(d, v2, v0), hn::ConcatUpperUpper(d, v2, v0));
    const auto p13 = hn::Add(hn::ConcatLowerLower(d, v3, v1), hn::ConcatUpperUpper(d, v3, v1));
    store_four_sums(half, hn::LowerHalf(half, p02), hn::LowerHalf(half, p13),
                    hn::UpperHalf(half, p02), hn::UpperHalf(half, p13), to);
  } else if constexpr (sizeof(hn::TFromD<D>) == 4 && kWide == 8) {
    const hn::Repartition<double, D> dd;
    const hn::Half<D> half;
    const auto q02 =
        hn::BitCast(dd, hn::Add(hn::ConcatLowerLower(d, v2, v0), hn::ConcatUpperUpper(d, v2, v0)));
    const auto q13 =
        hn::BitCast(dd, hn::Add(hn::ConcatLowerLower(d, v3, v1), hn::ConcatUpperUpper(d, v3, v1)));
    // Pairs of v0 and v1, then of v2 and v3.
    const auto pairs = hn::Add(hn::BitCast(d, hn::InterleaveLower(dd, q02, q13)),
                               hn::BitCast(d, hn::InterleaveUpper(dd, q02, q13)));
    const auto low = hn::LowerHalf(half, pairs);
    const auto high = hn::UpperHalf(half, pairs);
    hn::StoreU(hn::Add(hn::ConcatEven(half, high, low), hn::ConcatOdd(half, high, low)), half, to);
  } else {
    to[0] = add_halves(d, v0);
    to[1] = add_halves(d, v1);
    to[2] = add_halves(d, v2);
    to[3] = add_halves(d, v3);
  }
}

// Rows of w that R rows of x meet at a time: accumulators, R vectors of x and one of w fill the
// registers.
template <int R>
inline constexpr int kDotColumns = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
                                       ? (R == 4 ? 4 : 8)
                                       : (R == 4   ? 2
                                          : R == 2 ? 4
                                                   : 8);

// How far ahead rows of w are asked for: 256 bytes.
template <class S>
inline constexpr int64_t kAheadColumns = 256 / static_cast<int64_t>(sizeof(S));

// R rows of x and J rows of w, all with unit stride over k.
template <class T, int R, int J, class S>
HWY_NOINLINE void dot_rows(const T* HWY_RESTRICT x, int64_t x_row, const S* HWY_RESTRICT w,
                           int64_t w_row, int64_t k, T* HWY_RESTRICT sums, int64_t sums_row) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int64_t kWide = kLanes<T>;
  V acc[R][J];
  V part[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) acc[r][j] = hn::Zero(d);
  }
  int64_t at = 0;
  for (; at + kWide <= k; at += kWide) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) part[r] = hn::LoadU(d, x + r * x_row + at);
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) {
      const V other = load_as(d, w + j * w_row + at);
      __builtin_prefetch(w + j * w_row + at + kAheadColumns<S>);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) acc[r][j] = hn::MulAdd(part[r], other, acc[r][j]);
    }
  }
  if (at < k) {
    const size_t rest = static_cast<size_t>(k - at);
    const auto mask = hn::FirstN(d, rest);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) part[r] = load_first(d, x + r * x_row + at, rest);
#pragma GCC unroll 8
    for (int j = 0; j < J; ++j) {
      const V other = load_first(d, w + j * w_row + at, rest);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        acc[r][j] = hn::IfThenElse(mask, hn::MulAdd(part[r], other, acc[r][j]), acc[r][j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    if constexpr (J % 4 == 0) {
#pragma GCC unroll 8
      for (int j = 0; j < J; j += 4) {
        store_four_sums(d, acc[r][j], acc[r][j + 1], acc[r][j + 2], acc[r][j + 3],
                        sums + r * sums_row + j);
      }
    } else {
#pragma GCC unroll 8
      for (int j = 0; j < J; ++j) sums[r * sums_row + j] = add_halves(d, acc[r][j]);
    }
  }
}

// One row of w with any stride.
template <class T, class S>
HWY_NOINLINE T dot_strided(const T* x, const S* w, int64_t w_col, int64_t k) {
  const Full<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr int64_t kWide = kLanes<T>;
  alignas(64) T partial[kWide];
  alignas(64) T gathered[kWide];
  hn::Store(hn::Zero(d), d, partial);
  int64_t at = 0;
  for (; at + kWide <= k; at += kWide) {
    for (int64_t l = 0; l < kWide; ++l) gathered[l] = value_as<T>(w[(at + l) * w_col]);
    hn::Store(hn::MulAdd(hn::LoadU(d, x + at), hn::Load(d, gathered), hn::Load(d, partial)), d,
              partial);
  }
  for (int64_t l = 0; l < k - at; ++l) {
    hn::Store(hn::MulAdd(hn::LoadU(one, x + at + l), load_as(one, w + (at + l) * w_col),
                         hn::Load(one, partial + l)),
              one, partial + l);
  }
  return add_halves(partial);
}

// kStripVectors vectors of columns at a time, fewer for several rows of x, of a w with unit stride
// over n: the partial sums stay in the nearest cache, and each is fetched once for kDepth rows of
// w.
inline constexpr int64_t kStripVectors = 16;
inline constexpr int64_t kDepth = 4;

// Adds `kRows` rows of w, `lanes` apart, to one lane's partial sums of R rows of x.
template <class T, int R, int kRows, class S>
HWY_INLINE void add_rows(const T* HWY_RESTRICT x, int64_t x_row, const S* HWY_RESTRICT w,
                         int64_t w_col, int64_t vectors, T* HWY_RESTRICT partial) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int64_t kWide = kLanes<T>;
  constexpr int64_t kStrip = kStripVectors / R * kWide;
  for (int64_t v = 0; v < vectors; ++v) {
    V part[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) part[i] = load_as(d, w + i * kWide * w_col + v * kWide);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      T* const to = partial + r * kStrip + v * kWide;
      V acc = hn::Load(d, to);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        acc = hn::MulAdd(hn::Set(d, x[r * x_row + i * kWide]), part[i], acc);
      }
      hn::Store(acc, d, to);
    }
  }
}

template <class T, int R, class S>
HWY_NOINLINE void dot_columns(const T* x, int64_t x_row, const S* w, int64_t w_col, int64_t k,
                              int64_t vectors, T* sums, int64_t sums_row) {
  const Full<T> d;
  constexpr int64_t kWide = kLanes<T>;
  constexpr int64_t kStrip = kStripVectors / R * kWide;
  constexpr int64_t kLane = R * kStrip;  // of partial sums
  alignas(64) T partial[kWide * kLane];
  for (int64_t l = 0; l < kWide * R; ++l) {
    for (int64_t v = 0; v < vectors; ++v) {
      hn::Store(hn::Zero(d), d, partial + l * kStrip + v * kWide);
    }
  }
  int64_t at = 0;
  for (; at + kDepth * kWide <= k; at += kDepth * kWide) {
    for (int64_t l = 0; l < kWide; ++l) {
      add_rows<T, R, kDepth>(x + at + l, x_row, w + (at + l) * w_col, w_col, vectors,
                             partial + l * kLane);
    }
  }
  for (; at < k; ++at) {
    add_rows<T, R, 1>(x + at, x_row, w + at * w_col, w_col, vectors, partial + at % kWide * kLane);
  }
  for (int64_t half = kWide / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half * R; ++l) {
      T* const low = partial + l * kStrip;
      for (int64_t v = 0; v < vectors * kWide; v += kWide) {
        hn::Store(hn::Add(hn::Load(d, low + v), hn::Load(d, low + half * kLane + v)), d, low + v);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    std::memcpy(sums + r * sums_row, partial + r * kStrip,
                static_cast<size_t>(vectors * kWide) * sizeof(T));
  }
}

// sums[R][n] = x[R, k] . w[n, k]; rows of x have unit stride.
template <class T, int R, class S>
void dot_group(const T* x, int64_t x_row, const Block<S>& w, int64_t n, int64_t k, T* sums,
               int64_t sums_row) {
  constexpr int64_t kWide = kLanes<T>;
  constexpr int64_t kColumns = kDotColumns<R>;
  int64_t j = 0;
  if (w.col == 1) {
    for (; j + kColumns <= n; j += kColumns) {
      dot_rows<T, R, kColumns>(x, x_row, w.data + j * w.row, w.row, k, sums + j, sums_row);
    }
    for (; j < n; ++j) {
      dot_rows<T, R, 1>(x, x_row, w.data + j * w.row, w.row, k, sums + j, sums_row);
    }
    return;
  }
  while (w.row == 1 && j + kWide <= n) {
    const int64_t vectors = std::min((n - j) / kWide, kStripVectors / R);
    dot_columns<T, R>(x, x_row, w.data + j, w.col, k, vectors, sums + j, sums_row);
    j += vectors * kWide;
  }
  for (; j < n; ++j) {
    for (int r = 0; r < R; ++r) {
      sums[r * sums_row + j] = dot_strided(x + r * x_row, w.data + j * w.row, w.col, k);
    }
  }
}

// sums[m][n] = x[m, k] . w[n, k].
template <class T, class S>
void dot_many(const T* x, int64_t x_row, int64_t m, const Block<S>& w, int64_t n, int64_t k,
              T* sums, int64_t sums_row) {
  // So many rows of w at a time stay in the nearest cache until the last row of x has met them.
  constexpr int64_t kColumns = kDotColumns<1>;
  const int64_t step = m > 4 && w.col == 1 ? kColumns : n;
  for (int64_t j = 0; j < n; j += step) {
    const Block<S> some{w.data + j * w.row, w.row, w.col};
    const int64_t count = std::min(step, n - j);
    T* const to = sums + j;
    int64_t r = 0;
    for (; r + 4 <= m; r += 4) {
      dot_group<T, 4>(x + r * x_row, x_row, some, count, k, to + r * sums_row, sums_row);
    }
    if (r + 2 <= m) {
      dot_group<T, 2>(x + r * x_row, x_row, some, count, k, to + r * sums_row, sums_row);
      r += 2;
    }
    if (r < m) {
      dot_group<T, 1>(x + r * x_row, x_row, some, count, k, to + r * sums_row, sums_row);
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
