// SPDX-License-Identifier: Apache-2.0
// Looking for a definition of a catalogue (layers, optimizers, schedules) among all there are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dlcore {

// nullptr when there is none.
template <class Def>
const Def* find_definition(std::span<const Def* const> all, int32_t number) {
  for (const Def* def : all) {
    if (def->number == number) return def;
  }
  return nullptr;
}

template <class Def>
const Def* find_definition(std::span<const Def* const> all, std::string_view name) {
  for (const Def* def : all) {
    if (def->name == name) return def;
  }
  return nullptr;
}

}  // namespace dlcore
