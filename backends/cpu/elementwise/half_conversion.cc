// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/half_conversion.cc"
#include "backends/cpu/elementwise/half_conversion.h"

#include <cstring>

#include "backends/cpu/targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/elementwise/half_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

using Wide = hn::ScalableTag<float>;
using Narrow = HalfTag<Wide>;

template <class T>
void widen(int64_t count, const void* from, float* to) {
  const Wide d;
  const Narrow half;
  const uint16_t* const x = static_cast<const uint16_t*>(from);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(HalfVectors<T>::widen(d, hn::LoadU(half, x + i)), d, to + i);
  }
  if (i == n) return;
  HWY_ALIGN uint16_t rest[hn::MaxLanes(d)] = {};
  HWY_ALIGN float result[hn::MaxLanes(d)];
  std::memcpy(rest, x + i, (n - i) * sizeof(uint16_t));
  hn::Store(HalfVectors<T>::widen(d, hn::Load(half, rest)), d, result);
  std::memcpy(to + i, result, (n - i) * sizeof(float));
}

template <class T>
void narrow(int64_t count, const float* from, void* to) {
  const Wide d;
  const Narrow half;
  uint16_t* const y = static_cast<uint16_t*>(to);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(HalfVectors<T>::narrow(d, hn::LoadU(d, from + i)), half, y + i);
  }
  if (i == n) return;
  HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
  HWY_ALIGN uint16_t result[hn::MaxLanes(d)];
  std::memcpy(rest, from + i, (n - i) * sizeof(float));
  hn::Store(HalfVectors<T>::narrow(d, hn::Load(d, rest)), half, result);
  std::memcpy(y + i, result, (n - i) * sizeof(uint16_t));
}

}  // namespace

extern const HalfConversion kHalfConversions[2];
const HalfConversion kHalfConversions[2] = {
    {widen<Half>, narrow<Half>},
    {widen<BFloat16>, narrow<BFloat16>},
};

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {

const HalfConversion& half_conversion(int64_t target, dlcore_dtype dtype) {
  const size_t format = dtype == DLCORE_BF16 ? 1 : 0;
#if HWY_TARGETS & HWY_AVX3
  if (target == HWY_AVX3) return N_AVX3::kHalfConversions[format];
#endif
#if HWY_TARGETS & HWY_AVX2
  if (target == HWY_AVX2) return N_AVX2::kHalfConversions[format];
#endif
  static_cast<void>(target);
  return HWY_NAMESPACE::kHalfConversions[format];
}

}  // namespace dlcore::cpu
#endif
