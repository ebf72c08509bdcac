// SPDX-License-Identifier: Apache-2.0
// Unary elementwise mathematics.
#include <numbers>

#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kAbs = 21, kSign = 22, kSquare = 23, kReciprocal = 24, kExp = 25, kExpm1 = 26,
                  kLog = 27, kLog1p = 28, kSqrt = 29, kRsqrt = 30, kSin = 31, kCos = 32, kErf = 39,
                  kFloor = 40, kCeil = 41, kRound = 42, kCopy = 47, kClip = 48, kAstype = 50;

using Saves = SaveMask (*)(uint32_t);

template <UnaryDerivative D>
constexpr OpDef unary(int32_t number, const char* name, DtypeSet dtypes, Saves saves,
                      const char* doc) {
  return {
      .number = number,
      .name = name,
      .family = "elementwise",
      .doc = doc,
      .inputs = {in("x", dtypes)},
      .traits = kElementwise,
      .infer = infer_elementwise,
      .vjp = unary_vjp<D>,
      .saves = saves,
      .jvp = unary_jvp<D>,
      .batch = batch_elementwise,
  };
}

Value d_abs(const Value& t, const Value& x, const Value&) { return t * sign(x); }
Value d_square(const Value& t, const Value& x, const Value&) { return t * x * 2.0; }
Value d_reciprocal(const Value& t, const Value&, const Value& y) { return -(t * square(y)); }
Value d_exp(const Value& t, const Value&, const Value& y) { return t * y; }
Value d_expm1(const Value& t, const Value&, const Value& y) { return t * (y + 1.0); }
Value d_log(const Value& t, const Value& x, const Value&) { return t / x; }
Value d_log1p(const Value& t, const Value& x, const Value&) { return t / (x + 1.0); }
// 0 at 0, where the derivative is infinite: a masked square root then has no NaN in its gradient.
Value d_sqrt(const Value& t, const Value&, const Value& y) {
  const Value at_zero = equal(y, zeros_like(y)), one = full_like(y, {}, 1);
  return t * where(at_zero, zeros_like(y), 0.5 / where(at_zero, one, y));
}
Value d_rsqrt(const Value& t, const Value& x, const Value& y) { return t * (y / x) * -0.5; }
Value d_sin(const Value& t, const Value& x, const Value&) { return t * cos(x); }
Value d_cos(const Value& t, const Value& x, const Value&) { return -(t * sin(x)); }
Value d_erf(const Value& t, const Value& x, const Value&) {
  return t * exp(-square(x)) * (2 * std::numbers::inv_sqrtpi);
}

constexpr OpDef op_abs =
    unary<d_abs>(kAbs, "abs", kAnyNumericSet, saves_x,
                 "|x|; the derivative at 0 is 0. The smallest integer wraps to itself.");
constexpr OpDef op_sign =
    unary<zero_derivative>(kSign, "sign", kAnyNumericSet, nullptr, "-1, 0 or 1; NaN stays NaN.");
constexpr OpDef op_square = unary<d_square>(kSquare, "square", kAnyNumericSet, saves_x, "x * x.");
constexpr OpDef op_reciprocal =
    unary<d_reciprocal>(kReciprocal, "reciprocal", kAnyFloatSet, saves_y, "1 / x.");
constexpr OpDef op_exp = unary<d_exp>(kExp, "exp", kAnyFloatSet, saves_y, "e to the power of x.");
constexpr OpDef op_expm1 =
    unary<d_expm1>(kExpm1, "expm1", kAnyFloatSet, saves_y, "exp(x) - 1, accurate near 0.");
constexpr OpDef op_log = unary<d_log>(kLog, "log", kAnyFloatSet, saves_x,
                                      "The natural logarithm; -inf at 0, NaN below.");
constexpr OpDef op_log1p =
    unary<d_log1p>(kLog1p, "log1p", kAnyFloatSet, saves_x, "log(1 + x), accurate near 0.");
constexpr OpDef op_sqrt =
    unary<d_sqrt>(kSqrt, "sqrt", kAnyFloatSet, saves_y,
                  "The square root; NaN below 0. The derivative at 0 is taken as 0.");
constexpr OpDef op_rsqrt = unary<d_rsqrt>(kRsqrt, "rsqrt", kAnyFloatSet, saves_xy, "1 / sqrt(x).");
constexpr OpDef op_sin =
    unary<d_sin>(kSin, "sin", kAnyFloatSet, saves_x, "The sine of x in radians.");
constexpr OpDef op_cos =
    unary<d_cos>(kCos, "cos", kAnyFloatSet, saves_x, "The cosine of x in radians.");
constexpr OpDef op_erf =
    unary<d_erf>(kErf, "erf", kAnyFloatSet, saves_x,
                 "The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.");
