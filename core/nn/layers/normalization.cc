// SPDX-License-Identifier: Apache-2.0
// Layers that normalise.
#include "core/base/error.h"
#include "core/nn/initial.h"
#include "core/nn/layer.h"

namespace dlcore {
namespace {

constexpr int32_t kLayerNormOp = 95;
enum : int { kFeatures, kEpsilon };

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
    .check =
        [](const AttrReader& attrs, const char* function) {
          if (attrs.number(kFeatures) < 0) {
            invalid("{}: features is {}, expected 0 or more", function, attrs.number(kFeatures));
          }
          if (!(attrs.real(kEpsilon) >= 0)) {
            invalid("{}: epsilon is {}, expected 0 or more", function, attrs.real(kEpsilon));
          }
        },
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

constexpr const LayerDef* kLayers[] = {&kLayerNorm};

}  // namespace

extern const LayerFamily normalization_layers = kLayers;

}  // namespace dlcore
