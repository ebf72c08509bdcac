// SPDX-License-Identifier: Apache-2.0
// How a learning-rate schedule is described: a formula of count and base rate, written in ops so
// that it can be captured. What the host computes are constants, and by arithmetic only, whose bits
// are those of every machine.
#pragma once

#include <string_view>

#include "core/ops/attrs.h"
#include "core/ops/calls.h"
#include "core/ops/schema.h"

namespace dlcore {

// Checks attributes and throws INVALID_ARGUMENT with the name and value of the wrong one.
class ScheduleAttrs : public AttrReader {
 public:
  ScheduleAttrs(const char* function, std::span<const AttrDef> defs, std::span<const int64_t> words)
      : AttrReader(defs, words), function_(function), defs_(defs) {}

  const char* function() const { return function_; }
  void need_at_least(int i, int64_t least) const;
  void need_not_negative(int i) const;
  void need_positive(int i) const;
  void need_share(int i) const;  // from 0 to 1

 private:
  const char* function_;
  std::span<const AttrDef> defs_;
};

struct ScheduleDef {
  int32_t number = 0;  // permanent, never reused
  int32_t version = 1;
  const char* name = "";
  const char* function = "";  // what the typed function is called
  const char* doc = "";
  FixedList<AttrDef, 8> attrs{};
  void (*check)(const ScheduleAttrs& attrs) = nullptr;
  // The rate at count `t` of a group with base rate `base`; all are f64 of rank 0.
  Value (*rate)(const AttrReader& attrs, const Value& t, const Value& base) = nullptr;
};

constexpr std::span<const AttrDef> attr_defs(const ScheduleDef& schedule) {
  return {schedule.attrs.begin(), schedule.attrs.size()};
}

// In the order of their numbers.
std::span<const ScheduleDef* const> all_schedules();
const ScheduleDef* find_schedule(int32_t number);  // nullptr when there is none
const ScheduleDef* find_schedule(std::string_view name);

}  // namespace dlcore
