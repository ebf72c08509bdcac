// SPDX-License-Identifier: Apache-2.0
// exp, expm1, log, log1p and what is built from them alone.
#if defined(DLCORE_CPU_VECTOR_MATH_EXP_LOG) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_VECTOR_MATH_EXP_LOG
#undef DLCORE_CPU_VECTOR_MATH_EXP_LOG
#else
#define DLCORE_CPU_VECTOR_MATH_EXP_LOG
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE::vmath {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr bool kIsF32 = sizeof(T) == 4;
template <class T>
inline constexpr int kMantissaBits = kIsF32<T> ? 23 : 52;
template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

// c0 + c1 x + c2 x^2 ... by Horner's rule.
template <class D, class V, class T>
HWY_INLINE V polynomial(D d, V /*x*/, T c0) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(c0));
}
template <class D, class V, class T, class... Rest>
HWY_INLINE V polynomial(D d, V x, T c0, Rest... rest) {
  return hn::MulAdd(polynomial(d, x, rest...), x, hn::Set(d, static_cast<hn::TFromD<D>>(c0)));
}

// The constant that is `f32` or `f64` by the type of D.
template <class D>
HWY_INLINE hn::Vec<D> constant(D d, float f32, double f64) {
  using T = hn::TFromD<D>;
  if constexpr (kIsF32<T>) {
    return hn::Set(d, f32);
  } else {
    return hn::Set(d, f64);
  }
}

// 2^n for integral n in the range of normal numbers: the sum leaves n + bias in the low mantissa
// bits.
template <class D, class V>
HWY_INLINE V power_of_two(D d, V n) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  const V shifter = constant(d, 0x1.8p23f + 127.0f, 0x1.8p52 + 1023.0);
  return hn::BitCast(d, hn::ShiftLeft<kMantissaBits<T>>(hn::BitCast(du, hn::Add(n, shifter))));
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2; minimax, relative error of expm1 2.4e-10 and 2.7e-19.
template <class D, class V>
HWY_INLINE V exp_remainder(D d, V r) {
  if constexpr (kIsF32<hn::TFromD<D>>) {
    return polynomial(d, r, 0.500000004f, 0.166666664f, 0.0416663592f, 0.00833338674f,
                      0.0013940768f, 0.00019847916f);
  } else {
    return polynomial(d, r, 0.5, 0.16666666666666677, 0.041666666666666512, 0.00833333333332157,
                      0.0013888888888959839, 0.00019841269886315873, 2.4801587178854987e-5,
                      2.7557243983694817e-6, 2.7557396152983247e-7, 2.5109127146028091e-8,
                      2.0877664115775585e-9);
  }
}

// ln(2) in two parts; products of the first with any exponent are exact.
template <class D>
HWY_INLINE hn::Vec<D> ln2_high(D d) {
  return constant(d, 0.693359375f, 6.93147180369123816490e-01);
}
template <class D>
HWY_INLINE hn::Vec<D> ln2_low(D d) {
  return constant(d, -2.12194440e-4f, 1.90821492927058770002e-10);
}

// exp(high + low) where |low| is far below |high|: the result keeps its relative accuracy when the
// argument is known to more than one word.
template <class D, class V>
HWY_INLINE V exp_of_sum(D d, V high, V low) {
  const V n = hn::Round(hn::Mul(high, constant(d, 1.44269504f, 1.4426950408889634)));
  V r = hn::NegMulAdd(n, ln2_high(d), high);
  r = hn::Add(hn::NegMulAdd(n, ln2_low(d), r), low);
  const V y = hn::Add(hn::MulAdd(hn::Mul(r, r), exp_remainder(d, r), r), constant(d, 1.0f, 1.0));
  // In two steps, so that the scale is representable and subnormal results are rounded once.
  const V half = hn::Round(hn::Mul(n, constant(d, 0.5f, 0.5)));
  V result = hn::Mul(hn::Mul(y, power_of_two(d, half)), power_of_two(d, hn::Sub(n, half)));
  result = hn::IfThenElse(hn::Gt(high, constant(d, 89.0f, 710.0)),
                          hn::Set(d, kInfinity<hn::TFromD<D>>), result);
  return hn::IfThenZeroElse(hn::Lt(high, constant(d, -105.0f, -746.0)), result);
}

template <class D, class V>
HWY_INLINE V exp(D d, V x) {
  return exp_of_sum(d, x, hn::Zero(d));
}

