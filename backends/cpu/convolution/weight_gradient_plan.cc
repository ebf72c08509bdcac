// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/convolution/weight_gradient_plan.h"

#include <algorithm>

namespace dlcore::cpu {
namespace {

constexpr int64_t kFreeElements = int64_t{1} << 14;
constexpr int64_t kWantedParts = 16;
constexpr int64_t kLeastPart = int64_t{1} << 18;  // multiply-adds

int64_t rounded(int64_t n) { return divide_up(n, 16) * 16; }

// Planes of one band must not be much larger than the rows of x that it meets.
bool planes_fit(const WeightGradientPlan& p, const Range& band) {
  const TapAxis rows = p.rows.part(band.begin, band.end);
  const double image = static_cast<double>(p.c.in[0]) * static_cast<double>(p.c.in[1]);
  const auto channels = static_cast<double>(p.c.inputs);
  return channels * PlaneLayout::size(rows, p.cols) <=
         channels * 2 * image + static_cast<double>(kFreeElements);
}

// How many units, groups and tiles are summed apart: enough for the pool, while there is work and
// the partial sums take no more than x.
void choose_ranges(WeightGradientPlan& p) {
  const Convolution& c = p.c;
  const int64_t positions = c.out[0] * c.out[1];
  const double work = static_cast<double>(c.images * positions) *
                      static_cast<double>(c.groups * c.outputs) * static_cast<double>(p.k());
  const int64_t wanted = std::clamp<int64_t>(
      static_cast<int64_t>(std::min(work / static_cast<double>(kLeastPart), 1e6)), 1, kWantedParts);
  p.group_ranges = std::min(c.groups, wanted);
  const int64_t source = c.images * c.groups * c.inputs * c.in[0] * c.in[1] + kFreeElements;
  const int64_t affordable = source / std::max<int64_t>(1, c.groups * p.partial);
  const int64_t wanted_units = divide_up(wanted, p.group_ranges);
  if (c.images < wanted_units) {
    p.bands = std::clamp<int64_t>(divide_up(wanted_units, std::max<int64_t>(1, c.images)), 1,
                                  std::max<int64_t>(1, std::min(c.out[0], positions / 128)));
  }
  p.unit_ranges =
      std::clamp<int64_t>(std::min(affordable, wanted_units), 1, std::max<int64_t>(1, p.units()));
  p.tile_ranges = std::clamp<int64_t>(divide_up(wanted, p.group_ranges * p.unit_ranges), 1,
                                      p.narrow ? c.inputs : p.split.tiles);
}

}  // namespace

Range WeightGradientPlan::k_range(int64_t index) const {
  if (narrow) {
    const Range channels = even_range({0, c.inputs}, tile_ranges, index);
    return {channels.begin * taps(), channels.end * taps()};
  }
  const Range tiles = even_range({0, split.tiles}, tile_ranges, index);
  return {split.tile(tiles.begin).begin, split.tile(tiles.end - 1).end};
}

int64_t WeightGradientPlan::scratch() const {
  // A row of a tile, and the tile, are as long as the longest block of positions.
  const int64_t tile_area = narrow ? 0 : (tile.rows + 2) * kLongestBlock;
  return plane_area + g_area + tile_area;
}

uint64_t WeightGradientPlan::bytes(uint64_t element_bytes) const {
  const int64_t elements = unit_ranges * rounded(c.groups * partial) + parts() * scratch();
  const auto table = static_cast<uint64_t>(planes ? taps() : 0);
  return static_cast<uint64_t>(elements) * element_bytes + table * sizeof(int64_t);
}

WeightGradientPlan WeightGradientPlan::of(const Convolution& c, const TileShape& tile) {
  WeightGradientPlan p{};
  p.c = c;
  p.rows = forward_axis(c, 0);
  p.cols = forward_axis(c, 1);
  p.tile = tile;
  p.split = TileSplit::of(p.k(), 0, tile.rows, tile.chunk);
  p.panels = divide_up(c.outputs, tile.cols);
  p.bands = 1;
  p.planes = c.out[0] > 0 && planes_fit(p, {0, c.out[0]});
  p.narrow = p.planes && 2 * c.outputs <= tile.cols;
  p.partial = p.narrow ? c.outputs * p.k() : p.split.tiles * tile.rows * p.panels * tile.cols;
  choose_ranges(p);
  const int64_t tallest = divide_up(c.out[0], p.bands);
  if (p.planes) {
    p.layout = PlaneLayout::of(p.rows.part(0, tallest), p.cols);
    int64_t most = 0;
    for (int64_t i = 0; i < p.tile_ranges; ++i) {
      const Range k = p.k_range(i);
      most = std::max(most, (k.end - 1) / p.taps() - k.begin / p.taps() + 1);
    }
    p.plane_area = rounded(most * p.layout.plane + tile.cols);
  }
  p.g_area = p.narrow ? c.outputs * tallest * divide_up(c.out[1], tile.cols) * tile.cols
                      : kLongestBlock * std::min(p.panels, kPanelsPacked) * tile.cols;
  p.g_area = rounded(p.g_area);
  return p;
}

}  // namespace dlcore::cpu
