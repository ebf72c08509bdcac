// SPDX-License-Identifier: Apache-2.0
#include "core/ops/registry.h"

#include <algorithm>

#include "core/base/error.h"

namespace dlcore {

// One declaration and one entry for each file in core/ops/families/; the build writes the list.
#define DLCORE_OP_FAMILY(name) extern const OpFamily name##_ops;
#include "op_families.inc"
#undef DLCORE_OP_FAMILY

OpTable::OpTable() {
  const OpFamily families[] = {
#define DLCORE_OP_FAMILY(name) name##_ops,
#include "op_families.inc"
#undef DLCORE_OP_FAMILY
  };
  for (OpFamily family : families) sorted_.insert(sorted_.end(), family.begin(), family.end());
  by_name_ = sorted_;
  std::sort(sorted_.begin(), sorted_.end(), [](auto* a, auto* b) { return a->number < b->number; });
  std::sort(by_name_.begin(), by_name_.end(),
            [](auto* a, auto* b) { return std::string_view(a->name) < std::string_view(b->name); });
  for (const OpDef* op : sorted_) {
    const OpDef*& slot = by_number_.at(static_cast<size_t>(op->number));
    if (slot != nullptr)
      fail(DLCORE_INTERNAL, "ops {} and {} have the same number {}", slot->name, op->name,
           op->number);
    slot = op;
  }
}

const OpDef* OpTable::find(std::string_view name) const {
  auto it = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [](const OpDef* op, std::string_view n) { return std::string_view(op->name) < n; });
  return it != by_name_.end() && name == (*it)->name ? *it : nullptr;
}

namespace {
constexpr OpHint kHints[] = {
    {"cat", "concat"},
    {"concatenate", "concat"},
    {"cast", "astype"},
    {"to", "astype"},
    {"transpose", "permute_dims"},
    {"permute", "permute_dims"},
    {"view", "reshape"},
    {"flatten", "reshape"},
    {"unsqueeze", "expand_dims"},
    {"expand", "broadcast_to"},
    {"add_", "add"},
    {"sub", "subtract"},
    {"mul", "multiply"},
    {"div", "divide"},
    {"power", "pow"},
    {"neg", "negative"},
    {"mm", "matmul"},
    {"bmm", "matmul"},
    {"dot", "matmul"},
    {"conv", "conv2d"},
    {"convolution", "conv2d"},
    {"gemm", "matmul"},
    {"eq", "equal"},
    {"ne", "not_equal"},
    {"lt", "less"},
    {"le", "less_equal"},
    {"gt", "greater"},
    {"ge", "greater_equal"},
    {"amax", "max"},
    {"amin", "min"},
    {"reduce_sum", "sum"},
    {"reduce_mean", "mean"},
    {"clamp", "clip"},
    {"mod", "remainder"},
    {"floordiv", "floor_divide"},
    {"detach", "stop_gradient"},
    {"contiguous", "copy"},
    {"identity", "copy"},
    {"swish", "silu"},
    {"layernorm", "layer_norm"},
    {"softmax_cross_entropy", "cross_entropy"},
    {"rand", "random_uniform"},
    {"randn", "random_normal"},
    {"randint", "random_integers"},
    {"bernoulli", "random_bernoulli"},
    {"select", "where"},
    {"gather", "take_along_axis"},
    {"index_select", "take"},
    {"index_add", "scatter_add"},
    {"max_pool", "max_pool2d"},
    {"avg_pool", "avg_pool2d"},
};
}  // namespace

std::span<const OpHint> op_hints() { return kHints; }

std::string_view op_hint(std::string_view name) {
  for (const OpHint& hint : kHints) {
    if (name == hint.wrong) return hint.right;
  }
  return "";
}

}  // namespace dlcore
