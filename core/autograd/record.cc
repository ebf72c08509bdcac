// SPDX-License-Identifier: Apache-2.0
// Making history: a node for each recorded call.
#include <algorithm>

#include "core/autograd/node.h"
#include "core/engine/context.h"
#include "core/ops/dispatch.h"

namespace dlcore {
namespace {

bool has_gradient(const Tensor* t) {
  return t != nullptr && is_float(t->dtype) && t->has_history();
}

void save(Context& ctx, Node& node, std::span<Tensor* const> inputs, uint32_t needs,
          std::span<TensorRef> outputs) {
  const OpDef& op = *node.op;
  const SaveMask mask = op.custom != nullptr  ? ~SaveMask{0}
                        : op.saves != nullptr ? op.saves(needs)
                                              : 0;
  node.inputs.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool asked =
        op.variadic() ? (mask & 1) != 0 : i < 16 && (mask & save_input(static_cast<int>(i))) != 0;
    if (asked && inputs[i] != nullptr) node.inputs[i] = TensorRef(inputs[i]);
  }
  node.outputs.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if ((mask & save_output(static_cast<int>(i))) != 0)
      node.outputs[i] = new_alias(ctx, *outputs[i]);
  }
}

}  // namespace

bool needs_history(const Context& ctx, const OpDef& op, int32_t level,
                   std::span<Tensor* const> inputs) {
  return ctx.recording && level < ctx.recording_below && op.differentiable() &&
         std::any_of(inputs.begin(), inputs.end(), has_gradient);
}

void record(Context& ctx, const OpDef& op, int32_t level, std::span<Tensor* const> inputs,
            std::span<const int64_t> attrs, std::span<const TensorType> output_types,
            std::span<TensorRef> outputs) {
  auto* node = new Node;
  try {
    node->op = &op;
    node->level = level;
    node->device = outputs[0]->device;
    node->attrs.append(attrs);
    node->output_types.append(output_types);
    node->edges.resize(inputs.size());
    uint32_t needs = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      node->input_types.push_back(type_of(inputs[i]));
      if (!has_gradient(inputs[i])) continue;
      const TensorExtra& extra = *inputs[i]->extra;
      extra.node->retain();
      node->edges[i] = {extra.node, extra.output};
      if (i < 32) needs |= 1u << i;
    }
    save(ctx, *node, inputs, needs, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (is_float(outputs[i]->dtype)) attach_history(*outputs[i], node, static_cast<int32_t>(i));
    }
  } catch (...) {
    release_node(node);
    throw;
  }
  release_node(node);
}

}  // namespace dlcore
