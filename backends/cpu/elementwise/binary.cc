// SPDX-License-Identifier: Apache-2.0
// Arithmetic and logic on two operands.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/binary.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/elementwise/vector_loop.h"
#include "backends/cpu/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;

struct Add {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};

struct Subtract {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Sub(a, b);
  }
};

struct Multiply {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Mul(a, b);
  }
};

struct Divide {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Div(a, b);
  }
};

struct Pow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return vmath::pow(d, a, b);
  }
};

// `chosen` unless an operand is NaN, which then is the result.
template <class D, class V>
HWY_INLINE V or_nan(D, V a, V b, V chosen) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    chosen = hn::IfThenElse(hn::IsNaN(b), b, chosen);
    chosen = hn::IfThenElse(hn::IsNaN(a), a, chosen);
  }
  return chosen;
}

struct Maximum {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return or_nan(d, a, b, hn::Max(a, b));
  }
};

struct Minimum {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return or_nan(d, a, b, hn::Min(a, b));
  }
};

struct And {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::And(a, b);
  }
};

struct Or {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Or(a, b);
  }
};

struct Xor {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Xor(a, b);
  }
};

template <class Operation, class T, Grain kGrain = kCheap>
constexpr dlcore_kernel row(Op op) {
  return make_kernel(op, dtype_of<T>(), kFlags,
                     launch_of<T, binary_loop<Computed<T>, Operation>, kGrain>());
}

template <class Operation>
constexpr dlcore_kernel logical_row(Op op) {
  return make_kernel(op, DLCORE_BOOL, kFlags,
                     launch_elementwise<binary_loop<uint8_t, Operation>, kCheap>);
}

constexpr dlcore_kernel kKernels[] = {
    row<Add, uint8_t>(Op::kAdd),
    row<Add, int8_t>(Op::kAdd),
    row<Add, int16_t>(Op::kAdd),
    row<Add, int32_t>(Op::kAdd),
    row<Add, int64_t>(Op::kAdd),
    row<Add, float>(Op::kAdd),
    row<Add, double>(Op::kAdd),
    row<Add, Half>(Op::kAdd),
    row<Add, BFloat16>(Op::kAdd),
    row<Subtract, uint8_t>(Op::kSubtract),
    row<Subtract, int8_t>(Op::kSubtract),
    row<Subtract, int16_t>(Op::kSubtract),
    row<Subtract, int32_t>(Op::kSubtract),
    row<Subtract, int64_t>(Op::kSubtract),
    row<Subtract, float>(Op::kSubtract),
    row<Subtract, double>(Op::kSubtract),
    row<Subtract, Half>(Op::kSubtract),
    row<Subtract, BFloat16>(Op::kSubtract),
    row<Multiply, int16_t>(Op::kMultiply),
    row<Multiply, int32_t>(Op::kMultiply),
    row<Multiply, float>(Op::kMultiply),
    row<Multiply, double>(Op::kMultiply),
    row<Multiply, Half>(Op::kMultiply),
    row<Multiply, BFloat16>(Op::kMultiply),
    row<Divide, float>(Op::kDivide),
    row<Divide, double>(Op::kDivide),
    row<Divide, Half>(Op::kDivide),
    row<Divide, BFloat16>(Op::kDivide),
    row<Pow, float, kCostly>(Op::kPow),
    row<Pow, double, kCostly>(Op::kPow),
    row<Pow, Half, kCostly>(Op::kPow),
    row<Pow, BFloat16, kCostly>(Op::kPow),
    row<Maximum, uint8_t>(Op::kMaximum),
    row<Maximum, int8_t>(Op::kMaximum),
    row<Maximum, int16_t>(Op::kMaximum),
    row<Maximum, int32_t>(Op::kMaximum),
    row<Maximum, int64_t>(Op::kMaximum),
    row<Maximum, float>(Op::kMaximum),
    row<Maximum, double>(Op::kMaximum),
    row<Maximum, Half>(Op::kMaximum),
    row<Maximum, BFloat16>(Op::kMaximum),
    row<Minimum, uint8_t>(Op::kMinimum),
    row<Minimum, int8_t>(Op::kMinimum),
    row<Minimum, int16_t>(Op::kMinimum),
    row<Minimum, int32_t>(Op::kMinimum),
    row<Minimum, int64_t>(Op::kMinimum),
    row<Minimum, float>(Op::kMinimum),
    row<Minimum, double>(Op::kMinimum),
    row<Minimum, Half>(Op::kMinimum),
    row<Minimum, BFloat16>(Op::kMinimum),
    logical_row<And>(Op::kLogicalAnd),
    logical_row<Or>(Op::kLogicalOr),
    logical_row<Xor>(Op::kLogicalXor),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(binary)
}  // namespace dlcore::cpu
#endif
