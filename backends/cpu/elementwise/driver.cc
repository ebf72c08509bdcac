// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/elementwise/driver.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>

#include "backends/cpu/elementwise/strided_view.h"

namespace dlcore::cpu {
namespace {

static_assert(kMaxElementwiseInputs <= kMaxViews);

constexpr int64_t kTile = 512;  // elements
constexpr int64_t kWidenedTile = 256;
constexpr int64_t kLongRow = 128;  // rows from this length on are taken one at a time

// How one input reaches the loop.
enum class Access {
  kDirect,  // contiguous altogether
  kRepeat,  // repeats a block that fits into a tile: brought in once per part
  kRow,     // contiguous within a row, and no tile crosses rows
  kPack,    // brought in tile by tile
};

struct Input {
  const std::byte* data = nullptr;
  int64_t size = 0;  // bytes of one element
  Access access = Access::kDirect;
};

struct Plan {
  MergedShape shape;
  int n_inputs;
  int64_t count;
  Input inputs[kMaxElementwiseInputs];
  bool by_rows = false;  // no tile crosses the end of a row
  int64_t tile = kTile;
  int64_t part = 0;  // elements, a multiple of `tile`
  std::byte* out;
  int64_t out_size;
  Loop loop;
  const void* params;

  Plan(const dlcore_launch& launch, Loop l, Grain grain, const void* p);
  int64_t run_part(int64_t index) const;
};

Plan::Plan(const dlcore_launch& launch, Loop l, Grain grain, const void* p)
    : shape(launch.inputs, launch.n_inputs),
      n_inputs(launch.n_inputs),
      count(launch.outputs[0].count),
      out(static_cast<std::byte*>(launch.outputs[0].data)),
      out_size(element_size(launch.outputs[0].dtype)),
      loop(l),
      params(p) {
  int64_t longest_period = 1;
  bool all_direct = true;
  bool packs = false;
  for (int i = 0; i < n_inputs; ++i) {
    Input& input = inputs[i];
    input.data = static_cast<const std::byte*>(launch.inputs[i].data);
    input.size = element_size(launch.inputs[i].dtype);
    if (shape.contiguous(i)) continue;
    all_direct = false;
    const int64_t period = shape.period(i);
    input.access = period <= kTile ? Access::kRepeat : Access::kPack;
    if (period <= kTile) longest_period = std::max(longest_period, period);
    packs = packs || period > kTile;
  }
  const int64_t row = shape.row();
  by_rows = packs && row >= kLongRow;
  if (by_rows) {
    tile = std::min(row, kTile);
    for (int i = 0; i < n_inputs; ++i) {
      Input& input = inputs[i];
      if (input.access == Access::kDirect) continue;
      const int64_t period = shape.period(i);
      const bool repeats = period == 1 || (period == row && row <= kTile);
      input.access = repeats                                 ? Access::kRepeat
                     : shape.strides[i][shape.rank - 1] == 1 ? Access::kRow
                                                             : Access::kPack;
    }
  } else if (all_direct) {
    tile = grain;
  } else {
    // Periods are products of trailing dimensions, so the shorter ones divide the longest.
    tile = kTile / longest_period * longest_period;
  }
  part = (grain + tile - 1) / tile * tile;
}

int64_t Plan::run_part(int64_t index) const {
  alignas(64) std::byte tiles[kMaxElementwiseInputs][kTile * 8];
  const int64_t end = std::min(count, (index + 1) * part);
  for (int64_t first = index * part; first < end;) {
    int64_t n = std::min(tile, end - first);
    if (by_rows) n = std::min(n, shape.row() - first % shape.row());
    const void* data[kMaxElementwiseInputs] = {};
    for (int i = 0; i < n_inputs; ++i) {
      const Input& input = inputs[i];
      if (input.access == Access::kDirect) {
        data[i] = input.data + first * input.size;
      } else if (input.access == Access::kRow) {
        data[i] = input.data + shape.offset(i, first) * input.size;
      } else {
        if (input.access == Access::kPack) {
          pack(tiles[i], shape, i, input.data, first, n, input.size);
        } else if (first == index * part) {
          pack(tiles[i], shape, i, input.data, 0, std::min(tile, count), input.size);
        }
        data[i] = tiles[i];
      }
    }
    const int64_t failed = loop(n, out + first * out_size, data[0], data[1], data[2], params);
    if (failed >= 0) return first + failed;
    first += n;
  }
  return -1;
}

bool all_contiguous(const dlcore_launch& launch) {
  for (int i = 0; i < launch.n_inputs; ++i) {
    if (!is_contiguous(launch.inputs[i])) return false;
  }
  return true;
}

int64_t run_plan(const Queue& queue, const Plan& plan) {
  const int64_t parts = (plan.count + plan.part - 1) / plan.part;
  if (parts == 1) return plan.run_part(0);
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> first_failure{kNone};
  queue.parallel_for(parts, [&](int64_t index) {
    if (queue.stopped()) return;
    const int64_t failed = plan.run_part(index);
    if (failed < 0) return;
    int64_t seen = first_failure.load(std::memory_order_relaxed);
    while (failed < seen && !first_failure.compare_exchange_weak(seen, failed)) {
    }
  });
  const int64_t failed = first_failure.load();
  return failed == kNone ? -1 : failed;
}

struct Widened {
  Loop loop;
  const void* params;
  const HalfConversion& conversion;
  int n_inputs;
  bool narrows;  // the output, too, is of 16 bits
};

// A loop on 16-bit elements: tiles of them, widened, go through the loop of f32.
int64_t widened_loop(int64_t n, void* out, const void* a, const void* b, const void* c,
                     const void* params) {
  alignas(64) float tiles[kMaxElementwiseInputs][kWidenedTile];
  const Widened& widened = *static_cast<const Widened*>(params);
  const void* const inputs[kMaxElementwiseInputs] = {a, b, c};
  for (int64_t first = 0; first < n; first += kWidenedTile) {
    const int64_t length = std::min(kWidenedTile, n - first);
    for (int i = 0; i < widened.n_inputs; ++i) {
      widened.conversion.widen(length, static_cast<const uint16_t*>(inputs[i]) + first, tiles[i]);
    }
    void* const to = widened.narrows ? static_cast<void*>(tiles[0])
                                     : static_cast<void*>(static_cast<uint8_t*>(out) + first);
    const int64_t failed = widened.loop(length, to, tiles[0], tiles[1], tiles[2], widened.params);
    if (failed >= 0) return first + failed;
    if (widened.narrows) {
      widened.conversion.narrow(length, tiles[0], static_cast<uint16_t*>(out) + first);
    }
  }
  return -1;
}

}  // namespace

int64_t element_size(dlcore_dtype dtype) {
  constexpr int8_t kSizes[] = {0, 1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[dtype];
}

int64_t run_elementwise(const Queue& queue, const dlcore_launch& launch, Loop loop, Grain grain,
                        const void* params) {
  const dlcore_operand& out = launch.outputs[0];
  if (out.count == 0) return -1;
  if (out.count <= grain && all_contiguous(launch)) {
    const dlcore_operand* in = launch.inputs;
    return loop(out.count, out.data, in[0].data, launch.n_inputs > 1 ? in[1].data : nullptr,
                launch.n_inputs > 2 ? in[2].data : nullptr, params);
  }
  return run_plan(queue, Plan(launch, loop, grain, params));
}

int64_t run_widened(const Queue& queue, const dlcore_launch& launch, Loop loop, Grain grain,
                    const void* params, const HalfConversion& conversion) {
  const Widened widened = {loop, params, conversion, launch.n_inputs,
                           is_half(launch.outputs[0].dtype)};
  return run_elementwise(queue, launch, widened_loop, grain, &widened);
}

}  // namespace dlcore::cpu
