// SPDX-License-Identifier: Apache-2.0
// How an optimizer is described. The arithmetic of one update is an op; the description says what
// the op is given.
#pragma once

#include <string_view>

#include "core/ops/attrs.h"
#include "core/ops/schema.h"

namespace dlcore {

struct OptimizerDef {
  int32_t number = 0;  // permanent, never reused
  int32_t version = 1;
  const char* name = "";
  const char* function = "";  // what the typed function is called
  const char* doc = "";
  FixedList<AttrDef, 6> attrs{};      // the first is the learning rate
  FixedList<const char*, 2> state{};  // tensors kept for each variable; they start at zero

  // The op. Inputs: variable, gradient, state, learning rate and, for ops that ask for it, the
  // number of the step, counted from 1. Outputs: variable, state.
  int32_t op = 0;
  bool counts_steps = false;
  void (*check)(const AttrReader& attrs, const char* function) = nullptr;
  void (*op_attrs)(const AttrReader& attrs, Attrs& words) = nullptr;
};

constexpr int kLearningRate = 0;
constexpr std::span<const AttrDef> attr_defs(const OptimizerDef& optimizer) {
  return {optimizer.attrs.begin(), optimizer.attrs.size()};
}

// Throw INVALID_ARGUMENT unless attribute `i` is finite and at least 0, or from 0 up to but not 1.
void need_not_negative(const AttrReader& attrs, std::span<const AttrDef> defs, int i,
                       const char* function);
void need_fraction(const AttrReader& attrs, std::span<const AttrDef> defs, int i,
                   const char* function);

// In the order of their numbers.
std::span<const OptimizerDef* const> all_optimizers();
const OptimizerDef* find_optimizer(int32_t number);  // nullptr when there is none
const OptimizerDef* find_optimizer(std::string_view name);

}  // namespace dlcore
