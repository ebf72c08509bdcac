// SPDX-License-Identifier: Apache-2.0
#include "core/autograd/backward.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/ops/calls.h"
#include "core/ops/rules.h"
#include "core/tensor/variable.h"

namespace dlcore {
namespace {

class Sweep {
 public:
  Sweep(Context& ctx, bool retain) : ctx_(ctx), retain_(retain) {}
  ~Sweep() {
    for (Node* node : used_) node->end_use(/*free=*/done_ && !retain_);
  }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  void seed(const Value& output, Value seed) {
    Tensor& t = output.tensor();
    add(t.extra->node, t.extra->output, std::move(seed));
    roots_.push_back(t.extra->node);
  }

  // Gradients that arrive at these tensors are wanted; without any, those of all variables are.
  void want(const Value& tensor) { wanted_.insert(tensor.tensor().extra->node); }

  void run() {
    order();
    for (auto it = post_order_.rbegin(); it != post_order_.rend(); ++it) {
      ctx_.check_stop();
      visit(**it);
    }
  }

  // Hands the variables their gradients: at the end, so that a sweep which fails changes none.
  void deliver() { add_to_slots(ctx_, of_variables_); }

  // Nothing can fail any more: the history has served. One that failed can be walked again.
  void finish() { done_ = true; }

  Value arrived(const Value& tensor) const {
    const TensorExtra& extra = *tensor.tensor().extra;
    auto it = gradients_.find(extra.node);
    return it == gradients_.end() ? Value() : it->second[static_cast<size_t>(extra.output)];
  }

 private:
  void add(Node* node, int32_t output, Value gradient) {
    auto& at_node = gradients_[node];
    at_node.resize(node->output_types.size());
    Value& sum = at_node[static_cast<size_t>(output)];
    sum = sum ? sum + gradient : std::move(gradient);
  }

  // Depth-first, with a stack of our own: histories can be longer than the call stack.
  void order() {
    struct Frame {
      Node* node;
      size_t next_edge;
    };
    std::vector<Frame> stack;
    for (Node* root : roots_) {
      if (!seen_.insert(root).second) continue;
      stack.push_back({root, 0});
      while (!stack.empty()) {
        Frame& top = stack.back();
        Node* node = top.node;
        if (top.next_edge == node->edges.size()) {
          if (leads_somewhere(*node)) useful_.insert(node);
          post_order_.push_back(node);
          stack.pop_back();
          continue;
        }
        Node* next = node->edges[top.next_edge++].node;
        if (next != nullptr && seen_.insert(next).second) stack.push_back({next, 0});
      }
    }
    used_.reserve(post_order_.size());
  }

  bool leads_somewhere(const Node& node) const {
    if (wanted_.empty() ? node.slot != nullptr : wanted_.contains(const_cast<Node*>(&node)))
      return true;
    for (const Node::Edge& edge : node.edges) {
      if (edge.node != nullptr && useful_.contains(edge.node)) return true;
    }
    return false;
  }

  // What has arrived at a node, which is complete by now, and of no use to anybody else unless it
  // is asked for.
  std::vector<Value> take_arrived(Node& node) {
    auto it = gradients_.find(&node);
    if (it == gradients_.end()) return {};
    if (wanted_.contains(&node)) return it->second;
    std::vector<Value> arrived = std::move(it->second);
    gradients_.erase(it);
    return arrived;
  }

  void visit(Node& node) {
    std::vector<Value> arrived = take_arrived(node);
    if (arrived.empty()) return;
    if (node.op == nullptr) {
      if (wanted_.empty() && node.slot != nullptr)
        of_variables_.push_back({node.slot, std::move(arrived[0])});
      return;
    }
    uint64_t wanted = 0;
    for (size_t i = 0; i < node.edges.size(); ++i) {
      if (node.edges[i].node != nullptr && useful_.contains(node.edges[i].node))
        wanted |= uint64_t{1} << i;
    }
    if (wanted == 0) return;
    if (!node.begin_use()) {
      fail(DLCORE_FAILED_PRECONDITION,
           "{}: the history was freed by an earlier backward; set retain_graph there to use it "
           "twice",
           node.op->name);
    }
    used_.push_back(&node);
    std::vector<Value> results(node.edges.size());
    Vjp rule(ctx_, node, wanted, arrived, results);
    node.op->vjp(rule);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] && (wanted >> i & 1) != 0)
        add(node.edges[i].node, node.edges[i].output, std::move(results[i]));
    }
  }

  Context& ctx_;
  const bool retain_;
  bool done_ = false;
  std::vector<Node*> used_;
  std::vector<Node*> roots_;
  std::vector<SlotGradient> of_variables_;
  std::vector<Node*> post_order_;
  std::unordered_set<Node*> seen_, useful_, wanted_;
  std::unordered_map<Node*, std::vector<Value>> gradients_;
};

