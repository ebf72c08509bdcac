// SPDX-License-Identifier: Apache-2.0
// Passes make a new graph from a graph. One file each; what they do is seen, and tested, as text.
#pragma once

#include <span>
#include <string_view>

#include "core/graph/graph.h"

namespace dlcore {

struct Pass {
  const char* name;
  Ref<Graph> (*run)(const Graph& graph);
};

std::span<const Pass> passes();
// NOT_FOUND lists the passes there are.
Ref<Graph> apply_pass(const Graph& graph, std::string_view name);

// Drops what no output and no update needs: nodes, constants, state. Inputs stay, since callers
// count them.
Ref<Graph> drop_dead_code(const Graph& graph);
// Computes once what the same op would compute from the same inputs and attributes. Programs' own
// ops are left alone: they may answer differently each time.
Ref<Graph> share_subexpressions(const Graph& graph);

}  // namespace dlcore
