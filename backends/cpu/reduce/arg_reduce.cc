// SPDX-License-Identifier: Apache-2.0
// argmax and argmin: the first index of the extreme; the first NaN where there is one.
#include <algorithm>
#include <cstdint>

#include "backends/cpu/reduce/driver.h"
#include "backends/cpu/reduce/reduce.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu::plain {
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
void block(const void* x, int64_t start, int64_t n, void* accumulator) {
  const T* from = static_cast<const T*>(x);
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (wins<kMax>(from[i], from[best])) best = i;
  }
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

template <bool kMax, class T>
constexpr Reduction kReduction = {
    sizeof(T), sizeof(Candidate<T>), sizeof(int64_t), true, block<kMax, T>,
    nullptr,   combine<kMax, T>,     finish<T>};

template <class T>
constexpr dlcore_kernel argmax() {
  return reduction_kernel<kReduction<true, T>>(static_cast<int32_t>(Op::kArgmax), dtype_of<T>());
}

template <class T>
constexpr dlcore_kernel argmin() {
  return reduction_kernel<kReduction<false, T>>(static_cast<int32_t>(Op::kArgmin), dtype_of<T>());
}

constexpr dlcore_kernel kKernels[] = {
    argmax<uint8_t>(), argmax<int8_t>(),  argmax<int16_t>(), argmax<int32_t>(), argmax<int64_t>(),
    argmax<float>(),   argmax<double>(),  argmin<uint8_t>(), argmin<int8_t>(),  argmin<int16_t>(),
    argmin<int32_t>(), argmin<int64_t>(), argmin<float>(),   argmin<double>(),
};

}  // namespace
}  // namespace dlcore::cpu::plain

namespace dlcore::cpu {
DLCORE_CPU_PLAIN_KERNEL_FILE(arg_reduce)
}  // namespace dlcore::cpu
