// SPDX-License-Identifier: Apache-2.0
#include "core/graph/passes/pass.h"

#include <string>

#include "core/base/error.h"

namespace dlcore {
namespace {

constexpr Pass kPasses[] = {
    {"cse", share_subexpressions},
    {"dce", drop_dead_code},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

Ref<Graph> apply_pass(const Graph& graph, std::string_view name) {
  std::string names;
  for (const Pass& pass : kPasses) {
    if (name == pass.name) return pass.run(graph);
    names += (names.empty() ? "" : ", ") + std::string(pass.name);
  }
  fail(DLCORE_NOT_FOUND, "graph_apply: there is no pass '{}'; there are {}", name, names);
}

}  // namespace dlcore
