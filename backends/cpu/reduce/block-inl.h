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

// Folds n <= kBlock elements, given functions from a place to the vector that begins there, and for
// the last lanes to what there is of it.
template <class Op, class T, class Whole, class Part>
HWY_INLINE T fold_vectors(int64_t n, const Whole& whole, const Part& part) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  constexpr size_t kVectors = kLanes / kWidth;
  const V identity = hn::Set(d, Op::template kIdentity<T>);
  return [&]<size_t... i>(std::index_sequence<i...>) HWY_ATTR {
    V lanes[kVectors] = {((void)i, identity)...};
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

// Reduces map(x...) over n <= kBlock elements of dense arrays. map(fill...) must be Op's identity.
template <class Op, class T, class Map, class... X>
HWY_INLINE T fold_map(int64_t n, T fill, const Map& map, const X*... x) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  return fold_vectors<Op, T>(
      n, [&](int64_t at) HWY_ATTR { return map(hn::LoadU(d, x + at)...); },
      [&](int64_t at) HWY_ATTR {
        if (at >= n) return hn::Set(d, Op::template kIdentity<T>);
        return map(load_first(d, x + at, std::min(n - at, kWidth), fill)...);
      });
}

// The vector of every second element from x on; one more element is read.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_even(D d, const T* x) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::LoadU(d, x);
  } else {
    return hn::ConcatEven(d, hn::LoadU(d, x + hn::MaxLanes(D())), hn::LoadU(d, x));
  }
}

// Reduces kBlock elements, every second from x on; one more element is read.
template <class Op, class T>
HWY_INLINE T fold_even_block(const T* x) {
  const auto whole = [x](int64_t at)
                         HWY_ATTR { return load_even(hn::ScalableTag<T>(), x + 2 * at); };
  return fold_vectors<Op, T>(kBlock, whole, whole);
}

// Reduces up to kChunk / kBlock blocks, a power of two of them, as step 3 does.
template <class Op, class T, class FoldOne>
HWY_INLINE T fold_subtree(int64_t blocks, const FoldOne& fold_one) {
  T results[kChunk / kBlock];
  for (int64_t b = 0; b < blocks; ++b) results[b] = fold_one(b);
  for (; blocks > 1; blocks /= 2) {
    for (int64_t b = 0; b < blocks / 2; ++b) {
      results[b] = combine_two<Op>(results[2 * b], results[2 * b + 1]);
    }
  }
  return results[0];
}

// fold_map that also writes map(x...) to `out`, which may be one of x.
template <class Op, class T, class Map, class... X>
HWY_INLINE T fold_and_store(int64_t n, T* out, T fill, const Map& map, const X*... x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  constexpr size_t kVectors = kLanes / kWidth;
  const V identity = hn::Set(d, Op::template kIdentity<T>);
  return [&]<size_t... i>(std::index_sequence<i...>) HWY_ATTR {
    V lanes[kVectors] = {((void)i, identity)...};
    const auto whole = [&](V& lane, int64_t at) HWY_ATTR {
      const V y = map(hn::LoadU(d, x + at)...);
      hn::StoreU(y, d, out + at);
      lane = Op::step(d, lane, y);
    };
    const auto part = [&](V& lane, int64_t at) HWY_ATTR {
      if (at >= n) {
        lane = Op::step(d, lane, identity);
        return;
      }
      const int64_t count = std::min(n - at, kWidth);
      const V y = map(load_first(d, x + at, count, fill)...);
      store_first(y, d, out + at, count);
      lane = Op::step(d, lane, y);
    };
    int64_t at = 0;
    for (; at + kLanes <= n; at += kLanes) {
      (whole(lanes[i], at + static_cast<int64_t>(i) * kWidth), ...);
    }
    if (at < n) (part(lanes[i], at + static_cast<int64_t>(i) * kWidth), ...);
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

// The same reduction for `width` <= kWidthMax neighbouring outputs, given a function from the
// number of a row to its elements. A lane is a row of vectors here, and rows are taken as they
// come: memory is read in its own order, and the lanes stay in the nearest cache.
template <class Op, class T, int64_t kWidthMax, class RowOf>
HWY_INLINE void fold_columns(const RowOf& row_of, int64_t n, int64_t width, T* out) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  alignas(64) T lanes[kLanes * kWidthMax];
  const auto identity = hn::Set(d, Op::template kIdentity<T>);
  const int64_t used = std::min(n, kLanes);
  for (int64_t r = 0; r < n; ++r) {
    const T* x = row_of(r);
    T* to = lanes + r % kLanes * kWidthMax;
    const bool first = r < kLanes;
    int64_t c = 0;
    for (; c + kWidth <= width; c += kWidth) {
      const auto a = first ? identity : hn::Load(d, to + c);
      hn::Store(Op::step(d, a, hn::LoadU(d, x + c)), d, to + c);
    }
    if (c < width) {
      const auto a = first ? identity : hn::Load(d, to + c);
      hn::Store(Op::step(d, a, load_first(d, x + c, width - c, T(0))), d, to + c);
    }
  }
  for (int64_t lane = used; lane < kLanes; ++lane) {
    for (int64_t c = 0; c < width; c += kWidth) {
      hn::Store(identity, d, lanes + lane * kWidthMax + c);
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
