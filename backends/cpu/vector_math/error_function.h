// SPDX-License-Identifier: Apache-2.0
// The error function, and gelu through the tail of the normal distribution.
#if defined(DLCORE_CPU_VECTOR_MATH_ERROR_FUNCTION) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_VECTOR_MATH_ERROR_FUNCTION
#undef DLCORE_CPU_VECTOR_MATH_ERROR_FUNCTION
#else
#define DLCORE_CPU_VECTOR_MATH_ERROR_FUNCTION
#endif

#include "backends/cpu/vector_math/exp_log.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE::vmath {

// x^2 = high + low, exactly unless low underflows.
template <class D, class V>
HWY_INLINE void exact_square(D d, V x, V& high, V& low) {
  high = hn::Mul(x, x);
#if HWY_NATIVE_FMA
  (void)d;
  low = hn::MulSub(x, x, high);
#else
  // Dekker: the leading half of the bits of x, and the rest.
  using TU = hn::TFromD<hn::RebindToUnsigned<D>>;
  const hn::RebindToUnsigned<D> du;
  const TU mask = static_cast<TU>(kIsF32<hn::TFromD<D>> ? 0xfffff000 : 0xfffffffff8000000);
  const V a = hn::BitCast(d, hn::And(hn::BitCast(du, x), hn::Set(du, mask)));
  const V b = hn::Sub(x, a);
  const V ab = hn::Mul(a, b);
  low = hn::Add(hn::Add(hn::Sub(hn::Mul(a, a), high), hn::Add(ab, ab)), hn::Mul(b, b));
#endif
}

// The normal distribution beyond t >= 0 has the probability `density` times the result, where
// density is exp(-t^2/2) and the result is p(u) / (t + a) with u = (t - a) / (t + a). Minimax p,
// relative error 9e-10 up to t = 14.5 (f32, a = 3) and 4e-18 up to 39 (f64, a = 3.5).
template <class D, class V>
HWY_INLINE V normal_tail_ratio(D d, V t, V& density) {
  V high, low;
  exact_square(d, t, high, low);
  const V minus_half = constant(d, -0.5f, -0.5);
  density = exp_of_sum(d, hn::Mul(high, minus_half), hn::Mul(low, minus_half));
  const V a = constant(d, 3.0f, 3.5);
  const V q = hn::Div(constant(d, 1.0f, 1.0), hn::Add(t, a));
  const V u = hn::Mul(hn::Sub(t, a), q);
  V p;
  if constexpr (kIsF32<hn::TFromD<D>>) {
    p = polynomial(d, u, 0.72908369f, -0.509331991f, 0.2300177f, -0.0472626876f, -0.0104625205f,
                   0.0069693022f, 0.00102478436f, -0.0010325239f, -0.000244754965f, 0.00013125366f,
                   5.4455094e-5f);
  } else {
    p = polynomial(d, u, 0.74441607543593813, -0.56556181605377899, 0.31542496988795208,
                   -0.11605092871407844, 0.017407832602070569, 0.0064762189198730529,
                   -0.0031891010487347907, -0.00044501295002589667, 0.00047665710541411339,
                   6.7033231240570612e-5, -7.5584674641130075e-5, -1.878889373895549e-5,
                   1.1506663608474855e-5, 5.6519020523581062e-6, -1.1650549781356561e-6,
                   -1.4791483602145411e-6, -1.4322745511442142e-7, 2.9438854030901772e-7,
                   1.2398740665773319e-7, -3.0100485620231383e-8, -3.6406821261186398e-8,
                   -3.8761469487405398e-9, 4.9323952283690193e-9, 1.4970635799991925e-9);
  }
  return hn::Mul(p, q);
}

// |x|, but no more than where the tail has become 0, so that infinity does not meet it.
template <class D, class V>
HWY_INLINE V tail_argument(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V bound = constant(d, 20.0f, 50.0);
  return hn::IfThenElse(hn::Gt(magnitude, bound), bound, magnitude);
}

