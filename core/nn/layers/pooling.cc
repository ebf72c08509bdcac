// SPDX-License-Identifier: Apache-2.0
// Layers that pool over windows.
#include "core/ops/families/pooling.h"

#include "core/nn/layer.h"

namespace dlcore {
namespace {

constexpr int32_t kMaxPoolOp = 170, kAvgPoolOp = 172;

constexpr LayerDef kMaxPool2d = {
    .number = 16,
    .name = "MaxPool2d",
    .function = "max_pool2d_layer",
    .doc =
        "The largest element of each window.\n\n"
        "x is [N, C, H, W], the result [N, C, OH, OW], as of max_pool2d.",
    .attrs = max_pool_attrs<10>(),
    .check = check_max_pool,
    .forward = [](const LayerCall& c,
                  const Value& x) { return call(kMaxPoolOp, {x}, c.attrs.words()); },
};

constexpr LayerDef kAvgPool2d = {
    .number = 17,
    .name = "AvgPool2d",
    .function = "avg_pool2d_layer",
    .doc =
        "The mean of each window.\n\n"
        "x is [N, C, H, W], the result [N, C, OH, OW], as of avg_pool2d.",
    .attrs = avg_pool_attrs<10>(),
    .check = check_avg_pool,
    .forward = [](const LayerCall& c,
                  const Value& x) { return call(kAvgPoolOp, {x}, c.attrs.words()); },
};

constexpr const LayerDef* kLayers[] = {&kMaxPool2d, &kAvgPool2d};

}  // namespace

extern const LayerFamily pooling_layers = kLayers;

}  // namespace dlcore
