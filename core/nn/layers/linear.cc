// SPDX-License-Identifier: Apache-2.0
// Layers that multiply by a matrix of weights.
#include "core/base/error.h"
#include "core/nn/initial.h"
#include "core/nn/layer.h"
#include "core/ops/families/dense.h"

namespace dlcore {
namespace {

constexpr int32_t kLinearOp = 111, kDense = 115;
enum : int { kInFeatures, kOutFeatures, kBias, kInit, kActivation };
enum : size_t { kWeightVariable, kBiasVariable };

void check(const AttrReader& attrs, const char* function) {
  for (const int i : {kInFeatures, kOutFeatures}) {
    if (attrs.number(i) >= 0) continue;
    invalid("{}: {} is {}, expected 0 or more", function,
            i == kInFeatures ? "in_features" : "out_features", attrs.number(i));
  }
}

bool specify(const AttrReader& attrs, size_t i, VariableSpec& spec) {
  const int64_t in = attrs.number(kInFeatures), out = attrs.number(kOutFeatures);
  if (i == kWeightVariable) {
    spec.shape = {out, in};
    spec.initial = initial_weight(attrs.text(kInit), in, out);
    return true;
  }
  spec.shape = {out};
  spec.initial = initial_bias(attrs.text(kInit), in);
  return attrs.flag(kBias);
}

Value forward(const LayerCall& c, const Value& x) {
  const Value inputs[] = {x, c.variable(kWeightVariable), c.variable(kBiasVariable)};
  const std::string_view activation = c.attrs.text(kActivation);
  if (activation == "none") return call(kLinearOp, inputs);
  return call(kDense, inputs, Attrs().text(activation));
}

constexpr LayerDef kLinear = {
    .number = 1,
    .name = "Linear",
    .function = "linear_layer",
    .doc =
        "x times the transposed weight, plus the bias, then the activation.\n\n"
        "x is [..., in_features], the result [..., out_features].",
    .attrs = {required(int_attr("in_features", "size of the last axis of x")),
              required(int_attr("out_features", "size of the last axis of the result")),
              bool_attr("bias", "whether a bias is added", true),
              string_attr(
                  "init",
                  "how the weight starts. default: uniform in +-1/sqrt(in_features), and the "
                  "bias too; with the others the bias starts at zero",
                  "default", kInitializers),
              string_attr("activation", "the op that is applied to the result; see dense", "none",
                          kActivations)},
    .variables = {{"weight", "[out_features, in_features]"}, {"bias", "[out_features]"}},
    .check = check,
    .specify = specify,
    .forward = forward,
};

constexpr const LayerDef* kLayers[] = {&kLinear};

}  // namespace

extern const LayerFamily linear_layers = kLayers;

}  // namespace dlcore
