// SPDX-License-Identifier: Apache-2.0
// conv2d and its gradient with respect to x. Both are correlations: for each group,
//   result[m, u] = sum over k of weight[m, k] * source[k, u] (+ bias[m]),
// u counting positions and k = (channel, kernel row, kernel column); for the gradient, x takes the
// place of the result and y that of the source, once for each remainder of positions by the stride.
// The product is computed like a matrix product: tiles of weights are packed, and multiplied by
// panels of positions, which are read from planes (planes-inl.h) through a table of offsets. Where
// planes would be too large or waste too much, panels are gathered one by one.
//
// ORDER OF ARITHMETIC. As that of a matrix product over k (matmul/tile-inl.h); the bias comes last.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/convolution/correlate.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/convolution/correlate_plan.h"
#include "backends/cpu/queue.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/convolution/depthwise-inl.h"
#include "backends/cpu/convolution/indexed_tile-inl.h"
#include "backends/cpu/convolution/planes-inl.h"
#include "backends/cpu/matmul/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// Columns of a panel that lie in one row of the result.
struct Segment {
  int64_t at;  // in the panel
  int64_t length;
  int64_t to;  // of the first, from the result's first element
};

// The lanes of one vector of a panel whose results lie side by side.
struct Piece {
  int64_t at;  // of the vector, in the panel
  int64_t to;
  int64_t count;
  std::array<uint8_t, 8> lanes;  // a bit each
};

// Where the columns of a panel go; pieces where elements of a row of the result lie side by side.
template <class T>
struct Columns {
  std::array<Segment, static_cast<size_t>(kRowCols<T>)> segments;
  std::array<Piece, static_cast<size_t>(kRowCols<T>)> pieces;
  int64_t n_segments = 0;
  int64_t n_pieces = 0;

  void add(const Segment& s) { segments[static_cast<size_t>(n_segments++)] = s; }

  void find_pieces() {
    for (int64_t i = 0; i < n_segments; ++i) {
      const Segment& s = segments[static_cast<size_t>(i)];
      for (int64_t at = s.at, end = s.at + s.length, next = 0; at < end; at = next) {
        next = std::min(end, at - at % kLanes<T> + kLanes<T>);
        add_lanes(at, next - at, s.to + at - s.at);
      }
    }
  }

 private:
  void add_lanes(int64_t at, int64_t count, int64_t to) {
    const int64_t first = at % kLanes<T>, vector = at - first;
    Piece* piece = n_pieces == 0 ? nullptr : &pieces[static_cast<size_t>(n_pieces - 1)];
    if (piece == nullptr || piece->at != vector || piece->to + piece->count != to) {
      piece = &pieces[static_cast<size_t>(n_pieces++)];
      *piece = {vector, to, 0, {}};
    }
    const uint64_t lanes = ((uint64_t{1} << count) - 1) << first;
    for (size_t i = 0; i < kLanes<T> / 8 + 1; ++i) {
      piece->lanes[i] = static_cast<uint8_t>(piece->lanes[i] | lanes >> 8 * i);
    }
    piece->count += count;
  }
};

template <class S>
class Correlate {
  using T = Wide<S>;

 public:
  explicit Correlate(const Correlation& problem)
      : p_(problem),
        plan_(CorrelationPlan::of(problem, {kTileRows, kTileCols<T>, kChunk},
                                  {1, kRowCols<T>, kChunk})) {}

  uint64_t workspace_bytes() const { return plan_.bytes(sizeof(T)); }

  void run(const Queue& queue, void* workspace) const {
    const Memory memory = parts_of(workspace);
    if (plan_.k() > 0) {
      write_tables(memory);
      if (!plan_.filters) pack_weights(queue, memory);
    }
    if (plan_.filters) return run_filters(queue, memory);
    for (int64_t image = 0; image < p_.images && !queue.stopped(); image += plan_.images) {
      const Range images{image, std::min(p_.images, image + plan_.images)};
      if (plan_.gathers) {
        run_gathered(queue, memory, images);
      } else {
        run_planes(queue, memory, images);
      }
    }
  }

