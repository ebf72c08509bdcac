// SPDX-License-Identifier: Apache-2.0
// Normalisation.
#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kLayerNorm = 95, kLayerNormBackward = 96, kMean = 81;

constexpr AttrDef kAxis =
    int_attr("axis", "the first axis that is normalised; all after it are, too", -1);

Dims tail(const Dims& dims, int axis) {
  Dims t;
  for (size_t i = static_cast<size_t>(axis); i < dims.size(); ++i) t.push_back(dims[i]);
  return t;
}
Dims head(const Dims& dims, int axis) {
  Dims h;
  for (size_t i = 0; i < static_cast<size_t>(axis); ++i) h.push_back(dims[i]);
  return h;
}
Ints axes_between(int from, int to) {
  Ints axes;
  for (int i = from; i < to; ++i) axes.push_back(i);
  return axes;
}
Value mean_keeping(const Value& x, std::span<const int64_t> axes) {
  return call(kMean, {x}, Attrs().optional_list(axes).flag(true));
}
// A statistic of each row against x: size-1 axes for the normalised ones.
Value per_row(const Value& s, const Dims& x, int axis) {
  Dims shape = head(x, axis);
  while (shape.size() < x.size()) shape.push_back(1);
  return reshape(s, shape);
}

void infer_layer_norm(Infer& r) {
  const int axis = r.axis(0, r.rank(0));
  const Dims features = tail(r.dims(0), axis);
  for (int i = 1; i <= 2; ++i) {
    if (r.has(i)) r.need_same(i, features);
  }
  if (!(r.attrs.real(1) >= 0)) r.refuse("epsilon is {}, expected 0 or more", r.attrs.real(1));
  r.set(0, r.dtype(0), r.dims(0));
  r.set(1, wide_dtype(r.dtype(0)), head(r.dims(0), axis));
  r.set(2, wide_dtype(r.dtype(0)), head(r.dims(0), axis));
}

// Gradients that came to the hidden outputs, mean and 1/deviation, which second derivatives use.
Value through_statistics(Vjp& r, int axis) {
  const Dims dims = r.input_dims(0);
  if (!r.g(1) && !r.g(2)) return {};
  const Value x = wide(r.input(0)), size = size_value(x, tail(dims, axis));
  Value dx;
  if (r.g(1)) dx = broadcast_to(per_row(r.g(1), dims, axis) / size, dims);
  if (r.g(2)) {
    const Value rstd = per_row(r.output(2), dims, axis), mean = per_row(r.output(1), dims, axis);
    const Value slope = per_row(r.g(2), dims, axis) * rstd * square(rstd) / size;
    const Value part = -((x - mean) * slope);
    dx = dx ? dx + part : part;
  }
  return as_dtype(dx, r.input_dtype(0));
}

