// SPDX-License-Identifier: Apache-2.0
// Division with remainder, integer powers, and the products that have no vector instruction.
#include <cmath>
#include <cstdio>
#include <type_traits>

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu::plain {
namespace {

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;

// Products of integers wrap.
template <class T>
T wrapping_product(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Each operation says of which arguments it has a result, and computes it.
struct Multiply {
  template <class T>
  static constexpr bool defined(T) {
    return true;
  }
  template <class T>
  static T apply(T a, T b) {
    return wrapping_product(a, b);
  }
};

struct Pow {
  template <class T>
  static constexpr bool defined(T exponent) {
    return exponent >= 0;
  }
  template <class T>
  static T apply(T base, T exponent) {
    T result = 1;
    for (; exponent != 0; exponent = static_cast<T>(exponent >> 1)) {
      if ((exponent & 1) != 0) result = wrapping_product(result, base);
      base = wrapping_product(base, base);
    }
    return result;
  }
};

// The sign of the divisor, as Python's %.
struct Remainder {
  template <class T>
  static constexpr bool defined(T divisor) {
    return std::is_floating_point_v<T> || divisor != 0;
  }
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      T rest = std::fmod(a, b);
      if (rest == 0) return std::copysign(T{0}, b);
      if ((rest < 0) != (b < 0)) rest += b;
      return rest;
    } else {
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;  // the least number overflows
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  }
};

// Rounds down. Floats as Python's //: from the exact remainder, so that it fits Remainder.
struct FloorDivide {
  template <class T>
  static constexpr bool defined(T divisor) {
    return std::is_floating_point_v<T> || divisor != 0;
  }
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (b == 0) return a / b;
      const T rest = std::fmod(a, b);
      T quotient = (a - rest) / b;
      if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
      if (quotient == 0) return std::copysign(T{0}, a / b);
      const T down = std::floor(quotient);
      return quotient - down > T{0.5} ? down + 1 : down;
    } else {
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
        return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
      }
      const T quotient = static_cast<T>(a / b);
      return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
    }
  }
};

template <class T, class Operation>
int64_t loop(int64_t n, void* out, const void* a, const void* b, const void*, const void*) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    if (!Operation::defined(y[i])) return i;
    z[i] = Operation::apply(x[i], y[i]);
  }
  return -1;
}

template <class T>
int64_t square_loop(int64_t n, void* out, const void* a, const void*, const void*, const void*) {
  return loop<T, Multiply>(n, out, a, a, nullptr, nullptr);
}

// The element of an operand at a row-major position.
template <class T>
T element_at(const dlcore_operand& operand, int64_t position) {
  int64_t offset = 0;
  for (int32_t i = operand.rank; i-- > 0;) {
    offset += position % operand.shape[i] * operand.strides[i];
    position /= operand.shape[i];
  }
  return static_cast<const T*>(operand.data)[offset];
}

// Names what went wrong with the first offending element of b.
template <class T>
dlcore_status run_checked(void* queue, const dlcore_launch& launch, Loop inner, const char* what) {
  const int64_t failed =
      run_elementwise(*static_cast<const Queue*>(queue), launch, inner, kCostly, nullptr);
  if (failed < 0) return DLCORE_OK;
  launch.failure->code = DLCORE_INVALID_ARGUMENT;
  const auto value = static_cast<long long>(element_at<T>(launch.inputs[1], failed));
  std::snprintf(launch.failure->message, sizeof launch.failure->message,
                "%s: element %lld of b is %lld", what, static_cast<long long>(failed), value);
  return DLCORE_INVALID_ARGUMENT;
}

template <class T, class Operation>
dlcore_status launch_division(void* queue, const dlcore_launch* launch) {
  return run_checked<T>(queue, *launch, loop<T, Operation>, "division by zero");
}

template <class T>
dlcore_status launch_pow(void* queue, const dlcore_launch* launch) {
  return run_checked<T>(queue, *launch, loop<T, Pow>, "negative exponent of an integer");
}

// f16 and bf16, computed in f32.
template <class Operation>
constexpr dlcore_kernel widened_row(Op op, dlcore_dtype dtype) {
  return make_kernel(op, dtype, kFlags, launch_widened<0, loop<float, Operation>, kCostly>);
}

template <class T>
constexpr dlcore_kernel remainder_row() {
  return make_kernel(Op::kRemainder, dtype_of<T>(), kFlags, launch_division<T, Remainder>);
}

template <class T>
constexpr dlcore_kernel floor_divide_row() {
  return make_kernel(Op::kFloorDivide, dtype_of<T>(), kFlags, launch_division<T, FloorDivide>);
}

template <class T>
constexpr dlcore_kernel pow_row() {
  return make_kernel(Op::kPow, dtype_of<T>(), kFlags, launch_pow<T>);
}

template <class T>
constexpr dlcore_kernel multiply_row() {
  return make_kernel(Op::kMultiply, dtype_of<T>(), kFlags,
                     launch_elementwise<loop<T, Multiply>, kCheap>);
}

template <class T>
constexpr dlcore_kernel square_row() {
  return make_kernel(Op::kSquare, dtype_of<T>(), kFlags,
                     launch_elementwise<square_loop<T>, kCheap>);
}

constexpr dlcore_kernel kKernels[] = {
    remainder_row<uint8_t>(),
    remainder_row<int8_t>(),
    remainder_row<int16_t>(),
    remainder_row<int32_t>(),
    remainder_row<int64_t>(),
    remainder_row<float>(),
    remainder_row<double>(),
    floor_divide_row<uint8_t>(),
    floor_divide_row<int8_t>(),
    floor_divide_row<int16_t>(),
    floor_divide_row<int32_t>(),
    floor_divide_row<int64_t>(),
    floor_divide_row<float>(),
    floor_divide_row<double>(),
    pow_row<uint8_t>(),
    pow_row<int8_t>(),
    pow_row<int16_t>(),
    pow_row<int32_t>(),
    pow_row<int64_t>(),
    multiply_row<uint8_t>(),
    multiply_row<int8_t>(),
    multiply_row<int64_t>(),
    square_row<uint8_t>(),
    square_row<int8_t>(),
    square_row<int64_t>(),
    widened_row<Remainder>(Op::kRemainder, DLCORE_F16),
    widened_row<Remainder>(Op::kRemainder, DLCORE_BF16),
    widened_row<FloorDivide>(Op::kFloorDivide, DLCORE_F16),
    widened_row<FloorDivide>(Op::kFloorDivide, DLCORE_BF16),
};

}  // namespace
}  // namespace dlcore::cpu::plain

namespace dlcore::cpu {
DLCORE_CPU_PLAIN_KERNEL_FILE(integer)
}  // namespace dlcore::cpu