 private:
  struct Memory {
    int64_t* offsets;  // of k, in planes or in a gathered panel
    int64_t* weights;  // of k, in the weight
    T* packed;
    T* source;  // planes or panels
  };
  // Tiles of a group, as they are multiplied by one panel.
  struct Tiles {
    const T* packed;
    int64_t group;
    Range range;
  };

  Memory parts_of(void* workspace) const {
    char* const start = static_cast<char*>(workspace);
    Memory m;
    m.packed = reinterpret_cast<T*>(start);
    m.source = m.packed + plan_.packed;
    m.offsets = reinterpret_cast<int64_t*>(m.source + plan_.source);
    m.weights = m.offsets + plan_.k();
    return m;
  }

  // The first channel's entries; those of the others lie a channel further each.
  void write_tables(const Memory& m) const {
    int64_t k = 0;
    for (int64_t i = 0; i < p_.rows.taps; ++i) {
      for (int64_t j = 0; j < p_.cols.taps; ++j, ++k) {
        m.offsets[k] =
            plan_.gathers ? k * plan_.tile.cols : plan_.layout.offset(p_.rows, p_.cols, i, j);
        m.weights[k] = (p_.rows.kernel_first + i * p_.rows.kernel_step) * p_.weight.row +
                       (p_.cols.kernel_first + j * p_.cols.kernel_step) * p_.weight.col;
      }
    }
    const int64_t taps = k;
    const int64_t further = plan_.gathers ? taps * plan_.tile.cols : plan_.layout.plane;
    for (; k < plan_.k(); ++k) {
      m.offsets[k] = m.offsets[k - taps] + further;
      m.weights[k] = m.weights[k - taps] + p_.weight.channel;
    }
  }

  void pack_weights(const Queue& queue, const Memory& m) const {
    const int64_t tiles = p_.groups * plan_.split.tiles;
    const int64_t per_part = std::max<int64_t>(1, (1 << 13) / plan_.tile_elements());
    queue.parallel_for(divide_up(tiles, per_part), [&](int64_t part) {
      const int64_t end = std::min(tiles, (part + 1) * per_part);
      for (int64_t t = part * per_part; t < end; ++t) pack_tile_of(m, t);
    });
  }

  void pack_tile_of(const Memory& m, int64_t index) const {
    const TileSplit& split = plan_.split;
    const Range rows = split.tile(index % split.tiles);
    const S* const from = static_cast<const S*>(p_.weight.data) +
                          index / split.tiles * p_.weight.group + rows.begin * p_.weight.result;
    T* to = m.packed + index * plan_.tile_elements();
    for (int64_t b = 0; b < split.blocks; ++b, to += plan_.tile.rows * split.packed_block()) {
      const Range k = split.block(b);
      if constexpr (std::is_same_v<S, T>) {
        if (plan_.weight_rows_contiguous) {
          pack_tile(to, Block<T>{from + k.begin, p_.weight.result, 1}, rows.size(), k.size());
          continue;
        }
      }
      for (int64_t i = 0; i < k.size(); ++i) {
        T* const column = to + i / kChunk * kChunk * rows.size() + i % kChunk;
        const S* const source = from + m.weights[k.begin + i];
        for (int64_t r = 0; r < rows.size(); ++r) {
          column[r * kChunk] = widened(source[r * p_.weight.result]);
        }
      }
    }
  }

  Channel<S> channel_of(int64_t image, int64_t channel) const {
    if (p_.rows.source * p_.cols.source == 0) return {nullptr, 0, 0};  // has no address
    return {static_cast<const S*>(p_.source.data) + image * p_.source.image +
                channel * p_.source.channel,
            p_.source.row, p_.source.col};
  }

