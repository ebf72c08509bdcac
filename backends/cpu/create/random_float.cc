// SPDX-License-Identifier: Apache-2.0
// random_uniform and random_normal: a vector of Philox blocks at a time, the last ones through a
// buffer.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/create/random_float.cc"
#include "backends/cpu/targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// They use what the former define.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/create/create.h"
#include "backends/cpu/create/random.h"
#include "backends/cpu/elementwise/half_conversion.h"
#include "backends/cpu/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::ScalableTag<uint64_t>;
using V64 = hn::Vec<D64>;
using F64 = hn::ScalableTag<double>;
using VF64 = hn::Vec<F64>;
inline constexpr int64_t kBlocks = static_cast<int64_t>(hn::MaxLanes(D64()));

// The blocks from `first` on, one per lane: words 0 and 1 as one number, word 0 the lower half, and
// words 2 and 3.
struct Blocks {
  V64 low;
  V64 high;
};

HWY_INLINE V64 multiply_words(V64 a, uint32_t b) {
  const D64 d;
  const hn::Repartition<uint32_t, D64> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, hn::Set(d, b)));
}

HWY_INLINE Blocks draw_blocks(const RandomCall& call, uint64_t first) {
  const D64 d;
  const V64 word = hn::Set(d, 0xffffffff);
  const V64 index = hn::Iota(d, first);
  // Each lane holds one 32-bit word; only MulEven looks past the upper halves.
  V64 c0 = hn::And(index, word);
  V64 c1 = hn::ShiftRight<32>(index);
  V64 c2 = hn::Set(d, call.counter2());
  V64 c3 = hn::Set(d, call.counter3());
  uint32_t key0 = call.key0();
  uint32_t key1 = call.key1();
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const V64 product0 = multiply_words(c0, kPhiloxMultiplier0);
    const V64 product1 = multiply_words(c2, kPhiloxMultiplier1);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), c1), hn::Set(d, key0));
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), c3), hn::Set(d, key1));
    c1 = hn::And(product1, word);
    c3 = hn::And(product0, word);
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return {hn::Or(c0, hn::ShiftLeft<32>(c1)), hn::Or(c2, hn::ShiftLeft<32>(c3))};
}

// Exact for numbers up to 2^53: both halves become mantissas of numbers whose exponents fit.
HWY_INLINE VF64 to_double(V64 value) {
  const D64 d;
  const F64 f;
  const V64 low = hn::Or(hn::And(value, hn::Set(d, 0xffffffff)), hn::Set(d, 0x4330000000000000));
  const V64 high = hn::Or(hn::ShiftRight<32>(value), hn::Set(d, 0x4530000000000000));
  const VF64 above = hn::Sub(hn::BitCast(f, high), hn::Set(f, 0x1p84 + 0x1p52));
  return hn::Add(above, hn::BitCast(f, low));
}

// The largest number of the dtype below `end`. One of f16 or bf16 is one of f32, too.
double number_below(double end, dlcore_dtype) {
  return std::nextafter(end, -std::numeric_limits<double>::infinity());
}

float number_below(float end, dlcore_dtype dtype) {
  const float below = std::nextafter(end, -std::numeric_limits<float>::infinity());
  if (!is_half(dtype)) return below;
  const HalfConversion& half = half_conversion(HWY_TARGET, dtype);
  uint16_t bits = 0;
  float nearest = 0;
  half.narrow(1, &below, &bits);
  half.widen(1, &bits, &nearest);
  if (nearest <= below) return nearest;
  // It was rounded up. The next lower number has the next bits: they are a sign and a magnitude.
  bits = nearest == 0 ? uint16_t{0x8001} : static_cast<uint16_t>(nearest < 0 ? bits + 1 : bits - 1);
  half.widen(1, &bits, &nearest);
  return nearest;
}

// low + (high - low) * u, kept below high, which rounding could otherwise reach.
template <class T>
struct Uniform {
  T low, width, most;

