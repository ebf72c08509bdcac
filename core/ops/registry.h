// SPDX-License-Identifier: Apache-2.0
// All built-in ops by number and name. The list of families is collected by the build from
// core/ops/families/.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/schema.h"

namespace dlcore {

// Built by the engine; the ops themselves are constants.
class OpTable {
 public:
  OpTable();
  static constexpr int32_t kNumbers = 1024;  // custom ops have higher ones

  const OpDef* find(int32_t number) const {
    return number >= 0 && number < kNumbers ? by_number_[static_cast<size_t>(number)] : nullptr;
  }
  const OpDef* find(std::string_view name) const;
  // In the order of their numbers.
  std::span<const OpDef* const> all() const { return sorted_; }

 private:
  std::array<const OpDef*, kNumbers> by_number_{};
  std::vector<const OpDef*> sorted_;
  std::vector<const OpDef*> by_name_;
};

// What a common but wrong name stands for ("cat" -> "concat"); "" when nothing is known.
std::string_view op_hint(std::string_view name);
struct OpHint {
  const char* wrong;
  const char* right;
};
std::span<const OpHint> op_hints();

}  // namespace dlcore
