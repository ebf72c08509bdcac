// SPDX-License-Identifier: Apache-2.0
// Activations as functors on vectors, for their own kernels and for those that end with one.
// Included once per instruction set, after hwy/highway.h.
#if defined(DLCORE_CPU_ELEMENTWISE_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_ELEMENTWISE_ACTIVATIONS_INL_H_
#undef DLCORE_CPU_ELEMENTWISE_ACTIVATIONS_INL_H_
#else
#define DLCORE_CPU_ELEMENTWISE_ACTIVATIONS_INL_H_
#endif

#include <type_traits>

#include "backends/cpu/vector_math.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr bool kFloating = std::is_floating_point_v<hn::TFromD<D>>;

struct Relu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (kFloating<D>) {
      return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);  // NaN stays
    } else {
      return hn::Max(x, hn::Zero(d));
    }
  }
};

struct Sigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::sigmoid(d, x);
  }
};

struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::tanh(d, x);
  }
};

struct Silu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::silu(d, x);
  }
};

struct Gelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::gelu(d, x);
  }
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
