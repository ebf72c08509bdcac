// SPDX-License-Identifier: Apache-2.0
#include "core/graph/executable.h"

#include <algorithm>
#include <functional>
#include <map>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/engine/context.h"
#include "core/graph/passes/pass.h"
#include "core/graph/verify.h"
#include "core/ops/attrs.h"
#include "core/ops/dispatch.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {
namespace {

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

std::string dims_text(const Graph& graph, const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + graph.dims.text(dims[i]);
  return text + "]";
}

// The callback of a custom op may start a run inside a run. One that updates could wait for the
// outer one for ever.
class Nesting {
 public:
  Nesting(Context& ctx, bool updates) : ctx_(ctx) {
    if (updates && ctx.runs > 0) {
      fail(DLCORE_FAILED_PRECONDITION,
           "executable_run: a run that updates variables cannot start inside another run");
    }
    ++ctx.runs;
  }
  ~Nesting() { --ctx_.runs; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Context& ctx_;
};

}  // namespace

Executable::Executable(Context& ctx, const Graph& graph, std::span<Variable* const> variables)
    : device_(&ctx.device()) {
  verify(graph);
  graph_ = drop_dead_code(graph);
  bind(variables);
  find_symbols();
  upload(ctx);
  plan();
}

void Executable::bind(std::span<Variable* const> variables) {
  std::multimap<std::string_view, Variable*> by_name;
  for (Variable* v : variables) by_name.emplace(v->name(), v);
  std::vector<std::string> missing, ambiguous;
  for (const GraphState& s : graph_->state) {
    Variable* bound = s.variable.get();
    if (!variables.empty()) {
      const auto [first, last] = by_name.equal_range(s.name);
      bound = first == last ? nullptr : first->second;
      if (std::any_of(first, last, [&](const auto& entry) { return entry.second != bound; }))
        ambiguous.push_back(s.name);
    }
    if (bound == nullptr) missing.push_back(s.name);
    variables_.emplace_back(bound);
  }
  if (!missing.empty()) invalid("graph_compile: no variable is given for state {}", list(missing));
  if (!ambiguous.empty())
    invalid("graph_compile: several variables are given for state {}", list(ambiguous));

  std::string wrong;
  for (size_t i = 0; i < variables_.size(); ++i) {
    const Variable& v = *variables_[i];
    const GraphState& s = graph_->state[i];
    const TensorType& type = graph_->values[static_cast<size_t>(s.value)];
    if (&v.engine() != &engine())
      invalid("graph_compile: variable '{}' belongs to another engine", v.name());
    if (v.dtype() != type.dtype || !(v.shape() == type.dims)) {
      wrong += formatted("{}'{}' is {} {}, expected {} {}", wrong.empty() ? "" : "; ", s.name,
                         dtype_name(v.dtype()), dims_text(*graph_, v.shape()),
                         dtype_name(type.dtype), dims_text(*graph_, type.dims));
    }
    all_.push_back(variables_[i].get());
    if (s.update == kNoValue) continue;
    v.need_changeable("graph_compile");
    written_.push_back(variables_[i].get());
  }
  if (!wrong.empty()) invalid("graph_compile: variables do not fit the graph's state: {}", wrong);
  for (auto* set : {&all_, &written_}) {
    std::sort(set->begin(), set->end(), std::less<>());
    set->erase(std::unique(set->begin(), set->end()), set->end());
  }
}

void Executable::find_symbols() {
  const auto& names = graph_->dims.symbols();
  symbols_.resize(names.size());
  for (size_t i = 0; i < graph_->inputs.size(); ++i) {
    const Dims& dims = graph_->values[static_cast<size_t>(graph_->inputs[i].value)].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const auto linear = graph_->dims.linear(dims[axis]);
      if (!linear || linear->scale < 1) continue;
      SymbolSource& source = symbols_[static_cast<size_t>(linear->symbol)];
      if (source.scale == 0) source = {i, static_cast<int>(axis), linear->scale, linear->offset};
    }
  }
  std::vector<std::string> unknown;
  for (size_t i = 0; i < names.size(); ++i) {
    if (symbols_[i].scale == 0) unknown.push_back(names[i]);
  }
  if (!unknown.empty())
    invalid("graph_compile: no shape of an input says what {} stands for", list(unknown));
}

void Executable::upload(Context& ctx) {
  for (const GraphConstant& c : graph_->constants)
    constants_.push_back(copy_to_device(ctx, *c.tensor, *device_));
}

