// SPDX-License-Identifier: Apache-2.0
// A layer of the catalogue with its attributes, variables and children: a tree, in which each
// module has one parent at most.
//
// Variables come into being when a tree is first called, listed, saved or loaded: only then is it
// known which module is the outermost one, whose number together with the paths decides the initial
// values. From then on the tree is resolved and, if it has variables, can no longer be put inside
// another one.
#pragma once

#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/lent.h"
#include "core/io/named_variables.h"
#include "core/nn/custom_layer.h"
#include "core/nn/layer.h"
#include "core/ops/attrs.h"
#include "core/tensor/variable.h"

namespace dlcore {

class Module : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kModule;

  Module(Context& ctx, const LayerDef& layer, std::span<Module* const> children,
         std::span<const int64_t> attrs);
  // One whose layer the program defines, with variables of its own.
  Module(Context& ctx, std::shared_ptr<const CustomLayer> layer, std::span<Module* const> children,
         std::span<Variable* const> variables);
  // A snapshot: the tree of `of` with `values`, those of its variables at some moment, in their
  // order. It never changes and always runs in inference mode.
  Module(Context& ctx, const Module& of, std::span<const TensorRef> values);
  ~Module();

  const LayerDef& layer() const { return layer_; }
  const CustomLayer& custom() const { return *custom_; }
  AttrReader attrs() const { return {attr_defs(layer_), attrs_.span()}; }
  Engine& engine() const { return counted_.engine(); }

  Value call(Context& ctx, const Value& x);
  // All values of one moment: no step of an optimizer and no run of a graph is in it by half.
  Ref<Module> snapshot(Context& ctx);
  bool frozen() const { return frozen_; }

  bool training() const { return training_.load(std::memory_order_relaxed); }
  // This module and everything inside; returns what this one's mode was. A snapshot throws
  // FAILED_PRECONDITION.
  bool set_training(bool on);

  size_t child_count() const { return children_.size(); }
  Module& child(size_t i) const { return *children_[i]; }

  // The variables of this module and everything inside, in the order of their definition, each
  // under its path ("0.weight").
  using Entry = NamedVariable;
  int64_t variable_count() const { return variable_count_; }
  std::vector<Entry> variables();
  Entry variable(int64_t index);            // throws OUT_OF_RANGE
  Variable& find(const std::string& path);  // throws NOT_FOUND
  // Own variable `i` of the layer's description; nullptr when the attributes leave it out.
  Variable* own_variable(size_t i) const { return variables_[i].get(); }

  void save(Context& ctx, const std::string& path);
  void write(Context& ctx, const WriteFunction& write);
  // `source` is what errors call it.
  void load(Context& ctx, const Safetensors& file, const std::string& source);

 private:
  void take_children(std::span<Module* const> children);
  void adopt_children();
  std::string child_name(size_t i) const;
  const char* variable_name(size_t i) const;
  void resolve();
  void make_variables(uint64_t seed, int64_t number, const std::string& prefix);
  void list(const std::string& prefix, std::vector<Entry>& entries) const;

  const LayerDef& layer_;
  const bool frozen_ = false;
  Words attrs_;
  std::vector<Lent<Module>> children_;
  std::vector<VariableSpec> specs_;  // like layer_.variables
  std::vector<bool> present_;
  std::vector<Lent<Variable>> variables_;  // empty until resolved
  int64_t variable_count_ = 0;             // with those inside
  int height_ = 1;
  std::atomic<bool> training_{true};
  std::atomic<bool> resolved_{false};
  Module* parent_ = nullptr;  // guarded by one lock for all trees
  uint64_t seed_;
  int64_t number_ = 0;
  Counted counted_;
  std::shared_ptr<const CustomLayer> custom_;  // nullptr for a layer of the catalogue
};

}  // namespace dlcore
