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
HWY_INLINE T max_of_row(const Rows<T>& rows, const T* row, int64_t length, T* buffer) {
  T max = MaxOp::kIdentity<T>;
  for (int64_t start = 0; start < length; start += kBlock) {
    const int64_t n = std::min(kBlock, length - start);
    max = combine_two<MaxOp>(max, fold_block<MaxOp>(rows.read(row, start, n, buffer), n));
  }
  return max;
}

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DLCORE_CPU_REDUCE_ROW_INL_H
