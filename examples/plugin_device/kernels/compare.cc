// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic on booleans, and selection.
#include <functional>

#include "kernels/kernels.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

template <class T, class Fn>
void compare(Call& call) {
  const T* const a = call.in(0).data<T>();
  const T* const b = call.in(1).data<T>();
  bool* y = call.out().data<bool>();
  walk<2>(call.out().shape, {call.in(0).strides, call.in(1).strides},
          [&](const auto& at) { *y++ = Fn()(a[at[0]], b[at[1]]); });
}

void logical_not(Call& call) {
  const bool* const x = call.in().data<bool>();
  bool* y = call.out().data<bool>();
  walk<1>(call.out().shape, {call.in().strides}, [&](const auto& at) { *y++ = !x[at[0]]; });
}

template <class T>
void where(Call& call) {
  const bool* const condition = call.in(0).data<bool>();
  const T* const a = call.in(1).data<T>();
  const T* const b = call.in(2).data<T>();
  T* y = call.out().data<T>();
  walk<3>(call.out().shape, {call.in(0).strides, call.in(1).strides, call.in(2).strides},
          [&](const auto& at) { *y++ = condition[at[0]] ? a[at[1]] : b[at[2]]; });
}

constexpr uint32_t kStrided = DLCORE_KERNEL_STRIDED;

}  // namespace

void add_compare(Kernels& kernels) {
  each_plain([&]<class T>() {
    const auto one = [&](const char* op, dlcore_kernel_fn fn) {
      kernels.push_back({op, dtype_of<T>(), kStrided, fn});
    };
    one("equal", launch<compare<T, std::equal_to<T>>>);
    one("not_equal", launch<compare<T, std::not_equal_to<T>>>);
    one("less", launch<compare<T, std::less<T>>>);
    one("less_equal", launch<compare<T, std::less_equal<T>>>);
    one("greater", launch<compare<T, std::greater<T>>>);
    one("greater_equal", launch<compare<T, std::greater_equal<T>>>);
    one("where", launch<where<T>>);
  });
  const auto logic = [&](const char* op, dlcore_kernel_fn fn) {
    kernels.push_back({op, DLCORE_BOOL, kStrided, fn});
  };
  logic("logical_and", launch<compare<bool, std::logical_and<bool>>>);
  logic("logical_or", launch<compare<bool, std::logical_or<bool>>>);
  logic("logical_xor", launch<compare<bool, std::not_equal_to<bool>>>);
  logic("logical_not", launch<logical_not>);
}

}  // namespace host2
