// SPDX-License-Identifier: Apache-2.0
// Layers that change shapes.
#include "core/base/error.h"
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

Value unflatten(const LayerCall& c, const Value& x) {
  const Dims dims = x.dims();
  const auto axis =
      static_cast<size_t>(normal_axis("unflatten_layer", "axis", c.attrs.number(0), x.rank()));
  const DimMath math(c.ctx);
  Dims shape, sizes;
  for (int64_t size : c.attrs.list(1)) sizes.push_back(size);
  if (!(math.product(sizes) == dims[axis])) {
    invalid("unflatten_layer: axis {} of x is {}, expected {}, the product of sizes {}", axis,
            math.text(dims[axis]), math.text(math.product(sizes)), math.text(sizes));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == axis) {
      shape.append(sizes);
    } else {
      shape.push_back(dims[i]);
    }
  }
  return reshape(x, shape);
}

constexpr LayerDef kUnflatten = {
    .number = 20,
    .name = "Unflatten",
    .function = "unflatten_layer",
    .doc =
        "Splits one axis into several.\n\n"
        "With axis 1 and sizes [1, 28, 28], [N, 784] becomes [N, 1, 28, 28].",
    .attrs = {required(int_attr("axis", "the axis that is split")),
              required(ints_attr("sizes", "of the new axes; their product is the axis's size"))},
    .check =
        [](const AttrReader& attrs, const char* function) {
          for (int64_t size : attrs.list(1)) {
            if (size < 0) invalid("{}: sizes has {}, expected 0 or more", function, size);
          }
        },
    .forward = unflatten,
};

constexpr const LayerDef* kLayers[] = {&kFlatten, &kUnflatten};

}  // namespace

extern const LayerFamily shape_layers = kLayers;

}  // namespace dlcore
