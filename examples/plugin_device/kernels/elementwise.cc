// SPDX-License-Identifier: Apache-2.0
// Arithmetic and functions, element by element. Integers wrap; NaN wins over everything.
#include <cmath>

#include "kernels/kernels.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

// Where integers are computed, so that they wrap.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
template <class T>
Wide<T> wide(T x) {
  return static_cast<Wide<T>>(x);
}

template <class T>
struct Add {
  T operator()(T a, T b) const { return static_cast<T>(wide(a) + wide(b)); }
};
template <class T>
struct Subtract {
  T operator()(T a, T b) const { return static_cast<T>(wide(a) - wide(b)); }
};
template <class T>
struct Multiply {
  T operator()(T a, T b) const { return static_cast<T>(wide(a) * wide(b)); }
};
template <class T>
struct Divide {
  T operator()(T a, T b) const { return a / b; }
};
template <class T>
struct Maximum {
  T operator()(T a, T b) const { return a > b || a != a ? a : b; }
};
template <class T>
struct Minimum {
  T operator()(T a, T b) const { return a < b || a != a ? a : b; }
};
// The gradient of relu at y = relu(x).
template <class T>
struct ReluBackward {
  T operator()(T g, T y) const { return y > T(0) ? g : y != y ? y : T(0); }
};

template <class T>
struct Negative {
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(0 - wide(x));
    return static_cast<T>(-x);
  }
};
template <class T>
struct Abs {
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    return x < T(0) ? Negative<T>()(x) : x;
  }
};
template <class T>
struct Sign {
  T operator()(T x) const { return x > T(0) ? T(1) : x < T(0) ? static_cast<T>(-1) : x; }
};
template <class T>
struct Square {
  T operator()(T x) const { return Multiply<T>()(x, x); }
};
template <class T>
struct Relu {
  T operator()(T x) const { return x > T(0) || x != x ? x : T(0); }
};
template <class T>
struct Reciprocal {
  T operator()(T x) const { return T(1) / x; }
};
template <class T>
struct Sqrt {
  T operator()(T x) const { return std::sqrt(x); }
};
// In f64, so that f32 results are rounded once.
template <class T>
struct Exp {
  T operator()(T x) const { return static_cast<T>(std::exp(static_cast<double>(x))); }
};
template <class T>
struct Log {
  T operator()(T x) const { return static_cast<T>(std::log(static_cast<double>(x))); }
};

template <class T, class Fn>
void unary(Call& call) {
  const T* const x = call.in().data<T>();
  T* y = call.out().data<T>();
  walk<1>(call.out().shape, {call.in().strides}, [&](const auto& at) { *y++ = Fn()(x[at[0]]); });
}

template <class T, class Fn>
void binary(Call& call) {
  const T* const a = call.in(0).data<T>();
  const T* const b = call.in(1).data<T>();
  T* y = call.out().data<T>();
  walk<2>(call.out().shape, {call.in(0).strides, call.in(1).strides},
          [&](const auto& at) { *y++ = Fn()(a[at[0]], b[at[1]]); });
}

constexpr uint32_t kStrided = DLCORE_KERNEL_STRIDED;

}  // namespace

void add_elementwise(Kernels& kernels) {
  each_number([&]<class T>() {
    const auto one = [&](const char* op, dlcore_kernel_fn fn) {
      kernels.push_back({op, dtype_of<T>(), kStrided, fn});
    };
    one("add", launch<binary<T, Add<T>>>);
    one("subtract", launch<binary<T, Subtract<T>>>);
    one("multiply", launch<binary<T, Multiply<T>>>);
    one("maximum", launch<binary<T, Maximum<T>>>);
    one("minimum", launch<binary<T, Minimum<T>>>);
    one("negative", launch<unary<T, Negative<T>>>);
    one("abs", launch<unary<T, Abs<T>>>);
    one("sign", launch<unary<T, Sign<T>>>);
    one("square", launch<unary<T, Square<T>>>);
    one("relu", launch<unary<T, Relu<T>>>);
  });
  each_float([&]<class T>() {
    const auto one = [&](const char* op, dlcore_kernel_fn fn) {
      kernels.push_back({op, dtype_of<T>(), kStrided, fn});
    };
    one("divide", launch<binary<T, Divide<T>>>);
    one("relu_backward", launch<binary<T, ReluBackward<T>>>);
    one("reciprocal", launch<unary<T, Reciprocal<T>>>);
    one("sqrt", launch<unary<T, Sqrt<T>>>);
    one("exp", launch<unary<T, Exp<T>>>);
    one("log", launch<unary<T, Log<T>>>);
  });
}

}  // namespace host2