int32_t level_of(const Value& v) {
  return v.tensor().leveled() ? v.tensor().extra->level->depth : 0;
}

Value seed_for(const Value& output, const Value& given, size_t index) {
  if (given) {
    if (given.dtype() != output.dtype() || !(given.dims() == output.dims())) {
      const DimMath math(output.context());
      invalid("grad: seed {} is {} {}, expected {} {} as its output", index,
              dtype_name(given.dtype()), math.text(given.dims()), dtype_name(output.dtype()),
              math.text(output.dims()));
    }
    return given;
  }
  for (Dim d : output.dims()) {
    if (!(d == Dim(1))) {
      const DimMath math(output.context());
      invalid("grad: output {} is {} and needs a seed; only outputs of one element have a default",
              index, math.text(output.dims()));
    }
  }
  return full_like(output, output.dims(), 1);
}

void need_float(const char* what, const Value& v) {
  if (!is_float(v.dtype()))
    invalid("{}: the tensor is {}, expected a floating dtype", what, dtype_name(v.dtype()));
}

}  // namespace

std::vector<Value> gradients_of(Context& ctx, std::span<const Value> outputs,
                                std::span<const Value> wrt, std::span<const Value> seeds,
                                const GradOptions& options) {
  std::vector<Value> results(wrt.size());
  ModeGuard modes(ctx);
  Sweep sweep(ctx, options.create_graph || options.retain_graph);
  int32_t level = 1 << 30;
  for (size_t i = 0; i < outputs.size(); ++i) {
    need_float("grad", outputs[i]);
    if (outputs[i].tensor().has_history()) level = std::min(level, level_of(outputs[i]));
  }
  if (options.create_graph) {
    ctx.recording = true;
  } else {
    ctx.recording_below = std::min(ctx.recording_below, level);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value seed = seed_for(outputs[i], i < seeds.size() ? seeds[i] : Value(), i);
    if (outputs[i].tensor().has_history()) sweep.seed(outputs[i], std::move(seed));
  }
  bool any = false;
  for (size_t j = 0; j < wrt.size(); ++j) {
    need_float("grad", wrt[j]);
    if (!wrt[j].tensor().has_history()) {
      if (options.allow_unused) continue;
      fail(DLCORE_FAILED_PRECONDITION,
           "grad: wrt {} has no history; make it a leaf with autograd_watch first", j);
    }
    sweep.want(wrt[j]);
    any = true;
  }
  if (any) sweep.run();
  for (size_t j = 0; j < wrt.size(); ++j) {
    if (wrt[j].tensor().has_history()) results[j] = sweep.arrived(wrt[j]);
    if (!results[j] && !options.allow_unused) {
      fail(DLCORE_FAILED_PRECONDITION,
           "grad: no output depends on wrt {}; set allow_unused if that is meant", j);
    }
  }
  sweep.finish();
  return results;
}

void backward(Context& ctx, const Value& loss) {
  need_float("backward", loss);
  for (Dim d : loss.dims()) {
    if (!(d == Dim(1))) {
      invalid("backward: the loss is {}, expected one element", DimMath(ctx).text(loss.dims()));
    }
  }
  if (!loss.tensor().has_history()) {
    fail(DLCORE_FAILED_PRECONDITION,
         "backward: the tensor has no history: it depends on no trainable variable, or was made "
         "without recording");
  }
  ModeGuard modes(ctx);
  ctx.recording_below = std::min(ctx.recording_below, level_of(loss));
  Sweep sweep(ctx, /*retain=*/false);
  sweep.seed(loss, full_like(loss, loss.dims(), 1));
  sweep.run();
  sweep.deliver();
  sweep.finish();
}

}  // namespace dlcore
