// SPDX-License-Identifier: Apache-2.0
// sum, mean, prod, max and min of f32 and f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/reduce/float_reduce.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/reduce/driver.h"
#include "backends/cpu/reduce/reduce.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/reduce/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

template <class Op, class T>
void block(const void* x, int64_t, int64_t n, void* accumulator) {
  *static_cast<T*>(accumulator) = fold_block<Op>(static_cast<const T*>(x), n);
}

template <class Op, class T>
void columns(const void* x, const int64_t* rows, int64_t n, int64_t width, void* accumulators) {
  fold_columns<Op, T, kColumns>(static_cast<const T*>(x), rows, n, width,
                                static_cast<T*>(accumulators));
}

template <class Op, class T>
void combine(void* a, const void* b, int64_t n) {
  const hn::ScalableTag<T> d;
  T* to = static_cast<T*>(a);
  map_block<T>(
      n, to, [d](auto u, auto v) HWY_ATTR { return Op::step(d, u, v); }, to,
      static_cast<const T*>(b));
}

template <class T>
void copy(const void* accumulators, int64_t n, int64_t, void* outputs) {
  std::copy_n(static_cast<const T*>(accumulators), n, static_cast<T*>(outputs));
}

template <class T>
void divide(const void* accumulators, int64_t n, int64_t length, void* outputs) {
  const T* from = static_cast<const T*>(accumulators);
  T* to = static_cast<T*>(outputs);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] / static_cast<T>(length);
}

template <class Op, class T, bool kNeedsElements, auto kFinish>
constexpr Reduction kReduction = {sizeof(T),    sizeof(T),      sizeof(T),      kNeedsElements,
                                  block<Op, T>, columns<Op, T>, combine<Op, T>, kFinish};

template <class OpClass, class T, bool kNeedsElements = false, auto kFinish = copy<T>>
constexpr dlcore_kernel row(Op op) {
  return reduction_kernel<kReduction<OpClass, T, kNeedsElements, kFinish>>(static_cast<int32_t>(op),
                                                                           dtype_of<T>());
}

constexpr dlcore_kernel kKernels[] = {
    row<SumOp, float>(Op::kSum),
    row<SumOp, double>(Op::kSum),
    row<SumOp, float, false, divide<float>>(Op::kMean),
    row<SumOp, double, false, divide<double>>(Op::kMean),
    row<ProdOp, float>(Op::kProd),
    row<ProdOp, double>(Op::kProd),
    row<MaxOp, float, true>(Op::kMax),
    row<MaxOp, double, true>(Op::kMax),
    row<MinOp, float, true>(Op::kMin),
    row<MinOp, double, true>(Op::kMin),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(float_reduce)
}  // namespace dlcore::cpu
#endif
