// SPDX-License-Identifier: Apache-2.0
#include "core/autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "core/autograd/backward.h"
#include "core/engine/child_context.h"
#include "core/ops/calls.h"
#include "core/ops/rules.h"

namespace dlcore {
namespace {

using Elements = std::vector<double>;
using Function = std::function<Value(std::span<const Value>)>;

Elements read(Context& ctx, const Value& v) {
  Elements elements(static_cast<size_t>(v.tensor().count));
  read_tensor(ctx, v.tensor(), elements.data());
  return elements;
}

Value make(Context& ctx, const Value& like, const Elements& elements) {
  TensorRef t = new_tensor(ctx, *like.tensor().device, DLCORE_F64, like.tensor().shape());
  write_tensor(ctx, *t, elements.data());
  return {ctx, std::move(t)};
}

// Calls the program's function on a child context, whose error becomes the cause of ours.
Value run(Context& ctx, dlcore_gradcheck_function function, void* user_data,
          std::span<const Value> inputs) {
  const ChildContext child(ctx, 0);
  std::vector<dlcore_tensor*> handles;
  for (const Value& v : inputs) {
    v.tensor().retain();
    v.tensor().give_to_program();
    handles.push_back(reinterpret_cast<dlcore_tensor*>(&v.tensor()));
  }
  dlcore_tensor* output = nullptr;
  const dlcore_status status = function(user_data, child.handle(), handles.data(),
                                        static_cast<int64_t>(handles.size()), &output);
  Value y;
  auto* tensor = reinterpret_cast<Tensor*>(output);
  const bool valid = tensor != nullptr &&
                     tensor->tag.load(std::memory_order_acquire) == Tag::kTensor &&
                     tensor->held_by_program();
  if (valid) y = Value(ctx, TensorRef(tensor));
  for (const Value& v : inputs) v.tensor().program_release();
  std::shared_ptr<const Error> cause = child->take_error();
  if (status != DLCORE_OK || cause != nullptr || !y) {
    const dlcore_status code = cause                 ? cause->code
                               : status != DLCORE_OK ? status
                                                     : dlcore_status{DLCORE_INVALID_ARGUMENT};
    Error error(code, formatted("gradcheck: the function failed: {}",
                                cause ? cause->message : "it made no tensor"));
    error.cause = std::move(cause);
    throw error;
  }
  if (y.dtype() != DLCORE_F64)
    invalid("gradcheck: the function's result is {}, expected f64", dtype_name(y.dtype()));
  return y;
}

// A fixed direction without symmetry, so that no error cancels out.
Elements direction(size_t n, double phase) {
  Elements d(n);
  for (size_t i = 0; i < n; ++i) d[i] = 0.5 + std::sin(phase + 1.3 * static_cast<double>(i));
  return d;
}

// Compares d/dx <f(x), u> with central differences, element by element.
void check(Context& ctx, const Function& f, std::span<const Value> inputs, double tolerance,
           const char* what) {
  std::vector<Value> leaves;
  for (const Value& x : inputs) leaves.emplace_back(ctx, make_leaf(ctx, x.tensor(), nullptr));
  const Value y = f(leaves);
  const Elements u = direction(static_cast<size_t>(y.tensor().count), 0.4);
  GradOptions options;
  options.allow_unused = true;
  const Value outputs[] = {y}, seeds[] = {make(ctx, y, u)};
  const std::vector<Value> analytic = gradients_of(ctx, outputs, leaves, seeds, options);
  auto dot = [&](std::span<const Value> xs) {
    const Elements values = read(ctx, f(xs));
    double total = 0;
    for (size_t i = 0; i < values.size(); ++i) total += values[i] * u[i];
    return total;
  };
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Elements x = read(ctx, inputs[k]);
    const Elements g = analytic[k] ? read(ctx, analytic[k]) : Elements(x.size(), 0.0);
    for (size_t i = 0; i < x.size(); ++i) {
      const double step = 1e-5 * std::max(1.0, std::fabs(x[i]));
      std::vector<Value> moved(leaves.begin(), leaves.end());
      Elements shifted = x;
      shifted[i] = x[i] + step;
      moved[k] = Value(ctx, make_leaf(ctx, make(ctx, inputs[k], shifted).tensor(), nullptr));
      const double above = dot(moved);
      shifted[i] = x[i] - step;
      moved[k] = Value(ctx, make_leaf(ctx, make(ctx, inputs[k], shifted).tensor(), nullptr));
      const double numeric = (above - dot(moved)) / (2 * step);
      if (!(std::fabs(g[i] - numeric) <= tolerance * std::max(1.0, std::fabs(numeric)))) {
        fail(DLCORE_FAILED_PRECONDITION,
             "gradcheck: {} derivative of input {} element {}: analytic {:.9g}, numeric {:.9g}",
             what, k, i, g[i], numeric);
      }
    }
  }
}

}  // namespace

void gradcheck(Context& ctx, dlcore_gradcheck_function function, void* user_data,
               std::span<const Value> inputs, int32_t order, double tolerance) {
  if (order != 1 && order != 2) invalid("gradcheck: order is {}, expected 1 or 2", order);
  if (!(tolerance >= 0)) invalid("gradcheck: tolerance is {}, expected 0 or more", tolerance);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != DLCORE_F64)
      invalid("gradcheck: input {} is {}, expected f64", i, dtype_name(inputs[i].dtype()));
    if (inputs[i].tensor().data == nullptr) invalid("gradcheck: input {} has no elements", i);
  }
  ModeGuard modes(ctx);
  ctx.recording = true;
  const Function f = [&](std::span<const Value> xs) { return run(ctx, function, user_data, xs); };
  check(ctx, f, inputs, tolerance > 0 ? tolerance : 1e-6, "first");
  if (order == 1) return;
  // The gradient itself as a function: all of it, weighted and summed to one number.
  const Function gradient = [&](std::span<const Value> xs) {
    const Value y = f(xs);
    GradOptions options;
    options.create_graph = options.allow_unused = true;
    const Value outputs[] = {y},
                seeds[] = {make(ctx, y, direction(static_cast<size_t>(y.tensor().count), 2.1))};
    const std::vector<Value> parts = gradients_of(ctx, outputs, xs, seeds, options);
    Value total = full(ctx, {}, 0, DLCORE_F64);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]) continue;
      const Elements w =
          direction(static_cast<size_t>(parts[i].tensor().count), 0.9 + static_cast<double>(i));
      total = total + sum_all(parts[i] * make(ctx, parts[i], w));
    }
    return total;
  };
  check(ctx, gradient, inputs, tolerance > 0 ? tolerance : 1e-5, "second");
}

}  // namespace dlcore
