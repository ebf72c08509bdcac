// SPDX-License-Identifier: Apache-2.0
// Activation functions and the fused forms of their derivatives.
#include <numbers>

#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kExpm1 = 26, kTanh = 33, kSigmoid = 34, kRelu = 35, kGelu = 36, kSilu = 37,
                  kSoftplus = 38, kLeakyRelu = 51, kElu = 52, kReluBackward = 60,
                  kSigmoidBackward = 61, kTanhBackward = 62, kGeluBackward = 63, kSiluBackward = 64;

Value relu_backward(const Value& g, const Value& y) { return call(kReluBackward, {g, y}); }
Value sigmoid_backward(const Value& g, const Value& y) { return call(kSigmoidBackward, {g, y}); }
Value tanh_backward(const Value& g, const Value& y) { return call(kTanhBackward, {g, y}); }
Value gelu_backward(const Value& g, const Value& x, AttrReader attrs) {
  return call(kGeluBackward, {g, x}, attrs.words());
}
Value silu_backward(const Value& g, const Value& x) { return call(kSiluBackward, {g, x}); }

Value d_tanh(const Value& t, const Value&, const Value& y) { return tanh_backward(t, y); }
Value d_sigmoid(const Value& t, const Value&, const Value& y) { return sigmoid_backward(t, y); }
Value d_relu(const Value& t, const Value&, const Value& y) { return relu_backward(t, y); }
Value d_silu(const Value& t, const Value& x, const Value&) { return silu_backward(t, x); }
Value d_softplus(const Value& t, const Value& x, const Value&) { return t * sigmoid(x); }

