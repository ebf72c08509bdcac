// SPDX-License-Identifier: Apache-2.0
// logsumexp: m + log(sum of exp(x - m)) with m the maximum, in one pass over the input. Nothing but
// -inf gives -inf, +inf gives +inf.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/reduce/logsumexp.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/reduce/driver.h"
#include "backends/cpu/reduce/reduce.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/reduce/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// `sum` is relative to finite_shift(max).
template <class T>
struct ScaledSum {
  T max;
  T sum;
};

template <class T>
void block(const void* x, int64_t, int64_t n, void* accumulator) {
  const hn::ScalableTag<T> d;
  const T* from = static_cast<const T*>(x);
  const T max = fold_block<MaxOp>(from, n);
  const auto s = hn::Set(d, finite_shift(max));
  const auto term = [d, s](auto v) HWY_ATTR { return vmath::exp(d, hn::Sub(v, s)); };
  const T sum = fold_map<SumOp>(n, MaxOp::kIdentity<T>, term, from);
  *static_cast<ScaledSum<T>*>(accumulator) = {max, sum};
}

template <class T>
T rescaled(ScaledSum<T> a, T to) {
  return a.sum == T(0) ? T(0) : a.sum * exp_scalar(finite_shift(a.max) - to);
}

template <class T>
void combine(void* a, const void* b, int64_t n) {
  ScaledSum<T>* to = static_cast<ScaledSum<T>*>(a);
  const ScaledSum<T>* from = static_cast<const ScaledSum<T>*>(b);
  for (int64_t i = 0; i < n; ++i) {
    const T max = combine_two<MaxOp>(to[i].max, from[i].max);
    to[i] = {max, rescaled(to[i], finite_shift(max)) + rescaled(from[i], finite_shift(max))};
  }
}

template <class T>
void finish(const void* accumulators, int64_t n, int64_t, void* outputs) {
  const ScaledSum<T>* from = static_cast<const ScaledSum<T>*>(accumulators);
  T* to = static_cast<T*>(outputs);
  for (int64_t i = 0; i < n; ++i) to[i] = finite_shift(from[i].max) + log_scalar(from[i].sum);
}

template <class T>
constexpr Reduction kReduction = {sizeof(T), sizeof(ScaledSum<T>), sizeof(T), false, block<T>,
                                  nullptr,   combine<T>,           finish<T>};

constexpr int32_t kNumber = static_cast<int32_t>(Op::kLogsumexp);
constexpr dlcore_kernel kKernels[] = {
    reduction_kernel<kReduction<float>>(kNumber, DLCORE_F32),
    reduction_kernel<kReduction<double>>(kNumber, DLCORE_F64),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(logsumexp)
}  // namespace dlcore::cpu
#endif
