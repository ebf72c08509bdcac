// SPDX-License-Identifier: Apache-2.0
// cumsum: out[i] = x[0] + ... + x[i] along one axis, added from the left; of few long sequences the
// sums of chunks are added first. Floats are carried in f64, integers wrap.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/queue.h"
#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/reduce/reduce.h"
#include "backends/cpu/reduce/tree.h"
#include "backends/cpu/targets.h"
#include "core/base/half.h"

namespace dlcore::cpu::plain {
namespace {

constexpr int64_t kTile = 128;  // neighbouring sequences that are summed together
constexpr int64_t kGrain = 32 * 1024;
constexpr int64_t kFewTiles = 16;  // a long sequence among so few is cut into chunks

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Carry = std::conditional_t<std::is_floating_point_v<T> || kIsHalf<T>, double, uint64_t>;

template <class T>
Carry<T> carried(T value) {
  if constexpr (kIsHalf<T>) {
    return to_double(value);
  } else {
    return static_cast<Carry<T>>(value);
  }
}

template <class T>
T stored(Carry<T> value) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_from(value);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return bfloat16_from(value);
  } else {
    return static_cast<T>(value);
  }
}

// Sequences in tiles of neighbours of the output, of which each is cut into chunks when there are
// too few for the threads: their sums come first, and each chunk then starts from those before it.
template <class T>
class Scan {
 public:
  explicit Scan(const dlcore_launch* launch)
      : x_(static_cast<const T*>(launch->inputs[0].data)),
        out_(static_cast<T*>(launch->outputs[0].data)),
        sums_(static_cast<Carry<T>*>(launch->workspace)) {
    const dlcore_operand& input = launch->inputs[0];
    const uint32_t mask = axis_mask(input.rank, launch->attrs[0]);
    view_ = split_axes(input, mask);
    length_ = view_.elements.count();
    step_ = view_.elements.n == 0 ? 0 : view_.elements.axes[0].stride;
    for (int a = input.rank - 1; a >= 0 && (mask >> a & 1) == 0; --a) inner_ *= input.shape[a];
    if (mask == 0) inner_ = 1;
    tile_ = std::min(inner_, kTile);
    tiles_per_run_ = (inner_ + tile_ - 1) / tile_;
    tiles_ = view_.rows.count() / inner_ * tiles_per_run_;
    if (tiles_ < kFewTiles) chunks_ = std::max<int64_t>(1, (length_ + kChunk - 1) / kChunk);
  }

  uint64_t workspace_bytes() const {
    return chunks_ == 1 ? 0 : static_cast<uint64_t>(tiles_ * chunks_ * tile_) * sizeof(Carry<T>);
  }

  void run(const Queue& queue) const {
    if (chunks_ > 1) {
      queue.parallel_for(tiles_ * (chunks_ - 1), [&](int64_t part) {
        if (queue.stopped()) return;
        const int64_t tile = part / (chunks_ - 1), chunk = part % (chunks_ - 1);
        run_tile<false>(tile, chunk, sums(tile, chunk));
      });
    }
    const int64_t parts = tiles_ * chunks_;
    const int64_t per_part = std::max<int64_t>(1, kGrain / (tile_ * std::min(length_, kChunk)));
    queue.parallel_for((parts + per_part - 1) / per_part, [&](int64_t group) {
      if (queue.stopped()) return;
      const int64_t last = std::min((group + 1) * per_part, parts);
      for (int64_t part = group * per_part; part < last; ++part) {
        const int64_t tile = part / chunks_, chunk = part % chunks_;
        Carry<T> start[kTile] = {};
        for (int64_t before = 0; before < chunk; ++before) {
          for (int64_t c = 0; c < tile_; ++c) start[c] += sums(tile, before)[c];
        }
        run_tile<true>(tile, chunk, start);
      }
    });
  }

 private:
  Carry<T>* sums(int64_t tile, int64_t chunk) const {
    return sums_ + (tile * chunks_ + chunk) * tile_;
  }

  // Adds one chunk of a tile to `sums`, which start at zero where nothing is written.
  template <bool kWrite>
  void run_tile(int64_t tile, int64_t chunk, Carry<T>* sums) const {
    const int64_t run = tile / tiles_per_run_;
    const int64_t column = tile % tiles_per_run_ * tile_;
    const int64_t width = std::min(tile_, inner_ - column);
    if (!kWrite) std::fill_n(sums, tile_, Carry<T>(0));
    int64_t offsets[kTile];
    for (int64_t c = 0; c < width; ++c) offsets[c] = view_.rows.offset(run * inner_ + column + c);
    const int64_t first = chunks_ == 1 ? 0 : chunk * kChunk;
    const int64_t last = chunks_ == 1 ? length_ : std::min(length_, first + kChunk);
    T* out = out_ + run * inner_ * length_ + column;
    if (width == 1) {
      const T* x = x_ + offsets[0];
      sums[0] = kWrite ? scan_one(x, first, last, sums[0], out) : sum_one(x, first, last);
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        sums[c] += carried(x_[offsets[c] + i * step_]);
        if (kWrite) out[i * inner_ + c] = stored<T>(sums[c]);
      }
    }
  }

  Carry<T> scan_one(const T* x, int64_t first, int64_t last, Carry<T> sum, T* out) const {
    for (int64_t i = first; i < last; ++i) {
      sum += carried(x[i * step_]);
      out[i * inner_] = stored<T>(sum);
    }
    return sum;
  }
  // Four sums at a time, which do not wait for each other.
  Carry<T> sum_one(const T* x, int64_t first, int64_t last) const {
    Carry<T> sums[4] = {};
    int64_t i = first;
    for (; i + 4 <= last; i += 4) {
      for (int64_t k = 0; k < 4; ++k) sums[k] += carried(x[(i + k) * step_]);
    }
    for (; i < last; ++i) sums[0] += carried(x[i * step_]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  const T* x_;
  T* out_;
  Carry<T>* sums_;
  RowView view_;
  int64_t length_;
  int64_t step_;
  int64_t inner_ = 1;  // neighbouring sequences in the output
  int64_t tile_;
  int64_t tiles_per_run_;
  int64_t tiles_;
  int64_t chunks_ = 1;
};

template <class T>
dlcore_status cumsum(void* queue, const dlcore_launch* launch) {
  if (launch->inputs[0].count == 0) return DLCORE_OK;
  Scan<T>(launch).run(*static_cast<const Queue*>(queue));
  return DLCORE_OK;
}

template <class T>
uint64_t workspace(const dlcore_launch* launch) {
  return launch->inputs[0].count == 0 ? 0 : Scan<T>(launch).workspace_bytes();
}

template <class T>
constexpr dlcore_kernel row() {
  return {static_cast<int32_t>(Op::kCumsum),
          dtype_of<T>(),
          DLCORE_KERNEL_STRIDED,
          0,
          cumsum<T>,
          nullptr,
          workspace<T>};
}

constexpr dlcore_kernel kKernels[] = {row<uint8_t>(),  row<int8_t>(),  row<int16_t>(),
                                      row<int32_t>(),  row<int64_t>(), row<Half>(),
                                      row<BFloat16>(), row<float>(),   row<double>()};

}  // namespace
}  // namespace dlcore::cpu::plain

namespace dlcore::cpu {
DLCORE_CPU_PLAIN_KERNEL_FILE(cumsum)
}  // namespace dlcore::cpu
