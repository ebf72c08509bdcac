// SPDX-License-Identifier: Apache-2.0
// Binary arithmetic. Inputs are promoted to a common dtype and broadcast; integers wrap.
#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kAdd = 1, kSubtract = 2, kMultiply = 3, kDivide = 4, kPow = 5, kMaximum = 6,
                  kMinimum = 7, kRemainder = 8, kFloorDivide = 9, kNegative = 20;

constexpr OpDef op_add = {
    .number = kAdd,
    .name = "add",
    .family = "arithmetic",
    .doc = "a + b, element by element.",
    .inputs = {in("a", kAnyNumericSet), in("b", kAnyNumericSet)},
    .traits = kElementwise | kLinear,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          r.set(0, r.g());
          r.set(1, r.g());
        },
    .batch = batch_elementwise,
};

constexpr OpDef op_subtract = {
    .number = kSubtract,
    .name = "subtract",
    .family = "arithmetic",
    .doc = "a - b, element by element.",
    .inputs = {in("a", kAnyNumericSet), in("b", kAnyNumericSet)},
    .traits = kElementwise | kLinear,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          r.set(0, r.g());
          if (r.needs(1)) r.set(1, -r.g());
        },
    .batch = batch_elementwise,
};

constexpr OpDef op_multiply = {
    .number = kMultiply,
    .name = "multiply",
    .family = "arithmetic",
    .doc = "a * b, element by element.",
    .inputs = {in("a", kAnyNumericSet), in("b", kAnyNumericSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          if (r.needs(0)) r.set(0, r.g() * r.input(1));
          if (r.needs(1)) r.set(1, r.g() * r.input(0));
        },
    .saves =
        [](uint32_t needs) {
          return ((needs & 1) != 0 ? save_input(1) : 0) | ((needs & 2) != 0 ? save_input(0) : 0);
        },
    .jvp =
        [](Jvp& r) {
          if (r.moves(0)) r.add(0, r.tangent(0) * r.input(1));
          if (r.moves(1)) r.add(0, r.input(0) * r.tangent(1));
        },
    .batch = batch_elementwise,
};

constexpr OpDef op_divide = {
    .number = kDivide,
    .name = "divide",
    .family = "arithmetic",
    .doc = "a / b, element by element, for floating dtypes; use floor_divide for integers.",
    .inputs = {in("a", kAnyFloatSet), in("b", kAnyFloatSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          const Value per_b = r.g() / r.input(1);
          r.set(0, per_b);
          if (r.needs(1)) r.set(1, -(per_b * r.output(0)));
        },
    .saves = [](uint32_t needs) { return save_input(1) | ((needs & 2) != 0 ? save_output(0) : 0); },
    .jvp =
        [](Jvp& r) {
          if (r.moves(0)) r.add(0, r.tangent(0) / r.input(1));
          if (r.moves(1)) r.add(0, -(r.output() * r.tangent(1) / r.input(1)));
        },
    .batch = batch_elementwise,
};

// d(a**b)/da = b a**(b-1), and 0 where b is 0, whatever a.
Value pow_by_base(const Value& a, const Value& b) {
  const Value none = equal(b, zeros_like(b));
  return where(none, zeros_like(b), b * power(a, b + -1.0));
}

// d(a**b)/db = a**b ln a, and 0 where a is 0.
Value pow_by_exponent(const Value& a, const Value& y) {
  const Value none = equal(a, zeros_like(a));
  const Value one = full_like(a, a.dims(), 1);
  return where(none, zeros_like(a), y * log(where(none, one, a)));
}

constexpr OpDef op_pow = {
    .number = kPow,
    .name = "pow",
    .family = "arithmetic",
    .doc =
        "a to the power of b. x**0 is 1 for every x, and its derivative 0. Integers wrap; a "
        "negative integer exponent "
        "is INVALID_ARGUMENT.",
    .inputs = {in("a", kAnyNumericSet), in("b", kAnyNumericSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          if (r.needs(0)) r.set(0, r.g() * pow_by_base(r.input(0), r.input(1)));
          if (r.needs(1)) r.set(1, r.g() * pow_by_exponent(r.input(0), r.output(0)));
        },
    .saves =
        [](uint32_t needs) {
          return save_input(0) | ((needs & 1) != 0 ? save_input(1) : 0) |
                 ((needs & 2) != 0 ? save_output(0) : 0);
        },
    .jvp =
        [](Jvp& r) {
          if (r.moves(0)) r.add(0, r.tangent(0) * pow_by_base(r.input(0), r.input(1)));
          if (r.moves(1)) r.add(0, r.tangent(1) * pow_by_exponent(r.input(0), r.output()));
        },
    .batch = batch_elementwise,
};

// Share of the gradient that `mine` gets: 1 where it is chosen, half where both are equal.
Value chosen_share(const Value& mine_wins, const Value& tie, const Value& like) {
  const Value half = full_like(like, {}, 0.5);
  return where(tie, half, astype(mine_wins, like.dtype()));
}

void maximum_vjp(Vjp& r) {
  const Value a = r.input(0), b = r.input(1), tie = equal(a, b);
  if (r.needs(0)) r.set(0, r.g() * chosen_share(greater(a, b), tie, r.g()));
  if (r.needs(1)) r.set(1, r.g() * chosen_share(less(a, b), tie, r.g()));
}
void minimum_vjp(Vjp& r) {
  const Value a = r.input(0), b = r.input(1), tie = equal(a, b);
  if (r.needs(0)) r.set(0, r.g() * chosen_share(less(a, b), tie, r.g()));
  if (r.needs(1)) r.set(1, r.g() * chosen_share(greater(a, b), tie, r.g()));
}
void maximum_jvp(Jvp& r) {
  const Value tie = equal(r.input(0), r.input(1));
  if (r.moves(0))
    r.add(0, r.tangent(0) * chosen_share(greater(r.input(0), r.input(1)), tie, r.output()));
  if (r.moves(1))
    r.add(0, r.tangent(1) * chosen_share(less(r.input(0), r.input(1)), tie, r.output()));
}
void minimum_jvp(Jvp& r) {
  const Value tie = equal(r.input(0), r.input(1));
  if (r.moves(0))
    r.add(0, r.tangent(0) * chosen_share(less(r.input(0), r.input(1)), tie, r.output()));
  if (r.moves(1))
    r.add(0, r.tangent(1) * chosen_share(greater(r.input(0), r.input(1)), tie, r.output()));
}

constexpr OpDef op_maximum = {
    .number = kMaximum,
    .name = "maximum",
    .family = "arithmetic",
    .doc =
        "The larger of a and b; NaN when either is. Where both are equal each gets half of the "
        "gradient.",
    .inputs = {in("a", kAnyNumericSet), in("b", kAnyNumericSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = maximum_vjp,
    .saves = saves_both_inputs,
    .jvp = maximum_jvp,
    .batch = batch_elementwise,
};

constexpr OpDef op_minimum = {
    .number = kMinimum,
    .name = "minimum",
    .family = "arithmetic",
    .doc =
        "The smaller of a and b; NaN when either is. Where both are equal each gets half of the "
        "gradient.",
    .inputs = {in("a", kAnyNumericSet), in("b", kAnyNumericSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp = minimum_vjp,
    .saves = saves_both_inputs,
    .jvp = minimum_jvp,
    .batch = batch_elementwise,
};

constexpr OpDef op_remainder = {
    .number = kRemainder,
    .name = "remainder",
    .family = "arithmetic",
    .doc =
        "a - floor(a / b) * b: the remainder has the sign of b. An integer remainder by zero is "
        "INVALID_ARGUMENT.",
    .inputs = {in("a", kAnyNumericSet), in("b", kAnyNumericSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          r.set(0, r.g());
          if (r.needs(1)) r.set(1, -(r.g() * floor_divide(r.input(0), r.input(1))));
        },
    .saves = [](uint32_t needs) { return (needs & 2) != 0 ? save_input(0) | save_input(1) : 0; },
    .jvp =
        [](Jvp& r) {
          if (r.moves(0)) r.add(0, broadcast_to(r.tangent(0), r.output().dims()));
          if (r.moves(1)) r.add(0, -(r.tangent(1) * floor_divide(r.input(0), r.input(1))));
        },
    .batch = batch_elementwise,
};

constexpr OpDef op_floor_divide = {
    .number = kFloorDivide,
    .name = "floor_divide",
    .family = "arithmetic",
    .doc =
        "The largest integer not above a / b. An integer division by zero is INVALID_ARGUMENT; "
        "INT_MIN / -1 wraps. "
        "Its derivative is 0.",
    .inputs = {in("a", kAnyNumericSet), in("b", kAnyNumericSet)},
    .traits = kElementwise,
    .infer = infer_elementwise,
    .vjp =
        [](Vjp& r) {
          r.set(0, zeros_like(r.g()));
          r.set(1, zeros_like(r.g()));
        },
    .jvp = [](Jvp& r) { r.set(0, zeros_like(r.output())); },
    .batch = batch_elementwise,
};

constexpr OpDef op_negative = {
    .number = kNegative,
    .name = "negative",
    .family = "arithmetic",
    .doc = "-x.",
    .inputs = {in("x", kAnyNumericSet)},
    .traits = kElementwise | kLinear,
    .infer = infer_elementwise,
    .vjp = [](Vjp& r) { r.set(0, -r.g()); },
    .batch = batch_elementwise,
};

constexpr const OpDef* kOps[] = {&op_add,          &op_subtract, &op_multiply, &op_divide,
                                 &op_pow,          &op_maximum,  &op_minimum,  &op_remainder,
                                 &op_floor_divide, &op_negative};

}  // namespace

extern const OpFamily arithmetic_ops = kOps;

Value operator+(const Value& a, const Value& b) { return call(kAdd, {a, b}); }
Value operator-(const Value& a, const Value& b) { return call(kSubtract, {a, b}); }
Value operator*(const Value& a, const Value& b) { return call(kMultiply, {a, b}); }
Value operator/(const Value& a, const Value& b) { return call(kDivide, {a, b}); }
Value operator-(const Value& x) { return call(kNegative, {x}); }
Value operator*(const Value& x, double scalar) { return call_scalar(kMultiply, x, scalar); }
Value operator+(const Value& x, double scalar) { return call_scalar(kAdd, x, scalar); }
Value operator-(double scalar, const Value& x) { return call_scalar(kSubtract, x, scalar, true); }
Value operator/(double scalar, const Value& x) { return call_scalar(kDivide, x, scalar, true); }
Value power(const Value& a, const Value& b) { return call(kPow, {a, b}); }
Value floor_divide(const Value& a, const Value& b) { return call(kFloorDivide, {a, b}); }
Value maximum(const Value& a, const Value& b) { return call(kMaximum, {a, b}); }
Value minimum(const Value& a, const Value& b) { return call(kMinimum, {a, b}); }

}  // namespace dlcore
