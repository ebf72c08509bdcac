// SPDX-License-Identifier: Apache-2.0
// Cheap functions of one operand, clip, and the derivative of relu.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/unary.cc"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/elementwise/activations-inl.h"
#include "backends/cpu/elementwise/vector_loop.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;

template <class D>
inline constexpr bool kUnsigned = std::is_unsigned_v<hn::TFromD<D>>;

template <class D>
HWY_INLINE hn::Vec<D> one(D d) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(1));
}

// Integers wrap.
struct Negative {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (kFloating<D>) {
      return hn::Neg(x);
    } else {
      return hn::Sub(hn::Zero(d), x);
    }
  }
};

struct Abs {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (kFloating<D>) {
      return hn::Abs(x);
    } else if constexpr (kUnsigned<D>) {
      return x;
    } else {
      const V zero = hn::Zero(d);
      return hn::IfThenElse(hn::Lt(x, zero), hn::Sub(zero, x), x);
    }
  }
};

struct Sign {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V zero = hn::Zero(d);
    if constexpr (kUnsigned<D>) {
      return hn::Min(x, one(d));
    } else {
      V result = zero;
      if constexpr (kFloating<D>) result = hn::IfThenElse(hn::IsNaN(x), x, zero);
      result = hn::IfThenElse(hn::Gt(x, zero), one(d), result);
      return hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, static_cast<hn::TFromD<D>>(-1)), result);
    }
  }
};

struct Square {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Mul(x, x);
  }
};

struct Sqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};

struct Floor {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Floor(x);
  }
};

struct Ceil {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Ceil(x);
  }
};

// Half to even.
struct Round {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Round(x);
  }
};

struct Reciprocal {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(one(d), x);
  }
};

struct Rsqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(one(d), hn::Sqrt(x));
  }
};

struct LogicalNot {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Xor(x, one(d));
  }
};

template <class T>
struct LeakyRelu {
  T slope;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, slope)));
  }
};

// Where the bounds cross, the upper one holds. NaN stays.
template <class T>
struct Clip {
  T low, high;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V raised = hn::IfThenElse(hn::Lt(x, hn::Set(d, low)), hn::Set(d, low), x);
    return hn::IfThenElse(hn::Gt(raised, hn::Set(d, high)), hn::Set(d, high), raised);
  }
};

// The gradient g where the output y of relu is positive; NaN where y is NaN.
struct ReluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    const V zero = hn::Zero(d);
    return hn::IfThenElse(hn::IsNaN(y), y, hn::IfThenElse(hn::Gt(y, zero), g, zero));
  }
};

template <class T>
dlcore_status launch_leaky_relu(void* queue, const dlcore_launch* launch) {
  using C = Computed<T>;
  const LeakyRelu<C> op{static_cast<C>(std::bit_cast<double>(launch->attrs[0]))};
  run_loop<T>(queue, *launch, unary_loop<C, LeakyRelu<C>>, kCheap, &op);
  return DLCORE_OK;
}