  // ---- From planes
  void run_planes(const Queue& queue, const Memory& m, const Range& images) const {
    const int64_t channels = p_.groups * p_.channels;
    const int64_t planes = images.size() * channels;
    const int64_t per_part = std::max<int64_t>(1, (1 << 15) / plan_.layout.plane);
    const PlaneMaker maker(p_.rows, p_.cols, plan_.layout);
    queue.parallel_for(divide_up(planes, per_part), [&](int64_t part) {
      const int64_t end = std::min(planes, (part + 1) * per_part);
      for (int64_t i = part * per_part; i < end; ++i) {
        maker.make(m.source + i * plan_.layout.plane,
                   channel_of(images.begin + i / channels, i % channels));
      }
    });
    std::fill_n(m.source + planes * plan_.layout.plane, plan_.tile.cols,
                T(0));  // is read, not used
    const int64_t items = images.size() * p_.groups;
    const int64_t panels = divide_up(plan_.layout.virtuals, plan_.tile.cols);
    const CorrelationParts parts = plan_.split_items(items, panels);
    queue.parallel_for(parts.count(), [&](int64_t part) {
      const Range tiles = parts.tiles(part);
      const Range range = parts.panels(part);
      for (int64_t item = parts.item_begin(part); item < parts.item_end(part); ++item) {
        const int64_t group = item % p_.groups;
        const int64_t image = images.begin + item / p_.groups;
        const T* const source = m.source + item * p_.channels * plan_.layout.plane;
        for (int64_t q = range.begin; q < range.end && !queue.stopped(); ++q) {
          multiply(m, {group_tiles(m, group), group, tiles}, source + q * plan_.tile.cols,
                   find_columns({image, image + 1}, plan_.layout.pitch, plan_.layout.virtuals, q));
        }
      }
    });
  }

  // ---- Results of one channel each, whose planes exist just before they are read
  void run_filters(const Queue& queue, const Memory& m) const {
    const PlaneMaker maker(p_.rows, p_.cols, plan_.layout);
    const int64_t items = p_.images * p_.groups;
    const int64_t each = plan_.filters_each(p_);
    queue.parallel_for(plan_.filter_parts(p_), [&](int64_t part) {
      T* const planes = m.source + part * plan_.layout.plane;
      const int64_t end = std::min(items, (part + 1) * each);
      for (int64_t item = part * each; item < end && !queue.stopped(); ++item) {
        const int64_t image = item / p_.groups;
        const int64_t group = item % p_.groups;
        maker.make(planes, channel_of(image, group));
        for (int64_t r = 0; r < p_.results; ++r) filter_one(m, planes, image, group, r);
      }
    });
  }

  void filter_one(const Memory& m, const T* planes, int64_t image, int64_t group,
                  int64_t result) const {
    T weights[CorrelationPlan::kMostFilterTaps];
    const S* const from =
        static_cast<const S*>(p_.weight.data) + group * p_.weight.group + result * p_.weight.result;
    for (int64_t k = 0; k < plan_.k(); ++k) weights[k] = widened(from[m.weights[k]]);
    const int64_t channel = group * p_.results + result;
    S* const to = static_cast<S*>(p_.result.data) + image * p_.result.image +
                  channel * p_.result.channel + p_.rows.out_first * p_.result.row +
                  p_.cols.out_first * p_.result.col;
    filter<S>({plan_.k(), m.offsets, weights, plan_.layout.pitch, bias_of(channel)}, planes,
              {to, p_.rows.out_step * p_.result.row, result_step(), p_.rows.out, p_.cols.out});
  }

  // ---- From gathered panels, whose columns run over the images
  void run_gathered(const Queue& queue, const Memory& m, const Range& images) const {
    const int64_t positions = p_.rows.out * p_.cols.out;
    const int64_t panels = divide_up(images.size() * positions, plan_.tile.cols);
    const int64_t panel = plan_.k() * plan_.tile.cols;
    for (int64_t item = 0; item < p_.groups * panels; item += plan_.panels) {
      if (queue.stopped()) return;
      const int64_t n = std::min(plan_.panels, p_.groups * panels - item);
      queue.parallel_for(n, [&](int64_t i) {
        gather(m.source + i * panel, images, (item + i) / panels, (item + i) % panels);
      });
      const CorrelationParts parts = plan_.split_items(n, 1);
      queue.parallel_for(parts.count(), [&](int64_t part) {
        for (int64_t i = parts.item_begin(part); i < parts.item_end(part); ++i) {
          if (queue.stopped()) return;
          const int64_t group = (item + i) / panels;
          multiply(m, {group_tiles(m, group), group, parts.tiles(part)}, m.source + i * panel,
                   find_columns(images, p_.cols.out, positions, (item + i) % panels));
        }
      });
    }
  }

