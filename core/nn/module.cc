// SPDX-License-Identifier: Apache-2.0
#include "core/nn/module.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/named_stream.h"
#include "core/engine/context.h"
#include "core/graph/capture.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {
namespace {

// Trees are walked recursively.
constexpr int kMaxHeight = 256;

// Guards every link from a child to its parent. Taken when trees are built, first used and taken
// apart.
constinit Mutex tree_lock;

std::string path_of(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

constexpr size_t kPathsShown = 16;

}  // namespace

LayerCall::LayerCall(Context& c, Module& module)
    : ctx(c), attrs(module.attrs()), training(c.training && module.training()), module_(module) {}

Value LayerCall::variable(size_t i) const {
  Variable* variable = module_.own_variable(i);
  return variable == nullptr ? Value() : Value(ctx, variable->read(ctx));
}

void LayerCall::assign(size_t first, std::span<const Value> values) const {
  std::vector<Variable*> variables;
  for (size_t i = 0; i < values.size(); ++i) {
    variables.push_back(module_.own_variable(first + i));
    if (!values[i].tensor().leveled()) continue;
    fail(DLCORE_FAILED_PRECONDITION,
         "{}: its variable '{}' cannot be updated inside a transform; call the module outside, or "
         "in inference mode",
         module_.layer().function, variables.back()->name());
  }
  if (ctx.capture) {
    for (size_t i = 0; i < values.size(); ++i) variables[i]->assign(ctx, values[i].tensor());
    return;
  }
  std::vector<TensorRef> stored;
  for (const Value& value : values) stored.push_back(new_alias(ctx, value.tensor()));
  // Inside a run, whose callback may store into what the run has locked, it is not waited for.
  const LockedRuns alone(ctx.runs > 0 ? std::vector<Variable*>() : variables);
  const LockedVariables locked(variables);
  for (size_t i = 0; i < values.size(); ++i) variables[i]->store_locked(std::move(stored[i]));
}

size_t LayerCall::child_count() const { return module_.child_count(); }

Value LayerCall::call_child(size_t i, const Value& x) const {
  return module_.child(i).call(ctx, x);
}

Module::Module(Context& ctx, const LayerDef& layer, std::span<Module* const> children,
               std::span<const int64_t> attrs)
    : layer_(layer), seed_(ctx.seed()), counted_(ctx.engine(), ctx.engine().live.modules) {
  complete_attrs(layer.function, attr_defs(layer), attrs, /*expressions=*/0, attrs_);
  if (layer.check != nullptr) layer.check(this->attrs(), layer.function);
  const bool takes = layer.children == Children::kList ||
                     children.size() == (layer.children == Children::kOne ? 1u : 0u);
  if (!takes) {
    invalid("{}: {} children were given, expected {}", layer.function, children.size(),
            layer.children == Children::kOne ? "1" : "none");
  }
  for (size_t i = 0; i < layer.variables.size(); ++i) {
    VariableSpec& spec = specs_.emplace_back();
    present_.push_back(layer.specify(this->attrs(), i, spec));
    Ints shape;
    for (Dim d : spec.shape) shape.push_back(d.value);
    checked_count(shape, spec.dtype);
    variable_count_ += present_.back() ? 1 : 0;
  }
  take_children(children);
  number_ = ctx.next_module_number();
}

Module::Module(Context& ctx, std::shared_ptr<const CustomLayer> layer,
               std::span<Module* const> children, std::span<Variable* const> variables)
    : layer_(layer->def()),
      present_(variables.size(), true),
      variable_count_(static_cast<int64_t>(variables.size())),
      seed_(ctx.seed()),
      counted_(ctx.engine(), ctx.engine().live.modules),
      custom_(std::move(layer)) {
  for (Variable* variable : variables) variables_.emplace_back(Ref<Variable>(variable));
  take_children(children);
  number_ = ctx.next_module_number();
}

void Module::take_children(std::span<Module* const> children) {
  for (Module* child : children) {
    children_.emplace_back(Ref<Module>(child));
    variable_count_ += child->variable_count_;
    height_ = std::max(height_, child->height_ + 1);
  }
  if (height_ > kMaxHeight) {
    invalid("{}: modules are nested {} deep, expected at most {}", layer_.function, height_,
            kMaxHeight);
  }
  adopt_children();
}

std::string Module::child_name(size_t i) const {
  return custom_ && !custom_->child_names().empty() ? custom_->child_names()[i] : std::to_string(i);
}

const char* Module::variable_name(size_t i) const {
  return custom_ ? variables_[i]->name().c_str() : layer_.variables[i].name;
}

void Module::adopt_children() {
  std::lock_guard<Mutex> guard(tree_lock);
  for (size_t i = 0; i < children_.size(); ++i) {
    Module& child = *children_[i];
    if (&child.engine() != &engine()) {
      invalid("{}: child {} belongs to another engine", layer_.function, i);
    }
    if (child.parent_ != nullptr) {
      invalid("{}: child {}, a {}, is inside a {} already, expected a module without a parent",
              layer_.function, i, child.layer_.name, child.parent_->layer_.name);
    }
    if (child.frozen_ && !frozen_) {
      fail(DLCORE_FAILED_PRECONDITION,
           "{}: child {}, a {}, is a snapshot, which cannot be part of another model",
           layer_.function, i, child.layer_.name);
    }
    if (!frozen_ && child.variable_count_ > 0 && child.resolved_.load(std::memory_order_relaxed)) {
      fail(DLCORE_FAILED_PRECONDITION,
           "{}: child {}, a {}, has been called or listed already, which fixed the paths of its "
           "variables; build the whole model first",
           layer_.function, i, child.layer_.name);
    }
    for (size_t j = 0; j < i; ++j) {
      if (children_[j].get() != &child) continue;
      invalid("{}: children {} and {} are the same module", layer_.function, j, i);
    }
  }
  for (Lent<Module>& child : children_) child->parent_ = this;
}

Module::Module(Context& ctx, const Module& of, std::span<const TensorRef> values)
    : layer_(of.layer_),
      frozen_(true),
      specs_(of.specs_),
      present_(of.present_),
      variable_count_(of.variable_count_),
      height_(of.height_),
      training_(false),
      seed_(of.seed_),
      number_(of.number_),
      counted_(ctx.engine(), ctx.engine().live.modules),
      custom_(of.custom_) {
  attrs_.append(of.attrs_.span());
  for (const Lent<Variable>& variable : of.variables_) {
    if (!variable) {
      variables_.emplace_back();
      continue;
    }
    variables_.emplace_back(make_ref<Variable>(*variable, values.front()));
    values = values.subspan(1);
  }
  for (const Lent<Module>& child : of.children_) {
    const auto inside = static_cast<size_t>(child->variable_count_);
    children_.emplace_back(make_ref<Module>(ctx, *child, values.first(inside)));
    values = values.subspan(inside);
  }
  resolved_.store(true, std::memory_order_release);
  adopt_children();
}

Module::~Module() {
  std::lock_guard<Mutex> guard(tree_lock);
  for (Lent<Module>& child : children_) child->parent_ = nullptr;
}

void Module::resolve() {
  if (resolved_.load(std::memory_order_acquire)) return;
  std::lock_guard<Mutex> guard(tree_lock);
  Module* root = this;
  while (root->parent_ != nullptr) root = root->parent_;
  root->make_variables(root->seed_, root->number_, "");
}

void Module::make_variables(uint64_t seed, int64_t number, const std::string& prefix) {
  if (resolved_.load(std::memory_order_relaxed)) return;
  std::vector<Lent<Variable>> made;  // those of a custom layer are there from the start
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!present_[i]) {
      made.emplace_back();
      continue;
    }
    const LayerVariable& described = layer_.variables[i];
    std::string path = path_of(prefix, described.name);
    InitialValue initial = specs_[i].initial;
    const RandomCall stream = named_stream(seed, path, static_cast<uint64_t>(number));
    initial.seed = stream.seed;
    initial.stream = stream.generator;
    made.emplace_back(make_ref<Variable>(engine(), std::move(path), specs_[i].dtype,
                                         specs_[i].shape, initial, described.trainable));
  }
  for (size_t i = 0; i < children_.size(); ++i) {
    children_[i]->make_variables(seed, number, path_of(prefix, child_name(i)));
  }
  if (!custom_) variables_ = std::move(made);
  resolved_.store(true, std::memory_order_release);
}

