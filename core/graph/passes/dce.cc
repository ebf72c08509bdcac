// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/graph/passes/pass.h"
#include "core/graph/passes/rewriter.h"

namespace dlcore {

Ref<Graph> drop_dead_code(const Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  const auto need = [&](ValueId value) {
    if (value != kNoValue) needed[static_cast<size_t>(value)] = true;
  };
  const auto is_needed = [&](ValueId value) { return needed[static_cast<size_t>(value)]; };

  for (ValueId value : graph.outputs) need(value);
  for (const GraphState& state : graph.state) need(state.update);
  std::vector<bool> live(graph.nodes.size(), false);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const GraphNode& node = graph.nodes[i];
    live[i] = std::any_of(node.outputs.begin(), node.outputs.end(), is_needed);
    if (live[i]) std::for_each(node.inputs.begin(), node.inputs.end(), need);
  }

  Rewriter copy(graph);
  for (const GraphState& state : graph.state) {
    if (state.update != kNoValue || is_needed(state.value)) copy.copy(state);
  }
  for (const GraphConstant& constant : graph.constants) {
    if (is_needed(constant.value)) copy.copy(constant);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (live[i]) copy.copy(graph.nodes[i]);
  }
  return copy.finish();
}

}  // namespace dlcore
