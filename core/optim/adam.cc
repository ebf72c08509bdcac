// SPDX-License-Identifier: Apache-2.0
// Adam and AdamW: one op, which differ in where weight decay goes.
#include "core/optim/definition.h"

namespace dlcore {
namespace {

constexpr int32_t kAdamUpdate = 161;
enum : int { kLr, kBeta1, kBeta2, kEpsilon, kWeightDecay };

constexpr FixedList<AttrDef, 6> attributes(double weight_decay, const char* decay_doc) {
  return {positional(float_attr("lr", "learning rate", 1e-3)),
          float_attr("beta1", "decay of the mean of gradients", 0.9),
          float_attr("beta2", "decay of the mean of their squares", 0.999),
          float_attr("epsilon", "added to the root of that mean", 1e-8),
          float_attr("weight_decay", decay_doc, weight_decay)};
}
constexpr auto kAdamAttrs = attributes(0, "times the variable, added to the gradient");
constexpr auto kAdamWAttrs =
    attributes(0.01, "times lr times the variable, taken off the variable");

void check(const AttrReader& attrs, const char* function) {
  const std::span<const AttrDef> defs(kAdamAttrs.begin(), kAdamAttrs.size());
  for (const int i : {kLr, kEpsilon, kWeightDecay}) need_not_negative(attrs, defs, i, function);
  for (const int i : {kBeta1, kBeta2}) need_fraction(attrs, defs, i, function);
}

template <bool kDecoupled>
void op_attrs(const AttrReader& attrs, Attrs& words) {
  words.real(attrs.real(kBeta1)).real(attrs.real(kBeta2)).real(attrs.real(kEpsilon));
  words.real(attrs.real(kWeightDecay)).flag(kDecoupled);
}

}  // namespace

extern const OptimizerDef adam_optimizer = {
    .number = 1,
    .name = "Adam",
    .function = "adam",
    .doc =
        "Steps by the mean of past gradients over the root of the mean of their squares.\n\n"
        "Kingma and Ba 2015 (arXiv:1412.6980), Algorithm 1.",
    .attrs = kAdamAttrs,
    .state = {"m", "v"},
    .op = kAdamUpdate,
    .counts_steps = true,
    .check = check,
    .op_attrs = op_attrs<false>,
};

extern const OptimizerDef adamw_optimizer = {
    .number = 2,
    .name = "AdamW",
    .function = "adamw",
    .doc =
        "Adam with weight decay that does not pass through the gradients.\n\n"
        "Loshchilov and Hutter 2019 (arXiv:1711.05101).",
    .attrs = kAdamWAttrs,
    .state = {"m", "v"},
    .op = kAdamUpdate,
    .counts_steps = true,
    .check = check,
    .op_attrs = op_attrs<true>,
};

}  // namespace dlcore