constexpr OpDef op_layer_norm = {
    .number = kLayerNorm,
    .name = "layer_norm",
    .family = "norm",
    .doc =
        "(x - mean) / sqrt(variance + epsilon) * scale + bias over the axes from `axis` on, with "
        "the biased variance "
        "(Ba et al. 2016, arXiv:1607.06450).",
    .inputs = {in("x", kAnyFloatSet),
               optional_in("scale", kAnyFloatSet, "the shape of the normalised axes"),
               optional_in("bias", kAnyFloatSet, "the shape of the normalised axes")},
    .attrs = {kAxis, float_attr("epsilon", "added to the variance", 1e-5)},
    .outputs = {out(), hidden_out("mean", "f32 for half precision"), hidden_out("rstd")},
    .infer = infer_layer_norm,
    .vjp =
        [](Vjp& r) {
          const int axis = normal_axis("layer_norm", "axis", r.attrs.number(0), r.rank(0));
          Value dx;
          if (r.g(0)) {
            const std::vector<Value> inputs = {r.g(0), r.input(0), r.input(1), r.output(1),
                                               r.output(2)};
            std::vector<Value> d =
                call_all(kLayerNormBackward, inputs, Attrs().number(r.attrs.number(0)), 3);
            dx = d[0];
            if (r.needs(1)) r.set(1, d[1]);
            if (r.needs(2)) r.set(2, d[2]);
          }
          const Value more = through_statistics(r, axis);
          if (more) dx = dx ? dx + more : more;
          r.set(0, dx);
        },
    .saves =
        [](uint32_t) { return save_input(0) | save_input(1) | save_output(1) | save_output(2); },
    .batch =
        [](Batch& r) {
          const bool affine = (r.has(1) && r.batched(1)) || (r.has(2) && r.batched(2));
          const int rank = r.logical_rank(0);
          const int64_t axis = normal_axis("layer_norm", "axis", r.attrs.number(0), rank) + 1;
          const Dtype dtype = r.input(0).dtype();
          // Scaled and shifted afterwards: halves must not be rounded before.
          const Value x = affine ? wide(r.with_examples(0)) : r.with_examples(0);
          const Attrs attrs = Attrs().number(axis).real(r.attrs.real(1));
          const std::vector<Value> inputs =
              affine ? std::vector<Value>{x}
                     : std::vector<Value>{x, r.has(1) ? r.input(1) : Value(),
                                          r.has(2) ? r.input(2) : Value()};
          std::vector<Value> y = call_all(kLayerNorm, inputs, attrs, 3);
          if (affine && r.has(1)) y[0] = y[0] * wide(r.aligned(1, rank));
          if (affine && r.has(2)) y[0] = y[0] + wide(r.aligned(2, rank));
          y[0] = as_dtype(y[0], dtype);
          for (int i = 0; i < 3; ++i) r.set(i, y[static_cast<size_t>(i)]);
        },
};

// With xhat = (x - mean) rstd and gs = g scale: dx = rstd (gs - mean(gs) - xhat mean(gs xhat)).
void compose_backward(Compose& r) {
  const Value g = wide(r.input(0)), x = wide(r.input(1));
  const Dtype dtype = r.input(1).dtype();
  const int axis = normal_axis("layer_norm", "axis", r.attrs.number(0), x.rank());
  const Ints rows = axes_between(0, axis), features = axes_between(axis, x.rank());
  const Value rstd = per_row(r.input(4), x.dims(), axis);
  const Value xhat = (x - per_row(r.input(3), x.dims(), axis)) * rstd;
  const Value gs = r.has(2) ? g * wide(r.input(2)) : g;
  const Value dx =
      rstd * (gs - mean_keeping(gs, features) - xhat * mean_keeping(gs * xhat, features));
  r.set(0, as_dtype(dx, dtype));
  r.set(1, as_dtype(sum(g * xhat, rows, false), dtype));
  r.set(2, as_dtype(sum(g, rows, false), dtype));
}

constexpr OpDef op_layer_norm_backward = {
    .number = kLayerNormBackward,
    .name = "layer_norm_backward",
    .family = "norm",
    .doc = "Gradients of layer_norm with respect to x, scale and bias.",
    .inputs = {in("g", kAnyFloatSet), in("x", kAnyFloatSet), optional_in("scale", kAnyFloatSet),
               fixed_in("mean", kFloatSet), fixed_in("rstd", kFloatSet)},
    .attrs = {kAxis},
    .outputs = {out("dx"), out("dscale"), out("dbias")},
    .traits = kHidden,
    .infer =
        [](Infer& r) {
          const int axis = r.axis(0, r.rank(1));
          r.need_same(0, r.dims(1));
          if (r.has(2)) r.need_same(2, tail(r.dims(1), axis));
          r.need_same(3, head(r.dims(1), axis));
          r.need_same(4, head(r.dims(1), axis));
          need_wide(r, 1, {3, 4});
          r.set(0, r.dtype(1), r.dims(1));
          r.set(1, r.dtype(1), tail(r.dims(1), axis));
          r.set(2, r.dtype(1), tail(r.dims(1), axis));
        },
    .compose = compose_backward,
};

constexpr const OpDef* kOps[] = {&op_layer_norm, &op_layer_norm_backward};

}  // namespace

extern const OpFamily norm_ops = kOps;

}  // namespace dlcore
