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

template <class T, class S>
void block(const void* x, int64_t, int64_t n, void* accumulator) {
  alignas(64) T buffer[kBlock];
  const T* from = wide_block<S>(x, n, buffer);
  *static_cast<ScaledSum<T>*>(accumulator) = scaled_sum_of_row(
      Rows<T>(const_cast<T*>(from), 1, n), reinterpret_cast<const std::byte*>(from), 0, n, buffer);
}

template <class T>
void combine(void* a, const void* b, int64_t n) {
  ScaledSum<T>* to = static_cast<ScaledSum<T>*>(a);
  const ScaledSum<T>* from = static_cast<const ScaledSum<T>*>(b);
  for (int64_t i = 0; i < n; ++i) to[i] = merged(to[i], from[i]);
}

template <class T, class S>
void finish(const void* accumulators, int64_t n, int64_t, void* outputs) {
  const ScaledSum<T>* from = static_cast<const ScaledSum<T>*>(accumulators);
  S* to = static_cast<S*>(outputs);
  for (int64_t i = 0; i < n; ++i) {
    to[i] = stored_as<S>(finite_shift(from[i].max) + log_scalar(from[i].sum));
  }
}

template <class S, class T = Wide<S>>
constexpr Reduction kReduction = {sizeof(S), sizeof(ScaledSum<T>), sizeof(S),   false, block<T, S>,
                                  nullptr,   combine<T>,           finish<T, S>};

constexpr int32_t kNumber = static_cast<int32_t>(Op::kLogsumexp);
constexpr dlcore_kernel kKernels[] = {
    reduction_kernel<kReduction<float>>(kNumber, DLCORE_F32),
    reduction_kernel<kReduction<double>>(kNumber, DLCORE_F64),
    reduction_kernel<kReduction<Half>>(kNumber, DLCORE_F16),
    reduction_kernel<kReduction<BFloat16>>(kNumber, DLCORE_BF16),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(logsumexp)
}  // namespace dlcore::cpu
#endif
