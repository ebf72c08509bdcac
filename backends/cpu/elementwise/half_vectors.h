// SPDX-License-Identifier: Apache-2.0
// Vectors of f16 and bf16, held as their bits, to and from vectors of f32.
#if defined(DLCORE_CPU_HALF_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_HALF_VECTORS
#undef DLCORE_CPU_HALF_VECTORS
#else
#define DLCORE_CPU_HALF_VECTORS
#endif

#include <cstddef>
#include <cstdint>

#include "core/base/half.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// As many 16-bit elements as D has of 32 bits.
template <class D>
using HalfTag = hn::Rebind<uint16_t, D>;

// The conversions of T: Half or BFloat16. D is a tag of float.
template <class T>
struct HalfVectors;

template <>
struct HalfVectors<BFloat16> {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<HalfTag<D>> x) {
    const hn::RebindToUnsigned<D> bits;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, x)));
  }

  // bfloat16_from(float)
  template <class D>
  static HWY_INLINE hn::Vec<HalfTag<D>> narrow(D, hn::Vec<D> x) {
    const hn::RebindToUnsigned<D> d;
    const auto bits = hn::BitCast(d, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
    const auto rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7fffu)), odd);
    const auto quiet = hn::Or(bits, hn::Set(d, 0x400000u));
    const auto is_nan = hn::RebindMask(d, hn::IsNaN(x));
    return hn::TruncateTo(HalfTag<D>(), hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded)));
  }
};

template <>
struct HalfVectors<Half> {
  // Where there are no instructions, Highway's substitutes round to zero and lose subnormals.
  static constexpr bool kInstructions =
      HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON;

  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<HalfTag<D>> x) {
    if constexpr (kInstructions) {
      return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), x));
    } else {
      HWY_ALIGN uint16_t bits[hn::MaxLanes(d)];
      HWY_ALIGN float values[hn::MaxLanes(d)];
      hn::Store(x, HalfTag<D>(), bits);
      for (size_t i = 0; i < hn::MaxLanes(d); ++i) values[i] = to_float(Half{bits[i]});
      return hn::Load(d, values);
    }
  }

  template <class D>
  static HWY_INLINE hn::Vec<HalfTag<D>> narrow(D d, hn::Vec<D> x) {
    if constexpr (kInstructions) {
      return hn::BitCast(HalfTag<D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), x));
    } else {
      HWY_ALIGN float values[hn::MaxLanes(d)];
      HWY_ALIGN uint16_t bits[hn::MaxLanes(d)];
      hn::Store(x, d, values);
      for (size_t i = 0; i < hn::MaxLanes(d); ++i) bits[i] = half_from(values[i]).bits;
      return hn::Load(HalfTag<D>(), bits);
    }
  }
};

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
