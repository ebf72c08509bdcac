// SPDX-License-Identifier: Apache-2.0
// How a layer is described. One layer is one constexpr LayerDef in core/nn/layers/: schema,
// variables and the forward computation side by side. See layers/linear.cc for the simplest example
// with variables.
#pragma once

#include <string_view>

#include "core/ops/attrs.h"
#include "core/ops/schema.h"
#include "core/ops/value.h"
#include "core/tensor/variable.h"

namespace dlcore {

class Module;

enum class Children : uint8_t { kNone, kOne, kList };

struct LayerVariable {
  const char* name = "";
  const char* doc = "";
  bool trainable = true;
};

// A variable as the attributes of one module make it.
struct VariableSpec {
  Dtype dtype = DLCORE_F32;
  Dims shape;
  InitialValue initial;
};

// What the forward computation of a layer sees of its module.
class LayerCall {
 public:
  LayerCall(Context& ctx, Module& module);

  Context& ctx;
  const AttrReader attrs;
  const bool training;  // of context and module both

  // Variable `i` of the description, read; absent when the attributes leave it out.
  Value variable(size_t i) const;
  // Assigns values, without history, to variables from number `first` on: all at one moment for
  // whoever locks them together, or as updates of the graph while capturing.
  void assign(size_t first, std::span<const Value> values) const;
  size_t child_count() const;
  Module& module() const { return module_; }
  Value call_child(size_t i, const Value& x) const;

 private:
  Module& module_;
};

struct LayerDef {
  int32_t number = 0;  // permanent, never reused
  int32_t version = 1;
  const char* name = "";
  const char* function = "";  // what the typed function is called
  const char* doc = "";
  FixedList<AttrDef, 10> attrs{};
  Children children = Children::kNone;
  FixedList<LayerVariable, 4> variables{};

  // Throws INVALID_ARGUMENT; `function` starts the message.
  void (*check)(const AttrReader& attrs, const char* function) = nullptr;
  // Describes variable `i`; false when the attributes leave it out.
  bool (*specify)(const AttrReader& attrs, size_t i, VariableSpec& spec) = nullptr;
  Value (*forward)(const LayerCall& call, const Value& x) = nullptr;
};

constexpr std::span<const AttrDef> attr_defs(const LayerDef& layer) {
  return {layer.attrs.begin(), layer.attrs.size()};
}

// One file of layers.
using LayerFamily = std::span<const LayerDef* const>;

// In the order of their numbers.
std::span<const LayerDef* const> all_layers();
const LayerDef* find_layer(int32_t number);  // nullptr when there is none
const LayerDef* find_layer(std::string_view name);

}  // namespace dlcore