// 2^n (expm1(r) + 1) - 1 with x = n ln(2) + r.
template <class D, class V>
HWY_INLINE V expm1(D d, V x) {
  const V one = constant(d, 1.0f, 1.0);
  const V half = constant(d, 0.5f, 0.5);
  const V n = hn::Round(hn::Mul(x, constant(d, 1.44269504f, 1.4426950408889634)));
  const V high = hn::NegMulAdd(n, ln2_high(d), x);
  const V low = hn::Mul(n, ln2_low(d));
  const V r = hn::Sub(high, low);
  const V lost = hn::Sub(hn::Sub(high, r), low);  // of r, by its rounding
  const V p = hn::Add(r, hn::MulAdd(hn::Mul(r, r), exp_remainder(d, r), lost));
  // Half of it first: 2^n itself overflows where the result does not yet.
  const V scale = power_of_two(d, hn::Sub(n, one));
  const V half_result = hn::MulAdd(scale, p, hn::Sub(scale, half));
  V result = hn::IfThenElse(hn::Eq(n, hn::Zero(d)), p, hn::Add(half_result, half_result));
  result = hn::IfThenElse(hn::Gt(x, constant(d, 89.0f, 710.0)),
                          hn::Set(d, kInfinity<hn::TFromD<D>>), result);
  result = hn::IfThenElse(hn::Lt(x, constant(d, -20.0f, -40.0)), hn::Neg(one), result);
  return hn::CopySign(result, x);  // expm1(-0) is -0
}

// x = 2^exponent * mantissa with mantissa in [sqrt(1/2), sqrt(2)), for positive normal x.
template <class D, class V>
HWY_INLINE V split_exponent(D d, V x, V& mantissa) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  using TU = hn::TFromD<decltype(du)>;
  const auto one_bits = hn::Set(du, static_cast<TU>(kIsF32<T> ? 0x3f800000 : 0x3ff0000000000000));
  const auto root_bits = hn::Set(du, static_cast<TU>(kIsF32<T> ? 0x3f3504f3 : 0x3fe6a09e667f3bcd));
  const auto mantissa_mask = hn::Set(du, (TU{1} << kMantissaBits<T>)-1);
  const auto bits = hn::Add(hn::BitCast(du, x), hn::Sub(one_bits, root_bits));
  mantissa = hn::BitCast(d, hn::Add(hn::And(bits, mantissa_mask), root_bits));
  // The exponent field as a number: placed into the mantissa of 2^23 or 2^52.
  const auto shifter = hn::BitCast(du, constant(d, 0x1p23f, 0x1p52));
  const V field = hn::BitCast(d, hn::Or(hn::ShiftRight<kMantissaBits<T>>(bits), shifter));
  return hn::Sub(field, constant(d, 0x1p23f + 127.0f, 0x1p52 + 1023.0));
}

// log(1 + f) + exponent ln(2) + correction for 1 + f in [sqrt(1/2), sqrt(2)); the scheme and the
// coefficients are those of fdlibm's e_log.c and FreeBSD's e_logf.c.
template <class D, class V>
HWY_INLINE V log_reduced(D d, V f, V exponent, V correction) {
  const V s = hn::Div(f, hn::Add(f, constant(d, 2.0f, 2.0)));
  const V z = hn::Mul(s, s);
  V r;
  if constexpr (kIsF32<hn::TFromD<D>>) {
    r = polynomial(d, z, 0.66666662693f, 0.40000972152f, 0.28498786688f, 0.24279078841f);
  } else {
    r = polynomial(d, z, 6.666666666666735130e-01, 3.999999999940941908e-01,
                   2.857142874366239149e-01, 2.222219843214978396e-01, 1.818357216161805012e-01,
                   1.531383769920937332e-01, 1.479819860511658591e-01);
  }
  r = hn::Mul(r, z);
  const V half_square = hn::Mul(hn::Mul(f, f), constant(d, 0.5f, 0.5));
  const V high = constant(d, 6.9313812256e-01f, 6.93147180369123816490e-01);
  const V low = constant(d, 9.0580006145e-06f, 1.90821492927058770002e-10);
  const V small = hn::MulAdd(s, hn::Add(half_square, r), hn::MulAdd(exponent, low, correction));
  return hn::MulAdd(exponent, high, hn::Sub(f, hn::Sub(half_square, small)));
}

template <class D, class V>
HWY_INLINE V log(D d, V x) {
  using T = hn::TFromD<D>;
  const V zero = hn::Zero(d);
  const auto subnormal = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
  const V scaled = hn::Mul(x, constant(d, 0x1p23f, 0x1p52));
  V mantissa;
  V exponent = split_exponent(d, hn::IfThenElse(subnormal, scaled, x), mantissa);
  exponent = hn::IfThenElse(subnormal, hn::Sub(exponent, constant(d, 23.0f, 52.0)), exponent);
  V result = log_reduced(d, hn::Sub(mantissa, constant(d, 1.0f, 1.0)), exponent, zero);
  result = hn::IfThenElse(hn::Lt(x, hn::Set(d, kInfinity<T>)), result, x);  // infinity and NaN
  result = hn::IfThenElse(hn::Eq(x, zero), hn::Set(d, -kInfinity<T>), result);
  return hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), result);
}