void Executable::plan() {
  // Walking back, the first use that is met is the last one.
  std::vector<bool> needed(graph_->values.size(), false);
  for (ValueId value : graph_->outputs) needed[static_cast<size_t>(value)] = true;
  for (const GraphState& s : graph_->state) {
    if (s.update != kNoValue) needed[static_cast<size_t>(s.update)] = true;
  }
  for (size_t i = graph_->nodes.size(); i-- > 0;) {
    Step step{&graph_->nodes[i], {}, {}};
    for (const auto* values : {&step.node->inputs, &step.node->outputs}) {
      for (ValueId value : *values) {
        if (value == kNoValue || needed[static_cast<size_t>(value)]) continue;
        needed[static_cast<size_t>(value)] = true;
        step.last_use.push_back(value);
      }
    }
    size_t at = 0;
    for (const AttrDef& def : attr_defs(*step.node->op)) {
      const size_t end = at + attr_length(def, step.node->attrs, at);
      for (size_t w = at + (def.optional ? 2 : 1); def.type == AttrType::kDims && w < end; w += 2) {
        if (step.node->attrs[w] == 1) step.sizes.push_back(w);
      }
      at = end;
    }
    steps_.push_back(std::move(step));
  }
  std::reverse(steps_.begin(), steps_.end());
}

void Executable::run(Context& ctx, std::span<Tensor* const> inputs, std::span<TensorRef> outputs) {
  check_inputs(ctx, inputs);
  const std::vector<int64_t> sizes = symbol_sizes(inputs);
  const Nesting nesting(ctx, !written_.empty());
  const LockedRuns alone(written_);
  ModeGuard modes(ctx);
  ctx.recording = false;
  Context::OnDevice on(ctx, *device_);

  std::vector<TensorRef> values = first_values(ctx, inputs);
  std::vector<Device*> homes;  // where the values of variables live
  {
    const LockedVariables snapshot(all_);
    for (size_t i = 0; i < variables_.size(); ++i) {
      TensorRef& value = values[static_cast<size_t>(graph_->state[i].value)];
      value = TensorRef(&variables_[i]->value_locked(ctx));
      homes.push_back(value->device);
    }
  }
  for (const GraphState& s : graph_->state) {
    TensorRef& value = values[static_cast<size_t>(s.value)];
    value = copy_to_device(ctx, *value, *device_);
  }
  execute(ctx, sizes, values);

  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = new_alias(ctx, *values[static_cast<size_t>(graph_->outputs[i])]);
  }
  std::vector<Update> ready = updates(ctx, homes, values);
  // A run ends well or changes nothing.
  if (device_->asynchronous()) ctx.queue(*device_)->synchronize();
  const LockedVariables together(written_);
  for (Update& u : ready) u.variable->store_locked(std::move(u.value));
}

