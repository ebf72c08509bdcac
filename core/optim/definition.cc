// SPDX-License-Identifier: Apache-2.0
#include "core/optim/definition.h"

#include <cmath>

#include "core/base/definitions.h"
#include "core/base/error.h"

namespace dlcore {

extern const OptimizerDef adam_optimizer, adamw_optimizer, sgd_optimizer;

void need_not_negative(const AttrReader& attrs, std::span<const AttrDef> defs, int i,
                       const char* function) {
  const double value = attrs.real(i);
  if (std::isfinite(value) && value >= 0) return;
  invalid("{}: {} is {}, expected a finite number, 0 or more", function,
          defs[static_cast<size_t>(i)].name, value);
}

void need_fraction(const AttrReader& attrs, std::span<const AttrDef> defs, int i,
                   const char* function) {
  const double value = attrs.real(i);
  if (value >= 0 && value < 1) return;
  invalid("{}: {} is {}, expected 0 or more and less than 1", function,
          defs[static_cast<size_t>(i)].name, value);
}

std::span<const OptimizerDef* const> all_optimizers() {
  static constexpr const OptimizerDef* kAll[] = {&adam_optimizer, &adamw_optimizer, &sgd_optimizer};
  return kAll;
}

const OptimizerDef* find_optimizer(int32_t number) {
  return find_definition(all_optimizers(), number);
}
const OptimizerDef* find_optimizer(std::string_view name) {
  return find_definition(all_optimizers(), name);
}

}  // namespace dlcore