template <class D, class V>
HWY_INLINE V log1p(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = constant(d, 1.0f, 1.0);
  const V u = hn::Add(x, one);
  // What the rounding of u lost.
  const V lost =
      hn::IfThenElse(hn::Lt(x, one), hn::Sub(x, hn::Sub(u, one)), hn::Sub(one, hn::Sub(u, x)));
  V mantissa;
  const V exponent = split_exponent(d, u, mantissa);
  const auto near = hn::Eq(exponent, hn::Zero(d));
  const V f = hn::IfThenElse(near, x, hn::Sub(mantissa, one));
  const V correction = hn::IfThenZeroElse(near, hn::Div(lost, u));
  V result = hn::CopySign(log_reduced(d, f, exponent, correction), x);  // log1p(-0) is -0
  result = hn::IfThenElse(hn::Lt(x, hn::Set(d, kInfinity<T>)), result, x);
  const V minus_one = hn::Neg(one);
  result = hn::IfThenElse(hn::Eq(x, minus_one), hn::Set(d, -kInfinity<T>), result);
  return hn::IfThenElse(hn::Lt(x, minus_one), hn::Set(d, std::numeric_limits<T>::quiet_NaN()),
                        result);
}

// With t = expm1(2|x|), tanh|x| = t / (t + 2): no cancellation anywhere.
template <class D, class V>
HWY_INLINE V tanh(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V t = vmath::expm1(d, hn::Add(magnitude, magnitude));
  const V y = hn::Div(t, hn::Add(t, constant(d, 2.0f, 2.0)));
  const auto saturated = hn::Gt(magnitude, constant(d, 10.0f, 22.0));
  return hn::CopySign(hn::IfThenElse(saturated, constant(d, 1.0f, 1.0), y), x);
}

template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = constant(d, 1.0f, 1.0);
  const V e = vmath::exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

// |x|, but no more than where products with exp(-|x|) vanish, so that infinity times 0 does not
// arise.
template <class D, class V>
HWY_INLINE V bounded_magnitude(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V bound = constant(d, 200.0f, 1000.0);
  return hn::IfThenElse(hn::Gt(magnitude, bound), bound, magnitude);
}

// x * sigmoid(z), for z of the sign of x and at least |x| / 2 in size.
template <class D, class V>
HWY_INLINE V gated(D d, V x, V z) {
  // Far out exp(-|z|) is subnormal and has few bits left: there exp(22 - |z|) is taken, and
  // exp(-22) after the product with x.
  const V far = hn::Abs(z), near_limit = constant(d, 64.0f, 640.0);
  const auto is_far = hn::Gt(far, near_limit);
  const V e =
      vmath::exp(d, hn::Neg(hn::IfThenElse(is_far, hn::Sub(far, constant(d, 22.0f, 22.0)), far)));
  const V product = hn::Mul(bounded_magnitude(d, x), e);
  const V scale = constant(d, 2.7894680929e-10f, 2.789468092868924807e-10);
  const V tail = hn::Neg(hn::IfThenElse(is_far, hn::Mul(product, scale), product));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, x);
  return hn::Div(numerator, hn::Add(e, constant(d, 1.0f, 1.0)));
}

template <class D, class V>
HWY_INLINE V silu(D d, V x) {
  return gated(d, x, x);
}

// Derivative of x sigmoid(z(x)), given z' = dz/dx; the same conditions as for gated.
template <class D, class V>
HWY_INLINE V gated_derivative(D d, V x, V z, V dz) {
  const V one = constant(d, 1.0f, 1.0);
  const V e = vmath::exp(d, hn::Neg(hn::Abs(z)));
  const V q = hn::Div(one, hn::Add(one, e));
  const V eq = hn::Mul(e, q);
  const V gate = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), eq, q);
  const V slope = hn::Mul(hn::Mul(hn::CopySign(bounded_magnitude(d, x), x), hn::Mul(eq, q)), dz);
  return hn::Add(gate, slope);
}

template <class D, class V>
HWY_INLINE V silu_derivative(D d, V x) {
  return gated_derivative(d, x, x, constant(d, 1.0f, 1.0));
}

// log(1 + exp(x))
template <class D, class V>
HWY_INLINE V softplus(D d, V x) {
  const V positive = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  return hn::Add(positive, vmath::log1p(d, vmath::exp(d, hn::Neg(hn::Abs(x)))));
}

}  // namespace dlcore::cpu::HWY_NAMESPACE::vmath
HWY_AFTER_NAMESPACE();

#endif
