// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/convolution/correlate_plan.h"

namespace dlcore::cpu {
namespace {

// Small problems may have this much whatever the size of the source.
constexpr int64_t kFreeElements = int64_t{1} << 14;
// Planes at the same time, in elements: more would leave the outer cache.
constexpr int64_t kMostPlanes = int64_t{1} << 22;
constexpr int64_t kMostPanels = 64;
// Behind planes, which filters read to the end of their last vector while others are written.
constexpr int64_t kFilterMargin = 32;
constexpr int64_t kMostFilters = 2;  // of one channel: more make tiles worth it
// What gathering one element costs, in multiply-adds of one lane.
constexpr int64_t kGatherCost = 48;

bool rows_contiguous(const Correlation& p) {
  const Correlation::Weight& w = p.weight;
  return p.rows.kernel_step == 1 && p.cols.kernel_step == 1 && p.rows.kernel_first == 0 &&
         p.cols.kernel_first == 0 && (p.cols.taps == 1 || w.col == 1) &&
         (p.rows.taps == 1 || w.row == p.cols.taps) &&
         (p.channels == 1 || w.channel == p.rows.taps * p.cols.taps);
}

// Rows share zeros where that makes panels fewer; elsewhere they had better begin like cache lines.
PlaneLayout layout_for_panels(const Correlation& p, int64_t tile_cols) {
  const PlaneLayout apart = PlaneLayout::of(p.rows, p.cols);
  const PlaneLayout shared = PlaneLayout::of(p.rows, p.cols, PlaneLayout::most_shared(p.cols));
  const bool fewer = divide_up(shared.virtuals, tile_cols) < divide_up(apart.virtuals, tile_cols);
  return fewer ? shared : apart;
}

bool planes_too_large(const Correlation& p) {
  const auto channels = static_cast<double>(p.groups * p.channels);
  const auto image = channels * static_cast<double>(p.rows.source * p.cols.source);
  const double planes = channels * PlaneLayout::size(p.rows, p.cols);
  return planes > 2 * image + static_cast<double>(kFreeElements);
}

// The columns between the rows of planes waste more than gathering costs.
bool wastes(const Correlation& p, const PlaneLayout& layout, int64_t tile_cols) {
  const int64_t wide = p.images * divide_up(layout.virtuals, tile_cols);
  const int64_t narrow = divide_up(p.images * p.rows.out * p.cols.out, tile_cols);
  return wide * p.results > narrow * (p.results + kGatherCost);
}

}  // namespace

CorrelationPlan CorrelationPlan::of(const Correlation& p, const TileShape& full,
                                    const TileShape& one_row) {
  CorrelationPlan plan{};
  const bool few = p.results <= 2 && p.rows.out * p.cols.out >= one_row.cols / 2;
  plan.tile = few ? one_row : full;
  plan.split = TileSplit::of(p.results, p.k(), plan.tile.rows, plan.tile.chunk);
  plan.tiles = EvenParts::of(p.results, plan.split.tiles);
  plan.blocks = EvenParts::of(p.k(), plan.split.blocks);
  plan.weight_rows_contiguous = rows_contiguous(p);
  plan.gathers = planes_too_large(p);
  if (!plan.gathers) {
    plan.layout = layout_for_panels(p, plan.tile.cols);
    plan.gathers = wastes(p, plan.layout, plan.tile.cols);
  }
  plan.filters = !plan.gathers && p.channels == 1 && p.results <= kMostFilters &&
                 plan.split.blocks == 1 && p.k() <= CorrelationPlan::kMostFilterTaps;
  if (!plan.filters) {
    plan.packed = divide_up(p.groups * plan.split.tiles * plan.tile_elements(), 16) * 16;
  }
  const int64_t channels = p.groups * p.channels;
  const int64_t allowed = 2 * p.images * channels * p.rows.source * p.cols.source + kFreeElements;
  if (plan.gathers) {
    const int64_t panel = p.k() * plan.tile.cols;
    const int64_t all = p.groups * divide_up(p.images * p.rows.out * p.cols.out, plan.tile.cols);
    plan.images = p.images;
    plan.panels =
        std::clamp<int64_t>(allowed / std::max<int64_t>(1, panel), 1, std::min(all, kMostPanels));
    plan.source = plan.panels * panel;
  } else if (plan.filters) {
    plan.layout = PlaneLayout::of(p.rows, p.cols);
    plan.layout.plane += kFilterMargin;
    plan.images = p.images;
    plan.source = plan.filter_parts(p) * plan.layout.plane;
  } else {
    const int64_t image = channels * plan.layout.plane;
    plan.images = std::clamp<int64_t>(std::min(allowed, kMostPlanes) / std::max<int64_t>(1, image),
                                      1, p.images);
    plan.source = plan.images * image + plan.tile.cols;
  }
  plan.source = divide_up(plan.source, 16) * 16;
  return plan;
}

}  // namespace dlcore::cpu
