// SPDX-License-Identifier: Apache-2.0
// sum, mean, prod, max and min of floats; halves are reduced in f32 and rounded once.
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
#include "backends/cpu/reduce/codec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

template <class Op, class S>
void block(const void* x, int64_t, int64_t n, void* accumulator) {
  using T = Wide<S>;
  alignas(64) T buffer[kIsHalf<S> ? kBlock : 1];
  *static_cast<T*>(accumulator) = fold_block<Op>(wide_block<S>(x, n, buffer), n);
}

template <class Op, class S>
void subtree(const void* x, int64_t blocks, void* accumulator) {
  using T = Wide<S>;
  alignas(64) T buffer[kIsHalf<S> ? kBlock : 1];
  const S* from = static_cast<const S*>(x);
  *static_cast<T*>(accumulator) = fold_subtree<Op, T>(blocks, [&](int64_t b) HWY_ATTR {
    return fold_block<Op>(wide_block<S>(from + b * kBlock, kBlock, buffer), kBlock);
  });
}

template <class Op, class T>
void even_subtree(const void* x, int64_t blocks, void* accumulator) {
  const T* from = static_cast<const T*>(x);
  *static_cast<T*>(accumulator) = fold_subtree<Op, T>(
      blocks, [&](int64_t b) HWY_ATTR { return fold_even_block<Op>(from + 2 * b * kBlock); });
}

template <class Op, class S>
void columns(const void* x, const int64_t* rows, int64_t n, int64_t width, void* accumulators) {
  using T = Wide<S>;
  alignas(64) T buffer[kIsHalf<S> ? kColumns : 1];
  const S* from = static_cast<const S*>(x);
  const auto row = [&](int64_t r) HWY_ATTR { return wide_block<S>(from + rows[r], width, buffer); };
  fold_columns<Op, T, kColumns>(row, n, width, static_cast<T*>(accumulators));
}

template <class Op, class T>
void combine(void* a, const void* b, int64_t n) {
  const hn::ScalableTag<T> d;
  T* to = static_cast<T*>(a);
  map_block<T>(
      n, to, [d](auto u, auto v) HWY_ATTR { return Op::step(d, u, v); }, to,
      static_cast<const T*>(b));
}

template <class S>
void copy(const void* accumulators, int64_t n, int64_t, void* outputs) {
  const Wide<S>* from = static_cast<const Wide<S>*>(accumulators);
  S* to = static_cast<S*>(outputs);
  for (int64_t i = 0; i < n; ++i) to[i] = stored_as<S>(from[i]);
}

template <class S>
void divide(const void* accumulators, int64_t n, int64_t length, void* outputs) {
  const Wide<S>* from = static_cast<const Wide<S>*>(accumulators);
  S* to = static_cast<S*>(outputs);
  for (int64_t i = 0; i < n; ++i) to[i] = stored_as<S>(from[i] / static_cast<Wide<S>>(length));
}

template <class Op, class S, bool kNeedsElements, auto kFinish>
constexpr Reduction make_reduction() {
  Reduction r = {sizeof(S),      sizeof(Wide<S>),      sizeof(S), kNeedsElements, block<Op, S>,
                 columns<Op, S>, combine<Op, Wide<S>>, kFinish,   subtree<Op, S>};
  if constexpr (!kIsHalf<S>) r.even_subtree = even_subtree<Op, S>;
  return r;
}

template <class Op, class S, bool kNeedsElements, auto kFinish>
constexpr Reduction kReduction = make_reduction<Op, S, kNeedsElements, kFinish>();

template <class OpClass, class S, bool kNeedsElements = false, auto kFinish = copy<S>>
constexpr dlcore_kernel row(Op op) {
  return reduction_kernel<kReduction<OpClass, S, kNeedsElements, kFinish>>(static_cast<int32_t>(op),
                                                                           dtype_of<S>());
}

constexpr dlcore_kernel kKernels[] = {
    row<SumOp, float>(Op::kSum),
    row<SumOp, double>(Op::kSum),
    row<SumOp, Half>(Op::kSum),
    row<SumOp, BFloat16>(Op::kSum),
    row<SumOp, float, false, divide<float>>(Op::kMean),
    row<SumOp, double, false, divide<double>>(Op::kMean),
    row<SumOp, Half, false, divide<Half>>(Op::kMean),
    row<SumOp, BFloat16, false, divide<BFloat16>>(Op::kMean),
    row<ProdOp, float>(Op::kProd),
    row<ProdOp, double>(Op::kProd),
    row<ProdOp, Half>(Op::kProd),
    row<ProdOp, BFloat16>(Op::kProd),
    row<MaxOp, float, true>(Op::kMax),
    row<MaxOp, double, true>(Op::kMax),
    row<MaxOp, Half, true>(Op::kMax),
    row<MaxOp, BFloat16, true>(Op::kMax),
    row<MinOp, float, true>(Op::kMin),
    row<MinOp, double, true>(Op::kMin),
    row<MinOp, Half, true>(Op::kMin),
    row<MinOp, BFloat16, true>(Op::kMin),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(float_reduce)
}  // namespace dlcore::cpu
#endif
