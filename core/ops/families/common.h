// SPDX-License-Identifier: Apache-2.0
// Short forms that the families share.
#pragma once

#include "core/ops/calls.h"
#include "core/ops/rules.h"

namespace dlcore {

// With the half-precision dtypes.
constexpr DtypeSet kAnyFloatSet = kFloatSet | kHalfSet;
constexpr DtypeSet kAnyNumericSet = kNumericSet | kHalfSet;

constexpr InputDef in(const char* name, DtypeSet dtypes, const char* doc = "") {
  return {.name = name, .doc = doc, .dtypes = dtypes};
}
constexpr InputDef optional_in(const char* name, DtypeSet dtypes, const char* doc = "") {
  return {.name = name, .doc = doc, .dtypes = dtypes, .optional = true};
}
// Keeps its own dtype instead of taking part in promotion.
constexpr InputDef fixed_in(const char* name, DtypeSet dtypes, const char* doc = "") {
  return {.name = name, .doc = doc, .dtypes = dtypes, .promotes = false};
}
constexpr InputDef key_in() {
  return {.name = "key",
          .doc =
              "i64 [3]: (seed, generator, call). Left out, it is the next call of the context's "
              "generator",
          .dtypes = dtype_set(DLCORE_I64),
          .promotes = false,
          .optional = true};
}
constexpr OutputDef out(const char* name = "y", const char* dtype = "T", const char* doc = "") {
  return {.name = name, .doc = doc, .dtype = dtype};
}
constexpr OutputDef hidden_out(const char* name, const char* doc = "") {
  return {.name = name, .doc = doc, .hidden = true};
}

// The derivative of a unary elementwise op as a function of (direction, x, y): the same both ways.
// What `Saves` does not name arrives absent.
using UnaryDerivative = Value (*)(const Value& t, const Value& x, const Value& y);
template <UnaryDerivative D>
void unary_vjp(Vjp& r) {
  r.set(0, D(r.g(), r.input(0), r.output(0)));
}
template <UnaryDerivative D>
void unary_jvp(Jvp& r) {
  r.set(0, D(r.tangent(0), r.input(0), r.output(0)));
}
constexpr SaveMask saves_x(uint32_t) { return save_input(0); }
constexpr SaveMask saves_y(uint32_t) { return save_output(0); }
constexpr SaveMask saves_xy(uint32_t) { return save_input(0) | save_output(0); }
constexpr SaveMask saves_both_inputs(uint32_t) { return save_input(0) | save_input(1); }

inline Value zero_derivative(const Value& t, const Value&, const Value&) { return zeros_like(t); }

// The number of elements in `dims` as a scalar that takes the other operand's dtype where it is
// known now, and as a scalar of `like`'s dtype where it is symbolic.
Value size_value(const Value& like, const Dims& dims);

// Half precision as f32, for what must not be rounded on the way: statistics, and results that
// rules compute in several steps.
inline Dtype wide_dtype(Dtype dtype) { return contains(kHalfSet, dtype) ? DLCORE_F32 : dtype; }
inline Value as_dtype(const Value& x, Dtype dtype) {
  return x.dtype() == dtype ? x : astype(x, dtype);
}
inline Value wide(const Value& x) { return as_dtype(x, wide_dtype(x.dtype())); }

// Inputs that do not promote must have the dtype in which statistics of input `x` are kept.
inline void need_wide(const Infer& r, int x, std::initializer_list<int> inputs) {
  const Dtype expected = wide_dtype(r.dtype(x));
  for (int i : inputs) {
    if (r.dtype(i) == expected) continue;
    r.refuse("{} is {}, expected {} beside {} of {}", r.op.inputs[static_cast<size_t>(i)].name,
             dtype_name(r.dtype(i)), dtype_name(expected), r.op.inputs[static_cast<size_t>(x)].name,
             dtype_name(r.dtype(x)));
  }
}

// Axes of a batched input: shifted past the examples axis.
inline Ints shifted(std::span<const int64_t> axes) {
  Ints result;
  for (int64_t axis : axes) result.push_back(axis + 1);
  return result;
}

}  // namespace dlcore
