// SPDX-License-Identifier: Apache-2.0
// Elements of one type as another.
#pragma once

#include <limits>
#include <type_traits>

#include "call.h"

namespace host2 {

// Floats become integers towards zero, kept within bounds, NaN 0; integers wrap; anything but 0 is
// true.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    if (x != x) return 0;
    if (x <= static_cast<From>(Limits::min())) return Limits::min();
    if (x >= static_cast<From>(Limits::max())) return Limits::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// Runs fn.operator()<T>() for the element type of a dtype; false when there is none.
template <class Fn>
bool with_type(dlcore_dtype dtype, Fn&& fn) {
  bool found = false;
  each_plain([&]<class T>() {
    if (dtype_of<T>() != dtype) return;
    found = true;
    fn.template operator()<T>();
  });
  return found;
}

// Kernels that make outputs of any dtype are for the plain ones only.
inline int32_t makes_plain(const dlcore_launch* launch) {
  return with_type(launch->outputs[0].dtype, []<class T>() {}) ? 1 : 0;
}

}  // namespace host2