template <class D, class V>
HWY_INLINE V erf(D d, V x) {
  const V one = constant(d, 1.0f, 1.0);
  const V square = hn::Mul(x, x);
  V p;  // erf(x) / x - 1; minimax, relative error of erf 4e-10 up to 0.928 and 1.3e-19 up to 1
  if constexpr (kIsF32<hn::TFromD<D>>) {
    p = polynomial(d, square, 0.128379167f, -0.376126333f, 0.112836893f, -0.0268590589f,
                   0.00520019401f, -0.000813323121f, 8.33020929e-5f);
  } else {
    p = polynomial(d, square, 0.12837916709551257, -0.37612638903183748, 0.11283791670954855,
                   -0.026866170645072329, 0.0052239776247751263, -0.00085483269783995224,
                   0.00012055331023958872, -1.4925593185838508e-5, 1.6460967513407964e-6,
                   -1.6349967453130349e-7, 1.4657481426754179e-8, -1.1364089819475185e-9,
                   5.9425375244626966e-11);
  }
  const V small = hn::MulAdd(x, p, x);
  V density;
  const V root2 = constant(d, 1.41421356f, 1.4142135623730951);
  const V ratio = normal_tail_ratio(d, tail_argument(d, hn::Mul(x, root2)), density);
  const V tail = hn::Mul(ratio, density);
  const V large = hn::CopySign(hn::Sub(one, hn::Add(tail, tail)), x);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), constant(d, 0.9279f, 1.0)), small, large);
}

// x P(Z <= x): below 0 the tail itself, above x less the part that is missing.
template <class D, class V>
HWY_INLINE V gelu(D d, V x) {
  V density;
  const V t = tail_argument(d, x);
  // The density last: before it nothing is subnormal.
  const V ratio = normal_tail_ratio(d, t, density);
  const V tail = hn::Mul(hn::Mul(t, ratio), density);
  return hn::Sub(hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x), tail);
}

// P(Z <= x) + x exp(-x^2/2) / sqrt(2 pi)
template <class D, class V>
HWY_INLINE V gelu_derivative(D d, V x) {
  V density;
  const V t = tail_argument(d, x);
  const V ratio = normal_tail_ratio(d, t, density);
  const V slope = hn::Mul(t, constant(d, 0.398942280f, 0.39894228040143268));
  const V below =
      hn::Mul(hn::Sub(ratio, slope), density);  // the derivative at -t; at t it is 1 less this
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, hn::Sub(constant(d, 1.0f, 1.0), below));
}

// The argument of the tanh approximation of gelu, doubled: 0.5 x (1 + tanh(z/2)) = x sigmoid(z)
// with z = 2 sqrt(2/pi) (x + 0.044715 x^3). (Hendrycks & Gimpel, arXiv:1606.08415.)
template <class D, class V>
HWY_INLINE V gelu_tanh_argument(D d, V x) {
  const V c1 = constant(d, 1.59576912f, 1.5957691216057308);
  const V c3 = constant(d, 0.0713548163f, 0.071354816272600248);
  return hn::Mul(x, hn::MulAdd(hn::Mul(x, x), c3, c1));
}

template <class D, class V>
HWY_INLINE V gelu_tanh(D d, V x) {
  return gated(d, x, gelu_tanh_argument(d, x));
}

template <class D, class V>
HWY_INLINE V gelu_tanh_derivative(D d, V x) {
  const V c1 = constant(d, 1.59576912f, 1.5957691216057308);
  const V c3 = constant(d, 3 * 0.0713548163f, 3 * 0.071354816272600248);
  const V bounded = hn::CopySign(bounded_magnitude(d, x), x);
  const V slope = hn::MulAdd(hn::Mul(bounded, bounded), c3, c1);
  return gated_derivative(d, x, gelu_tanh_argument(d, x), slope);
}

}  // namespace dlcore::cpu::HWY_NAMESPACE::vmath
HWY_AFTER_NAMESPACE();

#endif