  Uniform(const int64_t* attrs, dlcore_dtype dtype) {
    const double from = attr_double(attrs[0]);
    const double to = attr_double(attrs[1]);
    low = static_cast<T>(from);
    width = static_cast<T>(to - from);
    const T end = static_cast<T>(to);
    most = low < end ? number_below(end, dtype) : end;
  }

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> unit) const {
    const auto value = hn::Add(hn::Set(d, low), hn::Mul(hn::Set(d, width), unit));
    return hn::Min(value, hn::Set(d, most));
  }
};

HWY_INLINE void put_blocks(const Blocks& blocks, const Uniform<float>& uniform, float* to) {
  const D64 d;
  const hn::Repartition<uint32_t, D64> d32;
  const hn::Repartition<int32_t, D64> di;
  const hn::Repartition<float, D64> df;
  const hn::Repartition<uint64_t, decltype(df)> back;
  const auto map = [&](V64 words) HWY_ATTR {
    const auto bits = hn::BitCast(di, hn::ShiftRight<8>(hn::BitCast(d32, words)));
    const auto unit = hn::Mul(hn::ConvertTo(df, bits), hn::Set(df, 0x1p-24f));
    return hn::BitCast(back, uniform(df, unit));
  };
  hn::StoreInterleaved2(map(blocks.low), map(blocks.high), d, reinterpret_cast<uint64_t*>(to));
}

HWY_INLINE void put_blocks(const Blocks& blocks, const Uniform<double>& uniform, double* to) {
  const F64 f;
  const auto map = [&](V64 draw) HWY_ATTR {
    return uniform(f, hn::Mul(to_double(hn::ShiftRight<11>(draw)), hn::Set(f, 0x1p-53)));
  };
  hn::StoreInterleaved2(map(blocks.low), map(blocks.high), f, to);
}

// Box and Muller, "A note on the generation of random normal deviates" (1958): two uniform numbers,
// the first in (0, 1], give two normal ones. Computed in f64, rounded once.
template <class T>
struct Normal {
  double mean, deviation;

  Normal(const int64_t* attrs, dlcore_dtype)
      : mean(attr_double(attrs[0])), deviation(attr_double(attrs[1])) {}

  HWY_INLINE void pair(VF64 unit1, VF64 unit2, VF64& first, VF64& second) const {
    const F64 f;
    const VF64 radius =
        hn::Mul(hn::Set(f, deviation), hn::Sqrt(hn::Mul(hn::Set(f, -2.0), vmath::log(f, unit1))));
    const VF64 angle = hn::Mul(hn::Set(f, 6.283185307179586), unit2);
    first = hn::Add(hn::Set(f, mean), hn::Mul(radius, vmath::cos(f, angle)));
    second = hn::Add(hn::Set(f, mean), hn::Mul(radius, vmath::sin(f, angle)));
  }
};

HWY_INLINE void put_blocks(const Blocks& blocks, const Normal<float>& normal, float* to) {
  const D64 d;
  const F64 f;
  const VF64 scale = hn::Set(f, 0x1p-24);
  const auto pair = [&](V64 words, VF64& first, VF64& second) HWY_ATTR {
    const V64 even = hn::ShiftRight<8>(hn::And(words, hn::Set(d, 0xffffffff)));
    const V64 odd = hn::ShiftRight<40>(words);
    normal.pair(hn::Mul(to_double(hn::Add(even, hn::Set(d, 1))), scale),
                hn::Mul(to_double(odd), scale), first, second);
  };
  VF64 z0, z1, z2, z3;
  pair(blocks.low, z0, z1);
  pair(blocks.high, z2, z3);
  HWY_ALIGN double values[4 * kBlocks];
  hn::StoreInterleaved4(z0, z1, z2, z3, f, values);
  for (int64_t i = 0; i < 4 * kBlocks; ++i) to[i] = static_cast<float>(values[i]);
}

