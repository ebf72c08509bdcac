// SPDX-License-Identifier: Apache-2.0
// Comparisons and tests, whose result is bool.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/compare.cc"
#include <limits>
#include <type_traits>

#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/elementwise/vector_loop.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// NaN is different from everything and neither less nor greater.
struct Equal {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    return hn::Eq(a, b);
  }
};

// Not hn::Ne, which some instruction sets compute as ordered: false for NaN.
struct NotEqual {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    return hn::Not(hn::Eq(a, b));
  }
};

struct Less {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    return hn::Lt(a, b);
  }
};

struct LessEqual {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Le(a, b);
    } else {
      return hn::Not(hn::Gt(a, b));
    }
  }
};

struct GreaterEqual {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a, V b) const {
    return LessEqual{}(d, b, a);
  }
};

struct Greater {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V b) const {
    return hn::Gt(a, b);
  }
};

struct IsNan {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V a, V) const {
    return hn::IsNaN(a);
  }
};

struct IsInf {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a, V) const {
    using T = hn::TFromD<D>;
    return hn::Eq(hn::Abs(a), hn::Set(d, std::numeric_limits<T>::infinity()));
  }
};

struct IsFinite {
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V a, V) const {
    using T = hn::TFromD<D>;
    return hn::Lt(hn::Abs(a), hn::Set(d, std::numeric_limits<T>::infinity()));
  }
};

template <class Operation, class T>
constexpr dlcore_kernel compare_row(Op op) {
  using Storage = std::conditional_t<std::is_same_v<T, bool>, uint8_t, Computed<T>>;
  return make_kernel(op, dtype_of<T>(), DLCORE_KERNEL_STRIDED,
                     launch_of<T, test_loop<Storage, Operation, false>, kCheap>());
}

template <class Operation, class T>
constexpr dlcore_kernel test_row(Op op) {
  return make_kernel(op, dtype_of<T>(), DLCORE_KERNEL_STRIDED,
                     launch_of<T, test_loop<Computed<T>, Operation, true>, kCheap>());
}

constexpr dlcore_kernel kKernels[] = {
    compare_row<Equal, bool>(Op::kEqual),
    compare_row<Equal, uint8_t>(Op::kEqual),
    compare_row<Equal, int8_t>(Op::kEqual),
    compare_row<Equal, int16_t>(Op::kEqual),
    compare_row<Equal, int32_t>(Op::kEqual),
    compare_row<Equal, int64_t>(Op::kEqual),
    compare_row<Equal, float>(Op::kEqual),
    compare_row<Equal, double>(Op::kEqual),
    compare_row<Equal, Half>(Op::kEqual),
    compare_row<Equal, BFloat16>(Op::kEqual),
    compare_row<NotEqual, bool>(Op::kNotEqual),
    compare_row<NotEqual, uint8_t>(Op::kNotEqual),
    compare_row<NotEqual, int8_t>(Op::kNotEqual),
    compare_row<NotEqual, int16_t>(Op::kNotEqual),
    compare_row<NotEqual, int32_t>(Op::kNotEqual),
    compare_row<NotEqual, int64_t>(Op::kNotEqual),
    compare_row<NotEqual, float>(Op::kNotEqual),
    compare_row<NotEqual, double>(Op::kNotEqual),
    compare_row<NotEqual, Half>(Op::kNotEqual),
    compare_row<NotEqual, BFloat16>(Op::kNotEqual),
    compare_row<Less, bool>(Op::kLess),
    compare_row<Less, uint8_t>(Op::kLess),
    compare_row<Less, int8_t>(Op::kLess),
    compare_row<Less, int16_t>(Op::kLess),
    compare_row<Less, int32_t>(Op::kLess),
    compare_row<Less, int64_t>(Op::kLess),
    compare_row<Less, float>(Op::kLess),
    compare_row<Less, double>(Op::kLess),
    compare_row<Less, Half>(Op::kLess),
    compare_row<Less, BFloat16>(Op::kLess),
    compare_row<LessEqual, bool>(Op::kLessEqual),
    compare_row<LessEqual, uint8_t>(Op::kLessEqual),
    compare_row<LessEqual, int8_t>(Op::kLessEqual),
    compare_row<LessEqual, int16_t>(Op::kLessEqual),
    compare_row<LessEqual, int32_t>(Op::kLessEqual),
    compare_row<LessEqual, int64_t>(Op::kLessEqual),
    compare_row<LessEqual, float>(Op::kLessEqual),
    compare_row<LessEqual, double>(Op::kLessEqual),
    compare_row<LessEqual, Half>(Op::kLessEqual),
    compare_row<LessEqual, BFloat16>(Op::kLessEqual),
    compare_row<Greater, bool>(Op::kGreater),
    compare_row<Greater, uint8_t>(Op::kGreater),
    compare_row<Greater, int8_t>(Op::kGreater),
    compare_row<Greater, int16_t>(Op::kGreater),
    compare_row<Greater, int32_t>(Op::kGreater),
    compare_row<Greater, int64_t>(Op::kGreater),
    compare_row<Greater, float>(Op::kGreater),
    compare_row<Greater, double>(Op::kGreater),
    compare_row<Greater, Half>(Op::kGreater),
    compare_row<Greater, BFloat16>(Op::kGreater),
    compare_row<GreaterEqual, bool>(Op::kGreaterEqual),
    compare_row<GreaterEqual, uint8_t>(Op::kGreaterEqual),
    compare_row<GreaterEqual, int8_t>(Op::kGreaterEqual),
    compare_row<GreaterEqual, int16_t>(Op::kGreaterEqual),
    compare_row<GreaterEqual, int32_t>(Op::kGreaterEqual),
    compare_row<GreaterEqual, int64_t>(Op::kGreaterEqual),
    compare_row<GreaterEqual, float>(Op::kGreaterEqual),
    compare_row<GreaterEqual, double>(Op::kGreaterEqual),
    compare_row<GreaterEqual, Half>(Op::kGreaterEqual),
    compare_row<GreaterEqual, BFloat16>(Op::kGreaterEqual),
    test_row<IsNan, float>(Op::kIsnan),
    test_row<IsNan, double>(Op::kIsnan),
    test_row<IsNan, Half>(Op::kIsnan),
    test_row<IsNan, BFloat16>(Op::kIsnan),
    test_row<IsInf, float>(Op::kIsinf),
    test_row<IsInf, double>(Op::kIsinf),
    test_row<IsInf, Half>(Op::kIsinf),
    test_row<IsInf, BFloat16>(Op::kIsinf),
    test_row<IsFinite, float>(Op::kIsfinite),
    test_row<IsFinite, double>(Op::kIsfinite),
    test_row<IsFinite, Half>(Op::kIsfinite),
    test_row<IsFinite, BFloat16>(Op::kIsfinite),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(compare)
}  // namespace dlcore::cpu
#endif
