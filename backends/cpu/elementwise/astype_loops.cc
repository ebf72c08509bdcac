// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/elementwise/astype_loops.h"

#include <array>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/base/half.h"

namespace dlcore::cpu {
namespace {

// In the order of the dtypes' numbers, from DLCORE_BOOL on.
using Types =
    std::tuple<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>;
constexpr size_t kTypes = std::tuple_size_v<Types>;

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// A double that every narrower rounding treats as it would the integer: beyond 2^53 the bits that
// do not fit leave a trace in the lowest one that does.
double for_rounding(int64_t value) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (value >= -kExact && value <= kExact) return static_cast<double>(value);
  const int64_t rest = value & 0x7ff;
  return static_cast<double>((value - rest) | (rest != 0 ? 0x400 : 0));
}

template <class T, class F>
T to_integer(F value) {
  // The upper bound is a power of two and so exact, unlike max() itself.
  constexpr F kEnd = static_cast<F>(std::numeric_limits<T>::max() / 2 + 1) * 2;
  constexpr F kLow = static_cast<F>(std::numeric_limits<T>::min());
  if (value != value) return 0;
  if (value >= kEnd) return std::numeric_limits<T>::max();
  if (value <= kLow) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <class To, class From>
To convert(From value) {
  if constexpr (kIsHalf<From>) {
    return convert<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (kIsHalf<To>) {
    if constexpr (std::is_integral_v<From>) {
      return convert<To>(for_rounding(static_cast<int64_t>(value)));
    } else if constexpr (std::is_same_v<To, Half>) {
      return half_from(value);
    } else {
      return bfloat16_from(value);
    }
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return to_integer<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
int64_t loop(int64_t n, void* out, const void* a, const void*, const void*, const void*) {
  // A byte that is neither 0 nor 1 must not be read as a bool.
  using Stored = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
  const Stored* x = static_cast<const Stored*>(a);
  To* y = static_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<From, To> && !std::is_same_v<From, bool>) {
      y[i] = x[i];
    } else if constexpr (std::is_same_v<From, bool>) {
      y[i] = convert<To>(static_cast<uint8_t>(x[i] != 0));
    } else {
      y[i] = convert<To>(x[i]);
    }
  }
  return -1;
}

template <size_t... kPair>
constexpr std::array<Loop, kTypes * kTypes> make_loops(std::index_sequence<kPair...>) {
  return {loop<std::tuple_element_t<kPair / kTypes, Types>,
               std::tuple_element_t<kPair % kTypes, Types>>...};
}

constexpr auto kLoops = make_loops(std::make_index_sequence<kTypes * kTypes>());

}  // namespace

Loop astype_loop(dlcore_dtype from, dlcore_dtype to) {
  const size_t row = static_cast<size_t>(from - DLCORE_BOOL);
  const size_t column = static_cast<size_t>(to - DLCORE_BOOL);
  return kLoops[row * kTypes + column];
}

}  // namespace dlcore::cpu
