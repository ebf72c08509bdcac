// SPDX-License-Identifier: Apache-2.0
#include "core/nn/layer.h"

#include <algorithm>
#include <array>

#include "core/base/definitions.h"

namespace dlcore {

extern const LayerFamily activation_layers, container_layers, convolution_layers, embedding_layers,
    linear_layers, normalization_layers, pooling_layers, regularization_layers, shape_layers;

namespace {

constexpr size_t kLayers = 20;

std::array<const LayerDef*, kLayers> collect() {
  std::array<const LayerDef*, kLayers> all{};
  size_t n = 0;
  for (LayerFamily family :
       {activation_layers, container_layers, convolution_layers, embedding_layers, linear_layers,
        normalization_layers, pooling_layers, regularization_layers, shape_layers}) {
    for (const LayerDef* layer : family) all.at(n++) = layer;
  }
  std::ranges::sort(all, {}, [](const LayerDef* layer) { return layer->number; });
  return all;
}

}  // namespace

std::span<const LayerDef* const> all_layers() {
  static const std::array<const LayerDef*, kLayers> all = collect();
  return all;
}

const LayerDef* find_layer(int32_t number) { return find_definition(all_layers(), number); }
const LayerDef* find_layer(std::string_view name) { return find_definition(all_layers(), name); }

}  // namespace dlcore