  void gather(T* to, const Range& images, int64_t group, int64_t panel) const {
    const int64_t positions = p_.rows.out * p_.cols.out;
    const int64_t first = panel * plan_.tile.cols;
    const int64_t n = std::min(plan_.tile.cols, images.size() * positions - first);
    std::fill_n(to, plan_.k() * plan_.tile.cols, T(0));
    for (int64_t q = 0; q < n; ++q) {
      const int64_t at = (first + q) % positions;
      const int64_t image = images.begin + (first + q) / positions;
      const int64_t row = at / p_.cols.out * p_.rows.step + p_.rows.first;
      const int64_t col = at % p_.cols.out * p_.cols.step + p_.cols.first;
      T* element = to + q;
      for (int64_t c = 0; c < p_.channels; ++c) {
        const Channel<S> from = channel_of(image, group * p_.channels + c);
        for (int64_t i = 0; i < p_.rows.taps; ++i) {
          for (int64_t j = 0; j < p_.cols.taps; ++j, element += plan_.tile.cols) {
            *element =
                element_at(from, p_.rows, p_.cols, row + i * p_.rows.by, col + j * p_.cols.by);
          }
        }
      }
    }
  }

  // ---- The product
  const T* group_tiles(const Memory& m, int64_t group) const {
    return m.packed + group * plan_.split.tiles * plan_.tile_elements();
  }

  // The columns of panel `panel` that are results. `pitch` columns follow each other for a row of
  // them, `columns` for an image.
  Columns<T> find_columns(const Range& images, int64_t pitch, int64_t columns,
                          int64_t panel) const {
    Columns<T> found;
    const int64_t begin = panel * plan_.tile.cols;
    const int64_t n = std::min(plan_.tile.cols, images.size() * columns - begin);
    int64_t image = images.begin + begin / columns;
    int64_t row = begin % columns / pitch;
    int64_t col = begin % columns - row * pitch;
    for (int64_t at = 0; at < n;) {
      const int64_t length = std::min(p_.cols.out - col, n - at);
      if (length > 0) {
        found.add({at, length,
                   image * p_.result.image +
                       (p_.rows.out_first + row * p_.rows.out_step) * p_.result.row +
                       (p_.cols.out_first + col * p_.cols.out_step) * p_.result.col});
      }
      at += pitch - col;
      col = 0;
      if (++row == p_.rows.out) {
        row = 0;
        ++image;
        at -= p_.rows.out * pitch - columns;  // the last row ends with its results
      }
    }
    if (std::is_same_v<S, T> && result_step() == 1) found.find_pieces();
    return found;
  }

  // Without a bias -0, which nothing is changed by.
  T bias_of(int64_t channel) const {
    if (p_.bias.data == nullptr) return -T(0);
    return widened(static_cast<const S*>(p_.bias.data)[channel * p_.bias.stride]);
  }

  // Between neighbouring columns.
  int64_t result_step() const { return p_.cols.out_step * p_.result.col; }

  void multiply(const Memory& m, const Tiles& tiles, const T* source,
                const Columns<T>& columns) const {
    alignas(64) T sum[std::max(kTileRows * kTileCols<T>, kRowCols<T>)];
    const TileSplit& split = plan_.split;
    for (int64_t t = tiles.range.begin; t < tiles.range.end; ++t) {
      const Range rows = plan_.tiles[t];
      const auto function = plan_.tile.cols == kTileCols<T>
                                ? kIndexedTileFunctions<T>[static_cast<size_t>(rows.size() - 1)]
                                : kIndexedRowFunction<T>;
      const T* a = tiles.packed + t * plan_.tile_elements();
      for (int64_t b = 0; b < split.blocks; ++b, a += plan_.tile.rows * split.packed_block()) {
        const Range k = plan_.blocks[b];
        function(a, source, m.offsets + k.begin, k.size(), sum, b == 0);
      }
      for (int64_t r = 0; r < rows.size(); ++r) {
        store(sum + r * plan_.tile.cols, tiles.group * p_.results + rows.begin + r, columns);
      }
    }
  }

