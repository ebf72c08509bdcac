// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm along an axis, shifted by the maximum so that nothing overflows.
#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kSoftmax = 90, kLogSoftmax = 91, kSoftmaxBackward = 92, kLogSoftmaxBackward = 93;

constexpr AttrDef kAxis = positional(int_attr("axis", "that sums to 1", -1));

void infer_softmax(Infer& r) {
  r.axis(0, r.rank());
  if (r.input_count() == 2) r.need_same(1, r.dims(0));
  infer_like_first(r);
}

void batch_softmax(Batch& r) {
  const int rank = r.logical_rank(0);
  const int64_t axis = normal_axis(r.op.name, "axis", r.attrs.number(0), rank) + 1;
  std::vector<Value> inputs;
  for (int i = 0; i < r.input_count(); ++i) inputs.push_back(r.with_examples(i));
  r.set(0, call(r.op.number, inputs, Attrs().number(axis)));
}

Value softmax_backward(const Value& g, const Value& y, AttrReader attrs) {
  return call(kSoftmaxBackward, {g, y}, attrs.words());
}
Value log_softmax_backward(const Value& g, const Value& y, AttrReader attrs) {
  return call(kLogSoftmaxBackward, {g, y}, attrs.words());
}
Value total(const Value& x, AttrReader attrs) {
  const int64_t axis[] = {attrs.number(0)};
  return sum(x, axis, true);
}

constexpr OpDef op_softmax = {
    .number = kSoftmax,
    .name = "softmax",
    .family = "softmax",
    .doc = "exp(x) / sum(exp(x)) along an axis.",
    .inputs = {in("x", kAnyFloatSet)},
    .attrs = {kAxis},
    .infer = infer_softmax,
    .vjp = [](Vjp& r) { r.set(0, softmax_backward(r.g(), r.output(0), r.attrs)); },
    .saves = saves_y,
    .jvp =
        [](Jvp& r) {
          r.set(0, softmax_backward(r.tangent(0), r.output(), r.attrs));
        },  // the Jacobian is symmetric
    .batch = batch_softmax,
};

constexpr OpDef op_log_softmax = {
    .number = kLogSoftmax,
    .name = "log_softmax",
    .family = "softmax",
    .doc = "x - log(sum(exp(x))) along an axis.",
    .inputs = {in("x", kAnyFloatSet)},
    .attrs = {kAxis},
    .infer = infer_softmax,
    .vjp = [](Vjp& r) { r.set(0, log_softmax_backward(r.g(), r.output(0), r.attrs)); },
    .saves = saves_y,
    .jvp = [](Jvp& r) { r.set(0, r.tangent(0) - total(exp(r.output()) * r.tangent(0), r.attrs)); },
    .batch = batch_softmax,
};

constexpr OpDef op_softmax_backward = {
    .number = kSoftmaxBackward,
    .name = "softmax_backward",
    .family = "softmax",
    .doc = "y (g - sum(g y)) along the axis.",
    .inputs = {in("g", kAnyFloatSet), in("y", kAnyFloatSet)},
    .attrs = {kAxis},
    .traits = kHidden,
    .infer = infer_softmax,
    .vjp =
        [](Vjp& r) {
          if (r.needs(0)) r.set(0, softmax_backward(r.g(), r.input(1), r.attrs));
          if (r.needs(1)) {
            const Value g = r.input(0), y = r.input(1), u = r.g();
            r.set(1, u * (g - total(g * y, r.attrs)) - g * total(u * y, r.attrs));
          }
        },
    .saves = saves_both_inputs,
    .batch = batch_softmax,
};

constexpr OpDef op_log_softmax_backward = {
    .number = kLogSoftmaxBackward,
    .name = "log_softmax_backward",
    .family = "softmax",
    .doc = "g - exp(y) sum(g) along the axis.",
    .inputs = {in("g", kAnyFloatSet), in("y", kAnyFloatSet)},
    .attrs = {kAxis},
    .traits = kHidden,
    .infer = infer_softmax,
    .vjp =
        [](Vjp& r) {
          const Value weighted = r.g() * exp(r.input(1));
          if (r.needs(0)) r.set(0, r.g() - total(weighted, r.attrs));
          if (r.needs(1)) r.set(1, -(weighted * total(r.input(0), r.attrs)));
        },
    .saves = saves_both_inputs,
    .batch = batch_softmax,
};

constexpr const OpDef* kOps[] = {&op_softmax, &op_log_softmax, &op_softmax_backward,
                                 &op_log_softmax_backward};

}  // namespace

extern const OpFamily softmax_ops = kOps;

Value softmax(const Value& x, int64_t axis) { return call(kSoftmax, {x}, Attrs().number(axis)); }

}  // namespace dlcore
