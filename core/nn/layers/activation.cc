// SPDX-License-Identifier: Apache-2.0
// Activation functions as layers: the op of the same name with the layer's attributes.
#include "core/nn/layer.h"

namespace dlcore {
namespace {

template <int32_t kOp>
Value forward(const LayerCall& c, const Value& x) {
  return call(kOp, {x}, c.attrs.words());
}

constexpr LayerDef kRelu = {
    .number = 3,
    .name = "ReLU",
    .function = "relu_layer",
    .doc = "max(x, 0).",
    .forward = forward<35>,
};

constexpr LayerDef kGelu = {
    .number = 4,
    .name = "GELU",
    .function = "gelu_layer",
    .doc =
        "x times the cumulative normal distribution at x.\n\n"
        "Hendrycks and Gimpel 2016 (arXiv:1606.08415).",
    .attrs = {string_attr("approximate", "none: exact; tanh: by the hyperbolic tangent", "none",
                          "none|tanh")},
    .forward = forward<36>,
};

constexpr LayerDef kSilu = {
    .number = 5,
    .name = "SiLU",
    .function = "silu_layer",
    .doc = "x sigmoid(x), also called swish.",
    .forward = forward<37>,
};

constexpr LayerDef kSigmoid = {
    .number = 6,
    .name = "Sigmoid",
    .function = "sigmoid_layer",
    .doc = "1 / (1 + exp(-x)).",
    .forward = forward<34>,
};

constexpr LayerDef kTanh = {
    .number = 7,
    .name = "Tanh",
    .function = "tanh_layer",
    .doc = "The hyperbolic tangent.",
    .forward = forward<33>,
};

constexpr LayerDef kLeakyRelu = {
    .number = 8,
    .name = "LeakyReLU",
    .function = "leaky_relu_layer",
    .doc = "x where x > 0, else negative_slope x.",
    .attrs = {float_attr("negative_slope", "slope below 0", 0.01)},
    .forward = forward<51>,
};

constexpr AttrDef kAxis = positional(int_attr("axis", "axis that is summed over", -1));

constexpr LayerDef kSoftmax = {
    .number = 9,
    .name = "Softmax",
    .function = "softmax_layer",
    .doc = "exp(x) / sum(exp(x)) along an axis.",
    .attrs = {kAxis},
    .forward = forward<90>,
};

constexpr LayerDef kLogSoftmax = {
    .number = 10,
    .name = "LogSoftmax",
    .function = "log_softmax_layer",
    .doc = "The logarithm of softmax, without rounding to zero first.",
    .attrs = {kAxis},
    .forward = forward<91>,
};

constexpr const LayerDef* kLayers[] = {&kRelu, &kGelu,      &kSilu,    &kSigmoid,
                                       &kTanh, &kLeakyRelu, &kSoftmax, &kLogSoftmax};

}  // namespace

extern const LayerFamily activation_layers = kLayers;

}  // namespace dlcore
