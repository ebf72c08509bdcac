// SPDX-License-Identifier: Apache-2.0
// sin, cos, and pow of f32; the f32 functions are computed in f64 and rounded once.
#if defined(DLCORE_CPU_VECTOR_MATH_TRIGONOMETRIC) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_VECTOR_MATH_TRIGONOMETRIC
#undef DLCORE_CPU_VECTOR_MATH_TRIGONOMETRIC
#else
#define DLCORE_CPU_VECTOR_MATH_TRIGONOMETRIC
#endif

#include <cmath>

#include "backends/cpu/vector_math/exp_log.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE::vmath {

// Computes f on f32 vectors by way of two f64 vectors.
template <class D, class Function, class... V>
HWY_INLINE hn::Vec<D> through_f64(D d, Function f, V... x) {
  const hn::Half<D> dh;
  const hn::RepartitionToWide<D> dw;
  const auto low = f(dw, hn::PromoteTo(dw, hn::LowerHalf(dh, x))...);
  const auto high = f(dw, hn::PromoteTo(dw, hn::UpperHalf(dh, x))...);
  return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
}

// sin and cos on [-pi/4, pi/4] of y + tail, from fdlibm's k_sin.c and k_cos.c. With kShort the
// series of FreeBSD's k_sinf.c and k_cosf.c, whose error 2^-34 vanishes in the rounding to f32.
template <bool kShort, class D, class V>
HWY_INLINE V sin_kernel(D d, V y, V tail) {
  const V z = hn::Mul(y, y);
  if constexpr (kShort) {
    const V p = polynomial(d, z, -0x15555554cbac77.0p-55, 0x111110896efbb2.0p-59,
                           -0x1a00f9e2cae774.0p-65, 0x16cd878c3b46a7.0p-71);
    return hn::MulAdd(hn::Mul(y, z), p, y);
  } else {
    const V p = polynomial(d, z, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
                           2.75573137070700676789e-06, -2.50507602534068634195e-08,
                           1.58969099521155010221e-10);
    const V y3 = hn::Mul(y, z);
    const V inner = hn::NegMulAdd(y3, p, hn::Mul(tail, hn::Set(d, 0.5)));
    const V correction =
        hn::MulAdd(y3, hn::Set(d, 1.66666666666666324348e-01), hn::MulSub(z, inner, tail));
    return hn::Sub(y, correction);
  }
}

template <bool kShort, class D, class V>
HWY_INLINE V cos_kernel(D d, V y, V tail) {
  const V z = hn::Mul(y, y);
  const V one = hn::Set(d, 1.0);
  if constexpr (kShort) {
    const V p = polynomial(d, z, -0x1ffffffd0c5e81.0p-54, 0x155553e1053a42.0p-57,
                           -0x16c087e80f1e27.0p-62, 0x199342e0ee5069.0p-68);
    return hn::MulAdd(z, p, one);
  } else {
    const V p = hn::Mul(z, polynomial(d, z, 4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                      2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                      2.08757232129817482790e-09, -1.13596475577881948265e-11));
    const V half_z = hn::Mul(z, hn::Set(d, 0.5));
    const V w = hn::Sub(one, half_z);
    const V lost = hn::Sub(hn::Sub(one, w), half_z);
    return hn::Add(w, hn::Add(lost, hn::MulSub(z, p, hn::Mul(y, tail))));
  }
}

// Beyond this fdlibm's three-part pi/2 is not exact any more; such arguments go to the C library.
inline constexpr double kTrigonometricLimit = 1.6e6;

// sin(x), or cos(x) with kCos, for |x| up to the limit (Cody & Waite; constants of fdlibm's
// rem_pio2).
template <bool kCos, bool kShort, class D, class V>
HWY_INLINE V sin_or_cos(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V shifter = hn::Set(d, 0x1.8p52);
  const V shifted = hn::Add(hn::Mul(x, hn::Set(d, 6.36619772367581382433e-01)), shifter);
  const V n = hn::Sub(shifted, shifter);
  auto quadrant = hn::BitCast(du, shifted);
  if constexpr (kCos) quadrant = hn::Add(quadrant, hn::Set(du, uint64_t{1}));

  const V r1 = hn::NegMulAdd(n, hn::Set(d, 1.57079632673412561417e+00), x);
  V y, tail;
  if constexpr (kShort) {
    y = hn::NegMulAdd(n, hn::Set(d, 6.07710050650619224932e-11), r1);
    tail = hn::Zero(d);
  } else {
    const V w2 = hn::Mul(n, hn::Set(d, 6.07710050630396597660e-11));
    const V r2 = hn::Sub(r1, w2);
    const V e2 = hn::Sub(hn::Sub(r1, r2), w2);
    const V w3 = hn::Mul(n, hn::Set(d, 2.02226624871116645580e-21));
    const V r3 = hn::Sub(r2, w3);
    const V e3 = hn::Sub(hn::Sub(r2, r3), w3);
    const V low = hn::NegMulAdd(n, hn::Set(d, 8.47842766036889956997e-32), hn::Add(e2, e3));
    y = hn::Add(r3, low);
    tail = hn::Add(hn::Sub(r3, y), low);
  }
  const auto one = hn::Set(du, uint64_t{1});
  const auto swap = hn::MaskFromVec(hn::BitCast(d, hn::Sub(hn::Zero(du), hn::And(quadrant, one))));
  const V result =
      hn::IfThenElse(swap, cos_kernel<kShort>(d, y, tail), sin_kernel<kShort>(d, y, tail));
  const auto sign = hn::ShiftLeft<62>(hn::And(quadrant, hn::Set(du, uint64_t{2})));
  return hn::Xor(result, hn::BitCast(d, sign));
}