// Integers are whole already.
constexpr OpDef rounding(int32_t number, const char* name, const char* doc) {
  OpDef op = unary<zero_derivative>(number, name, kAnyNumericSet, nullptr, doc);
  op.compose = [](Compose& r) { r.set(0, copy(r.input(0))); };
  op.composes = kIntegerSet;
  return op;
}
constexpr OpDef op_floor =
    rounding(kFloor, "floor", "The largest integer not above x. Its derivative is 0.");
constexpr OpDef op_ceil =
    rounding(kCeil, "ceil", "The smallest integer not below x. Its derivative is 0.");
constexpr OpDef op_round =
    rounding(kRound, "round", "The nearest integer, ties to even. Its derivative is 0.");

constexpr OpDef op_copy = {
    .number = kCopy,
    .name = "copy",
    .family = "elementwise",
    .doc = "The same values in memory of their own, in row-major order.",
    .inputs = {in("x", kAllSet)},
    .traits = kElementwise | kLinear,
    .infer = infer_elementwise,
    .vjp = [](Vjp& r) { r.set(0, r.g()); },
    .batch = batch_elementwise,
};

// 1 where clip lets x through, bounds included.
Value passes(const Value& x, AttrReader attrs) {
  Value mask = equal(x, x);
  if (attrs.has(0))
    mask = logical_and(mask, logical_not(less(x, weak(x.context(), attrs.real(0)))));
  if (attrs.has(1))
    mask = logical_and(mask, logical_not(greater(x, weak(x.context(), attrs.real(1)))));
  return mask;
}

constexpr OpDef op_clip = {
    .number = kClip,
    .name = "clip",
    .family = "elementwise",
    .doc =
        "x, but at least min and at most max, each where given; NaN stays NaN. The gradient passes "
        "where x lies within "
        "the bounds, bounds included.",
    .inputs = {in("x", kAnyNumericSet)},
    .attrs = {positional(optional(float_attr("min", "lower bound"))),
              positional(optional(float_attr("max", "upper bound")))},
    .traits = kElementwise,
    .infer =
        [](Infer& r) {
          if (r.attrs.has(0) && r.attrs.has(1) && r.attrs.real(0) > r.attrs.real(1)) {
            r.refuse("min is {}, which is above max {}", r.attrs.real(0), r.attrs.real(1));
          }
          infer_elementwise(r);
        },
    .vjp = [](Vjp& r) { r.set(0, where(passes(r.input(0), r.attrs), r.g(), zeros_like(r.g()))); },
    .saves = saves_x,
    .jvp =
        [](Jvp& r) {
          r.set(0, where(passes(r.input(0), r.attrs), r.tangent(0), zeros_like(r.tangent(0))));
        },
    .batch = batch_elementwise,
};

constexpr OpDef op_astype = {
    .number = kAstype,
    .name = "astype",
    .family = "elementwise",
    .doc =
        "x converted to another dtype. Floats to integers truncate toward zero and saturate, NaN "
        "gives 0; integers to "
        "narrower integers wrap; anything to bool is x != 0; to f16 and bf16 rounds to nearest "
        "even.",
    .inputs = {fixed_in("x", kAllSet)},
    .attrs = {required(dtype_attr("dtype", "of the result"))},
    .outputs = {out("y", "dtype")},
    .traits = kElementwise,
    .infer = [](Infer& r) { r.set(0, r.attrs.dtype(0), r.dims()); },
    .vjp = [](Vjp& r) { r.set(0, astype(r.g(), r.input_dtype(0))); },
    .jvp =
        [](Jvp& r) {
          if (is_float(r.attrs.dtype(0))) r.set(0, astype(r.tangent(0), r.attrs.dtype(0)));
        },
    .batch = batch_elementwise,
};

constexpr const OpDef* kOps[] = {&op_abs,   &op_sign, &op_square, &op_reciprocal, &op_exp,
                                 &op_expm1, &op_log,  &op_log1p,  &op_sqrt,       &op_rsqrt,
                                 &op_sin,   &op_cos,  &op_erf,    &op_floor,      &op_ceil,
                                 &op_round, &op_copy, &op_clip,   &op_astype};

}  // namespace

extern const OpFamily elementwise_ops = kOps;

Value sign(const Value& x) { return call(kSign, {x}); }
Value square(const Value& x) { return call(kSquare, {x}); }
Value exp(const Value& x) { return call(kExp, {x}); }
Value log(const Value& x) { return call(kLog, {x}); }
Value sqrt(const Value& x) { return call(kSqrt, {x}); }
Value sin(const Value& x) { return call(kSin, {x}); }
Value cos(const Value& x) { return call(kCos, {x}); }
Value copy(const Value& x) { return call(kCopy, {x}); }
Value astype(const Value& x, Dtype dtype) {
  return x.dtype() == dtype ? x : call(kAstype, {x}, Attrs().number(dtype));
}

}  // namespace dlcore
