// SPDX-License-Identifier: Apache-2.0
// History: a node for each recorded op, hung on the op's results. Nodes point at what they were
// computed from, never the other way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/base/mutex.h"
#include "core/base/small_vector.h"
#include "core/tensor/tensor.h"

namespace dlcore {

struct OpDef;

// Where backward accumulates the gradient of a variable. Shared by the variable and its leaves.
struct GradientSlot {
  Mutex lock;
  TensorRef gradient;
};

// What is known of a tensor without its elements.
struct TensorType {
  Dtype dtype = DLCORE_DTYPE_NONE;
  bool weak = false;
  Dims dims;
};

class Node {
 public:
  struct Edge {
    Node* node = nullptr;  // one reference; nullptr: no gradient goes there
    int32_t output = 0;
  };

  // A leaf when `op` is nullptr.
  const OpDef* op = nullptr;
  int32_t level = 0;           // number of transform levels its tensors are wrapped in
  bool plain_outputs = false;  // saved outputs carry a history of their own
  Device* device = nullptr;
  SmallVector<Edge, 3> edges;         // one for each input
  SmallVector<TensorRef, 3> inputs;   // those that are saved
  SmallVector<TensorRef, 1> outputs;  // aliases of those that are saved
  SmallVector<TensorType, 3> input_types;
  SmallVector<TensorType, 1> output_types;
  SmallVector<int64_t, 4> attrs;
  std::shared_ptr<GradientSlot> slot;  // of a variable's leaf

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  bool drop() { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  // A sweep uses what was saved from begin_use, which answers false when it has been freed, to
  // end_use. What is freed goes with its last user: sweeps may walk the same history at once.
  bool begin_use();
  void end_use(bool free);

  Node* next_dead = nullptr;  // while waiting to be destroyed

 private:
  void forget_saved();

  std::atomic<uint32_t> references_{1};
  std::atomic<uint32_t> users_{0};
  std::atomic<bool> freed_{false};      // nobody may begin to use it
  std::atomic<bool> forgotten_{false};  // and the last user has cleared it
};

// Gives up one reference. However deep the history, it is freed without recursion.
void release_node(Node* node);
// Hangs a node of `op` on the results of a call that was made on inputs `level` transform levels
// deep, and lets it save what the op's derivative asks for.
void record(Context& ctx, const OpDef& op, int32_t level, std::span<Tensor* const> inputs,
            std::span<const int64_t> attrs, std::span<const TensorType> output_types,
            std::span<TensorRef> outputs);
// Whether a call on inputs `level` levels deep has to be recorded.
bool needs_history(const Context& ctx, const OpDef& op, int32_t level,
                   std::span<Tensor* const> inputs);
// Makes `tensor` output `index` of `node`.
void attach_history(Tensor& tensor, Node* node, int32_t index);
// A leaf for `tensor`'s elements.
TensorRef make_leaf(Context& ctx, Tensor& tensor, std::shared_ptr<GradientSlot> slot);

}  // namespace dlcore
