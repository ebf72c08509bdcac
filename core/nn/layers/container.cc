// SPDX-License-Identifier: Apache-2.0
// Layers made of other layers.
#include "core/nn/layer.h"

namespace dlcore {
namespace {

constexpr LayerDef kSequential = {
    .number = 2,
    .name = "Sequential",
    .function = "sequential",
    .doc =
        "Its children one after the other.\n\nThe paths of their variables start with the child's "
        "number: 0.weight.",
    .children = Children::kList,
    .forward =
        [](const LayerCall& c, const Value& x) {
          Value y = x;
          for (size_t i = 0; i < c.child_count(); ++i) y = c.call_child(i, y);
          return y;
        },
};

constexpr LayerDef kIdentity = {
    .number = 14,
    .name = "Identity",
    .function = "identity_layer",
    .doc = "x as it is.",
    .forward = [](const LayerCall&, const Value& x) { return x; },
};

constexpr const LayerDef* kLayers[] = {&kSequential, &kIdentity};

}  // namespace

extern const LayerFamily container_layers = kLayers;

}  // namespace dlcore
