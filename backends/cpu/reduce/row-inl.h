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

// What to subtract before exponentiating: an infinite maximum cannot be subtracted from itself.
template <class T>
HWY_INLINE T finite_shift(T max) {
  return std::isfinite(max) ? max : T(0);
}

template <class T>
HWY_INLINE T max_of_row(const Rows<T>& rows, const std::byte* row, int64_t start, int64_t length,
                        T* buffer) {
  T max = MaxOp::kIdentity<T>;
  for (const int64_t end = start + length; start < end; start += kBlock) {
    const int64_t n = std::min(kBlock, end - start);
    max = combine_two<MaxOp>(max, fold_block<MaxOp>(rows.read(row, start, n, buffer), n));
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
  const auto term = [d, s](auto v) HWY_ATTR { return vmath::exp(d, hn::Sub(v, s)); };
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
