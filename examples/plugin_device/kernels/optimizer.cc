// SPDX-License-Identifier: Apache-2.0
// Updates of parameters, and the norm of gradients. An output may have the memory of the input it
// updates.
#include <algorithm>
#include <cmath>

#include "kernels/element.h"
#include "kernels/kernels.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

double scalar(const Operand& o) {
  double value = 0;
  with_type(o.dtype, [&]<class T>() { value = static_cast<double>(*o.data<T>()); });
  return value;
}

// Inputs param, grad, velocity or absent, lr; attributes [momentum; dampening; nesterov;
// weight_decay]. All dense.
template <class T>
void sgd_update(Call& call) {
  Attributes attributes = call.attributes();
  const double momentum = attributes.real(), dampening = attributes.real();
  const bool nesterov = attributes.flag();
  const double decay = attributes.real(), lr = scalar(call.in(3));
  const T *const p = call.in(0).data<T>(), *const grad = call.in(1).data<T>();
  const T* const velocity = call.has(2) ? call.in(2).data<T>() : nullptr;
  for (int64_t i = 0; i < call.out().count; ++i) {
    const double g = static_cast<double>(grad[i]) + decay * static_cast<double>(p[i]);
    const double old = velocity == nullptr ? 0 : static_cast<double>(velocity[i]);
    const double v = momentum * old + (1 - dampening) * g;
    const bool plain = velocity == nullptr && momentum == 0;
    const double step = plain ? g : nesterov ? g + momentum * v : v;
    call.out(0).data<T>()[i] = static_cast<T>(static_cast<double>(p[i]) - lr * step);
    if (call.outputs() > 1) call.out(1).data<T>()[i] = static_cast<T>(v);
  }
}

// Kingma and Ba 2015 (arXiv:1412.6980), Algorithm 1; decoupled decay: Loshchilov and Hutter 2019
// (arXiv:1711.05101). Inputs param, grad, m, v, lr, step; attributes [beta1; beta2; epsilon;
// weight_decay; decoupled].
template <class T>
void adam_update(Call& call) {
  Attributes attributes = call.attributes();
  const double beta1 = attributes.real(), beta2 = attributes.real();
  const double epsilon = attributes.real(), decay = attributes.real();
  const bool decoupled = attributes.flag();
  const double lr = scalar(call.in(4)), t = scalar(call.in(5));
  const double rest1 = 1 - std::pow(beta1, t), rest2 = 1 - std::pow(beta2, t);
  const T *const param = call.in(0).data<T>(), *const grad = call.in(1).data<T>();
  const T *const mean = call.in(2).data<T>(), *const squares = call.in(3).data<T>();
  int64_t i = 0;
  walk<4>(call.out().shape,
          {call.in(0).strides, call.in(1).strides, call.in(2).strides, call.in(3).strides},
          [&](const auto& at) {
            const auto p = static_cast<double>(param[at[0]]);
            const double g = static_cast<double>(grad[at[1]]) + (decoupled ? 0 : decay * p);
            const double m = beta1 * static_cast<double>(mean[at[2]]) + (1 - beta1) * g;
            const double v = beta2 * static_cast<double>(squares[at[3]]) + (1 - beta2) * g * g;
            const double kept = decoupled ? p - lr * decay * p : p;
            const double step = lr * (m / rest1) / (std::sqrt(v / rest2) + epsilon);
            call.out(0).data<T>()[i] = static_cast<T>(kept - step);
            call.out(1).data<T>()[i] = static_cast<T>(m);
            call.out(2).data<T>()[i] = static_cast<T>(v);
            ++i;
          });
}

// Of all elements of all inputs, which are dense; scaled by a power of two, so that no square
// overflows.
template <class T>
void global_norm(Call& call) {
  double largest = 0;
  const auto for_all = [&](auto&& fn) {
    for (size_t k = 0; k < call.inputs(); ++k) {
      const T* const x = call.in(k).data<T>();
      for (int64_t i = 0; i < call.in(k).count; ++i) fn(static_cast<double>(x[i]));
    }
  };
  bool nan = false;
  for_all([&](double x) {
    nan = nan || std::isnan(x);
    largest = std::max(largest, std::abs(x));
  });
  double norm = nan ? std::nan("") : largest;
  if (norm > 0 && std::isfinite(norm)) {
    const int exponent = std::clamp(std::ilogb(largest), -1000, 1000);
    double sum = 0;
    for_all([&](double x) {
      const double scaled = std::ldexp(x, -exponent);
      sum += scaled * scaled;
    });
    norm = std::ldexp(std::sqrt(sum), exponent);
  }
  *call.out().data<T>() = static_cast<T>(norm);
}

}  // namespace

void add_optimizer(Kernels& kernels) {
  // Adam takes strides and may work in place; SGD does neither: the engine then makes what it
  // needs.
  constexpr uint32_t kInPlace = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
  each_float([&]<class T>() {
    kernels.push_back({"sgd_update", dtype_of<T>(), 0, launch<sgd_update<T>>});
    kernels.push_back({"adam_update", dtype_of<T>(), kInPlace, launch<adam_update<T>>});
    kernels.push_back({"global_norm", dtype_of<T>(), 0, launch<global_norm<T>>});
  });
}

}  // namespace host2
