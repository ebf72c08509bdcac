// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>

#include "core/graph/passes/pass.h"
#include "core/graph/passes/rewriter.h"
#include "core/ops/schema.h"

namespace dlcore {

Ref<Graph> share_subexpressions(const Graph& graph) {
  // Random ops are functions of their key, so they are like any other.
  using Key = std::tuple<int32_t, std::vector<ValueId>, std::vector<int64_t>>;
  std::map<Key, const GraphNode*> seen;  // inputs by their values in the copy

  Rewriter copy(graph);
  for (const GraphState& state : graph.state) copy.copy(state);
  for (const GraphConstant& constant : graph.constants) copy.copy(constant);
  for (const GraphNode& node : graph.nodes) {
    if (node.op->custom != nullptr) {
      copy.copy(node);
      continue;
    }
    std::vector<ValueId> inputs;
    for (ValueId value : node.inputs) inputs.push_back(copy.at(value));
    const auto [it, fresh] =
        seen.try_emplace(Key{node.op->number, std::move(inputs), node.attrs}, &node);
    if (fresh) {
      copy.copy(node);
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      copy.replace(node.outputs[i], it->second->outputs[i]);
  }
  return copy.finish();
}

}  // namespace dlcore
