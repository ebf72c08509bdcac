// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/half_conversion.cc"
#include "backends/cpu/elementwise/half_conversion.h"

#include <cstring>

#include "backends/cpu/targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;
using Narrow = hn::Rebind<uint16_t, Wide>;

struct BFloat16Format {
  static HWY_INLINE hn::Vec<Wide> widen(hn::Vec<Narrow> x) {
    const Wide d;
    const hn::RebindToUnsigned<Wide> bits;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, x)));
  }

  // bfloat16_from(float) of core/base/half.h
  static HWY_INLINE hn::Vec<Narrow> narrow(hn::Vec<Wide> x) {
    const hn::RebindToUnsigned<Wide> d;
    const auto bits = hn::BitCast(d, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
    const auto rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7fffu)), odd);
    const auto quiet = hn::Or(bits, hn::Set(d, 0x400000u));
    const auto is_nan = hn::RebindMask(d, hn::IsNaN(x));
    return hn::TruncateTo(Narrow(), hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded)));
  }

  static float widen_one(uint16_t x) { return to_float(BFloat16{x}); }
  static uint16_t narrow_one(float x) { return bfloat16_from(x).bits; }
};

struct HalfFormat {
  // Highway's conversions on older instruction sets neither round to nearest nor keep subnormals.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  static constexpr bool kVectors = true;
  using Floats = hn::Rebind<hwy::float16_t, Wide>;

  static HWY_INLINE hn::Vec<Wide> widen(hn::Vec<Narrow> x) {
    return hn::PromoteTo(Wide(), hn::BitCast(Floats(), x));
  }
  static HWY_INLINE hn::Vec<Narrow> narrow(hn::Vec<Wide> x) {
    return hn::BitCast(Narrow(), hn::DemoteTo(Floats(), x));
  }
#else
  static constexpr bool kVectors = false;
#endif

  static float widen_one(uint16_t x) { return to_float(Half{x}); }
  static uint16_t narrow_one(float x) { return half_from(x).bits; }
};

template <class Format>
constexpr bool has_vectors() {
  if constexpr (requires { Format::kVectors; }) {
    return Format::kVectors;
  } else {
    return HWY_TARGET != HWY_SCALAR;
  }
}

template <class Format>
void widen(int64_t count, const void* from, float* to) {
  const uint16_t* const x = static_cast<const uint16_t*>(from);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  if constexpr (has_vectors<Format>()) {
    const Wide d;
    const Narrow narrow;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      hn::StoreU(Format::widen(hn::LoadU(narrow, x + i)), d, to + i);
    }
    if (i < n) {
      HWY_ALIGN uint16_t rest[hn::MaxLanes(d)] = {};
      HWY_ALIGN float result[hn::MaxLanes(d)];
      std::memcpy(rest, x + i, (n - i) * sizeof(uint16_t));
      hn::Store(Format::widen(hn::Load(narrow, rest)), d, result);
      std::memcpy(to + i, result, (n - i) * sizeof(float));
    }
  } else {
    for (; i < n; ++i) to[i] = Format::widen_one(x[i]);
  }
}

template <class Format>
void narrow(int64_t count, const float* from, void* to) {
  uint16_t* const y = static_cast<uint16_t*>(to);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  if constexpr (has_vectors<Format>()) {
    const Wide d;
    const Narrow narrow;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      hn::StoreU(Format::narrow(hn::LoadU(d, from + i)), narrow, y + i);
    }
    if (i < n) {
      HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
      HWY_ALIGN uint16_t result[hn::MaxLanes(d)];
      std::memcpy(rest, from + i, (n - i) * sizeof(float));
      hn::Store(Format::narrow(hn::Load(d, rest)), narrow, result);
      std::memcpy(y + i, result, (n - i) * sizeof(uint16_t));
    }
  } else {
    for (; i < n; ++i) y[i] = Format::narrow_one(from[i]);
  }
}

}  // namespace

extern const HalfConversion kHalfConversions[2];
const HalfConversion kHalfConversions[2] = {
    {widen<HalfFormat>, narrow<HalfFormat>},
    {widen<BFloat16Format>, narrow<BFloat16Format>},
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