  void store(const T* sum, int64_t channel, const Columns<T>& columns) const {
    S* const to = static_cast<S*>(p_.result.data) + channel * p_.result.channel;
    const T bias = bias_of(channel);
    if constexpr (std::is_same_v<S, T>) {
      const Full<T> d;
      const auto added = hn::Set(d, bias);
      for (int64_t i = 0; i < columns.n_pieces; ++i) {
        const Piece& piece = columns.pieces[static_cast<size_t>(i)];
        const auto v = hn::Add(hn::Load(d, sum + piece.at), added);
        if (piece.count == kLanes<T>) {
          hn::StoreU(v, d, to + piece.to);
        } else {
          store_run(hn::CompressBits(v, piece.lanes.data()), to + piece.to, piece.count);
        }
      }
      if (columns.n_pieces > 0) return;
    }
    const int64_t step = result_step();
    for (int64_t i = 0; i < columns.n_segments; ++i) {
      const Segment& s = columns.segments[static_cast<size_t>(i)];
      for (int64_t c = 0; c < s.length; ++c) {
        to[s.to + c * step] = narrowed<S>(sum[s.at + c] + bias);
      }
    }
  }

  const Correlation& p_;
  const CorrelationPlan plan_;
};

// ---- The kernels

template <class S>
dlcore_status run_forward(void* queue, const dlcore_launch* launch) {
  const Correlation problem = forward_correlation(*launch);
  Correlate<S>(problem).run(*static_cast<const Queue*>(queue), launch->workspace);
  return DLCORE_OK;
}

template <class S>
uint64_t size_forward(const dlcore_launch* launch) {
  if (launch->outputs[0].count == 0) return 0;
  const Correlation problem = forward_correlation(*launch);
  return Correlate<S>(problem).workspace_bytes();
}

template <class S>
dlcore_status run_backward(void* queue, const dlcore_launch* launch) {
  const Queue& q = *static_cast<const Queue*>(queue);
  for_each_backward(*launch, [&](const Correlation& problem) {
    if (!q.stopped()) Correlate<S>(problem).run(q, launch->workspace);
  });
  return DLCORE_OK;
}

template <class S>
uint64_t size_backward(const dlcore_launch* launch) {
  uint64_t most = 0;
  if (launch->outputs[0].count == 0) return 0;
  for_each_backward(*launch, [&](const Correlation& problem) {
    most = std::max(most, Correlate<S>(problem).workspace_bytes());
  });
  return most;
}

template <class S>
constexpr dlcore_kernel forward_kernel() {
  dlcore_kernel kernel =
      make_kernel(Op::kConv2d, dtype_of<S>(), DLCORE_KERNEL_STRIDED, run_forward<S>);
  kernel.workspace = size_forward<S>;
  return kernel;
}

template <class S>
constexpr dlcore_kernel backward_kernel() {
  dlcore_kernel kernel =
      make_kernel(Op::kConv2dInputBackward, dtype_of<S>(), DLCORE_KERNEL_STRIDED, run_backward<S>);
  kernel.workspace = size_backward<S>;
  return kernel;
}

constexpr dlcore_kernel kKernels[] = {
    forward_kernel<float>(),    forward_kernel<double>(),    forward_kernel<Half>(),
    forward_kernel<BFloat16>(), backward_kernel<float>(),    backward_kernel<double>(),
    backward_kernel<Half>(),    backward_kernel<BFloat16>(),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(correlate)
}  // namespace dlcore::cpu
#endif
