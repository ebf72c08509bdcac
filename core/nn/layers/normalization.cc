// SPDX-License-Identifier: Apache-2.0
// Layers that normalise.
#include "core/base/error.h"
#include "core/nn/initial.h"
#include "core/nn/layer.h"
#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kLayerNormOp = 95, kBatchNormOp = 97;
enum : int { kFeatures, kEpsilon };

void check_norm(const AttrReader& attrs, const char* function, double epsilon) {
  if (attrs.number(kFeatures) < 0) {
    invalid("{}: features is {}, expected 0 or more", function, attrs.number(kFeatures));
  }
  if (!(epsilon >= 0)) invalid("{}: epsilon is {}, expected 0 or more", function, epsilon);
}

constexpr LayerDef kLayerNorm = {
    .number = 13,
    .name = "LayerNorm",
    .function = "layer_norm_layer",
    .doc =
        "Normalises the last axis to mean 0 and variance 1, then scales and shifts it.\n\n"
        "x is [..., features]. The variance is the biased one. Ba, Kiros and Hinton 2016 "
        "(arXiv:1607.06450).",
    .attrs = {required(int_attr("features", "size of the last axis of x")),
              float_attr("epsilon", "added to the variance", 1e-5)},
    .variables = {{"weight", "[features], starts at 1"}, {"bias", "[features], starts at 0"}},
    .check = [](const AttrReader& attrs,
                const char* function) { check_norm(attrs, function, attrs.real(kEpsilon)); },
    .specify =
        [](const AttrReader& attrs, size_t i, VariableSpec& spec) {
          spec.shape = {attrs.number(kFeatures)};
          spec.initial = i == 0 ? kInitialOnes : kInitialZeros;
          return true;
        },
    .forward =
        [](const LayerCall& c, const Value& x) {
          return call(kLayerNormOp, {x, c.variable(0), c.variable(1)},
                      Attrs().number(-1).real(c.attrs.real(kEpsilon)));
        },
};

namespace batch {
enum : int { kFeatures, kMomentum, kEpsilon, kAffine };
enum : size_t { kWeight, kBias, kRunningMean, kRunningVariance };

void check(const AttrReader& attrs, const char* function) {
  check_norm(attrs, function, attrs.real(kEpsilon));
  const double momentum = attrs.real(kMomentum);
  if (!(momentum >= 0 && momentum <= 1)) {
    invalid("{}: momentum is {}, expected 0 to 1", function, momentum);
  }
}

bool specify(const AttrReader& attrs, size_t i, VariableSpec& spec) {
  spec.shape = {attrs.number(kFeatures)};
  spec.initial = i == kWeight || i == kRunningVariance ? kInitialOnes : kInitialZeros;
  return attrs.flag(kAffine) || i >= kRunningMean;
}

// (1 - momentum) old + momentum new, of the unbiased variance.
void update_running(const LayerCall& c, const Value& x, const Value& mean, const Value& variance) {
  const ModeGuard modes(c.ctx);
  c.ctx.recording = false;
  const double momentum = c.attrs.real(kMomentum);
  Dims others = x.dims();
  others.erase(1);
  const Value running_mean = c.variable(kRunningMean);
  const Value running_variance = c.variable(kRunningVariance);
  const Value fresh_mean = as_dtype(mean, running_mean.dtype());
  const Value fresh_variance = as_dtype(variance, running_variance.dtype());
  const Value n = size_value(fresh_variance, others);
  const Value unbiased = fresh_variance * (n / (n + -1.0));
  const Value updated[] = {running_mean * (1 - momentum) + fresh_mean * momentum,
                           running_variance * (1 - momentum) + unbiased * momentum};
  c.assign(kRunningMean, updated);
}

Value forward(const LayerCall& c, const Value& x) {
  const Attrs attrs = Attrs().flag(c.training).real(c.attrs.real(kEpsilon));
  std::vector<Value> inputs = {x, c.variable(kWeight), c.variable(kBias)};
  if (!c.training) {
    const Dtype dtype = wide_dtype(inputs[1] ? promote(x.dtype(), inputs[1].dtype()) : x.dtype());
    inputs.push_back(as_dtype(c.variable(kRunningMean), dtype));
    inputs.push_back(as_dtype(c.variable(kRunningVariance), dtype));
  }
  std::vector<Value> outputs = call_all(kBatchNormOp, inputs, attrs, 3);
  if (c.training) update_running(c, x, outputs[1], outputs[2]);
  return outputs[0];
}
}  // namespace batch

constexpr LayerDef kBatchNorm = {
    .number = 19,
    .name = "BatchNorm",
    .function = "batch_norm_layer",
    .doc =
        "Normalises each channel, axis 1, to mean 0 and variance 1, then scales and shifts it.\n\n"
        "x is [N, features, ...]. In training the mean and the (biased) variance are those of x, "
        "and the running ones become (1 - momentum) times themselves plus momentum times those, "
        "of which the variance is then the unbiased one; in inference the running ones are used. "
        "The running statistics change when the layer has been computed, even when a later part "
        "of the step fails; in a captured graph they change with everything else that a run "
        "assigns. Ioffe and Szegedy 2015 (arXiv:1502.03167).",
    .attrs = {required(int_attr("features", "size of axis 1 of x")),
              float_attr("momentum", "share of the batch in the running statistics", 0.1),
              float_attr("epsilon", "added to the variance", 1e-5),
              bool_attr("affine", "whether the result is scaled and shifted", true)},
    .variables = {{"weight", "[features], starts at 1"},
                  {"bias", "[features], starts at 0"},
                  {"running_mean", "[features], starts at 0; not trainable", false},
                  {"running_variance", "[features], starts at 1; not trainable", false}},
    .check = batch::check,
    .specify = batch::specify,
    .forward = batch::forward,
};

constexpr const LayerDef* kLayers[] = {&kLayerNorm, &kBatchNorm};

}  // namespace

extern const LayerFamily normalization_layers = kLayers;

}  // namespace dlcore
