// SPDX-License-Identifier: Apache-2.0
// conv2d_weight_backward: dw[o, k] = sum over images and positions u of g[o, u] * x[k, u], where
// k = (channel, kernel row, kernel column) and x[k, u] is what that tap meets at u. Positions are
// the inner dimension of the product: blocks of them are packed, tiles of rows k from planes of x
// (planes-inl.h), panels of output channels from g. With few output channels an element is a dot
// product over positions instead.
//
// ORDER OF ARITHMETIC. Images, or bands of their rows, are the units of the sum. Each element is
// one chain of multiply-adds over a block of a unit's positions, or, with few output channels, one
// for each lane over the unit, positions of a row being dealt out to lanes in order, and the lanes
// added in halves. Blocks and units are added in order within a range of units, then the ranges in
// order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/convolution/weight_gradient.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/convolution/weight_gradient_plan.h"
#include "backends/cpu/queue.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/convolution/dot_taps-inl.h"
#include "backends/cpu/convolution/planes-inl.h"
#include "backends/cpu/matmul/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

template <class S>
class WeightGradient {
  using T = Wide<S>;

 public:
  explicit WeightGradient(const dlcore_launch& launch)
      : launch_(launch),
        plan_(WeightGradientPlan::of(
            Convolution::of(launch, launch.inputs[1], launch.outputs[0], launch.inputs[0]),
            {kTileRows, kTileCols<T>, kChunk})) {}

  uint64_t workspace_bytes() const { return plan_.bytes(sizeof(T)); }

  void run(const Queue& queue) const {
    if (launch_.inputs[0].count == 0) {
      std::fill_n(dw(), launch_.outputs[0].count, narrowed<S>(T(0)));
      return;
    }
    if (plan_.planes) write_table();
    queue.parallel_for(plan_.parts(), [&](int64_t part) { run_part(queue, part); });
    if (queue.stopped()) return;
    if (plan_.narrow) {
      merge_dots(queue);
    } else {
      merge_tiles(queue);
    }
  }

 private:
  // What a part needs to know of where it works.
  struct Part {
    T* sums;  // of the first group
    T* planes;
    T* g;
    T* tile;
    T* line;  // one row of a tile, where it is gathered before it is packed
    Range k;
  };
  struct Unit {
    int64_t image;
    Range band;  // rows of g
    TapAxis rows;
  };
  // Positions of a block that one vector of a packed row takes from one row of planes: those from
  // `at` on, until the next piece begins.
  struct Piece {
    int64_t at;
    int64_t from;  // of lane 0, from where the row's tap meets the unit's first position
  };
  using Pieces = std::array<Piece, static_cast<size_t>(kLongestBlock + kChunk)>;

  // Where the elements that a tap meets lie in the planes of a channel.
  int64_t* table() const {
    return reinterpret_cast<int64_t*>(partials(plan_.unit_ranges) +
                                      plan_.parts() * plan_.scratch());
  }
  void write_table() const {
    for (int64_t t = 0; t < plan_.taps(); ++t) {
      table()[t] =
          plan_.layout.offset(plan_.rows, plan_.cols, t / plan_.cols.taps, t % plan_.cols.taps);
    }
  }

  S* dw() const { return static_cast<S*>(launch_.outputs[0].data); }
  T* partials(int64_t range) const {
    return static_cast<T*>(launch_.workspace) +
           range * divide_up(plan_.c.groups * plan_.partial, 16) * 16;
  }

  void run_part(const Queue& queue, int64_t index) const {
    const int64_t tiles = index % plan_.tile_ranges;
    const int64_t units = index / plan_.tile_ranges % plan_.unit_ranges;
    const Range groups = even_range({0, plan_.c.groups}, plan_.group_ranges,
                                    index / plan_.tile_ranges / plan_.unit_ranges);
    Part part;
    part.sums = partials(units);
    part.planes = partials(plan_.unit_ranges) + index * plan_.scratch();
    part.g = part.planes + plan_.plane_area;
    part.tile = part.g + plan_.g_area;
    part.line = part.tile + kTileRows * kLongestBlock;
    part.k = plan_.k_range(tiles);
    const Range range = even_range({0, plan_.units()}, plan_.unit_ranges, units);
    for (int64_t group = groups.begin; group < groups.end; ++group) {
      for (int64_t u = range.begin; u < range.end && !queue.stopped(); ++u) {
        const Range band = plan_.band(u % plan_.bands);
        const Unit unit{u / plan_.bands, band, plan_.rows.part(band.begin, band.end)};
        if (plan_.planes) copy_planes(part, unit, group);
        if (plan_.narrow) {
          add_dots(queue, part, unit, group, u == range.begin);
        } else {
          add_products(queue, part, unit, group, u == range.begin);
        }
      }
    }
  }