// A bound as a T: for integers the next integer inside, saturated (NaN bounds nothing).
template <class T>
Computed<T> clip_bound(double bound, Computed<T> none, bool is_low) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_float(half_from(bound));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_float(bfloat16_from(bound));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(bound);
  } else {
    const double integral = is_low ? std::ceil(bound) : std::floor(bound);
    if (std::isnan(integral)) return none;
    if (integral <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    if (integral >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(integral);
  }
}

// Attributes: min and max, each a presence word and then, when present, a double.
template <class T>
dlcore_status launch_clip(void* queue, const dlcore_launch* launch) {
  using C = Computed<T>;
  using Limits = std::numeric_limits<C>;
  constexpr bool kIsFloat = std::is_floating_point_v<C>;
  Clip<C> op{kIsFloat ? -Limits::infinity() : Limits::lowest(),
             kIsFloat ? Limits::infinity() : Limits::max()};
  const int64_t* word = launch->attrs;
  if (*word++ != 0) op.low = clip_bound<T>(std::bit_cast<double>(*word++), op.low, true);
  if (*word++ != 0) op.high = clip_bound<T>(std::bit_cast<double>(*word), op.high, false);
  run_loop<T>(queue, *launch, unary_loop<C, Clip<C>>, kCheap, &op);
  return DLCORE_OK;
}

template <class Operation, class T>
constexpr dlcore_kernel row(Op op) {
  return make_kernel(op, dtype_of<T>(), kFlags,
                     launch_of<T, unary_loop<Computed<T>, Operation>, kCheap>());
}

template <class T>
constexpr dlcore_kernel relu_backward_row() {
  return make_kernel(Op::kReluBackward, dtype_of<T>(), kFlags,
                     launch_of<T, binary_loop<Computed<T>, ReluBackward>, kCheap>());
}

constexpr dlcore_kernel kKernels[] = {
    row<Negative, uint8_t>(Op::kNegative),
    row<Negative, int8_t>(Op::kNegative),
    row<Negative, int16_t>(Op::kNegative),
    row<Negative, int32_t>(Op::kNegative),
    row<Negative, int64_t>(Op::kNegative),
    row<Negative, float>(Op::kNegative),
    row<Negative, double>(Op::kNegative),
    row<Negative, Half>(Op::kNegative),
    row<Negative, BFloat16>(Op::kNegative),
    row<Abs, uint8_t>(Op::kAbs),
    row<Abs, int8_t>(Op::kAbs),
    row<Abs, int16_t>(Op::kAbs),
    row<Abs, int32_t>(Op::kAbs),
    row<Abs, int64_t>(Op::kAbs),
    row<Abs, float>(Op::kAbs),
    row<Abs, double>(Op::kAbs),
    row<Abs, Half>(Op::kAbs),
    row<Abs, BFloat16>(Op::kAbs),
    row<Sign, uint8_t>(Op::kSign),
    row<Sign, int8_t>(Op::kSign),
    row<Sign, int16_t>(Op::kSign),
    row<Sign, int32_t>(Op::kSign),
    row<Sign, int64_t>(Op::kSign),
    row<Sign, float>(Op::kSign),
    row<Sign, double>(Op::kSign),
    row<Sign, Half>(Op::kSign),
    row<Sign, BFloat16>(Op::kSign),
    row<Relu, uint8_t>(Op::kRelu),
    row<Relu, int8_t>(Op::kRelu),
    row<Relu, int16_t>(Op::kRelu),
    row<Relu, int32_t>(Op::kRelu),
    row<Relu, int64_t>(Op::kRelu),
    row<Relu, float>(Op::kRelu),
    row<Relu, double>(Op::kRelu),
    row<Relu, Half>(Op::kRelu),
    row<Relu, BFloat16>(Op::kRelu),
    row<Square, int16_t>(Op::kSquare),
    row<Square, int32_t>(Op::kSquare),
    row<Square, float>(Op::kSquare),
    row<Square, double>(Op::kSquare),
    row<Square, Half>(Op::kSquare),
    row<Square, BFloat16>(Op::kSquare),
    row<Sqrt, float>(Op::kSqrt),
    row<Sqrt, double>(Op::kSqrt),
    row<Sqrt, Half>(Op::kSqrt),
    row<Sqrt, BFloat16>(Op::kSqrt),
    row<Rsqrt, float>(Op::kRsqrt),
    row<Rsqrt, double>(Op::kRsqrt),
    row<Rsqrt, Half>(Op::kRsqrt),
    row<Rsqrt, BFloat16>(Op::kRsqrt),
    row<Reciprocal, float>(Op::kReciprocal),
    row<Reciprocal, double>(Op::kReciprocal),
    row<Reciprocal, Half>(Op::kReciprocal),
    row<Reciprocal, BFloat16>(Op::kReciprocal),
    row<Floor, float>(Op::kFloor),
    row<Floor, double>(Op::kFloor),
    row<Floor, Half>(Op::kFloor),
    row<Floor, BFloat16>(Op::kFloor),
    row<Ceil, float>(Op::kCeil),
    row<Ceil, double>(Op::kCeil),
    row<Ceil, Half>(Op::kCeil),
    row<Ceil, BFloat16>(Op::kCeil),
    row<Round, float>(Op::kRound),
    row<Round, double>(Op::kRound),
    row<Round, Half>(Op::kRound),
    row<Round, BFloat16>(Op::kRound),
    make_kernel(Op::kLogicalNot, DLCORE_BOOL, kFlags,
                launch_elementwise<unary_loop<uint8_t, LogicalNot>, kCheap>),
    make_kernel(Op::kClip, dtype_of<uint8_t>(), kFlags, launch_clip<uint8_t>),
    make_kernel(Op::kClip, dtype_of<int8_t>(), kFlags, launch_clip<int8_t>),
    make_kernel(Op::kClip, dtype_of<int16_t>(), kFlags, launch_clip<int16_t>),
    make_kernel(Op::kClip, dtype_of<int32_t>(), kFlags, launch_clip<int32_t>),
    make_kernel(Op::kClip, dtype_of<int64_t>(), kFlags, launch_clip<int64_t>),
    make_kernel(Op::kClip, dtype_of<float>(), kFlags, launch_clip<float>),
    make_kernel(Op::kClip, dtype_of<double>(), kFlags, launch_clip<double>),
    make_kernel(Op::kClip, dtype_of<Half>(), kFlags, launch_clip<Half>),
    make_kernel(Op::kClip, dtype_of<BFloat16>(), kFlags, launch_clip<BFloat16>),
    make_kernel(Op::kLeakyRelu, dtype_of<float>(), kFlags, launch_leaky_relu<float>),
    make_kernel(Op::kLeakyRelu, dtype_of<double>(), kFlags, launch_leaky_relu<double>),
    make_kernel(Op::kLeakyRelu, dtype_of<Half>(), kFlags, launch_leaky_relu<Half>),
    make_kernel(Op::kLeakyRelu, dtype_of<BFloat16>(), kFlags, launch_leaky_relu<BFloat16>),
    relu_backward_row<float>(),
    relu_backward_row<double>(),
    relu_backward_row<Half>(),
    relu_backward_row<BFloat16>(),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(unary)
}  // namespace dlcore::cpu
#endif
