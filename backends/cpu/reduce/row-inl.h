// SPDX-License-Identifier: Apache-2.0
// What kernels that exponentiate rows share: scalar exp and log with the bits of the vector forms,
// and the maximum of a row. Included once per instruction set, after hwy/highway.h.

#if defined(DLCORE_CPU_REDUCE_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_REDUCE_ROW_INL_H
#undef DLCORE_CPU_REDUCE_ROW_INL_H
#else
#define DLCORE_CPU_REDUCE_ROW_INL_H
#endif

#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/reduce/block-inl.h"
#include "backends/cpu/reduce/codec-inl.h"
#include "backends/cpu/vector_math/exp_log.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {

template <class T>
HWY_INLINE T exp_scalar(T x) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(vmath::exp(d, hn::Set(d, x)));
}

template <class T>
HWY_INLINE T log_scalar(T x) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(vmath::log(d, hn::Set(d, x)));
}

// exp(x). Where an instruction scales by a power of two, with one rounding and to zero and
// infinity, the general form's care for both ends is not needed.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_scaled(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(V) == 64) {
    using vmath::constant;
    // Where the result is 0 or infinite already. A NaN stays: it is the second operand.
    const V v = hn::Min(constant(d, 110.0f, 750.0), hn::Max(constant(d, -110.0f, -750.0), x));
    const V n = hn::Round(hn::Mul(v, constant(d, 1.44269504f, 1.4426950408889634)));
    V r = hn::NegMulAdd(n, vmath::ln2_high(d), v);
    r = hn::NegMulAdd(n, vmath::ln2_low(d), r);
    const V y =
        hn::Add(hn::MulAdd(hn::Mul(r, r), vmath::exp_remainder(d, r), r), constant(d, 1.0f, 1.0));
    if constexpr (sizeof(hn::TFromD<D>) == 4) {
      return V{_mm512_scalef_ps(y.raw, n.raw)};
    } else {
      return V{_mm512_scalef_pd(y.raw, n.raw)};
    }
  }
#endif
  return vmath::exp(d, x);
}

// What to subtract before exponentiating: an infinite maximum cannot be subtracted from itself.
template <class T>
HWY_INLINE T finite_shift(T max) {
  return std::isfinite(max) ? max : T(0);
}

// The largest of n elements, in an order of its own: of zeros and NaN any may come back, which is
// all the same to what is subtracted before exponentiating (a NaN makes the sum NaN by itself).
template <class T>
HWY_INLINE T some_max(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  auto a = hn::Set(d, MaxOp::kIdentity<T>);
  auto b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + kWidth));
    c = hn::Max(c, hn::LoadU(d, x + i + 2 * kWidth));
    e = hn::Max(e, hn::LoadU(d, x + i + 3 * kWidth));
  }
  for (; i + kWidth <= n; i += kWidth) a = hn::Max(a, hn::LoadU(d, x + i));
  if (i < n) b = hn::Max(b, load_first(d, x + i, n - i, MaxOp::kIdentity<T>));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(a, b), hn::Max(c, e))));
}

template <class T>
HWY_INLINE T max_of_row(const Rows<T>& rows, const std::byte* row, int64_t start, int64_t length,
                        T* buffer) {
  T max = MaxOp::kIdentity<T>;
  for (const int64_t end = start + length; start < end; start += kBlock) {
    const int64_t n = std::min(kBlock, end - start);
    max = combine_two<MaxOp>(max, some_max(rows.read(row, start, n, buffer), n));
  }
  return max;
}

// A sum of exp(x - finite_shift(max)) over a part of a sequence.
template <class T>
struct ScaledSum {
  T max;
  T sum;
};

template <class T>
HWY_INLINE T rescaled(ScaledSum<T> a, T to) {
  return a.sum == T(0) ? T(0) : a.sum * exp_scalar(finite_shift(a.max) - to);
}

template <class T>
HWY_INLINE ScaledSum<T> merged(ScaledSum<T> a, ScaledSum<T> b) {
  const T max = combine_two<MaxOp>(a.max, b.max);
  return {max, rescaled(a, finite_shift(max)) + rescaled(b, finite_shift(max))};
}

// Of elements [start, start + length) of a row.
template <class T>
ScaledSum<T> scaled_sum_of_row(const Rows<T>& rows, const std::byte* row, int64_t start,
                               int64_t length, T* buffer) {
  const hn::ScalableTag<T> d;
  const T max = max_of_row(rows, row, start, length, buffer);
  const auto s = hn::Set(d, finite_shift(max));
  const auto term = [d, s](auto v) HWY_ATTR { return exp_scaled(d, hn::Sub(v, s)); };
  PairwiseSum<T> sum;
  for (const int64_t end = start + length; start < end; start += kBlock) {
    const int64_t n = std::min(kBlock, end - start);
    sum.push(fold_map<SumOp>(n, MaxOp::kIdentity<T>, term, rows.read(row, start, n, buffer)));
  }
  return {max, sum.total()};
}

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DLCORE_CPU_REDUCE_ROW_INL_H
