// SPDX-License-Identifier: Apache-2.0
// A program in SSA form: every value is defined once, before it is used.
#pragma once

#include <string>
#include <vector>

#include "core/autograd/node.h"
#include "core/engine/engine.h"
#include "core/tensor/dims.h"
#include "core/tensor/tensor.h"
#include "core/tensor/variable.h"

namespace dlcore {

using ValueId = int32_t;
constexpr ValueId kNoValue = -1;

struct GraphNode {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;  // kNoValue for an absent optional input
  std::vector<int64_t> attrs;   // complete; sizes refer to the graph's dims
  std::vector<ValueId> outputs;
};

struct GraphInput {
  std::string name;
  ValueId value = kNoValue;
};

// A variable that the graph reads, updates, or both.
struct GraphState {
  std::string name;
  ValueId value = kNoValue;   // what it holds before the run
  ValueId update = kNoValue;  // what it holds after, when it is updated
  Ref<Variable> variable;     // null in a graph that was parsed
};

struct GraphConstant {
  ValueId value = kNoValue;
  TensorRef tensor;  // contiguous, in host memory
};

class Graph : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kGraph;
  Graph(Engine& engine, std::string name)
      : name(std::move(name)), counted_(engine, engine.live.graphs) {}

  std::string name;
  DimTable dims;
  std::vector<TensorType> values;  // by ValueId
  std::vector<GraphInput> inputs;
  std::vector<GraphState> state;
  std::vector<GraphConstant> constants;
  std::vector<GraphNode> nodes;
  std::vector<ValueId> outputs;

  Engine& engine() const { return counted_.engine(); }
  ValueId add_value(TensorType type) {
    values.push_back(std::move(type));
    return static_cast<ValueId>(values.size() - 1);
  }

 private:
  Counted counted_;
};

}  // namespace dlcore
