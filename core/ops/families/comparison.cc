// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, selection. NaN is unequal to everything and compares false.
#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kEqual = 10, kNotEqual = 11, kLess = 12, kLessEqual = 13, kGreater = 14,
                  kGreaterEqual = 15, kLogicalAnd = 16, kLogicalOr = 17, kLogicalXor = 18,
                  kIsNan = 43, kIsInf = 44, kIsFinite = 45, kLogicalNot = 46, kWhere = 49;

constexpr OpDef comparison(int32_t number, const char* name, const char* doc) {
  return {
      .number = number,
      .name = name,
      .family = "comparison",
      .doc = doc,
      .inputs = {in("a", kAllSet), in("b", kAllSet)},
      .outputs = {out("y", "bool")},
      .traits = kElementwise | kNoGradient,
      .infer = infer_comparison,
      .batch = batch_elementwise,
  };
}

constexpr OpDef logic(int32_t number, const char* name, const char* doc) {
  OpDef op = comparison(number, name, doc);
  op.inputs = {in("a", kBoolSet), in("b", kBoolSet)};
  return op;
}

constexpr OpDef test(int32_t number, const char* name, const char* doc) {
  OpDef op = comparison(number, name, doc);
  op.inputs = {in("x", kAnyFloatSet)};
  return op;
}

constexpr OpDef op_equal = comparison(kEqual, "equal", "a == b.");
constexpr OpDef op_not_equal = comparison(kNotEqual, "not_equal", "a != b.");
constexpr OpDef op_less = comparison(kLess, "less", "a < b.");
constexpr OpDef op_less_equal = comparison(kLessEqual, "less_equal", "a <= b.");
constexpr OpDef op_greater = comparison(kGreater, "greater", "a > b.");
constexpr OpDef op_greater_equal = comparison(kGreaterEqual, "greater_equal", "a >= b.");
constexpr OpDef op_logical_and = logic(kLogicalAnd, "logical_and", "a and b.");
constexpr OpDef op_logical_or = logic(kLogicalOr, "logical_or", "a or b.");
constexpr OpDef op_logical_xor = logic(kLogicalXor, "logical_xor", "Exactly one of a and b.");
constexpr OpDef op_isnan = test(kIsNan, "isnan", "Whether x is NaN.");
constexpr OpDef op_isinf = test(kIsInf, "isinf", "Whether x is +inf or -inf.");
constexpr OpDef op_isfinite = test(kIsFinite, "isfinite", "Whether x is neither NaN nor infinite.");

constexpr OpDef op_logical_not = {
    .number = kLogicalNot,
    .name = "logical_not",
    .family = "comparison",
    .doc = "not x.",
    .inputs = {in("x", kBoolSet)},
    .outputs = {out("y", "bool")},
    .traits = kElementwise | kNoGradient,
    .infer = infer_comparison,
    .batch = batch_elementwise,
};

constexpr OpDef op_where = {
    .number = kWhere,
    .name = "where",
    .family = "comparison",
    .doc = "a where condition is true, else b; the three are broadcast.",
    .inputs = {fixed_in("condition", kBoolSet), in("a", kAllSet), in("b", kAllSet)},
    .traits = kElementwise,
    .key_input = 1,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          const Value c = r.input(0), zero = full_like(r.g(), {}, 0);
          if (r.needs(1)) r.set(1, where(c, r.g(), zero));
          if (r.needs(2)) r.set(2, where(c, zero, r.g()));
        },
    .saves = saves_x,
    .jvp = [](Jvp& r) { r.set(0, where(r.input(0), r.zero_filled(1), r.zero_filled(2))); },
    .batch = batch_elementwise,
};

constexpr const OpDef* kOps[] = {
    &op_equal,         &op_not_equal,   &op_less,        &op_less_equal,  &op_greater,
    &op_greater_equal, &op_logical_and, &op_logical_or,  &op_logical_xor, &op_isnan,
    &op_isinf,         &op_isfinite,    &op_logical_not, &op_where};

}  // namespace

extern const OpFamily comparison_ops = kOps;

Value equal(const Value& a, const Value& b) { return call(kEqual, {a, b}); }
Value not_equal(const Value& a, const Value& b) { return call(kNotEqual, {a, b}); }
Value less(const Value& a, const Value& b) { return call(kLess, {a, b}); }
Value greater(const Value& a, const Value& b) { return call(kGreater, {a, b}); }
Value logical_and(const Value& a, const Value& b) { return call(kLogicalAnd, {a, b}); }
Value logical_not(const Value& x) { return call(kLogicalNot, {x}); }
Value isfinite(const Value& x) { return call(kIsFinite, {x}); }
Value where(const Value& condition, const Value& a, const Value& b) {
  return call(kWhere, {condition, a, b});
}

}  // namespace dlcore
