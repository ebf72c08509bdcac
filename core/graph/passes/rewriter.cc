// SPDX-License-Identifier: Apache-2.0
#include "core/graph/passes/rewriter.h"

namespace dlcore {

Rewriter::Rewriter(const Graph& from)
    : from_(from),
      to_(make_ref<Graph>(from.engine(), from.name)),
      map_(from.values.size(), kNoValue) {
  to_->dims = from.dims;
  for (const GraphInput& input : from.inputs)
    to_->inputs.push_back({input.name, define(input.value)});
}

ValueId Rewriter::define(ValueId value) {
  const ValueId copy = to_->add_value(from_.values[static_cast<size_t>(value)]);
  map_[static_cast<size_t>(value)] = copy;
  return copy;
}

void Rewriter::copy(const GraphState& state) {
  GraphState copy = state;
  copy.value = define(state.value);
  to_->state.push_back(std::move(copy));
}

void Rewriter::copy(const GraphConstant& constant) {
  to_->constants.push_back({define(constant.value), constant.tensor});
}

void Rewriter::copy(const GraphNode& node) {
  GraphNode copy = node;
  for (ValueId& value : copy.inputs) value = at(value);
  for (ValueId& value : copy.outputs) value = define(value);
  to_->nodes.push_back(std::move(copy));
}

Ref<Graph> Rewriter::finish() {
  for (GraphState& state : to_->state) state.update = at(state.update);
  for (ValueId value : from_.outputs) to_->outputs.push_back(at(value));
  return std::move(to_);
}

}  // namespace dlcore
