// SPDX-License-Identifier: Apache-2.0
// Copies of source channels with zeros around them, in which the elements that one tap meets for
// consecutive elements of the result are consecutive. Also short copies between such lines.
#if defined(DLCORE_CPU_CONVOLUTION_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_CONVOLUTION_PLANES_INL_H_
#undef DLCORE_CPU_CONVOLUTION_PLANES_INL_H_
#else
#define DLCORE_CPU_CONVOLUTION_PLANES_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backends/cpu/convolution/geometry.h"
#include "backends/cpu/matmul/tile-inl.h"
#include "core/base/half.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// What elements stored as S are computed in.
template <class S>
using Wide = std::conditional_t<std::is_same_v<S, double>, double, float>;

template <class S>
HWY_INLINE Wide<S> widened(S value) {
  if constexpr (std::is_same_v<S, Wide<S>>) {
    return value;
  } else {
    return to_float(value);
  }
}

template <class S>
HWY_INLINE S narrowed(Wide<S> value) {
  if constexpr (std::is_same_v<S, Half>) {
    return half_from(value);
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    return bfloat16_from(value);
  } else {
    return value;
  }
}

// Runs are short: a call of memcpy would cost more than the copy. What is left of one after whole
// vectors is masked where that is cheap; elsewhere each step halves the vector.
#if HWY_TARGET == HWY_AVX3
template <class T>
HWY_INLINE void copy_rest(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, int64_t n) {
  if (n == 0) return;
  const Full<T> d;
  const auto mask = hn::FirstN(d, static_cast<size_t>(n));
  hn::BlendedStore(hn::MaskedLoad(mask, d, from), mask, d, to);
}
#else
template <class T, int64_t N = kLanes<T> / 2>
HWY_INLINE void copy_rest(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, int64_t n) {
  if constexpr (N >= 1) {
    if (n >= N) {
      const hn::CappedTag<T, static_cast<size_t>(N)> d;
      hn::StoreU(hn::LoadU(d, from), d, to);
      to += N;
      from += N;
      n -= N;
    }
    copy_rest<T, N / 2>(to, from, n);
  }
}
#endif

template <class T>
HWY_INLINE void copy_run(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, int64_t n) {
  const Full<T> d;
  for (; n >= kLanes<T>; n -= kLanes<T>, to += kLanes<T>, from += kLanes<T>) {
    hn::StoreU(hn::LoadU(d, from), d, to);
  }
  copy_rest(to, from, n);
}

// The first n < kLanes of a vector.
template <class V, class T>
HWY_INLINE void store_run(V v, T* to, int64_t n) {
  const Full<T> d;
#if HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, to);
#else
  alignas(64) T lanes[static_cast<size_t>(kLanes<T>)];
  hn::Store(v, d, lanes);
  copy_rest(to, lanes, n);
#endif
}

// Elements `step` apart, one after the other.
template <class S>
HWY_INLINE void copy_widened(Wide<S>* HWY_RESTRICT to, const S* HWY_RESTRICT from, int64_t step,
                             int64_t n) {
  int64_t i = 0;
  if constexpr (std::is_same_v<S, Wide<S>>) {
    if (step == 1) return copy_run(to, from, n);
#if HWY_TARGET != HWY_SCALAR
    const Full<S> d;
    // Not the last: nothing need lie behind it.
    for (; step == 2 && i + kLanes<S> < n; i += kLanes<S>) {
      const auto low = hn::LoadU(d, from + 2 * i);
      const auto high = hn::LoadU(d, from + 2 * i + kLanes<S>);
      hn::StoreU(hn::ConcatEven(d, high, low), d, to + i);
    }
#endif
  }
  for (; i < n; ++i) to[i] = widened(from[i * step]);
}

// A channel of the source: where its elements lie.
template <class S>
struct Channel {
  const S* data;
  int64_t row;
  int64_t col;
};

// Makes the planes of channels. What all of them share is found out once.
class PlaneMaker {
 public:
  PlaneMaker(const TapAxis& rows, const TapAxis& cols, const PlaneLayout& layout)
      : rows_(rows),
        cols_(cols),
        layout_(layout),
        row_phases_(rows.phases()),
        col_phases_(cols.phases()) {
    if (row_phases_ * col_phases_ == 0) return;
    first_rows_ = Inside::of(rows_, 0);
    first_cols_ = Inside::of(cols_, 0);
  }

  template <class S>
  void make(Wide<S>* to, const Channel<S>& from) const {
    std::memset(to, 0, static_cast<size_t>(layout_.plane) * sizeof(Wide<S>));
    for (int64_t p = 0; p < row_phases_; ++p) {
      const Inside rows = p == 0 ? first_rows_ : Inside::of(rows_, p);
      for (int64_t q = 0; q < col_phases_; ++q, to += layout_.phase) {
        const Inside cols = q == 0 ? first_cols_ : Inside::of(cols_, q);
        if (rows.begin == rows.end || cols.begin == cols.end) continue;
        const S* line = from.data + rows.source * from.row + cols.source * from.col;
        for (int64_t r = rows.begin; r < rows.end; ++r, line += rows_.step * from.row) {
          copy_widened(to + r * layout_.pitch + cols.begin, line, cols_.step * from.col,
                       cols.end - cols.begin);
        }
      }
    }
  }

 private:
  const TapAxis rows_, cols_;
  const PlaneLayout layout_;
  const int64_t row_phases_, col_phases_;
  Inside first_rows_{}, first_cols_{};
};

// One element: 0 outside of the source.
template <class S>
HWY_INLINE Wide<S> element_at(const Channel<S>& from, const TapAxis& rows, const TapAxis& cols,
                              int64_t row, int64_t col) {
  const bool inside = row >= 0 && row < rows.source && col >= 0 && col < cols.source;
  return inside ? widened(from.data[row * from.row + col * from.col]) : Wide<S>(0);
}

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