// The same for every argument.
template <bool kCos, class D, class V>
HWY_INLINE V sin_or_cos_anywhere(D d, V x) {
  using T = hn::TFromD<D>;
  V result;
  if constexpr (kIsF32<T>) {
    result = through_f64(
        d, [](auto dw, auto wide) HWY_ATTR { return sin_or_cos<kCos, true>(dw, wide); }, x);
  } else {
    result = sin_or_cos<kCos, false>(d, x);
  }
  if constexpr (!kCos) result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);  // keeps -0
  const auto far = hn::Gt(hn::Abs(x), hn::Set(d, static_cast<T>(kTrigonometricLimit)));
  if (HWY_UNLIKELY(!hn::AllFalse(d, far))) {
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(x, d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      const double wide = static_cast<double>(lanes[i]);
      lanes[i] = static_cast<T>(kCos ? std::cos(wide) : std::sin(wide));
    }
    result = hn::IfThenElse(far, hn::Load(d, lanes), result);
  }
  return result;
}

template <class D, class V>
HWY_INLINE V sin(D d, V x) {
  return sin_or_cos_anywhere<false>(d, x);
}

template <class D, class V>
HWY_INLINE V cos(D d, V x) {
  return sin_or_cos_anywhere<true>(d, x);
}

// x^y for values that stem from f32: exp(y log|x|) in f64 has bits to spare. Special cases are
// those of IEEE 754's pow.
template <class D, class V>
HWY_INLINE V pow_of_f32(D d, V x, V y) {
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0);
  const V magnitude = hn::Abs(x);
  V result = vmath::exp(d, hn::Mul(y, vmath::log(d, magnitude)));
  const V half_y = hn::Mul(y, hn::Set(d, 0.5));
  const auto integral = hn::Eq(hn::Floor(y), y);
  const auto even = hn::Eq(hn::Floor(half_y), half_y);
  const V sign = hn::IfThenElseZero(hn::And(integral, hn::Not(even)), x);
  result = hn::CopySign(result, sign);
  const auto finite_negative = hn::And(hn::Lt(x, zero), hn::Gt(x, hn::Set(d, -kInfinity<double>)));
  result = hn::IfThenElse(hn::And(finite_negative, hn::Not(integral)),
                          hn::Set(d, std::numeric_limits<double>::quiet_NaN()), result);
  const auto infinite_y = hn::Eq(hn::Abs(y), hn::Set(d, kInfinity<double>));
  const auto is_one =
      hn::Or(hn::Or(hn::Eq(y, zero), hn::Eq(x, one)), hn::And(infinite_y, hn::Eq(magnitude, one)));
  return hn::IfThenElse(is_one, one, result);
}

// f64 takes the C library's pow: it needs a logarithm to more than 64 bits.
template <class D, class V>
HWY_INLINE V pow(D d, V x, V y) {
  using T = hn::TFromD<D>;
  if constexpr (kIsF32<T>) {
    return through_f64(
        d, [](auto dw, auto a, auto b) HWY_ATTR { return pow_of_f32(dw, a, b); }, x, y);
  } else {
    HWY_ALIGN T base[hn::MaxLanes(d)];
    HWY_ALIGN T exponent[hn::MaxLanes(d)];
    hn::Store(x, d, base);
    hn::Store(y, d, exponent);
    for (size_t i = 0; i < hn::Lanes(d); ++i) base[i] = std::pow(base[i], exponent[i]);
    return hn::Load(d, base);
  }
}

}  // namespace dlcore::cpu::HWY_NAMESPACE::vmath
HWY_AFTER_NAMESPACE();

#endif
