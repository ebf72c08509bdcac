// SPDX-License-Identifier: Apache-2.0
#include "core/graph/capture.h"

#include <algorithm>
#include <cstring>

#include "core/engine/context.h"
#include "core/ops/calls.h"
#include "core/tensor/gather_elements.h"

namespace dlcore {

class Capture::Addition {
 public:
  explicit Addition(Graph& graph)
      : graph_(graph),
        values_(graph_.values.size()),
        inputs_(graph_.inputs.size()),
        state_(graph_.state.size()),
        constants_(graph_.constants.size()) {}
  ~Addition() {
    if (kept_) return;
    cut(graph_.values, values_);
    cut(graph_.inputs, inputs_);
    cut(graph_.state, state_);
    cut(graph_.constants, constants_);
  }
  Addition(const Addition&) = delete;
  Addition& operator=(const Addition&) = delete;
  void keep() { kept_ = true; }

 private:
  template <class T>
  static void cut(std::vector<T>& list, size_t size) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(size), list.end());
  }

  Graph& graph_;
  const size_t values_, inputs_, state_, constants_;
  bool kept_ = false;
};

Capture::Capture(Context& ctx, std::string name)
    : number_(ctx.engine().next_capture_number()),
      graph_(make_ref<Graph>(ctx.engine(), std::move(name))) {}

TensorRef Capture::symbolic(Context& ctx, Device& device, ValueId value) {
  const TensorType& type = graph_->values[static_cast<size_t>(value)];
  TensorRef t = new_abstract(ctx, device, type.dtype, type.dims, type.weak);
  TensorExtra& extra = t->make_extra();
  extra.capture = number_;
  extra.value = value;
  return t;
}

void Capture::need_free_name(const std::string& name) const {
  for (const GraphInput& input : graph_->inputs) {
    if (input.name == name)
      fail(DLCORE_ALREADY_EXISTS, "capture_input: an input '{}' exists already", name);
  }
}

TensorRef Capture::input(Context& ctx, std::string name, Dtype dtype, std::string_view shape) {
  need_free_name(name);
  if (!is_dtype(dtype)) invalid("capture_input: dtype is {}, which is none", dtype);
  TensorType type;
  type.dtype = dtype;
  type.dims = parse_shape(shape, graph_->dims);
  Addition addition(*graph_);
  const ValueId value = graph_->add_value(std::move(type));
  graph_->inputs.push_back({std::move(name), value});
  TensorRef made = symbolic(ctx, ctx.device(), value);
  addition.keep();
  return made;
}

TensorRef Capture::constant(Context& ctx, Tensor& tensor) {
  TensorRef host = new_tensor(ctx, ctx.engine().cpu(), tensor.dtype, tensor.shape());
  read_tensor(ctx, tensor, host->data);
  host->weak = tensor.weak;
  const uint64_t bytes = static_cast<uint64_t>(host->count) * dtype_bytes(host->dtype);
  for (const GraphConstant& c : graph_->constants) {
    if (c.tensor->dtype == host->dtype && c.tensor->weak == host->weak &&
        c.tensor->dims() == host->dims() &&
        (bytes == 0 || std::memcmp(c.tensor->data, host->data, bytes) == 0)) {
      return symbolic(ctx, ctx.device(), c.value);
    }
  }
  Addition addition(*graph_);
  const ValueId value = graph_->add_value({host->dtype, host->weak, host->dims()});
  graph_->constants.push_back({value, std::move(host)});
  TensorRef made = symbolic(ctx, ctx.device(), value);
  addition.keep();
  return made;
}

void Capture::append(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
                     std::span<const int64_t> attrs, std::span<const TensorType> types,
                     std::span<TensorRef> outputs) {
  Addition addition(*graph_);
  GraphNode node;
  node.op = &op;
  node.attrs.assign(attrs.begin(), attrs.end());
  for (Tensor* t : inputs) node.inputs.push_back(t == nullptr ? kNoValue : t->extra->value);
  for (size_t i = 0; i < types.size(); ++i) {
    // Being weak decides about dtypes, which the graph states; it is of no use beyond the capture.
    node.outputs.push_back(graph_->add_value({types[i].dtype, false, types[i].dims}));
    if (i >= outputs.size()) continue;
    outputs[i] = symbolic(ctx, ctx.device(), node.outputs[i]);
    outputs[i]->weak = types[i].weak;
  }
  graph_->nodes.push_back(std::move(node));
  addition.keep();
}

Capture::Shadow& Capture::shadow(Context& ctx, Variable& variable) {
  auto it = shadows_.find(&variable);
  if (it != shadows_.end()) return it->second;
  std::string name = variable.name();
  for (int n = 2;; ++n) {  // names of variables need not be unique; those of a graph's state are
    bool taken = false;
    for (const GraphState& s : graph_->state) taken = taken || s.name == name;
    if (!taken) break;
    name = formatted("{}.{}", variable.name(), n);
  }
  Addition addition(*graph_);
  GraphState state;
  state.name = std::move(name);
  state.value = graph_->add_value({variable.dtype(), false, variable.shape()});
  state.variable = Ref<Variable>(&variable);
  const ValueId value = state.value;
  graph_->state.push_back(std::move(state));
  Shadow shadow{Ref<Variable>(&variable), graph_->state.size() - 1,
                symbolic(ctx, ctx.device(), value), nullptr};
  Shadow& kept = shadows_.emplace(&variable, std::move(shadow)).first->second;
  addition.keep();
  return kept;
}

