// SPDX-License-Identifier: Apache-2.0
// Products whose b fits one panel of tile-inl.h: rows of a are read where they lie, and a tile of c
// goes straight to memory. Bits are those of the packed product.
#if defined(DLCORE_CPU_MATMUL_NARROW_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_MATMUL_NARROW_PRODUCT_INL_H_
#undef DLCORE_CPU_MATMUL_NARROW_PRODUCT_INL_H_
#else
#define DLCORE_CPU_MATMUL_NARROW_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/matmul/own_split.h"
#include "backends/cpu/matmul/provider.h"
#include "backends/cpu/matmul/widen_pack-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct Narrow {
  const T* a;
  int64_t a_row;
  const T* b;  // packed
  TileSplit split;
  const T* bias;  // kTileCols<T> of them, or null
  T* c;
  int64_t c_row;
  int64_t cols;
};

template <class D>
HWY_INLINE void store_some(D d, hn::Vec<D> v, hn::TFromD<D>* to, int64_t n) {
  using T = hn::TFromD<D>;
  if (n == static_cast<int64_t>(hn::MaxLanes(d))) return hn::StoreU(v, d, to);
  if constexpr (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2) {
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, to);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    hn::Store(v, d, lanes);
    std::memcpy(to, lanes, static_cast<size_t>(n) * sizeof(T));
  }
}

// The lower lanes of x.
template <class To, class D>
HWY_INLINE hn::Vec<To> lower_lanes(To to, D d, hn::Vec<D> x) {
  if constexpr (hn::MaxLanes(To()) == hn::MaxLanes(D())) {
    static_cast<void>(to);
    static_cast<void>(d);
    return x;
  } else {
    const hn::Half<D> half;
    return lower_lanes(to, half, hn::LowerHalf(half, x));
  }
}

// One column vector of the tile: the sums of kTileRows rows in D's lanes.
template <class D>
struct ColumnSums {
  using T = hn::TFromD<D>;
  hn::Vec<D> acc[kTileRows];

  HWY_INLINE ColumnSums() {}  // an implicit one would be compiled for the baseline
  HWY_INLINE void clear(D d) {
#pragma GCC unroll 16
    for (int64_t r = 0; r < kTileRows; ++r) acc[r] = hn::Zero(d);
  }
  // To and from memory, between blocks of k.
  HWY_INLINE void keep(D d, T* total, bool first) {
#pragma GCC unroll 16
    for (int64_t r = 0; r < kTileRows; ++r) {
      T* const to = total + r * static_cast<int64_t>(hn::MaxLanes(D()));
      if (!first) acc[r] = hn::Add(hn::Load(d, to), acc[r]);
      hn::Store(acc[r], d, to);
    }
  }
  HWY_INLINE void store(D d, const T* bias, T* c, int64_t c_row, int64_t cols) {
    if (bias != nullptr) {
      const auto more = hn::LoadU(d, bias);
#pragma GCC unroll 16
      for (int64_t r = 0; r < kTileRows; ++r) acc[r] = hn::Add(acc[r], more);
    }
#pragma GCC unroll 16
    for (int64_t r = 0; r < kTileRows; ++r) store_some(d, acc[r], c + r * c_row, cols);
  }
};

// kTileRows rows from `first` on. The second vector of columns has kSecond lanes, or there is none.
template <class T, size_t kSecond>
HWY_NOINLINE void multiply_narrow_tile(const Narrow<T>& p, int64_t first) {
  const Full<T> d;
  constexpr int64_t kWide = kLanes<T>;
  const hn::CappedTag<T, kSecond == 0 ? 1 : kSecond> d1;
  ColumnSums<Full<T>> sums0;
  ColumnSums<decltype(d1)> sums1;
  alignas(64) T total0[kTileRows * kWide];
  alignas(64) T total1[kTileRows * kWide];
  // Groups of three rows share a pointer: their distances are what an address can hold.
  constexpr int64_t kGroups = (kTileRows + 2) / 3;
  const T* a[kGroups];
#pragma GCC unroll 8
  for (int64_t g = 0; g < kGroups; ++g) a[g] = p.a + (first + 3 * g) * p.a_row;
  const T* b = p.b;
  for (int64_t i = 0; i < p.split.blocks; ++i) {
    sums0.clear(d);
    if constexpr (kSecond > 0) sums1.clear(d1);
    for (int64_t k = p.split.block(i).size(); k > 0; --k, b += kTileCols<T>) {
      const auto b0 = hn::Load(d, b);
      const auto b1 = hn::Load(d1, b + kWide);
#pragma GCC unroll 16
      for (int64_t r = 0; r < kTileRows; ++r) {
        const auto x = hn::Set(d, a[r / 3][r % 3 * p.a_row]);
        sums0.acc[r] = hn::MulAdd(x, b0, sums0.acc[r]);
        if constexpr (kSecond > 0) {
          sums1.acc[r] = hn::MulAdd(lower_lanes(d1, d, x), b1, sums1.acc[r]);
        }
      }
#pragma GCC unroll 8
      for (int64_t g = 0; g < kGroups; ++g) ++a[g];
    }
    if (p.split.blocks > 1) {
      sums0.keep(d, total0, i == 0);
      if constexpr (kSecond > 0) sums1.keep(d1, total1, i == 0);
    }
  }
  T* const c = p.c + first * p.c_row;
  sums0.store(d, p.bias, c, p.c_row, std::min(p.cols, kWide));
  if constexpr (kSecond > 0) {
    const T* const bias = p.bias == nullptr ? nullptr : p.bias + kWide;
    sums1.store(d1, bias, c + kWide, p.c_row, p.cols - kWide);
  }
}

