// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"
#include "core/optim/definition.h"

namespace dlcore {
namespace {

constexpr int32_t kSgdUpdate = 160;
enum : int { kLr, kMomentum, kDampening, kNesterov, kWeightDecay };

constexpr FixedList<AttrDef, 6> kAttrs = {
    positional(float_attr("lr", "learning rate", 1e-2)),
    float_attr("momentum", "share of the velocity that is kept"),
    float_attr("dampening", "share of the gradient that does not enter the velocity"),
    bool_attr("nesterov", "looks ahead along the velocity; needs momentum, and no dampening"),
    float_attr("weight_decay", "times the variable, added to the gradient"),
};

void check(const AttrReader& attrs, const char* function) {
  const std::span<const AttrDef> defs(kAttrs.begin(), kAttrs.size());
  for (const int i : {kLr, kMomentum, kDampening, kWeightDecay}) {
    need_not_negative(attrs, defs, i, function);
  }
  if (attrs.flag(kNesterov) && (attrs.real(kMomentum) == 0 || attrs.real(kDampening) != 0)) {
    invalid(
        "{}: nesterov with momentum {} and dampening {}, expected momentum above 0 and no "
        "dampening",
        function, attrs.real(kMomentum), attrs.real(kDampening));
  }
}

// Without momentum there is no velocity to dampen.
void op_attrs(const AttrReader& attrs, Attrs& words) {
  const double momentum = attrs.real(kMomentum);
  words.real(momentum).real(momentum == 0 ? 0 : attrs.real(kDampening));
  words.flag(attrs.flag(kNesterov)).real(attrs.real(kWeightDecay));
}

}  // namespace

extern const OptimizerDef sgd_optimizer = {
    .number = 3,
    .name = "SGD",
    .function = "sgd",
    .doc =
        "Steps against the gradient, or along a velocity that gathers gradients.\n\n"
        "g = gradient + weight_decay w; v = momentum v + (1 - dampening) g; w -= lr v, or with "
        "nesterov w -= lr (g + momentum v) (Sutskever et al. 2013).",
    .attrs = kAttrs,
    .state = {"velocity"},
    .op = kSgdUpdate,
    .check = check,
    .op_attrs = op_attrs,
};

}  // namespace dlcore