TensorRef Capture::value(Context& ctx, Variable& variable) { return shadow(ctx, variable).value; }

TensorRef Capture::leaf(Context& ctx, Variable& variable) {
  Shadow& s = shadow(ctx, variable);
  if (!s.leaf) s.leaf = make_leaf(ctx, *s.value, variable.slot());
  return s.leaf;
}

TensorRef Capture::prepare(Context& ctx, Variable& variable, Tensor& value) {
  if (!value.symbolic() || value.extra->capture != number_) {
    invalid(
        "variable_assign: '{}' is given a concrete tensor in a capture; wrap it with "
        "capture_constant",
        variable.name());
  }
  shadow(ctx, variable);
  TensorRef prepared = new_alias(ctx, value);
  prepared->weak = false;
  return prepared;
}

void Capture::assign_prepared(Variable& variable, TensorRef value) noexcept {
  Shadow& s = shadows_.find(&variable)->second;
  graph_->state[s.state].update = value->extra->value;
  s.value = std::move(value);
  s.leaf = nullptr;
}

void Capture::assign(Context& ctx, Variable& variable, Tensor& value) {
  assign_prepared(variable, prepare(ctx, variable, value));
}

TensorRef Capture::gradient(GradientSlot& slot) {
  auto it = gradients_.find(&slot);
  return it == gradients_.end() ? TensorRef() : it->second.second;
}

void Capture::reserve_gradient(const std::shared_ptr<GradientSlot>& slot) {
  gradients_.try_emplace(slot.get(), slot, TensorRef());
}

void Capture::set_gradient(const std::shared_ptr<GradientSlot>& slot, TensorRef gradient) {
  if (gradient) {
    gradients_[slot.get()] = {slot, std::move(gradient)};
  } else {
    gradients_.erase(slot.get());
  }
}

TensorRef Capture::next_key(Context& ctx) {
  const Value state(ctx, shadow(ctx, ctx.generator()).value);
  TensorRef key = advance_key(state, random_calls_).take();
  ++random_calls_;
  return key;
}

std::string Capture::origin(const Tensor& tensor) const {
  if (tensor.extra->capture != number_) return "a capture that has ended";
  const ValueId value = tensor.extra->value;
  for (const GraphInput& input : graph_->inputs) {
    if (input.value == value) return formatted("input '{}'", input.name);
  }
  for (const GraphState& s : graph_->state) {
    if (s.value == value) return formatted("variable '{}'", s.name);
  }
  for (const GraphNode& node : graph_->nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) {
      return formatted("op '{}'", node.op->name);
    }
  }
  return "a constant";
}

Ref<Graph> Capture::finish(Context& ctx, std::span<Tensor* const> outputs) {
  std::erase_if(gradients_,
                [](const auto& entry) { return !entry.second.second; });  // reserved only
  if (!gradients_.empty()) {
    fail(DLCORE_FAILED_PRECONDITION,
         "capture_end: {} gradients that backward made were not applied; end a captured step with "
         "optimizer_step",
         gradients_.size());
  }
  graph_->outputs.clear();  // of an attempt that failed
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]->symbolic() || outputs[i]->extra->capture != number_) {
      invalid("capture_end: output {} is no value of this capture", i);
    }
    if (outputs[i]->leveled()) invalid("capture_end: output {} belongs to a transform level", i);
    graph_->outputs.push_back(outputs[i]->extra->value);
  }
  if (random_calls_ > 0) {
    Shadow& generator = shadow(ctx, ctx.generator());
    const TensorRef advanced = advance_key(Value(ctx, generator.value), random_calls_).take();
    assign(ctx, ctx.generator(), *advanced);
  }
  return std::move(graph_);
}

TensorRef Context::next_key(Device& device) {
  if (capture) return capture->next_key(*this);
  Variable& variable = generator();
  const auto alone = variable.lock_runs(*this);
  std::lock_guard<Mutex> guard(variable.lock());
  int64_t state[3];
  read_tensor(*this, variable.value_locked(*this), state);
  const int64_t shape[] = {3};
  TensorRef key = new_tensor(*this, device, DLCORE_I64, shape);
  write_tensor(*this, *key, state);
  TensorRef next = new_tensor(*this, engine().cpu(), DLCORE_I64, shape);
  state[2] = static_cast<int64_t>(static_cast<uint64_t>(state[2]) + 1);
  std::memcpy(next->data, state, sizeof state);
  variable.store_locked(std::move(next));
  return key;
}

}  // namespace dlcore