Value Module::call(Context& ctx, const Value& x) {
  resolve();
  if (!frozen_) return layer_.forward(LayerCall(ctx, *this), x);
  const ModeGuard modes(ctx);
  ctx.recording = ctx.training = false;
  return layer_.forward(LayerCall(ctx, *this), x);
}

Ref<Module> Module::snapshot(Context& ctx) {
  if (ctx.capture) {
    fail(DLCORE_FAILED_PRECONDITION,
         "module_snapshot: a capture is open, in which variables have no elements");
  }
  const std::vector<TensorRef> values = values_of(ctx, variables());
  return make_ref<Module>(ctx, *this, values);
}

bool Module::set_training(bool on) {
  if (frozen_) {
    fail(DLCORE_FAILED_PRECONDITION,
         "module_set_training: the module is a snapshot, which is always in inference mode");
  }
  const bool previous = training_.exchange(on, std::memory_order_relaxed);
  for (Lent<Module>& child : children_) child->set_training(on);
  return previous;
}

void Module::list(const std::string& prefix, std::vector<Entry>& entries) const {
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (present_[i]) {
      entries.push_back({path_of(prefix, variable_name(i)), variables_[i].get()});
    }
  }
  for (size_t i = 0; i < children_.size(); ++i) {
    children_[i]->list(path_of(prefix, child_name(i)), entries);
  }
}

std::vector<Module::Entry> Module::variables() {
  resolve();
  std::vector<Entry> entries;
  list("", entries);
  return entries;
}

Module::Entry Module::variable(int64_t index) {
  if (index < 0 || index >= variable_count_) {
    fail(DLCORE_OUT_OF_RANGE, "module_variable: index is {}, but the module has {} variables",
         index, variable_count_);
  }
  return std::move(variables()[static_cast<size_t>(index)]);
}

Variable& Module::find(const std::string& path) {
  const std::vector<Entry> entries = variables();
  std::vector<std::string_view> paths;
  for (const Entry& entry : entries) {
    if (entry.name == path) return *entry.variable;
    if (paths.size() < kPathsShown) paths.push_back(entry.name);
  }
  fail(DLCORE_NOT_FOUND, "module_find: no variable is called '{}'; there are {}{}", path,
       paths.empty() ? "none" : joined(paths, ", "),
       entries.size() > paths.size() ? formatted(" and {} more", entries.size() - paths.size())
                                     : "");
}

}  // namespace dlcore
