// SPDX-License-Identifier: Apache-2.0
// Channels that are neighbours in memory, [N, C], summed side by side with the bits that each
// channel by itself would have. Included once per instruction set, after hwy/highway.h.

#if defined(DLCORE_CPU_NORM_COLUMNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_NORM_COLUMNS_INL_H
#undef DLCORE_CPU_NORM_COLUMNS_INL_H
#else
#define DLCORE_CPU_NORM_COLUMNS_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/reduce/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {

inline constexpr int64_t kTileChannels = 64;

// A tile of channels of one operand: element i of channel c lies at x[i * stride + c].
template <class T>
struct Columns {
  T* x;
  int64_t stride;
};

// Whether channels are neighbours and an example has one element of each.
template <class T>
bool has_columns(const Rows<T>& rows) {
  const AxisList& channels = rows.view().rows;
  const AxisList& examples = rows.view().elements;
  return !rows.narrow() && channels.n == 1 && channels.axes[0].stride == 1 && examples.n == 1;
}

template <class T>
Columns<T> columns_of(const Rows<T>& rows, int64_t channel) {
  return {reinterpret_cast<T*>(rows.row(channel)), rows.view().elements.axes[0].stride};
}

// Calls body(d, c) for the vectors of `width` channels.
template <class T, class Body>
HWY_INLINE void for_each_vector(int64_t width, const Body& body) {
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  int64_t c = 0;
  for (; c + kWidth <= width; c += kWidth) body(hn::ScalableTag<T>(), c);
  for (; c < width; ++c) body(hn::CappedTag<T, 1>(), c);
}

// out[c] = sum over i < n of map(d, i, c), a vector over channels, in the order of fold_map.
template <class T, class Map>
HWY_INLINE void sum_columns(int64_t n, int64_t width, const Map& map, T* out) {
  alignas(64) T lanes[kLanes][kTileChannels];
  for (int64_t lane = 0; lane < kLanes; ++lane) std::fill_n(lanes[lane], width, T(0));
  for (int64_t i = 0; i < n; ++i) {
    T* lane = lanes[i % kLanes];
    for_each_vector<T>(width, [&](auto d, int64_t c) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, lane + c), map(d, i, c)), d, lane + c);
    });
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) {
      T* a = lanes[l];
      const T* b = lanes[l + half];
      for_each_vector<T>(width, [&](auto d, int64_t c) HWY_ATTR {
        hn::StoreU(hn::Add(hn::LoadU(d, a + c), hn::LoadU(d, b + c)), d, a + c);
      });
    }
  }
  std::copy_n(lanes[0], width, out);
}

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DLCORE_CPU_NORM_COLUMNS_INL_H
