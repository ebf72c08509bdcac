// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, and the place of the largest or smallest element.
#include <algorithm>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

// Strides that lead from an index of x to its element of the dense result: 0 along reduced axes.
std::vector<int64_t> result_strides(const Call& call) {
  Attributes attributes = call.attributes();
  const auto rank = static_cast<int64_t>(call.in().shape.size());
  std::vector<bool> reduced(static_cast<size_t>(rank), !attributes.flag());
  if (rank > 0 && !reduced[0]) {
    for (int64_t axis : attributes.list()) {
      reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
  }
  std::vector<int64_t> strides(static_cast<size_t>(rank), 0);
  int64_t stride = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    if (reduced[d]) continue;
    strides[d] = stride;
    stride *= call.in().shape[d];
  }
  return strides;
}

// Calls fn(element of x, index in the result) for all elements.
template <class T, class Fn>
void reduce(const Call& call, Fn&& fn) {
  const std::vector<int64_t> to = result_strides(call);
  const T* const x = call.in().data<T>();
  walk<2>(call.in().shape, {call.in().strides, to}, [&](const auto& at) { fn(x[at[0]], at[1]); });
}

// f32 is summed in f64, in the device memory asked for as workspace.
uint64_t sums_workspace(const dlcore_launch* launch) {
  return static_cast<uint64_t>(launch->outputs[0].count) * sizeof(double);
}

template <class T>
void sum_floats(Call& call, double divisor) {
  const int64_t n = call.out().count;
  double* const sums = reinterpret_cast<double*>(call.workspace());
  std::fill_n(sums, n, 0.0);
  reduce<T>(call, [&](T x, int64_t to) { sums[to] += static_cast<double>(x); });
  for (int64_t i = 0; i < n; ++i) call.out().data<T>()[i] = static_cast<T>(sums[i] / divisor);
}

template <class T>
void sum(Call& call) {
  if constexpr (std::is_floating_point_v<T>) {
    sum_floats<T>(call, 1);
  } else {
    uint64_t* const sums = call.out().data<uint64_t>();  // wraps
    std::fill_n(sums, call.out().count, uint64_t{0});
    reduce<T>(call, [&](T x, int64_t to) { sums[to] += static_cast<uint64_t>(x); });
  }
}

template <class T>
void mean(Call& call) {
  const int64_t n = call.out().count;
  sum_floats<T>(call, n == 0 ? 1 : static_cast<double>(call.in().count / n));
}

template <class T, bool kLargest>
bool wins(T x, T best) {
  return best == best && (x != x || (kLargest ? x > best : x < best));
}

template <class T, bool kLargest>
void extreme(Call& call) {
  T* const best = call.out().data<T>();
  std::vector<bool> seen(static_cast<size_t>(call.out().count), false);
  reduce<T>(call, [&](T x, int64_t to) {
    const auto i = static_cast<size_t>(to);
    if (!seen[i] || wins<T, kLargest>(x, best[i])) best[i] = x;
    seen[i] = true;
  });
}

// [axis, absent: of all elements in row-major order; keepdims]; x is dense.
template <class T, bool kLargest>
void place(Call& call) {
  Attributes attributes = call.attributes();
  const T* const x = call.in().data<T>();
  const bool along_axis = attributes.flag();
  const int64_t all[] = {call.in().count};
  const Around around = along_axis ? Around(call.in().shape, attributes.integer()) : Around(all, 0);
  int64_t* y = call.out().data<int64_t>();
  around.lines([&](int64_t first) {
    int64_t best = 0;
    for (int64_t i = 1; i < around.length; ++i) {
      if (wins<T, kLargest>(x[first + i * around.inner], x[first + best * around.inner])) best = i;
    }
    *y++ = best;
  });
}

}  // namespace

void add_reduce(Kernels& kernels) {
  constexpr uint32_t kStrided = DLCORE_KERNEL_STRIDED;
  each_plain([&]<class T>() {
    constexpr bool kFloat = std::is_floating_point_v<T>;
    kernels.push_back({"sum", dtype_of<T>(), kStrided, launch<sum<T>>, nullptr,
                       kFloat ? sums_workspace : nullptr});
  });
  each_float([&]<class T>() {
    kernels.push_back({"mean", dtype_of<T>(), kStrided, launch<mean<T>>, nullptr, sums_workspace});
  });
  each_number([&]<class T>() {
    kernels.push_back({"max", dtype_of<T>(), kStrided, launch<extreme<T, true>>});
    kernels.push_back({"min", dtype_of<T>(), kStrided, launch<extreme<T, false>>});
    kernels.push_back({"argmax", dtype_of<T>(), 0, launch<place<T, true>>});
    kernels.push_back({"argmin", dtype_of<T>(), 0, launch<place<T, false>>});
  });
}

}  // namespace host2