void Executable::check_inputs(Context& ctx, std::span<Tensor* const> inputs) const {
  if (ctx.capture)
    fail(DLCORE_FAILED_PRECONDITION, "executable_run: a capture is open on this context");
  if (inputs.size() != graph_->inputs.size()) {
    invalid("executable_run: {} inputs were given, expected {}", inputs.size(),
            graph_->inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& given = *inputs[i];
    const GraphInput& input = graph_->inputs[i];
    if (given.data == nullptr) {
      invalid("executable_run: input {} ('{}') is a value of {}, which has no elements", i,
              input.name,
              given.symbolic()  ? "a capture"
              : given.leveled() ? "a transform level"
                                : "an infer callback");
    }
    const TensorType& type = graph_->values[static_cast<size_t>(input.value)];
    if (given.dtype != type.dtype || given.rank != type.dims.size()) refuse_shape(i, given, {});
    if (given.device != device_) {
      invalid(
          "executable_run: input {} ('{}') is on device '{}', but the executable is for '{}'; use "
          "tensor_to_device",
          i, input.name, given.device->name(), device_->name());
    }
  }
}

void Executable::refuse_shape(size_t index, const Tensor& given,
                              const std::vector<int64_t>& sizes) const {
  const GraphInput& input = graph_->inputs[index];
  const TensorType& type = graph_->values[static_cast<size_t>(input.value)];
  std::string known;
  for (size_t s = 0; s < sizes.size(); ++s) {
    known += formatted("{}{} = {}", s == 0 ? " with " : ", ", graph_->dims.symbols()[s], sizes[s]);
  }
  invalid("executable_run: input {} ('{}') is {} {}, expected {} {}{}", index, input.name,
          dtype_name(given.dtype), shape_text(given.shape()), dtype_name(type.dtype),
          dims_text(*graph_, type.dims), known);
}

std::vector<int64_t> Executable::symbol_sizes(std::span<Tensor* const> inputs) const {
  std::vector<int64_t> sizes;
  for (size_t s = 0; s < symbols_.size(); ++s) {
    const SymbolSource& source = symbols_[s];
    const Tensor& given = *inputs[source.input];
    int64_t rest;
    if (__builtin_sub_overflow(given.shape()[static_cast<size_t>(source.axis)], source.offset,
                               &rest) ||
        rest % source.scale != 0) {
      refuse_shape(source.input, given, {});
    }
    sizes.push_back(rest / source.scale);
    if (sizes.back() < 1) {
      invalid("executable_run: {} is {} by axis {} of input {} ('{}'), expected at least 1",
              graph_->dims.symbols()[s], sizes.back(), source.axis, source.input,
              graph_->inputs[source.input].name);
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Dims& dims = graph_->values[static_cast<size_t>(graph_->inputs[i].value)].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (graph_->dims.evaluate(dims[axis], sizes) != inputs[i]->shape()[axis])
        refuse_shape(i, *inputs[i], sizes);
    }
  }
  return sizes;
}

std::vector<TensorRef> Executable::first_values(Context& ctx,
                                                std::span<Tensor* const> inputs) const {
  std::vector<TensorRef> values(graph_->values.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorRef& value = values[static_cast<size_t>(graph_->inputs[i].value)];
    value = TensorRef(inputs[i]);
    if (value->weak) {  // an input decides about dtypes as the graph says
      value = new_alias(ctx, *value);
      value->weak = false;
    }
  }
  for (size_t i = 0; i < constants_.size(); ++i) {
    values[static_cast<size_t>(graph_->constants[i].value)] = constants_[i];
  }
  return values;
}

void Executable::execute(Context& ctx, const std::vector<int64_t>& sizes,
                         std::vector<TensorRef>& values) const {
  SmallVector<Tensor*, 8> inputs;
  Words attrs;
  std::vector<TensorRef> made;
  for (const Step& step : steps_) {
    const GraphNode& node = *step.node;
    inputs.clear();
    for (ValueId value : node.inputs) {
      inputs.push_back(value == kNoValue ? nullptr : values[static_cast<size_t>(value)].get());
    }
    std::span<const int64_t> words = node.attrs;
    if (!step.sizes.empty()) {
      attrs.clear();
      attrs.append(words);
      for (size_t w : step.sizes) {
        const Dim size = Dim::expression(attrs[w + 1]);
        attrs[w] = 0;
        attrs[w + 1] = graph_->dims.evaluate(size, sizes);
        if (attrs[w + 1] < 0)
          invalid("{}: size {} is {}", node.op->name, graph_->dims.text(size), attrs[w + 1]);
      }
      words = attrs.span();
    }
    made.assign(node.outputs.size(), TensorRef());
    invoke(ctx, *node.op, inputs.span(), words, made);
    for (size_t i = 0; i < made.size(); ++i)
      values[static_cast<size_t>(node.outputs[i])] = std::move(made[i]);
    for (ValueId value : step.last_use) values[static_cast<size_t>(value)] = nullptr;
  }
}

std::vector<Executable::Update> Executable::updates(Context& ctx, const std::vector<Device*>& homes,
                                                    const std::vector<TensorRef>& values) const {
  std::vector<Update> ready;
  for (size_t i = 0; i < variables_.size(); ++i) {
    const GraphState& s = graph_->state[i];
    if (s.update == kNoValue) continue;
    Tensor& value = *values[static_cast<size_t>(s.update)];
    Variable& variable = *variables_[i];
    if (value.dtype != variable.dtype() || !(value.dims() == variable.shape())) {
      invalid("executable_run: the update of '{}' is {} {}, but the variable is {} {}", s.name,
              dtype_name(value.dtype), shape_text(value.shape()), dtype_name(variable.dtype()),
              dims_text(*graph_, variable.shape()));
    }
    // What a variable holds is its own: nothing else that this run hands out counts as a user of
    // it.
    const TensorRef home = copy_to_device(ctx, value, *homes[i]);
    ready.push_back({&variable, new_alias(ctx, *home)});
    ready.back().value->weak = false;
  }
  return ready;
}

}  // namespace dlcore
