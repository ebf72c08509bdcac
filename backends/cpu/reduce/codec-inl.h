// SPDX-License-Identifier: Apache-2.0
// Half precision as kernels along axes see it: widened to f32 a block at a time, rounded once on
// the way out. Included once per instruction set, after hwy/highway.h.

#if defined(DLCORE_CPU_REDUCE_CODEC_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_REDUCE_CODEC_INL_H
#undef DLCORE_CPU_REDUCE_CODEC_INL_H
#else
#define DLCORE_CPU_REDUCE_CODEC_INL_H
#endif

#include <cstdint>
#include <type_traits>

#include "backends/cpu/elementwise/half_conversion.h"
#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/targets.h"
#include "core/base/half.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {

// How elements of a dtype become f32; nullptr for those that need nothing.
inline const HalfConversion* codec_of(int32_t dtype) {
  return is_half(dtype) ? &half_conversion(HWY_TARGET, dtype) : nullptr;
}

// An operand as rows of T, which is float for half precision.
template <class T>
Rows<T> rows_of(const dlcore_operand& operand, uint32_t element_axes) {
  return Rows<T>(operand, element_axes, codec_of(operand.dtype));
}

template <class S>
inline constexpr bool kIsHalf = std::is_same_v<S, Half> || std::is_same_v<S, BFloat16>;

// What elements stored as S are computed in.
template <class S>
using Wide = std::conditional_t<kIsHalf<S>, float, S>;

// n stored elements as Wide<S>: themselves, or a copy in `buffer`.
template <class S>
HWY_INLINE const Wide<S>* wide_block(const void* x, int64_t n, Wide<S>* buffer) {
  if constexpr (kIsHalf<S>) {
    half_conversion(HWY_TARGET, dtype_of<S>()).widen(n, x, buffer);
    return buffer;
  } else {
    return static_cast<const S*>(x);
  }
}

template <class S>
HWY_INLINE S stored_as(Wide<S> value) {
  if constexpr (std::is_same_v<S, Half>) {
    return half_from(value);
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    return bfloat16_from(value);
  } else {
    return value;
  }
}

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DLCORE_CPU_REDUCE_CODEC_INL_H