  Channel<S> x_channel(int64_t image, int64_t group, int64_t channel) const {
    const dlcore_operand& x = launch_.inputs[1];
    if (x.count == 0) return {nullptr, 0, 0};  // has no address
    return {static_cast<const S*>(x.data) + image * x.strides[0] +
                (group * plan_.c.inputs + channel) * x.strides[1],
            x.strides[2], x.strides[3]};
  }
  Channel<S> g_channel(const Unit& unit, int64_t group, int64_t channel) const {
    const dlcore_operand& g = launch_.inputs[0];
    return {static_cast<const S*>(g.data) + unit.image * g.strides[0] +
                (group * plan_.c.outputs + channel) * g.strides[1] + unit.band.begin * g.strides[2],
            g.strides[2], g.strides[3]};
  }

  void copy_planes(const Part& part, const Unit& unit, int64_t group) const {
    const int64_t first = part.k.begin / plan_.taps();
    const int64_t n = (part.k.end - 1) / plan_.taps() + 1 - first;
    const PlaneMaker maker(unit.rows, plan_.cols, plan_.layout);
    for (int64_t c = 0; c < n; ++c) {
      maker.make(part.planes + c * plan_.layout.plane, x_channel(unit.image, group, first + c));
    }
    std::fill_n(part.planes + n * plan_.layout.plane, kTileCols<T>, T(0));
  }

  // Where the elements that row k of a tile meets lie in the part's planes.
  const T* plane_row(const Part& part, int64_t k) const {
    const int64_t channel = k / plan_.taps();
    return part.planes + (channel - part.k.begin / plan_.taps()) * plan_.layout.plane +
           table()[k - channel * plan_.taps()];
  }

  // ---- Dot products over positions
  void add_dots(const Queue& queue, const Part& part, const Unit& unit, int64_t group,
                bool first) const {
    const int64_t out = plan_.c.out[1];
    const int64_t pitch = divide_up(out, kTileCols<T>) * kTileCols<T>;
    const int64_t rows = unit.band.size();
    const int64_t taps = plan_.taps();
    for (int64_t o = 0; o < plan_.c.outputs; ++o) {
      const Channel<S> from = g_channel(unit, group, o);
      for (int64_t r = 0; r < rows; ++r) {
        T* const to = part.g + (o * rows + r) * pitch;
        copy_widened(to, from.data + r * from.row, from.col, out);
        std::fill(to + out, to + pitch, T(0));
      }
    }
    const int64_t passes = divide_up(taps, kMostTaps);
    for (int64_t k = part.k.begin; k < part.k.end && !queue.stopped(); k += taps) {
      const T* const x = plane_row(part, k);
      for (int64_t pass = 0; pass < passes; ++pass) {
        const Range range = even_range({0, taps}, passes, pass);
        int64_t offsets[kMostTaps];
        for (int64_t t = range.begin; t < range.end; ++t) {
          offsets[t - range.begin] = plane_row(part, k + t) - x;
        }
        for (int64_t o = 0; o < plan_.c.outputs; ++o) {
          T* const sums = part.sums + group * plan_.partial + o * plan_.k() + k + range.begin;
          if (first) std::fill_n(sums, range.size(), T(0));
          kDotTaps<T>[static_cast<size_t>(range.size() - 1)](
              part.g + o * rows * pitch, pitch, x, offsets, plan_.layout.pitch, rows, out, sums);
        }
      }
    }
  }