template <class T>
using NarrowFunction = void (*)(const Narrow<T>&, int64_t);

template <class T>
NarrowFunction<T> narrow_function(int64_t cols) {
  constexpr size_t kWide = static_cast<size_t>(kLanes<T>);
  constexpr size_t kQuarter = kWide * sizeof(T) >= 64 ? kWide / 4 : kWide / 2;
  const size_t second = static_cast<size_t>(std::max<int64_t>(0, cols - kLanes<T>));
  if (second == 0) return multiply_narrow_tile<T, 0>;
  if constexpr (kWide * sizeof(T) >= 32) {
    if (second <= kQuarter) return multiply_narrow_tile<T, kQuarter>;
    if (second <= kWide / 2) return multiply_narrow_tile<T, kWide / 2>;
  }
  return multiply_narrow_tile<T, kWide>;
}

// True where multiply_narrow can do a product (see there for its workspace).
template <class T>
bool is_narrow(const Product& p) {
  // Rows a multiple of a page apart fall on the same few lines of the nearest cache.
  const int64_t bytes = p.a.row * static_cast<int64_t>(sizeof(T));
  return p.n <= kTileCols<T> && p.m >= 8 * kTileRows && p.k <= kMostPackedK && p.a.col == 1 &&
         bytes % 4096 != 0 && p.c.col == 1 && !p.accumulate &&
         (p.bias.data == nullptr || (p.bias.row == 0 && p.bias.col == 1));
}

// The workspace holds one packed panel.
template <class T>
void multiply_narrow(const Queue& queue, const Product& p, void* workspace) {
  alignas(64) T bias[kTileCols<T>] = {};
  T* const b = static_cast<T*>(workspace);
  if (p.bias.data != nullptr) {
    std::memcpy(bias, p.bias.data, static_cast<size_t>(p.n) * sizeof(T));
  }
  pack_panel(b, block_at<T>(p.b, 0, 0), p.k, p.n);
  const Narrow<T> narrow{static_cast<const T*>(p.a.data),
                         p.a.row,
                         b,
                         TileSplit::of(p.m, p.k, kTileRows, kChunk),
                         p.bias.data == nullptr ? nullptr : bias,
                         static_cast<T*>(p.c.data),
                         p.c.row,
                         p.n};
  const auto multiply = narrow_function<T>(p.n);
  const int64_t tiles = p.m / kTileRows;
  const int64_t work = kTileRows * kTileCols<T> * std::max<int64_t>(16, p.k);
  const int64_t parts = divide_up(tiles, std::max<int64_t>(1, kSmallestPart / 2 / work));
  queue.parallel_for(parts, [&](int64_t part) {
    if (queue.stopped()) return;
    const Range some = even_range({0, tiles}, parts, part);
    for (int64_t t = some.begin; t < some.end; ++t) multiply(narrow, t * kTileRows);
    // The rows left over, and some again so that they fill a tile; this part wrote those.
    const bool rest = some.end == tiles && p.m % kTileRows != 0;
    if (rest) multiply(narrow, p.m - kTileRows);
    p.finish_rectangle(sizeof(T), {some.begin * kTileRows, rest ? p.m : some.end * kTileRows},
                       {0, p.n});
  });
}

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
