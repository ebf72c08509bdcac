// SPDX-License-Identifier: Apache-2.0
// softmax, its logarithm and their gradients, along [axis] of dense operands, in f64. With m the
// largest element that is finite, nothing overflows in exp(x - m).
#include <cmath>

#include "kernels/kernels.h"
#include "kernels/log_sum.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

// Calls fn(n, at): n elements of a line, the i-th one at element at(i) of each operand.
template <class Fn>
void for_each_line(const Call& call, Fn&& fn) {
  const Around around(call.out().shape, call.attributes().integer());
  around.lines([&](int64_t first) {
    fn(around.length, [&](int64_t i) { return first + i * around.inner; });
  });
}

template <class T, bool kLog>
void softmax(Call& call) {
  const T* const x = call.in().data<T>();
  T* const y = call.out().data<T>();
  for_each_line(call, [&](int64_t n, auto at) {
    const LogSum sum = log_sum(n, [&](int64_t i) { return static_cast<double>(x[at(i)]); });
    for (int64_t i = 0; i < n; ++i) {
      const double shifted = static_cast<double>(x[at(i)]) - sum.shift;
      y[at(i)] = static_cast<T>(kLog ? shifted - std::log(sum.sum) : std::exp(shifted) / sum.sum);
    }
  });
}

// y (g - sum(g y))
template <class T>
void softmax_backward(Call& call) {
  const T *const g = call.in(0).data<T>(), *const y = call.in(1).data<T>();
  T* const dx = call.out().data<T>();
  for_each_line(call, [&](int64_t n, auto at) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += static_cast<double>(g[at(i)]) * static_cast<double>(y[at(i)]);
    }
    for (int64_t i = 0; i < n; ++i) {
      dx[at(i)] =
          static_cast<T>(static_cast<double>(y[at(i)]) * (static_cast<double>(g[at(i)]) - sum));
    }
  });
}

// g - exp(y) sum(g)
template <class T>
void log_softmax_backward(Call& call) {
  const T *const g = call.in(0).data<T>(), *const y = call.in(1).data<T>();
  T* const dx = call.out().data<T>();
  for_each_line(call, [&](int64_t n, auto at) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(g[at(i)]);
    for (int64_t i = 0; i < n; ++i) {
      dx[at(i)] = static_cast<T>(static_cast<double>(g[at(i)]) -
                                 std::exp(static_cast<double>(y[at(i)])) * sum);
    }
  });
}

}  // namespace

void add_softmax(Kernels& kernels) {
  each_float([&]<class T>() {
    kernels.push_back({"softmax", dtype_of<T>(), 0, launch<softmax<T, false>>});
    kernels.push_back({"log_softmax", dtype_of<T>(), 0, launch<softmax<T, true>>});
    kernels.push_back({"softmax_backward", dtype_of<T>(), 0, launch<softmax_backward<T>>});
    kernels.push_back({"log_softmax_backward", dtype_of<T>(), 0, launch<log_softmax_backward<T>>});
  });
}

}  // namespace host2
