// SPDX-License-Identifier: Apache-2.0
// A graph bound to variables and a device. It never changes, so that several contexts may run it at
// once.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace dlcore {

class Executable : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kExecutable;

  // State is bound by name to `variables`, or, when there are none, to the variables of the
  // capture.
  Executable(Context& ctx, const Graph& graph, std::span<Variable* const> variables);

  Engine& engine() const { return graph_->engine(); }
  size_t output_count() const { return graph_->outputs.size(); }

  // Reads its variables at one moment, computes, and assigns all updates at another: all or, when
  // anything fails, none. Runs that update the same variable wait for each other from beginning to
  // end.
  void run(Context& ctx, std::span<Tensor* const> inputs, std::span<TensorRef> outputs);

 private:
  struct Step {
    const GraphNode* node;
    std::vector<size_t> sizes;      // attribute words that say that the next one is an expression
    std::vector<ValueId> last_use;  // values that nothing needs afterwards
  };
  // Where a run reads the size that a symbol stands for: size = scale * symbol + offset.
  struct SymbolSource {
    size_t input = 0;
    int axis = 0;
    int64_t scale = 0, offset = 0;
  };
  struct Update {
    Variable* variable;
    TensorRef value;
  };

  void bind(std::span<Variable* const> variables);
  void find_symbols();
  void upload(Context& ctx);
  void plan();

  void check_inputs(Context& ctx, std::span<Tensor* const> inputs) const;
  std::vector<int64_t> symbol_sizes(std::span<Tensor* const> inputs) const;
  [[noreturn]] void refuse_shape(size_t index, const Tensor& given,
                                 const std::vector<int64_t>& sizes) const;
  std::vector<TensorRef> first_values(Context& ctx, std::span<Tensor* const> inputs) const;
  void execute(Context& ctx, const std::vector<int64_t>& sizes,
               std::vector<TensorRef>& values) const;
  std::vector<Update> updates(Context& ctx, const std::vector<Device*>& homes,
                              const std::vector<TensorRef>& values) const;

  Ref<Graph> graph_;
  Device* device_;
  std::vector<Ref<Variable>> variables_;  // by state
  std::vector<Variable*> all_;            // in the order of their addresses
  std::vector<Variable*> written_;        // the same, those that are updated
  std::vector<SymbolSource> symbols_;
  std::vector<TensorRef> constants_;  // on the device
  std::vector<Step> steps_;
};

}  // namespace dlcore