constexpr OpDef op_tanh = {
    .number = kTanh,
    .name = "tanh",
    .family = "activations",
    .doc = "The hyperbolic tangent.",
    .inputs = {in("x", kAnyFloatSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = unary_vjp<d_tanh>,
    .saves = saves_y,
    .jvp = unary_jvp<d_tanh>,
    .batch = batch_elementwise,
};

constexpr OpDef op_sigmoid = {
    .number = kSigmoid,
    .name = "sigmoid",
    .family = "activations",
    .doc = "1 / (1 + exp(-x)), without overflow.",
    .inputs = {in("x", kAnyFloatSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = unary_vjp<d_sigmoid>,
    .saves = saves_y,
    .jvp = unary_jvp<d_sigmoid>,
    .batch = batch_elementwise,
};

constexpr OpDef op_relu = {
    .number = kRelu,
    .name = "relu",
    .family = "activations",
    .doc = "max(x, 0); NaN stays NaN. The derivative at 0 is 0.",
    .inputs = {in("x", kAnyNumericSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = unary_vjp<d_relu>,
    .saves = saves_y,
    .jvp = unary_jvp<d_relu>,
    .batch = batch_elementwise,
};

constexpr AttrDef kApproximate =
    string_attr("approximate", "\"tanh\": 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))", "none",
                "none|tanh");

constexpr OpDef op_gelu = {
    .number = kGelu,
    .name = "gelu",
    .family = "activations",
    .doc =
        "x times the cumulative normal distribution at x (Hendrycks and Gimpel 2016, "
        "arXiv:1606.08415).",
    .inputs = {in("x", kAnyFloatSet)},
    .attrs = {kApproximate},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = [](Vjp& r) { r.set(0, gelu_backward(r.g(), r.input(0), r.attrs)); },
    .saves = saves_x,
    .jvp = [](Jvp& r) { r.set(0, gelu_backward(r.tangent(0), r.input(0), r.attrs)); },
    .batch = batch_elementwise,
};

constexpr OpDef op_silu = {
    .number = kSilu,
    .name = "silu",
    .family = "activations",
    .doc = "x * sigmoid(x), also called swish.",
    .inputs = {in("x", kAnyFloatSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = unary_vjp<d_silu>,
    .saves = saves_x,
    .jvp = unary_jvp<d_silu>,
    .batch = batch_elementwise,
};

constexpr OpDef op_softplus = {
    .number = kSoftplus,
    .name = "softplus",
    .family = "activations",
    .doc = "log(1 + exp(x)), without overflow.",
    .inputs = {in("x", kAnyFloatSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = unary_vjp<d_softplus>,
    .saves = saves_x,
    .jvp = unary_jvp<d_softplus>,
    .batch = batch_elementwise,
};

// 1 above 0, the slope elsewhere.
Value leaky_slope(const Value& x, AttrReader attrs) {
  return where(greater(x, zeros_like(x)), full_like(x, {}, 1), full_like(x, {}, attrs.real(0)));
}

constexpr OpDef op_leaky_relu = {
    .number = kLeakyRelu,
    .name = "leaky_relu",
    .family = "activations",
    .doc = "x above 0, negative_slope * x elsewhere.",
    .inputs = {in("x", kAnyFloatSet)},
    .attrs = {float_attr("negative_slope", "slope below 0", 0.01)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = [](Vjp& r) { r.set(0, r.g() * leaky_slope(r.input(0), r.attrs)); },
    .saves = saves_x,
    .jvp = [](Jvp& r) { r.set(0, r.tangent(0) * leaky_slope(r.input(0), r.attrs)); },
    .batch = batch_elementwise,
};

constexpr OpDef op_elu = {
    .number = kElu,
    .name = "elu",
    .family = "activations",
    .doc =
        "x above 0, alpha (exp(x) - 1) elsewhere (Clevert, Unterthiner and Hochreiter 2016, "
        "arXiv:1511.07289). The derivative at 0 is alpha.",
    .inputs = {in("x", kAnyFloatSet)},
    .attrs = {float_attr("alpha", "minus what it tends to far below 0", 1.0)},
    .infer = [](Infer& r) { r.set(0, r.dtype(0), r.dims(0)); },
    .compose =
        [](Compose& r) {
          const Value x = wide(r.input(0)), zero = zeros_like(x), above = greater(x, zero);
          // Where x is above 0 the exponential is that of 0: it must not overflow into the gradient.
          const Value below = call(kExpm1, {where(above, zero, x)}) * r.attrs.real(0);
          r.set(0, as_dtype(where(above, x, below), r.input(0).dtype()));
        },
};

constexpr OpDef op_relu_backward = {
    .number = kReluBackward,
    .name = "relu_backward",
    .family = "activations",
    .doc = "g where y = relu(x) is above 0, else 0.",
    .inputs = {in("g", kAnyFloatSet), in("y", kAnyFloatSet)},
    .traits = kElementwise | kHidden,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          r.set(0, relu_backward(r.g(), r.input(1)));
          if (r.needs(1)) r.set(1, zeros_like(r.g()));
        },
    .saves = [](uint32_t) { return save_input(1); },
    .jvp = [](Jvp& r) { r.set(0, relu_backward(r.zero_filled(0), r.input(1))); },
    .batch = batch_elementwise,
};

constexpr OpDef op_sigmoid_backward = {
    .number = kSigmoidBackward,
    .name = "sigmoid_backward",
    .family = "activations",
    .doc = "g y (1 - y).",
    .inputs = {in("g", kAnyFloatSet), in("y", kAnyFloatSet)},
    .traits = kElementwise | kHidden,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          if (r.needs(0)) r.set(0, sigmoid_backward(r.g(), r.input(1)));
          if (r.needs(1)) r.set(1, r.g() * r.input(0) * (r.input(1) * -2.0 + 1.0));
        },
    .saves = saves_both_inputs,
    .batch = batch_elementwise,
};

constexpr OpDef op_tanh_backward = {
    .number = kTanhBackward,
    .name = "tanh_backward",
    .family = "activations",
    .doc = "g (1 - y^2).",
    .inputs = {in("g", kAnyFloatSet), in("y", kAnyFloatSet)},
    .traits = kElementwise | kHidden,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          if (r.needs(0)) r.set(0, tanh_backward(r.g(), r.input(1)));
          if (r.needs(1)) r.set(1, r.g() * r.input(0) * r.input(1) * -2.0);
        },
    .saves = saves_both_inputs,
    .batch = batch_elementwise,
};

// Second derivative of gelu: exact phi(x) (2 - x^2); of the tanh form by the chain rule.
Value gelu_curvature(const Value& x, bool tanh_form) {
  if (!tanh_form) {
    constexpr double kInvSqrt2Pi = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    return exp(square(x) * -0.5) * (2.0 - square(x)) * kInvSqrt2Pi;
  }
  constexpr double k = 0.7978845608028654;  // sqrt(2/pi)
  const Value x2 = square(x);
  const Value t = tanh(x * (x2 * (0.044715 * k) + k));
  const Value inner = x2 * (3 * 0.044715 * k) + k;  // u'
  const Value bend = x * (6 * 0.044715 * k);        // u''
  const Value sech2 = 1.0 - square(t);
  // y = x/2 (1 + t): y'' = sech2 u' + x/2 sech2 (u'' - 2 t u'^2)
  return sech2 * inner + x * sech2 * (bend - t * square(inner) * 2.0) * 0.5;
}

constexpr OpDef op_gelu_backward = {
    .number = kGeluBackward,
    .name = "gelu_backward",
    .family = "activations",
    .doc = "g times the derivative of gelu at x.",
    .inputs = {in("g", kAnyFloatSet), in("x", kAnyFloatSet)},
    .attrs = {kApproximate},
    .traits = kElementwise | kHidden,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          if (r.needs(0)) r.set(0, gelu_backward(r.g(), r.input(1), r.attrs));
          if (r.needs(1))
            r.set(1, r.g() * r.input(0) * gelu_curvature(r.input(1), r.attrs.text(0) == "tanh"));
        },
    .saves = saves_both_inputs,
    .batch = batch_elementwise,
};

constexpr OpDef op_silu_backward = {
    .number = kSiluBackward,
    .name = "silu_backward",
    .family = "activations",
    .doc = "g s (1 + x (1 - s)) with s = sigmoid(x).",
    .inputs = {in("g", kAnyFloatSet), in("x", kAnyFloatSet)},
    .traits = kElementwise | kHidden,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          if (r.needs(0)) r.set(0, silu_backward(r.g(), r.input(1)));
          if (r.needs(1)) {
            const Value s = sigmoid(r.input(1));
            const Value curvature = s * (1.0 - s) * (r.input(1) * (s * -2.0 + 1.0) + 2.0);
            r.set(1, r.g() * r.input(0) * curvature);
          }
        },
    .saves = saves_both_inputs,
    .batch = batch_elementwise,
};

constexpr const OpDef* kOps[] = {
    &op_tanh,          &op_sigmoid,       &op_relu,         &op_gelu,          &op_silu,
    &op_softplus,      &op_leaky_relu,    &op_elu,          &op_relu_backward, &op_sigmoid_backward,
    &op_tanh_backward, &op_gelu_backward, &op_silu_backward};

}  // namespace

extern const OpFamily activations_ops = kOps;

Value tanh(const Value& x) { return call(kTanh, {x}); }
Value sigmoid(const Value& x) { return call(kSigmoid, {x}); }

}  // namespace dlcore