HWY_INLINE void put_blocks(const Blocks& blocks, const Normal<double>& normal, double* to) {
  const D64 d;
  const F64 f;
  const VF64 scale = hn::Set(f, 0x1p-53);
  const V64 draw1 = hn::Add(hn::ShiftRight<11>(blocks.low), hn::Set(d, 1));
  const V64 draw2 = hn::ShiftRight<11>(blocks.high);
  VF64 z0, z1;
  normal.pair(hn::Mul(to_double(draw1), scale), hn::Mul(to_double(draw2), scale), z0, z1);
  hn::StoreInterleaved2(z0, z1, f, to);
}

// Elements [begin, end) of the call's draws; begin is the first of a step.
template <class T, class Distribution>
void draw(const RandomCall& call, const Distribution& distribution, int64_t begin, int64_t end,
          T* to) {
  constexpr int64_t kPerBlock = 16 / static_cast<int64_t>(sizeof(T));
  constexpr int64_t kStep = kBlocks * kPerBlock;
  for (; begin + kStep <= end; begin += kStep, to += kStep) {
    put_blocks(draw_blocks(call, static_cast<uint64_t>(begin / kPerBlock)), distribution, to);
  }
  if (begin == end) return;
  T rest[kStep];
  put_blocks(draw_blocks(call, static_cast<uint64_t>(begin / kPerBlock)), distribution, rest);
  std::memcpy(to, rest, static_cast<size_t>(end - begin) * sizeof(T));
}

template <class T, class Distribution>
dlcore_status fill_random(void* queue, const dlcore_launch* launch) {
  const RandomCall call = random_call(launch->inputs[0]);
  const dlcore_operand& out = launch->outputs[0];
  const Distribution distribution(attrs_after_shape(launch), out.dtype);
  for_each_draw(*static_cast<const Queue*>(queue), out.count, [&](int64_t begin, int64_t end) {
    draw(call, distribution, begin, end, static_cast<T*>(out.data) + begin);
  });
  return DLCORE_OK;
}

// f16 and bf16: the numbers of f32, rounded.
template <class Distribution>
dlcore_status fill_random_half(void* queue, const dlcore_launch* launch) {
  constexpr int64_t kTile = 1024;  // whole steps
  const RandomCall call = random_call(launch->inputs[0]);
  const dlcore_operand& out = launch->outputs[0];
  const Distribution distribution(attrs_after_shape(launch), out.dtype);
  const HalfConversion& conversion = half_conversion(HWY_TARGET, out.dtype);
  for_each_draw(*static_cast<const Queue*>(queue), out.count, [&](int64_t begin, int64_t end) {
    alignas(64) float tile[kTile];
    for (; begin < end; begin += kTile) {
      const int64_t last = std::min(end, begin + kTile);
      draw(call, distribution, begin, last, tile);
      conversion.narrow(last - begin, tile, static_cast<uint16_t*>(out.data) + begin);
    }
  });
  return DLCORE_OK;
}

constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kRandomUniform, DLCORE_F32, 0, fill_random<float, Uniform<float>>),
    make_kernel(Op::kRandomUniform, DLCORE_F64, 0, fill_random<double, Uniform<double>>),
    make_kernel(Op::kRandomUniform, DLCORE_F16, 0, fill_random_half<Uniform<float>>),
    make_kernel(Op::kRandomUniform, DLCORE_BF16, 0, fill_random_half<Uniform<float>>),
    make_kernel(Op::kRandomNormal, DLCORE_F32, 0, fill_random<float, Normal<float>>),
    make_kernel(Op::kRandomNormal, DLCORE_F64, 0, fill_random<double, Normal<double>>),
    make_kernel(Op::kRandomNormal, DLCORE_F16, 0, fill_random_half<Normal<float>>),
    make_kernel(Op::kRandomNormal, DLCORE_BF16, 0, fill_random_half<Normal<float>>),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(random_float)
}  // namespace dlcore::cpu
#endif
