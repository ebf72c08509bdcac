// SPDX-License-Identifier: Apache-2.0
// Vector forms of step 2 of tree.h, and elementwise maps over dense rows. Included once per
// instruction set, after hwy/highway.h.

#if defined(DLCORE_CPU_REDUCE_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_REDUCE_BLOCK_INL_H
#undef DLCORE_CPU_REDUCE_BLOCK_INL_H
#else
#define DLCORE_CPU_REDUCE_BLOCK_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "backends/cpu/reduce/tree.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct SumOp {
  template <class T>
  static constexpr T kIdentity = T(0);
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V step(D, V a, V x) {
    return hn::Add(a, x);
  }
};

struct ProdOp {
  template <class T>
  static constexpr T kIdentity = T(1);
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V step(D, V a, V x) {
    return hn::Mul(a, x);
  }
};

// NaN wins: it is taken when it comes, and nothing compares greater than it afterwards.
struct MaxOp {
  template <class T>
  static constexpr T kIdentity = -std::numeric_limits<T>::infinity();
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V step(D, V a, V x) {
    return hn::IfThenElse(hn::Or(hn::Gt(x, a), hn::IsNaN(x)), x, a);
  }
};

struct MinOp {
  template <class T>
  static constexpr T kIdentity = std::numeric_limits<T>::infinity();
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V step(D, V a, V x) {
    return hn::IfThenElse(hn::Or(hn::Lt(x, a), hn::IsNaN(x)), x, a);
  }
};

template <class Op, class T>
HWY_INLINE T combine_two(T a, T b) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(Op::step(d, hn::Set(d, a), hn::Set(d, b)));
}

// The first `count` lanes from memory, no more of which is touched; `fill` in the others.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* x, int64_t count, T fill) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  const auto mask = hn::FirstN(d, static_cast<size_t>(count));
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, x), hn::Set(d, fill));
#else
  alignas(64) T values[hn::MaxLanes(D())];
  hn::Store(hn::Set(d, fill), d, values);
  for (int64_t i = 0; i < count; ++i) values[i] = x[i];
  return hn::Load(d, values);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* to, int64_t count) {
#if HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  alignas(64) T values[hn::MaxLanes(D())];
  hn::Store(v, d, values);
  for (int64_t i = 0; i < count; ++i) to[i] = values[i];
#endif
}

// Folds the lanes of one vector in halves.
template <class Op, class D>
HWY_INLINE hn::TFromD<D> fold_vector(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    return fold_vector<Op>(half, Op::step(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// Folds kLanes lanes, lying in kLanes / N vectors, in halves.
template <class Op, class D, size_t kVectors>
HWY_INLINE hn::TFromD<D> fold_lanes(D d, const hn::Vec<D> (&lanes)[kVectors]) {
  if constexpr (kVectors == 1) {
    return fold_vector<Op>(d, lanes[0]);
  } else {
    constexpr size_t kHalf = kVectors / 2;
    return [&]<size_t... i>(std::index_sequence<i...>) HWY_ATTR {
      const hn::Vec<D> halves[kHalf] = {Op::step(d, lanes[i], lanes[i + kHalf])...};
      return fold_lanes<Op>(d, halves);
    }
    (std::make_index_sequence<kHalf>());
  }
}

// Reduces map(x...) over n <= kBlock elements of dense arrays. map(fill...) must be Op's identity.
template <class Op, class T, class Map, class... X>
HWY_INLINE T fold_map(int64_t n, T fill, const Map& map, const X*... x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  constexpr size_t kVectors = kLanes / kWidth;
  const V identity = hn::Set(d, Op::template kIdentity<T>);
  return [&]<size_t... i>(std::index_sequence<i...>) HWY_ATTR {
    V lanes[kVectors] = {((void)i, identity)...};
    const auto whole = [&](int64_t at) HWY_ATTR { return map(hn::LoadU(d, x + at)...); };
    const auto part = [&](int64_t at) HWY_ATTR {
      if (at >= n) return identity;
      return map(load_first(d, x + at, std::min(n - at, kWidth), fill)...);
    };
    int64_t at = 0;
    for (; at + kLanes <= n; at += kLanes) {
      ((lanes[i] = Op::step(d, lanes[i], whole(at + static_cast<int64_t>(i) * kWidth))), ...);
    }
    if (at < n) {
      ((lanes[i] = Op::step(d, lanes[i], part(at + static_cast<int64_t>(i) * kWidth))), ...);
    }
    return fold_lanes<Op>(d, lanes);
  }
  (std::make_index_sequence<kVectors>());
}

template <class Op, class T>
HWY_INLINE T fold_block(const T* x, int64_t n) {
  return fold_map<Op>(
      n, Op::template kIdentity<T>, [](auto v) HWY_ATTR { return v; }, x);
}

// out[i] = map(x[i]...) for n elements of dense arrays; `out` may be one of them.
template <class T, class Map, class... X>
HWY_INLINE void map_block(int64_t n, T* out, const Map& map, const X*... x) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  int64_t at = 0;
  for (; at + kWidth <= n; at += kWidth) hn::StoreU(map(hn::LoadU(d, x + at)...), d, out + at);
  if (at < n) store_first(map(load_first(d, x + at, n - at, T(0))...), d, out + at, n - at);
}

// The same reduction for `width` neighbouring outputs: rows[i] is the offset of row i.
// A lane is a row of vectors here.
template <class Op, class T, int64_t kWidthMax>
HWY_INLINE void fold_columns(const T* x, const int64_t* rows, int64_t n, int64_t width, T* out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  alignas(64) T lanes[kLanes * kWidthMax];
  const V identity = hn::Set(d, Op::template kIdentity<T>);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    T* to = lanes + lane * kWidthMax;
    int64_t c = 0;
    for (; c + 4 * kWidth <= width; c += 4 * kWidth) {
      V a0 = identity, a1 = identity, a2 = identity, a3 = identity;
      for (int64_t r = lane; r < n; r += kLanes) {
        const T* row = x + rows[r] + c;
        a0 = Op::step(d, a0, hn::LoadU(d, row));
        a1 = Op::step(d, a1, hn::LoadU(d, row + kWidth));
        a2 = Op::step(d, a2, hn::LoadU(d, row + 2 * kWidth));
        a3 = Op::step(d, a3, hn::LoadU(d, row + 3 * kWidth));
      }
      hn::Store(a0, d, to + c);
      hn::Store(a1, d, to + c + kWidth);
      hn::Store(a2, d, to + c + 2 * kWidth);
      hn::Store(a3, d, to + c + 3 * kWidth);
    }
    for (; c < width; c += kWidth) {
      V a = identity;
      for (int64_t r = lane; r < n; r += kLanes) {
        const T* row = x + rows[r] + c;
        if (c + kWidth <= width) {
          a = Op::step(d, a, hn::LoadU(d, row));
        } else {
          a = Op::step(d, a, load_first(d, row, width - c, T(0)));
        }
      }
      hn::Store(a, d, to + c);
    }
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) {
      T* a = lanes + lane * kWidthMax;
      const T* b = a + half * kWidthMax;
      for (int64_t c = 0; c < width; c += kWidth) {
        hn::Store(Op::step(d, hn::Load(d, a + c), hn::Load(d, b + c)), d, a + c);
      }
    }
  }
  std::copy_n(lanes, width, out);
}

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DLCORE_CPU_REDUCE_BLOCK_INL_H
