// SPDX-License-Identifier: Apache-2.0
// Batch normalisation. The op is pure: it gives the statistics of the batch, and whoever keeps
// running ones blends them in (core/nn/layers/normalization.cc).
#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kBatchNorm = 97, kBatchNormBackward = 98, kMean = 81;
enum Input { kX, kScale, kBias, kGivenMean, kGivenVariance };

constexpr AttrDef kTraining =
    bool_attr("training", "normalises by the statistics of x instead of those given");
constexpr AttrDef kEpsilon = float_attr("epsilon", "added to the variance", 1e-5);

// [C] against x: size-1 axes for the others.
Value per_channel(const Value& s, int rank) {
  Dims shape(static_cast<size_t>(rank), Dim(1));
  shape[1] = s.dim(0);
  return reshape(s, shape);
}
Ints all_but_channels(int rank) {
  Ints axes;
  for (int i = 0; i < rank; ++i) {
    if (i != 1) axes.push_back(i);
  }
  return axes;
}
Dims without_channels(const Dims& dims) {
  Dims others;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 1) others.push_back(dims[i]);
  }
  return others;
}
Value mean_keeping(const Value& x) {
  return call(kMean, {x}, Attrs().optional_list(all_but_channels(x.rank())).flag(true));
}
Value inverse_deviation(const Value& variance, double epsilon) {
  return 1.0 / sqrt(variance + epsilon);
}

void infer_batch_norm(Infer& r) {
  r.need_rank(kX, 2);
  const Dims channels = {r.dim(kX, 1)};
  const Dtype state = wide_dtype(r.dtype(kX));
  for (int i = kScale; i <= kGivenVariance; ++i) {
    if (r.has(i)) r.need_same(i, channels);
  }
  if (!(r.attrs.real(1) >= 0)) r.refuse("epsilon is {}, expected 0 or more", r.attrs.real(1));
  if (r.attrs.flag(0)) {
    const Dim values = r.math.product(without_channels(r.dims(kX)));
    if (!values.symbolic() && values.value < 2) {
      r.refuse("training needs more than one value per channel: x is {}, which has {}",
               r.math.text(r.dims(kX)), values.value);
    }
  } else {
    for (int i : {kGivenMean, kGivenVariance}) {
      if (r.has(i)) continue;
      r.refuse("{} is missing, expected [{}] outside training",
               r.op.inputs[static_cast<size_t>(i)].name, r.math.text(channels[0]));
    }
    need_wide(r, kX, {kGivenMean, kGivenVariance});
  }
  r.set(0, r.dtype(kX), r.dims(kX));
  r.set(1, state, channels);
  r.set(2, state, channels);
}

// Gradients that came to the hidden outputs, the statistics, on their way to x.
Value through_statistics(Vjp& r) {
  if (!r.g(1) && !r.g(2)) return {};
  const Dims dims = r.input_dims(kX);
  const Value x = wide(r.input(kX)), size = size_value(x, without_channels(dims));
  Value dx;
  if (r.g(1)) dx = broadcast_to(per_channel(r.g(1), x.rank()) / size, dims);
  if (r.g(2)) {
    const Value centered = x - per_channel(r.output(1), x.rank());
    const Value part = centered * (per_channel(r.g(2), x.rank()) * 2.0 / size);
    dx = dx ? dx + part : part;
  }
  return as_dtype(dx, r.input_dtype(kX));
}

Value sum_of(const Value& a, const Value& b) { return !a ? b : !b ? a : a + b; }

void batch_norm_vjp(Vjp& r) {
  const bool training = r.attrs.flag(0);
  Value dx, dmean, dvariance;
  if (r.g(0)) {
    const std::vector<Value> inputs = {r.g(0), r.input(kX), r.input(kScale), r.output(1),
                                       r.output(2)};
    std::vector<Value> d = call_all(kBatchNormBackward, inputs, r.attrs.words(), 3);
    dx = d[0];
    if (r.needs(kScale)) r.set(kScale, d[1]);
    if (r.needs(kBias)) r.set(kBias, d[2]);
    if (!training && (r.needs(kGivenMean) || r.needs(kGivenVariance))) {
      const Value rstd = inverse_deviation(r.output(2), r.attrs.real(1));
      const Value slope = r.has_input(kScale) ? wide(r.input(kScale)) * rstd : rstd;
      dmean = -(wide(d[2]) * slope);
      dvariance = wide(d[1]) * slope * rstd * -0.5;
    }
  }
  if (training) {
    r.set(kX, sum_of(dx, through_statistics(r)));
    return;
  }
  if (dx) r.set(kX, dx);
  if (r.needs(kGivenMean)) r.set(kGivenMean, sum_of(dmean, r.g(1)));
  if (r.needs(kGivenVariance)) r.set(kGivenVariance, sum_of(dvariance, r.g(2)));
}

