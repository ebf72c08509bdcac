// SPDX-License-Identifier: Apache-2.0
// The rules of the form. A graph that verifies prints, parses, and can be made executable.
#pragma once

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace dlcore {

// INVALID_ARGUMENT, and where the fault lies.
class GraphFault : public Error {
 public:
  GraphFault(int64_t node, std::string message)
      : Error(DLCORE_INVALID_ARGUMENT, std::move(message)), node(node) {}
  int64_t node;  // -1 when it lies in no node
};

// Throws GraphFault.
void verify(const Graph& graph);

}  // namespace dlcore
