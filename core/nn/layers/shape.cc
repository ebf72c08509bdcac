// SPDX-License-Identifier: Apache-2.0
// Layers that change shapes.
#include "core/nn/layer.h"
#include "core/ops/calls.h"
#include "core/ops/rules.h"

namespace dlcore {
namespace {

Value flatten(const LayerCall& c, const Value& x) {
  const Dims dims = x.dims();
  const auto start =
      static_cast<size_t>(normal_axis("flatten_layer", "start_axis", c.attrs.number(0), x.rank()));
  Dims shape, joined;
  for (size_t i = 0; i < dims.size(); ++i) (i < start ? shape : joined).push_back(dims[i]);
  shape.push_back(DimMath(c.ctx).product(joined));
  return reshape(x, shape);
}

constexpr LayerDef kFlatten = {
    .number = 11,
    .name = "Flatten",
    .function = "flatten_layer",
    .doc =
        "Joins start_axis and all axes after it into one.\n\n"
        "[N, C, H, W] becomes [N, C*H*W].",
    .attrs = {int_attr("start_axis", "first axis that is joined", 1)},
    .forward = flatten,
};

constexpr const LayerDef* kLayers[] = {&kFlatten};

}  // namespace

extern const LayerFamily shape_layers = kLayers;

}  // namespace dlcore