// Examples become channels: [B, N, C, ...] is [N, B C, ...].
Value fold_examples(const Value& x, const DimMath& math) {
  const Value moved = move_axis(x, 0, 1);
  Dims shape = {moved.dim(0), math.multiply(moved.dim(1), moved.dim(2))};
  for (int i = 3; i < moved.rank(); ++i) shape.push_back(moved.dim(i));
  return reshape(moved, shape);
}
Value fold_channels(const Value& s, const DimMath& math) {
  return reshape(s, {math.multiply(s.dim(0), s.dim(1))});
}
Value unfold_examples(const Value& y, int64_t size, const DimMath& math) {
  Dims shape = {y.dim(0), Dim(size), math.divide(y.dim(1), Dim(size))};
  for (int i = 2; i < y.rank(); ++i) shape.push_back(y.dim(i));
  return move_axis(reshape(y, shape), 1, 0);
}
Value unfold_channels(const Value& s, int64_t size, const DimMath& math) {
  return reshape(s, {Dim(size), math.divide(s.dim(0), Dim(size))});
}

// The first `images` inputs, and the first output, are like x; the others are per channel.
void batch_by_channels(Batch& r, int images) {
  const DimMath math(r.ctx);
  std::vector<Value> inputs;
  for (int i = 0; i < r.input_count(); ++i) {
    if (!r.has(i)) {
      inputs.emplace_back();
    } else if (i < images) {
      inputs.push_back(fold_examples(r.with_examples(i), math));
    } else {
      inputs.push_back(fold_channels(r.with_examples(i), math));
    }
  }
  std::vector<Value> y = call_all(r.op.number, inputs, r.attrs.words(), 3);
  r.set(0, unfold_examples(y[0], r.size, math));
  r.set(1, unfold_channels(y[1], r.size, math));
  r.set(2, unfold_channels(y[2], r.size, math));
}

constexpr OpDef op_batch_norm = {
    .number = kBatchNorm,
    .name = "batch_norm",
    .family = "norm",
    .doc =
        "(x - mean) / sqrt(variance + epsilon) * scale + bias for each channel, axis 1. In "
        "training mean and (biased) variance are those of x over all other axes, of which there "
        "must be more than one value a channel; else they are given (Ioffe and Szegedy 2015, "
        "arXiv:1502.03167).",
    .inputs = {in("x", kAnyFloatSet, "[N, C, ...]"),
               optional_in("scale", kAnyFloatSet, "[C]"),
               optional_in("bias", kAnyFloatSet, "[C]"),
               {.name = "mean",
                .doc = "[C], f32 beside an x of half precision, else of its dtype",
                .dtypes = kFloatSet,
                .promotes = false,
                .optional = true},
               {.name = "variance",
                .doc = "[C], as mean",
                .dtypes = kFloatSet,
                .promotes = false,
                .optional = true}},
    .attrs = {kTraining, kEpsilon},
    .outputs = {out(), hidden_out("mean", "that was used, f32 for half precision"),
                hidden_out("variance", "as mean")},
    .infer = infer_batch_norm,
    .vjp = batch_norm_vjp,
    .saves =
        [](uint32_t) {
          return save_input(kX) | save_input(kScale) | save_output(1) | save_output(2);
        },
    .batch = [](Batch& r) { batch_by_channels(r, 1); },
};

// With xhat = (x - mean) rstd and gs = g scale: dx = rstd (gs - mean(gs) - xhat mean(gs xhat)) in
// training, and rstd gs with statistics as given.
void compose_backward(Compose& r) {
  const Dtype dtype = r.input(1).dtype();
  const Value g = wide(r.input(0)), x = wide(r.input(1));
  const Value mean = per_channel(r.input(3), x.rank());
  const Value rstd = per_channel(inverse_deviation(r.input(4), r.attrs.real(1)), x.rank());
  const Value xhat = (x - mean) * rstd;
  const Value gs = r.has(2) ? g * per_channel(wide(r.input(2)), x.rank()) : g;
  Value dx = gs;
  if (r.attrs.flag(0)) dx = gs - mean_keeping(gs) - xhat * mean_keeping(gs * xhat);
  const Ints axes = all_but_channels(x.rank());
  r.set(0, as_dtype(rstd * dx, dtype));
  r.set(1, as_dtype(sum(g * xhat, axes, false), dtype));
  r.set(2, as_dtype(sum(g, axes, false), dtype));
}

constexpr OpDef op_batch_norm_backward = {
    .number = kBatchNormBackward,
    .name = "batch_norm_backward",
    .family = "norm",
    .doc = "Gradients of batch_norm with respect to x, scale and bias.",
    .inputs = {in("g", kAnyFloatSet), in("x", kAnyFloatSet), optional_in("scale", kAnyFloatSet),
               fixed_in("mean", kFloatSet), fixed_in("variance", kFloatSet)},
    .attrs = {kTraining, kEpsilon},
    .outputs = {out("dx"), out("dscale"), out("dbias")},
    .traits = kHidden,
    .infer =
        [](Infer& r) {
          r.need_rank(1, 2);
          r.need_same(0, r.dims(1));
          const Dims channels = {r.dim(1, 1)};
          for (int i = 2; i <= 4; ++i) {
            if (r.has(i)) r.need_same(i, channels);
          }
          need_wide(r, 1, {3, 4});
          r.set(0, r.dtype(1), r.dims(1));
          r.set(1, r.dtype(1), channels);
          r.set(2, r.dtype(1), channels);
        },
    .compose = compose_backward,
    .batch = [](Batch& r) { batch_by_channels(r, 2); },
};

constexpr const OpDef* kOps[] = {&op_batch_norm, &op_batch_norm_backward};

}  // namespace

extern const OpFamily batch_norm_ops = kOps;

}  // namespace dlcore