  // ---- Products of tiles
  void add_products(const Queue& queue, const Part& part, const Unit& unit, int64_t group,
                    bool first) const {
    const int64_t positions = unit.band.size() * plan_.c.out[1];
    const int64_t blocks = divide_up(positions, kLongestBlock);
    for (int64_t b = 0; b < blocks; ++b) {
      const Range block = even_range({0, positions}, blocks, b);
      Pieces storage;
      const auto pieces = plan_.planes ? find_pieces(block, storage) : std::span<const Piece>();
      for (int64_t q = 0; q < plan_.panels; q += kPanelsPacked) {
        const Range panels{q, std::min(plan_.panels, q + kPanelsPacked)};
        pack_g(part, unit, group, block, panels);
        for (int64_t t = 0; t < plan_.split.tiles; ++t) {
          const Range rows = plan_.split.tile(t);
          if (rows.begin < part.k.begin || rows.begin >= part.k.end) continue;
          if (queue.stopped()) return;
          for (int64_t r = 0; r < rows.size(); ++r) {
            T* const to = part.tile + r * kChunk;
            if (plan_.planes) {
              pack_pieces(to, plane_row(part, rows.begin + r), rows.size() * kChunk, pieces);
            } else {
              gather_line(part.line, unit, group, rows.begin + r, block);
              pack_row(to, part.line, rows.size() * kChunk, block.size());
            }
          }
          const auto multiply = kTileFunctions<T>[static_cast<size_t>(rows.size() - 1)];
          for (int64_t p = panels.begin; p < panels.end; ++p) {
            multiply(part.tile, panel_of_g(part, p - panels.begin), kTileCols<T>, block.size(),
                     tile_sums(part.sums, group, t, p), first && b == 0);
          }
        }
      }
    }
  }

  static T* panel_of_g(const Part& part, int64_t index) {
    return part.g + index * kLongestBlock * kTileCols<T>;
  }
  T* tile_sums(T* sums, int64_t group, int64_t tile, int64_t panel) const {
    return sums + group * plan_.partial + (tile * plan_.panels + panel) * kTileRows * kTileCols<T>;
  }

  // g of a block of positions into panels of output channels.
  void pack_g(const Part& part, const Unit& unit, int64_t group, const Range& block,
              const Range& panels) const {
    const int64_t out = plan_.c.out[1];
    for (int64_t q = panels.begin; q < panels.end; ++q) {
      T* const to = panel_of_g(part, q - panels.begin);
      const int64_t channel = q * kTileCols<T>;
      const int64_t n = std::min(kTileCols<T>, plan_.c.outputs - channel);
      const Channel<S> from = g_channel(unit, group, channel);
      if (n < kTileCols<T>) std::fill_n(to, block.size() * kTileCols<T>, T(0));
      if constexpr (std::is_same_v<S, T>) {
        if (from.col == 1 && from.row == out) {
          copy_transposed(to, kTileCols<T>,
                          Block<T>{from.data + block.begin, 1, launch_.inputs[0].strides[1]},
                          block.size(), n);
          continue;
        }
      }
      for (int64_t o = 0; o < n; ++o) {
        const Channel<S> one = g_channel(unit, group, channel + o);
        for (int64_t u = block.begin; u < block.end; ++u) {
          to[(u - block.begin) * kTileCols<T> + o] =
              widened(one.data[u / out * one.row + u % out * one.col]);
        }
      }
    }
  }

  // Pieces in the order of vectors; the first of each vector begins at lane 0.
  std::span<const Piece> find_pieces(const Range& block, Pieces& pieces) const {
    const int64_t out = plan_.c.out[1];
    size_t n = 0;
    int64_t row = block.begin / out;
    int64_t col = block.begin % out;
    for (int64_t at = 0; at < block.size(); ++n) {
      const int64_t lane = at % kLanes<T>;
      pieces[n] = {lane, row * plan_.layout.pitch + col - lane};
      const int64_t length = std::min(kLanes<T> - lane, out - col);
      at += length;
      col += length;
      if (col == out) col = 0, ++row;
    }
    return {pieces.data(), n};
  }

