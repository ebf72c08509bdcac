// SPDX-License-Identifier: Apache-2.0
// conv2d and its gradient with respect to x as one kind of problem, and how it is cut up. All of
// it follows from shapes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/convolution/geometry.h"
#include "backends/cpu/matmul/own_split.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// result[n, g, m, u] = sum over channels and taps of weight[g, m, c, tap] * source[n, g, c, ...]
// (+ bias[g, m]). Strides are in elements.
struct Correlation {
  struct Source {
    const void* data;
    int64_t image, channel, row, col;
  };
  struct Result {
    void* data;
    int64_t image, channel, row, col;
  };
  struct Weight {
    const void* data;
    int64_t group, result, channel, row, col;
  };
  struct Bias {
    const void* data;  // or null
    int64_t stride;
  };

  int64_t images;
  int64_t groups;
  int64_t channels;  // of the source, per group
  int64_t results;   // channels of the result, per group
  TapAxis rows, cols;
  Source source;
  Result result;
  Weight weight;
  Bias bias;

  int64_t k() const { return channels * rows.taps * cols.taps; }
};

inline Correlation::Source source_of(const dlcore_operand& x) {
  return {x.data, x.strides[0], x.strides[1], x.strides[2], x.strides[3]};
}
inline Correlation::Result result_of(const dlcore_operand& y) {
  return {y.data, y.strides[0], y.strides[1], y.strides[2], y.strides[3]};
}

inline Correlation forward_correlation(const dlcore_launch& launch) {
  const dlcore_operand& x = launch.inputs[0];
  const dlcore_operand& w = launch.inputs[1];
  const dlcore_operand& y = launch.outputs[0];
  const Convolution c = Convolution::of(launch, x, w, y);
  Correlation p{c.images,           c.groups,     c.inputs,     c.outputs, forward_axis(c, 0),
                forward_axis(c, 1), source_of(x), result_of(y), {},        {}};
  p.weight = {w.data,      c.outputs * w.strides[0], w.strides[0], w.strides[1], w.strides[2],
              w.strides[3]};
  if (launch.n_inputs > 2 && launch.inputs[2].dtype != DLCORE_DTYPE_NONE) {
    p.bias = {launch.inputs[2].data, launch.inputs[2].strides[0]};
  }
  return p;
}

// The gradient with respect to x: fn(problem) for each remainder of positions by the stride.
template <class Fn>
void for_each_backward(const dlcore_launch& launch, const Fn& fn) {
  const dlcore_operand& g = launch.inputs[0];
  const dlcore_operand& w = launch.inputs[1];
  const dlcore_operand& dx = launch.outputs[0];
  const Convolution c = Convolution::of(launch, dx, w, g);
  for (int64_t row = 0; row < std::min(c.stride[0], c.in[0]); ++row) {
    for (int64_t col = 0; col < std::min(c.stride[1], c.in[1]); ++col) {
      Correlation p{c.images,
                    c.groups,
                    c.outputs,
                    c.inputs,
                    backward_axis(c, 0, row),
                    backward_axis(c, 1, col),
                    source_of(g),
                    result_of(dx),
                    {},
                    {}};
      p.weight = {w.data,      c.outputs * w.strides[0], w.strides[1], w.strides[0], w.strides[2],
                  w.strides[3]};
      fn(p);
    }
  }
}

// What the pool is given: parts of the tiles and panels of one item, or several whole items.
struct CorrelationParts {
  int64_t items;
  int64_t items_each;
  Range all_tiles;
  Range all_panels;
  Grid grid;

  int64_t cells() const { return grid.rows * grid.cols; }
  int64_t count() const { return divide_up(items, items_each) * cells(); }
  int64_t item_begin(int64_t part) const { return part / cells() * items_each; }
  int64_t item_end(int64_t part) const { return std::min(items, item_begin(part) + items_each); }
  Range tiles(int64_t part) const { return even_range(all_tiles, grid.rows, part % grid.rows); }
  Range panels(int64_t part) const {
    return even_range(all_panels, grid.cols, part % cells() / grid.rows);
  }
};

// A range cut into nearly equal parts, each of which is found without a division.
struct EvenParts {
  int64_t shorter = 0;
  int64_t longer_ones = 0;

  static EvenParts of(int64_t size, int64_t parts) { return {size / parts, size % parts}; }
  Range operator[](int64_t i) const {
    const int64_t begin = i * shorter + std::min(i, longer_ones);
    return {begin, begin + shorter + (i < longer_ones ? 1 : 0)};
  }
};

struct CorrelationPlan {
  static constexpr int64_t kMostFilterTaps = 256;

  TileSplit split;          // of results and k,
  EvenParts tiles, blocks;  // whose parts these are
  PlaneLayout layout;
  TileShape tile;
  bool weight_rows_contiguous;  // over k
  bool gathers;                 // panels are gathered instead of read from planes
  bool filters;                 // results have one channel each, and few share it
  int64_t images;               // whose planes exist at the same time
  int64_t panels;               // gathered at the same time
  int64_t packed;               // elements of packed weights,
  int64_t source;               // and of planes or gathered panels; multiples of 16

  int64_t k() const { return split.k; }
  int64_t tile_elements() const { return tile.rows * split.blocks * split.packed_block(); }
  uint64_t bytes(uint64_t element_bytes) const {
    return static_cast<uint64_t>(packed + source) * element_bytes +
           2 * sizeof(int64_t) * static_cast<uint64_t>(k());
  }

  // Channels of images that filters take in a part, and those parts.
  int64_t filters_each(const Correlation& p) const {
    const int64_t work = p.results * p.rows.out * p.cols.out * k();
    return std::max<int64_t>(1, kSmallestPart / 8 / std::max<int64_t>(1, work));
  }
  int64_t filter_parts(const Correlation& p) const {
    return divide_up(p.images * p.groups, filters_each(p));
  }

  CorrelationParts split_items(int64_t items, int64_t item_panels) const {
    const int64_t work = tile.rows * tile.cols * k();
    const Grid grid = split_tiles(split.tiles, item_panels, work);
    int64_t each = 1;
    if (grid.rows * grid.cols == 1) {
      each = kSmallestPart / std::max<int64_t>(1, split.tiles * item_panels * work);
    }
    return {items,
            std::clamp<int64_t>(each, 1, std::max<int64_t>(1, items)),
            {0, split.tiles},
            {0, item_panels},
            grid};
  }

  // `one_row` is the tile for few channels of the result.
  static CorrelationPlan of(const Correlation& p, const TileShape& full, const TileShape& one_row);
};

}  // namespace dlcore::cpu
