// SPDX-License-Identifier: Apache-2.0
// Layers that do something in training only.
#include "core/base/error.h"
#include "core/nn/layer.h"
#include "core/ops/calls.h"

namespace dlcore {
namespace {

// What is dropped is chosen, not multiplied by 0, so that an infinite element is dropped too.
Value dropout(const LayerCall& c, const Value& x) {
  const double p = c.attrs.real(0);
  if (!c.training || p == 0) return x;
  const Value kept = random_bernoulli(c.ctx, x.dims(), 1 - p);
  return where(kept, x * (p < 1 ? 1 / (1 - p) : 0.0), weak(c.ctx, 0));
}

constexpr LayerDef kDropout = {
    .number = 12,
    .name = "Dropout",
    .function = "dropout_layer",
    .doc =
        "Sets each element to zero with probability p, and divides the others by 1 - p.\n\n"
        "In training only. Srivastava et al. 2014.",
    .attrs = {positional(float_attr("p", "probability of being dropped", 0.5))},
    .check =
        [](const AttrReader& attrs, const char* function) {
          const double p = attrs.real(0);
          if (!(p >= 0 && p <= 1)) invalid("{}: p is {}, expected 0 to 1", function, p);
        },
    .forward = dropout,
};

constexpr const LayerDef* kLayers[] = {&kDropout};

}  // namespace

extern const LayerFamily regularization_layers = kLayers;

}  // namespace dlcore
