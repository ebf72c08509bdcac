// SPDX-License-Identifier: Apache-2.0
// Transcendental functions of one operand, and gelu by its attribute.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/math.cc"
#include <cstring>

#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/elementwise/activations-inl.h"
#include "backends/cpu/elementwise/vector_loop.h"
#include "backends/cpu/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;

struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::exp(d, x);
  }
};

struct Expm1 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::expm1(d, x);
  }
};

struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::log(d, x);
  }
};

struct Log1p {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::log1p(d, x);
  }
};

struct Sin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::sin(d, x);
  }
};

struct Cos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::cos(d, x);
  }
};

struct GeluTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::gelu_tanh(d, x);
  }
};

struct Softplus {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::softplus(d, x);
  }
};

struct Erf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return vmath::erf(d, x);
  }
};

// The gradient g comes first.
struct SigmoidBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    return hn::Mul(g, hn::Mul(y, hn::Sub(vmath::constant(d, 1.0f, 1.0), y)));
  }
};

struct TanhBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V y) const {
    return hn::Mul(g, hn::NegMulAdd(y, y, vmath::constant(d, 1.0f, 1.0)));
  }
};

struct GeluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    return hn::Mul(g, vmath::gelu_derivative(d, x));
  }
};

struct GeluTanhBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    return hn::Mul(g, vmath::gelu_tanh_derivative(d, x));
  }
};

struct SiluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x) const {
    return hn::Mul(g, vmath::silu_derivative(d, x));
  }
};

// Runs one of two loops by the attribute `approximate`, a string: "none" or "tanh".
template <class T, Loop kExact, Loop kTanh>
dlcore_status launch_gelu(void* queue, const dlcore_launch* launch) {
  const bool tanh = launch->n_words >= 2 && launch->attrs[0] == 4 &&
                    std::memcmp(&launch->attrs[1], "tanh", 4) == 0;
  run_loop<T>(queue, *launch, tanh ? kTanh : kExact, kCostly, nullptr);
  return DLCORE_OK;
}

template <class Operation, class T>
constexpr dlcore_kernel row(Op op) {
  return make_kernel(op, dtype_of<T>(), kFlags,
                     launch_of<T, unary_loop<Computed<T>, Operation>, kCostly>());
}

template <class Operation, class T, Grain kGrain>
constexpr dlcore_kernel backward_row(Op op) {
  return make_kernel(op, dtype_of<T>(), kFlags,
                     launch_of<T, binary_loop<Computed<T>, Operation>, kGrain>());
}

template <class T>
constexpr dlcore_kernel gelu_row() {
  return make_kernel(
      Op::kGelu, dtype_of<T>(), kFlags,
      launch_gelu<T, unary_loop<Computed<T>, Gelu>, unary_loop<Computed<T>, GeluTanh>>);
}

template <class T>
constexpr dlcore_kernel gelu_backward_row() {
  return make_kernel(Op::kGeluBackward, dtype_of<T>(), kFlags,
                     launch_gelu<T, binary_loop<Computed<T>, GeluBackward>,
                                 binary_loop<Computed<T>, GeluTanhBackward>>);
}

constexpr dlcore_kernel kKernels[] = {
    row<Exp, float>(Op::kExp),
    row<Exp, double>(Op::kExp),
    row<Exp, Half>(Op::kExp),
    row<Exp, BFloat16>(Op::kExp),
    row<Expm1, float>(Op::kExpm1),
    row<Expm1, double>(Op::kExpm1),
    row<Expm1, Half>(Op::kExpm1),
    row<Expm1, BFloat16>(Op::kExpm1),
    row<Log, float>(Op::kLog),
    row<Log, double>(Op::kLog),
    row<Log, Half>(Op::kLog),
    row<Log, BFloat16>(Op::kLog),
    row<Log1p, float>(Op::kLog1p),
    row<Log1p, double>(Op::kLog1p),
    row<Log1p, Half>(Op::kLog1p),
    row<Log1p, BFloat16>(Op::kLog1p),
    row<Sin, float>(Op::kSin),
    row<Sin, double>(Op::kSin),
    row<Sin, Half>(Op::kSin),
    row<Sin, BFloat16>(Op::kSin),
    row<Cos, float>(Op::kCos),
    row<Cos, double>(Op::kCos),
    row<Cos, Half>(Op::kCos),
    row<Cos, BFloat16>(Op::kCos),
    row<Tanh, float>(Op::kTanh),
    row<Tanh, double>(Op::kTanh),
    row<Tanh, Half>(Op::kTanh),
    row<Tanh, BFloat16>(Op::kTanh),
    row<Sigmoid, float>(Op::kSigmoid),
    row<Sigmoid, double>(Op::kSigmoid),
    row<Sigmoid, Half>(Op::kSigmoid),
    row<Sigmoid, BFloat16>(Op::kSigmoid),
    row<Silu, float>(Op::kSilu),
    row<Silu, double>(Op::kSilu),
    row<Silu, Half>(Op::kSilu),
    row<Silu, BFloat16>(Op::kSilu),
    row<Softplus, float>(Op::kSoftplus),
    row<Softplus, double>(Op::kSoftplus),
    row<Softplus, Half>(Op::kSoftplus),
    row<Softplus, BFloat16>(Op::kSoftplus),
    row<Erf, float>(Op::kErf),
    row<Erf, double>(Op::kErf),
    row<Erf, Half>(Op::kErf),
    row<Erf, BFloat16>(Op::kErf),
    gelu_row<float>(),
    gelu_row<double>(),
    gelu_row<Half>(),
    gelu_row<BFloat16>(),
    gelu_backward_row<float>(),
    gelu_backward_row<double>(),
    gelu_backward_row<Half>(),
    gelu_backward_row<BFloat16>(),
    backward_row<SigmoidBackward, float, kCheap>(Op::kSigmoidBackward),
    backward_row<SigmoidBackward, double, kCheap>(Op::kSigmoidBackward),
    backward_row<SigmoidBackward, Half, kCheap>(Op::kSigmoidBackward),
    backward_row<SigmoidBackward, BFloat16, kCheap>(Op::kSigmoidBackward),
    backward_row<TanhBackward, float, kCheap>(Op::kTanhBackward),
    backward_row<TanhBackward, double, kCheap>(Op::kTanhBackward),
    backward_row<TanhBackward, Half, kCheap>(Op::kTanhBackward),
    backward_row<TanhBackward, BFloat16, kCheap>(Op::kTanhBackward),
    backward_row<SiluBackward, float, kCostly>(Op::kSiluBackward),
    backward_row<SiluBackward, double, kCostly>(Op::kSiluBackward),
    backward_row<SiluBackward, Half, kCostly>(Op::kSiluBackward),
    backward_row<SiluBackward, BFloat16, kCostly>(Op::kSiluBackward),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(math)
}  // namespace dlcore::cpu
#endif
