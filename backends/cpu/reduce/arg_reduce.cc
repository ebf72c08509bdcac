// SPDX-License-Identifier: Apache-2.0
// argmax and argmin: the first index of the extreme; the first NaN where there is one. A block is
// searched twice: for its extreme, then for where that comes first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/reduce/arg_reduce.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include <algorithm>
#include <cstdint>
#include <limits>

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

template <class T>
struct Candidate {
  T value;
  int64_t index;
};

// True when `x`, which comes later, takes the place of `best`.
template <bool kMax, class T>
bool wins(T x, T best) {
  if (kMax ? x > best : x < best) return true;
  if constexpr (std::is_floating_point_v<T>) return x != x && best == best;
  return false;
}

template <bool kMax, class T>
int64_t search_one_by_one(const T* x, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (wins<kMax>(x[i], x[best])) best = i;
  }
  return best;
}

// The first element that equals `value`, or the first NaN when it is one; there is one.
template <class T>
int64_t first_equal(const T* x, int64_t n, T value) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  const auto wanted = hn::Set(d, value);
  const bool any_nan = value != value;
  for (int64_t at = 0; at < n; at += kWidth) {
    const int64_t count = std::min(kWidth, n - at);
    const auto v = count == kWidth ? hn::LoadU(d, x + at) : load_first(d, x + at, count, T(0));
    const auto found = any_nan ? hn::IsNaN(v) : hn::Eq(v, wanted);
    const intptr_t lane = hn::FindFirstTrue(d, found);
    if (lane >= 0 && lane < count) return at + lane;
  }
  return 0;
}

template <bool kMax, class T>
int64_t search(const T* x, int64_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    using Extreme = std::conditional_t<kMax, MaxOp, MinOp>;
    return first_equal(x, n, fold_block<Extreme>(x, n));
  } else {
    return search_one_by_one<kMax>(x, n);
  }
}

template <bool kMax, class S>
void block(const void* x, int64_t start, int64_t n, void* accumulator) {
  using T = Wide<S>;
  alignas(64) T buffer[kIsHalf<S> ? kBlock : 1];
  const T* from = wide_block<S>(x, n, buffer);
  const int64_t best = search<kMax>(from, n);
  *static_cast<Candidate<T>*>(accumulator) = {from[best], start + best};
}

template <bool kMax, class T>
void combine(void* a, const void* b, int64_t n) {
  Candidate<T>* to = static_cast<Candidate<T>*>(a);
  const Candidate<T>* later = static_cast<const Candidate<T>*>(b);
  for (int64_t i = 0; i < n; ++i) {
    if (wins<kMax>(later[i].value, to[i].value)) to[i] = later[i];
  }
}

template <class T>
void finish(const void* accumulators, int64_t n, int64_t, void* outputs) {
  const Candidate<T>* from = static_cast<const Candidate<T>*>(accumulators);
  for (int64_t i = 0; i < n; ++i) static_cast<int64_t*>(outputs)[i] = from[i].index;
}

template <bool kMax, class S, class T = Wide<S>>
constexpr Reduction kReduction = {
    sizeof(S), sizeof(Candidate<T>), sizeof(int64_t), true, block<kMax, S>,
    nullptr,   combine<kMax, T>,     finish<T>};

template <class S>
constexpr dlcore_kernel argmax() {
  return reduction_kernel<kReduction<true, S>>(static_cast<int32_t>(Op::kArgmax), dtype_of<S>());
}

template <class S>
constexpr dlcore_kernel argmin() {
  return reduction_kernel<kReduction<false, S>>(static_cast<int32_t>(Op::kArgmin), dtype_of<S>());
}

constexpr dlcore_kernel kKernels[] = {
    argmax<uint8_t>(), argmax<int8_t>(),   argmax<int16_t>(),  argmax<int32_t>(), argmax<int64_t>(),
    argmax<float>(),   argmax<double>(),   argmax<BFloat16>(), argmax<Half>(),    argmin<uint8_t>(),
    argmin<int8_t>(),  argmin<int16_t>(),  argmin<int32_t>(),  argmin<int64_t>(), argmin<float>(),
    argmin<double>(),  argmin<BFloat16>(), argmin<Half>(),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(arg_reduce)
}  // namespace dlcore::cpu
#endif
