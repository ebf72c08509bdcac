// SPDX-License-Identifier: Apache-2.0
// A graph being recorded by a context. Until it ends, what the program does to variables and
// gradients happens to shadows that only the capture sees.
#pragma once

#include <map>
#include <memory>

#include "core/graph/graph.h"
#include "core/ops/schema.h"
#include "core/tensor/variable.h"

namespace dlcore {

class Capture {
 public:
  Capture(Context& ctx, std::string name);

  uint64_t number() const { return number_; }
  DimTable& dims() { return graph_->dims; }

  TensorRef input(Context& ctx, std::string name, Dtype dtype, std::string_view shape);
  TensorRef constant(Context& ctx, Tensor& tensor);
  void append(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
              std::span<const int64_t> attrs, std::span<const TensorType> types,
              std::span<TensorRef> outputs);

  // The value a variable has at this point of the program, without history.
  TensorRef value(Context& ctx, Variable& variable);
  // The same as a leaf, while recording.
  TensorRef leaf(Context& ctx, Variable& variable);
  void assign(Context& ctx, Variable& variable, Tensor& value);
  // The same in two parts, the second of which cannot fail.
  TensorRef prepare(Context& ctx, Variable& variable, Tensor& value);
  void assign_prepared(Variable& variable, TensorRef value) noexcept;

  TensorRef gradient(GradientSlot& slot);
  void set_gradient(const std::shared_ptr<GradientSlot>& slot, TensorRef gradient);
  // Setting it then cannot fail.
  void reserve_gradient(const std::shared_ptr<GradientSlot>& slot);

  TensorRef next_key(Context& ctx);

  // What made a tensor of a capture, as errors name it: "op 'linear'", "input 'x'".
  std::string origin(const Tensor& tensor) const;

  Ref<Graph> finish(Context& ctx, std::span<Tensor* const> outputs);

 private:
  struct Shadow {
    Ref<Variable> variable;
    size_t state;     // index in the graph
    TensorRef value;  // at this point
    TensorRef leaf;
  };
  // Takes back what a call has added to the graph, unless it was kept.
  class Addition;
  Shadow& shadow(Context& ctx, Variable& variable);
  TensorRef symbolic(Context& ctx, Device& device, ValueId value);
  void need_free_name(const std::string& name) const;

  uint64_t number_;
  Ref<Graph> graph_;
  std::map<Variable*, Shadow> shadows_;
  std::map<GradientSlot*, std::pair<std::shared_ptr<GradientSlot>, TensorRef>> gradients_;
  int64_t random_calls_ = 0;
};

}  // namespace dlcore
