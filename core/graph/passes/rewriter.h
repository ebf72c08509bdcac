// SPDX-License-Identifier: Apache-2.0
// Copies a graph piece by piece under a map from its values to those of the copy.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace dlcore {

class Rewriter {
 public:
  // Inputs and sizes are copied at once.
  explicit Rewriter(const Graph& from);

  // What stands for a value in the copy; kNoValue for what has not been copied, and for kNoValue.
  ValueId at(ValueId value) const {
    return value == kNoValue ? kNoValue : map_[static_cast<size_t>(value)];
  }
  // A value is known to equal one that has been copied.
  void replace(ValueId value, ValueId by) { map_[static_cast<size_t>(value)] = at(by); }

  void copy(const GraphState& state);
  void copy(const GraphConstant& constant);
  // The node's inputs have been copied or replaced.
  void copy(const GraphNode& node);
  // Copies updates and outputs, and hands the copy over.
  Ref<Graph> finish();

 private:
  ValueId define(ValueId value);

  const Graph& from_;
  Ref<Graph> to_;
  std::vector<ValueId> map_;  // by value of `from_`
};

}  // namespace dlcore