  // A row of a packed tile, whose chunks lie `step` apart, from planes.
  static void pack_pieces(T* to, const T* from, int64_t step, std::span<const Piece> pieces) {
    const Full<T> d;
    const Piece* piece = pieces.data();
    const Piece* const end = piece + pieces.size();
    for (int64_t in_chunk = 0; piece != end;) {
      auto v = hn::LoadU(d, from + piece->from);
      for (++piece; piece != end && piece->at != 0; ++piece) {
        v = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(piece->at)), v,
                           hn::LoadU(d, from + piece->from));
      }
      hn::StoreU(v, d, to + in_chunk);
      in_chunk += kLanes<T>;
      if (in_chunk == kChunk) in_chunk = 0, to += step;
    }
  }

  // What row k of a tile meets at a block of positions.
  void gather_line(T* to, const Unit& unit, int64_t group, int64_t k, const Range& block) const {
    const int64_t out = plan_.c.out[1];
    const int64_t i = k % plan_.taps() / plan_.cols.taps;
    const int64_t j = k % plan_.cols.taps;
    const Channel<S> channel = x_channel(unit.image, group, k / plan_.taps());
    const int64_t row = unit.rows.first + i * unit.rows.by;
    const int64_t col = plan_.cols.first + j * plan_.cols.by;
    for (int64_t u = block.begin; u < block.end; ++u) {
      *to++ = element_at(channel, unit.rows, plan_.cols, u / out * unit.rows.step + row,
                         u % out * plan_.cols.step + col);
    }
  }

  // The same from the row as it is.
  static void pack_row(T* to, const T* from, int64_t step, int64_t n) {
    const Full<T> d;
    for (int64_t k = 0; k < n; k += kChunk, to += step) {
      for (int64_t v = 0; v < kChunk; v += kLanes<T>) {
        hn::StoreU(hn::LoadU(d, from + k + v), d, to + v);
      }
    }
  }

  // ---- The sums of all ranges of units
  void merge_dots(const Queue& queue) const {
    const int64_t n = plan_.c.groups * plan_.partial;  // in the order of dw
    const int64_t per_part = 1 << 14;
    queue.parallel_for(divide_up(n, per_part), [&](int64_t part) {
      for (int64_t i = part * per_part; i < std::min(n, (part + 1) * per_part); ++i) {
        T sum = partials(0)[i];
        for (int64_t r = 1; r < plan_.unit_ranges; ++r) sum = sum + partials(r)[i];
        dw()[i] = narrowed<S>(sum);
      }
    });
  }

  void merge_tiles(const Queue& queue) const {
    const int64_t tiles = plan_.c.groups * plan_.split.tiles;
    const int64_t per_part = std::max<int64_t>(
        1, (1 << 15) / (kTileRows * kTileCols<T> * plan_.panels * plan_.unit_ranges));
    queue.parallel_for(divide_up(tiles, per_part), [&](int64_t part) {
      for (int64_t i = part * per_part; i < std::min(tiles, (part + 1) * per_part); ++i) {
        for (int64_t q = 0; q < plan_.panels; ++q) {
          merge_tile(i / plan_.split.tiles, i % plan_.split.tiles, q);
        }
      }
    });
  }

  void merge_tile(int64_t group, int64_t tile, int64_t panel) const {
    const Full<T> d;
    const Range rows = plan_.split.tile(tile);
    const int64_t channel = panel * kTileCols<T>;
    const int64_t outputs = std::min(kTileCols<T>, plan_.c.outputs - channel);
    T* const sum = tile_sums(partials(0), group, tile, panel);
    for (int64_t r = 1; r < plan_.unit_ranges; ++r) {
      const T* const more = tile_sums(partials(r), group, tile, panel);
      for (int64_t i = 0; i < rows.size() * kTileCols<T>; i += kLanes<T>) {
        hn::Store(hn::Add(hn::Load(d, sum + i), hn::Load(d, more + i)), d, sum + i);
      }
    }
    S* const to = dw() + (group * plan_.c.outputs + channel) * plan_.k() + rows.begin;
    if constexpr (std::is_same_v<S, T>) {
      copy_transposed(to, plan_.k(), Block<T>{sum, 1, kTileCols<T>}, outputs, rows.size());
    } else {
      for (int64_t o = 0; o < outputs; ++o) {
        for (int64_t r = 0; r < rows.size(); ++r) {
          to[o * plan_.k() + r] = narrowed<S>(sum[r * kTileCols<T> + o]);
        }
      }
    }
  }

  const dlcore_launch& launch_;
  const WeightGradientPlan plan_;
};

template <class S>
dlcore_status run_weight(void* queue, const dlcore_launch* launch) {
  WeightGradient<S>(*launch).run(*static_cast<const Queue*>(queue));
  return DLCORE_OK;
}

template <class S>
uint64_t size_weight(const dlcore_launch* launch) {
  if (launch->outputs[0].count == 0 || launch->inputs[0].count == 0) return 0;
  return WeightGradient<S>(*launch).workspace_bytes();
}

template <class S>
constexpr dlcore_kernel weight_kernel() {
  dlcore_kernel kernel =
      make_kernel(Op::kConv2dWeightBackward, dtype_of<S>(), DLCORE_KERNEL_STRIDED, run_weight<S>);
  kernel.workspace = size_weight<S>;
  return kernel;
}

constexpr dlcore_kernel kKernels[] = {weight_kernel<float>(), weight_kernel<double>(),
                                      weight_kernel<Half>(), weight_kernel<BFloat16>()};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(weight_gradient)
}  // namespace dlcore::cpu
#endif
