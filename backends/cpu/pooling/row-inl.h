// SPDX-License-Identifier: Apache-2.0
// A row of x laid out by phases: position p of the padded row lies at (p % stride, p / stride), so
// that tap i of neighbouring windows lies in neighbouring places, whatever the stride. Included
// once per instruction set.

#if defined(DLCORE_CPU_POOLING_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_POOLING_ROW_INL_H
#undef DLCORE_CPU_POOLING_ROW_INL_H
#else
#define DLCORE_CPU_POOLING_ROW_INL_H
#endif

#include <cstring>

#include "backends/cpu/elementwise/vector_loop.h"
#include "backends/cpu/pooling/window.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {

HWY_INLINE float widened(Half x) { return to_float(x); }
HWY_INLINE float widened(BFloat16 x) { return to_float(x); }
HWY_INLINE float widened(float x) { return x; }
HWY_INLINE double widened(double x) { return x; }

template <class T, class Acc>
HWY_INLINE T narrowed(Acc x) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_from(x);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return bfloat16_from(x);
  } else {
    return static_cast<T>(x);
  }
}

// Vectors may be read and written from any window on, so that rows of windows end in room for one.
template <class Acc>
HWY_INLINE int64_t padded_count(int64_t count) {
  const hn::ScalableTag<Acc> d;
  return count + static_cast<int64_t>(hn::Lanes(d));
}

class Phases {
 public:
  // The layout for one axis, with kernel places for the offsets of the taps.
  Phases(const PoolAxis& axis, int64_t* taps) : axis_(axis), taps_(taps) {
    const int64_t length = (axis.count - 1) * axis.stride + axis.covered();
    phases_ = std::min(axis.stride, length);
    pitch_ = (length + axis.stride - 1) / axis.stride;
    for (int64_t i = 0; i < axis.kernel; ++i) {
      const int64_t at = i * axis.dilation;
      taps[i] = at % axis.stride * pitch_ + at / axis.stride;
    }
  }

  // Elements of a row in this layout.
  int64_t length() const { return phases_ * pitch_; }
  // Where tap i of window 0 lies.
  int64_t tap(int64_t i) const { return taps_[i]; }

  // Writes all of `to`, which holds length() elements.
  template <class T, class Acc>
  void split(const T* x, Acc padding, Acc* to) const {
#if HWY_TARGET != HWY_SCALAR
    if constexpr (std::is_same_v<T, Acc>) {
      if (axis_.stride == 2 && phases_ == 2) return split_by_two(x, padding, to);
    }
#endif
    for (int64_t phase = 0; phase < phases_; ++phase, to += pitch_) {
      const auto [begin, end] = inside(phase);
      const int64_t shift = phase - axis_.before;
      for (int64_t q = 0; q < begin; ++q) to[q] = padding;
      for (int64_t q = begin; q < end; ++q) to[q] = widened(x[q * axis_.stride + shift]);
      for (int64_t q = end; q < pitch_; ++q) to[q] = padding;
    }
  }

  // The inverse: elements of x that no window reaches become 0.
  template <class T, class Acc>
  void join(const Acc* from, T* x) const {
    if (length() < axis_.before + axis_.size)
      std::memset(static_cast<void*>(x), 0, static_cast<size_t>(axis_.size) * sizeof(T));
    for (int64_t phase = 0; phase < phases_; ++phase, from += pitch_) {
      const auto [begin, end] = inside(phase);
      const int64_t shift = phase - axis_.before;
      for (int64_t q = begin; q < end; ++q) x[q * axis_.stride + shift] = narrowed<T>(from[q]);
    }
  }

 private:
  struct Range {
    int64_t begin, end;
  };
  // The places of a phase that hold elements of x.
  Range inside(int64_t phase) const {
    const int64_t s = axis_.stride;
    const int64_t first = axis_.before - phase, past = axis_.before + axis_.size - phase;
    const int64_t begin = first <= 0 ? 0 : std::min(pitch_, 1 + (first - 1) / s);
    const int64_t end = past <= 0 ? 0 : std::min(pitch_, 1 + (past - 1) / s);
    return {begin, std::max(begin, end)};
  }

#if HWY_TARGET != HWY_SCALAR
  template <class T>
  void split_by_two(const T* x, T padding, T* to) const {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    T* const odd = to + pitch_;
    const Range evens = inside(0), odds = inside(1);
    // Places where both phases hold elements.
    const int64_t begin = std::max(evens.begin, odds.begin), end = std::min(evens.end, odds.end);
    for (int64_t q = 0; q < begin; ++q) {
      to[q] = q >= evens.begin && q < evens.end ? x[2 * q - axis_.before] : padding;
      odd[q] = q >= odds.begin && q < odds.end ? x[2 * q + 1 - axis_.before] : padding;
    }
    int64_t q = begin;
    for (; q + lanes <= end; q += lanes) {
      const T* const pairs = x + (2 * q - axis_.before);
      const auto low = hn::LoadU(d, pairs), high = hn::LoadU(d, pairs + lanes);
      hn::StoreU(hn::ConcatEven(d, high, low), d, to + q);
      hn::StoreU(hn::ConcatOdd(d, high, low), d, odd + q);
    }
    for (; q < pitch_; ++q) {
      to[q] = q >= evens.begin && q < evens.end ? x[2 * q - axis_.before] : padding;
      odd[q] = q >= odds.begin && q < odds.end ? x[2 * q + 1 - axis_.before] : padding;
    }
  }
#endif

  const PoolAxis axis_;
  int64_t* taps_;
  int64_t phases_, pitch_;
};

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DLCORE_CPU_POOLING_ROW_INL_H
