// SPDX-License-Identifier: Apache-2.0
// How the gradient with respect to the weight is cut up. All of it follows from shapes.
#pragma once

#include <cstdint>

#include "backends/cpu/convolution/geometry.h"
#include "backends/cpu/matmul/own_split.h"

namespace dlcore::cpu {

// Panels of g that are packed at the same time.
inline constexpr int64_t kPanelsPacked = 4;

struct WeightGradientPlan {
  Convolution c;
  TapAxis rows, cols;
  TileShape tile;
  TileSplit split;  // of k: rows of tiles are (channel, kernel row, kernel column)
  int64_t panels;   // of a group's output channels
  bool planes;      // of x exist; else its elements are gathered
  bool narrow;      // fewer output channels than lanes: dot products over positions

  int64_t bands;  // that the rows of one image are cut into; a unit is one band of one image
  // A part sums the units of one range, for some groups and for the tiles of one range.
  int64_t unit_ranges;
  int64_t group_ranges;
  int64_t tile_ranges;

  PlaneLayout layout;  // of the tallest band; serves all
  int64_t partial;     // elements of one group's sums over one range of units
  int64_t plane_area;  // elements of a part's planes,
  int64_t g_area;      // and of its copy of g

  int64_t taps() const { return rows.taps * cols.taps; }
  int64_t k() const { return c.inputs * taps(); }
  int64_t units() const { return c.images * bands; }
  int64_t parts() const { return unit_ranges * group_ranges * tile_ranges; }
  // Ranges of k are cut between tiles, or between channels.
  Range k_range(int64_t index) const;
  Range band(int64_t index) const { return even_range({0, c.out[0]}, bands, index); }
  int64_t scratch() const;  // elements of one part
  uint64_t bytes(uint64_t element_bytes) const;

  static WeightGradientPlan of(const Convolution& c, const TileShape& tile);
};

}  // namespace dlcore::cpu
