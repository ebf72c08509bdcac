// SPDX-License-Identifier: Apache-2.0
#include "core/autograd/node.h"

#include "core/engine/context.h"
#include "core/engine/transform.h"

namespace dlcore {
namespace {

// Nodes nobody refers to any more, waiting to be destroyed.
struct DeadNodes {
  Node* first = nullptr;
  void add(Node* node) {
    node->next_dead = first;
    first = node;
  }
};

void bury(Tensor* tensor, DeadNodes& dead);

void drop(TensorRef& ref, DeadNodes& dead) {
  Tensor* tensor = ref.leak();
  if (tensor != nullptr && tensor->drop()) bury(tensor, dead);
}

// Destroys a tensor nobody refers to; the node that made it, if that was its last user, is left in
// `dead`.
void bury(Tensor* tensor, DeadNodes& dead) {
  tensor->tag.store(Tag::kDead, std::memory_order_release);
  if (tensor->extra != nullptr) {
    Node* node = std::exchange(tensor->extra->node, nullptr);
    if (node != nullptr && node->drop()) dead.add(node);
    drop(tensor->extra->primal, dead);
    drop(tensor->extra->tangent, dead);
    delete std::exchange(tensor->extra, nullptr);
  }
  if (tensor->storage != nullptr) std::exchange(tensor->storage, nullptr)->release();
  if (tensor->base != nullptr) {
    Tensor* base = std::exchange(tensor->base, nullptr);
    if (base->drop()) bury(base, dead);
  }
  if (tensor->sizes != tensor->inline_sizes) delete[] tensor->sizes;
  tensor->sizes = nullptr;
  SlotPool* pool = tensor->pool;
  pool->put(tensor);  // from here on the slot may be another tensor
  Engine::after_release(pool);
}

void destroy_nodes(DeadNodes& dead) {
  while (dead.first != nullptr) {
    Node* node = dead.first;
    dead.first = node->next_dead;
    for (TensorRef& input : node->inputs) drop(input, dead);
    for (TensorRef& output : node->outputs) drop(output, dead);
    for (Node::Edge& edge : node->edges) {
      if (edge.node != nullptr && edge.node->drop()) dead.add(edge.node);
    }
    delete node;
  }
}

}  // namespace

TensorExtra::~TensorExtra() {
  if (node != nullptr) release_node(node);
  if (level != nullptr && level->drop()) destroy(level);
}

void destroy_tensor(Tensor* tensor) {
  DeadNodes dead;
  bury(tensor, dead);
  destroy_nodes(dead);
}

void release_node(Node* node) {
  if (!node->drop()) return;
  DeadNodes dead;
  dead.add(node);
  destroy_nodes(dead);
}

bool Node::begin_use() {
  users_.fetch_add(1);
  if (!freed_.load()) return true;
  end_use(false);
  return false;
}

void Node::end_use(bool free) {
  if (free) freed_.store(true);
  if (users_.fetch_sub(1) == 1 && freed_.load() && !forgotten_.exchange(true)) forget_saved();
}

void Node::forget_saved() {
  DeadNodes dead;
  for (TensorRef& input : inputs) dlcore::drop(input, dead);
  for (TensorRef& output : outputs) dlcore::drop(output, dead);
  destroy_nodes(dead);
}

void attach_history(Tensor& tensor, Node* node, int32_t index) {
  TensorExtra& extra = tensor.make_extra();
  node->retain();
  extra.node = node;
  extra.output = index;
}

TensorRef make_leaf(Context& ctx, Tensor& tensor, std::shared_ptr<GradientSlot> slot) {
  TensorRef leaf = new_alias(ctx, tensor);
  auto* node = new Node;
  try {
    node->slot = std::move(slot);
    node->device = tensor.device;
    node->level = tensor.leveled() ? tensor.extra->level->depth : 0;
    node->output_types.push_back({tensor.dtype, tensor.weak, tensor.dims()});
    attach_history(*leaf, node, 0);
  } catch (...) {
    release_node(node);
    throw;
  }
  release_node(node);
  return leaf;
}

}  // namespace dlcore
