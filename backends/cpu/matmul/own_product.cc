// SPDX-License-Identifier: Apache-2.0
// The library's own matrix product: a and b are packed in pieces that stay in the outer cache, then
// every part of the pool multiplies a rectangle of tiles (Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", 2008). Products with one row or one column take the
// loops of vector_product-inl.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/matmul/own_product.cc"
#include "backends/cpu/targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// These follow the targets.
#include "backends/cpu/matmul/tile-inl.h"
// They use what the former defines.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/elementwise/half_conversion.h"
#include "backends/cpu/matmul/own_split.h"
#include "backends/cpu/matmul/provider.h"
#include "backends/cpu/matmul/widen_pack-inl.h"
// after the packing, whose Block they use
#include "backends/cpu/matmul/narrow_product-inl.h"
#include "backends/cpu/matmul/pair_tile-inl.h"
#include "backends/cpu/matmul/vector_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// Writes rows x cols of finished sums to c at (i, j), adding c and the bias as the product asks.
template <class T>
void store_tile(const Product& p, const T* sum, int64_t i, int64_t j, int64_t rows, int64_t cols,
                bool accumulate, bool last) {
  constexpr int64_t kCols = kTileCols<T>;
  T* const c = static_cast<T*>(p.c.data) + i * p.c.row + j * p.c.col;
  const bool biased = last && p.bias.data != nullptr;
  const Block<T> bias = biased ? block_at<T>(p.bias, i, j) : Block<T>{sum, 0, 0};
  if (cols == kCols && p.c.col == 1 && (!biased || bias.col == 1)) {
    const Full<T> d;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t v = 0; v < kCols; v += kLanes<T>) {
        auto value = hn::Load(d, sum + r * kCols + v);
        T* const to = c + r * p.c.row + v;
        if (accumulate) value = hn::Add(hn::LoadU(d, to), value);
        if (biased) value = hn::Add(value, hn::LoadU(d, bias.data + r * bias.row + v));
        hn::StoreU(value, d, to);
      }
    }
    return;
  }
  if (p.c.col == 1 && !accumulate && !biased) {
    return copy_block(c, p.c.row, Block<T>{sum, kCols, 1}, rows, cols);
  }
  if (p.c.row == 1 && !accumulate && !biased) {
    copy_transposed(c, p.c.col, Block<T>{sum, 1, kCols}, cols, rows);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t q = 0; q < cols; ++q) {
      T value = sum[r * kCols + q];
      T* const to = c + r * p.c.row + q * p.c.col;
      if (accumulate) value = *to + value;
      if (biased) value = value + bias.data[r * bias.row + q * bias.col];
      *to = value;
    }
  }
}

// One piece of a product: rows of a, columns of b and whole blocks of k, packed side by side.
template <class T>
struct Piece {
  const Product& product;
  const TileSplit& split;
  Range rows;           // of tiles
  Range panels;         // of tile columns
  Range blocks;         // of k
  int64_t packed_from;  // panels before this one are read in place
  T* packed_a;
  T* packed_b;
  const Elements& elements;

  Range k() const { return {split.block(blocks.begin).begin, split.block(blocks.end - 1).end}; }
  T* tile(int64_t t) const {
    return packed_a + (t - rows.begin) * kTileRows * blocks.size() * split.packed_block();
  }
  T* panel(int64_t q) const { return packed_b + (q - packed_from) * kTileCols<T> * k().size(); }
  int64_t panel_width(int64_t q) const {
    return std::min(kTileCols<T>, product.n - q * kTileCols<T>);
  }
};

template <class T>
void pack_a_tile(const Piece<T>& piece, int64_t t) {
  const Range rows = piece.split.tile(t);
  T* to = piece.tile(t);
  for (int64_t b = piece.blocks.begin; b < piece.blocks.end; ++b) {
    const Range k = piece.split.block(b);
    pack_tile(to, piece.elements, piece.product.a, rows.begin, k.begin, rows.size(), k.size());
    to += kTileRows * piece.split.packed_block();
  }
}

template <class T>
void pack_b_panel(const Piece<T>& piece, int64_t q) {
  const Range k = piece.k();
  pack_panel(piece.panel(q), piece.elements, piece.product.b, k.begin, q * kTileCols<T>, k.size(),
             piece.panel_width(q));
}

// A block of k at a time for all tiles of a part, so that what the block needs of a and b stays in
// the caches while the sums, which are small, move.
template <class T>
void multiply_tiles(const Piece<T>& piece, const Range& tiles, const Range& panels) {
  constexpr int64_t kTile = kTileRows * kTileCols<T>;
  alignas(64) T sums[kPartTiles * kPartPanels * kTile];
  const TileSplit& split = piece.split;
  const Product& p = piece.product;
  const int64_t first_k = piece.k().begin;
  const bool accumulate = p.accumulate || piece.blocks.begin > 0;
  for (int64_t i = piece.blocks.begin; i < piece.blocks.end; ++i) {
    const Range k = split.block(i);
    const bool first = i == piece.blocks.begin;
    const bool last = i + 1 == piece.blocks.end;
    T* sum = sums;
    for (int64_t t = tiles.begin; t < tiles.end; ++t) {
      const Range rows = split.tile(t);
      const auto multiply = tile_function<T>(piece.elements.paired_k > 0, rows.size());
      const T* const a =
          piece.tile(t) + (i - piece.blocks.begin) * kTileRows * split.packed_block();
      for (int64_t q = panels.begin; q < panels.end; ++q) {
        const bool packed = q >= piece.packed_from;
        const T* const b = packed ? piece.panel(q) + (k.begin - first_k) * kTileCols<T>
                                  : block_at<T>(p.b, k.begin, q * kTileCols<T>).data;
        multiply(a, b, packed ? kTileCols<T> : p.b.row, k.size(), sum, first);
        if (last) {
          store_tile(p, sum, rows.begin, q * kTileCols<T>, rows.size(), piece.panel_width(q),
                     accumulate, piece.blocks.end == split.blocks);
        }
        if (!(first && last)) sum += kTile;
      }
    }
  }
  if (piece.blocks.end < split.blocks) return;
  p.finish_rectangle(sizeof(T), {split.tile(tiles.begin).begin, split.tile(tiles.end - 1).end},
                     {panels.begin * kTileCols<T>, std::min(p.n, panels.end * kTileCols<T>)});
}

template <class T>
void multiply_piece(const Queue& queue, const Piece<T>& piece) {
  const int64_t pack_panels = piece.panels.end - piece.packed_from;
  const int64_t things = piece.rows.size() + pack_panels;
  // Packing a tile or a panel takes about a nanosecond for every four elements.
  const int64_t per_part = std::max<int64_t>(
      1, (int64_t{1} << 15) / (kTileCols<T> * std::max<int64_t>(1, piece.k().size())));
  queue.parallel_for(divide_up(things, per_part), [&](int64_t part) {
    const int64_t end = std::min(things, (part + 1) * per_part);
    for (int64_t i = part * per_part; i < end; ++i) {
      if (i < pack_panels) {
        pack_b_panel(piece, piece.packed_from + i);
      } else {
        pack_a_tile(piece, piece.rows.begin + i - pack_panels);
      }
    }
  });
  const Grid grid = split_tiles(piece.rows.size(), piece.panels.size(),
                                kTileRows * kTileCols<T> * piece.k().size());
  queue.parallel_for(grid.rows * grid.cols, [&](int64_t part) {
    if (queue.stopped()) return;
    multiply_tiles(piece, even_range(piece.rows, grid.rows, part % grid.rows),
                   even_range(piece.panels, grid.cols, part / grid.rows));
  });
}

// The whole panels of b are read where they lie when few tiles pass over them. Rows a multiple of 1
// KiB apart fall on the same few lines of the nearest cache.
template <class T>
bool read_in_place(const ConstMatrix& b, int64_t tiles) {
  const int64_t bytes = b.row * static_cast<int64_t>(sizeof(T));
  return b.col == 1 && (tiles <= 2 || (tiles <= 8 && bytes % 1024 != 0));
}

template <class T>
void multiply_matrices(const Queue& queue, const Product& p, const Elements& elements,
                       void* workspace) {
  const TileSplit split = TileSplit::of(p.m, p.k, kTileRows, kChunk);
  const int64_t panels = divide_up(p.n, kTileCols<T>);
  const PieceSize size = piece_size(split.tiles, panels, split.blocks, kTileRows, kTileCols<T>);
  T* const packed_a = static_cast<T*>(workspace);
  T* const packed_b = packed_a + size.tiles * size.blocks * kTileRows * split.packed_block();
  const bool reads_in_place = elements.plain() && read_in_place<T>(p.b, split.tiles);
  const int64_t in_place = reads_in_place ? p.n / kTileCols<T> : 0;
  for (int64_t q = 0; q < panels; q += size.panels) {
    for (int64_t b = 0; b < split.blocks; b += size.blocks) {
      for (int64_t t = 0; t < split.tiles; t += size.tiles) {
        if (queue.stopped()) return;
        const Range q_range{q, std::min(panels, q + size.panels)};
        multiply_piece(queue, Piece<T>{p,
                                       split,
                                       {t, std::min(split.tiles, t + size.tiles)},
                                       q_range,
                                       {b, std::min(split.blocks, b + size.blocks)},
                                       std::clamp(in_place, q_range.begin, q_range.end),
                                       packed_a,
                                       packed_b,
                                       elements});
      }
    }
  }
}

// c = x . w^T for few rows. Elements of x and w are of S.
template <class T, class S>
void multiply_thin(const Queue& queue, const Product& p, void* workspace) {
  const T* x = nullptr;
  int64_t x_row = p.a.row;
  if constexpr (std::is_same_v<T, S>) x = static_cast<const T*>(p.a.data);
  if (x == nullptr || p.a.col != 1) {
    T* const copy = static_cast<T*>(workspace);
    for (int64_t r = 0; r < p.m; ++r) {
      const S* const from = static_cast<const S*>(p.a.data) + r * p.a.row;
      for (int64_t i = 0; i < p.k; ++i) copy[r * p.k + i] = value_as<T>(from[i * p.a.col]);
    }
    x = copy;
    x_row = p.k;
  }
  constexpr int64_t kBatch = kStripVectors * kLanes<T>;
  const int64_t per_part = thin_columns_per_part(p.m, p.k, static_cast<int64_t>(sizeof(S)));
  queue.parallel_for(divide_up(p.n, per_part), [&](int64_t part) {
    alignas(64) T sums[kMostThinRows * kBatch];
    const int64_t end = std::min(p.n, (part + 1) * per_part);
    for (int64_t j = part * per_part; j < end && !queue.stopped(); j += kBatch) {
      const int64_t n = std::min(kBatch, end - j);
      const Block<S> b = block_at<S>(p.b, 0, j);
      dot_many(x, x_row, p.m, Block<S>{b.data, b.col, b.row}, n, p.k, sums, kBatch);
      for (int64_t i = 0; i < p.m * n; ++i) {
        const int64_t row = i / n;
        const int64_t col = i % n;
        T* const to = static_cast<T*>(p.c.data) + row * p.c.row + (j + col) * p.c.col;
        const T sum = sums[row * kBatch + col];
        T value = p.accumulate ? *to + sum : sum;
        if (p.bias.data != nullptr) value = value + *block_at<T>(p.bias, row, j + col).data;
        *to = value;
      }
      p.finish_rectangle(sizeof(T), {0, p.m}, {j, j + n});
    }
  });
}

// Time of a product done in this orientation, in vector multiply-adds, from what was measured of
// each phase. Both orientations give the same bits.
template <class T>
double cost(const Product& p) {
  const int64_t tiles = divide_up(p.m, kTileRows);
  const int64_t panels = divide_up(p.n, kTileCols<T>);
  const auto m = static_cast<double>(p.m);
  const auto n = static_cast<double>(p.n);
  const auto k = static_cast<double>(p.k);
  double total = m * static_cast<double>(panels) * 2 * k;
  // A short tile waits for its own sums: fewer than four rows do not hide the latency of an
  // addition.
  if (p.m < 4) total *= 4 / m;
  total += m * k * (p.a.col == 1 ? 0.15 : 0.6);
  if (!read_in_place<T>(p.b, tiles)) total += n * k * (p.b.col == 1 ? 0.15 : 0.6);
  total += m * n * (p.c.col == 1 ? 0.2 : p.c.row == 1 && p.bias.data == nullptr ? 0.6 : 1.5);
  return total;
}

// Elements of a and b are of S, those of c and the bias of T.
template <class T, class S>
void multiply(const Queue& queue, const Product& product, const Elements& elements,
              void* workspace) {
  const Product other = product.transposed();
  const bool many = product.one_of_many && std::min(product.m, product.n) > 1;
  if (!many && is_thin(product.m, product.n, product.k)) {
    const bool by_rows = product.m <= product.n;
    return multiply_thin<T, S>(queue, by_rows ? product : other, workspace);
  }
  if (elements.plain() && is_narrow<T>(product)) {
    return multiply_narrow<T>(queue, product, workspace);
  }
  if (elements.plain() && is_narrow<T>(other)) return multiply_narrow<T>(queue, other, workspace);
  const bool swap = cost<T>(other) < cost<T>(product);
  Product chosen = swap ? other : product;
  if (elements.paired_k > 0) chosen.k = divide_up(chosen.k, 2);
  multiply_matrices<T>(queue, chosen, elements, workspace);
}

uint64_t aligned(uint64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

uint64_t workspace_any(dlcore_dtype dtype, int64_t m, int64_t n, int64_t k);

// f16 and bf16: c is computed in f32, behind what the product itself works in, and then narrowed.
template <class S>
void multiply_halves(const Queue& queue, dlcore_dtype dtype, const Product& product,
                     void* workspace) {
  const HalfConversion& half = half_conversion(HWY_TARGET, dtype);
  const int64_t m = product.m;
  const int64_t n = product.n;
  const uint64_t own = aligned(workspace_any(DLCORE_F32, m, n, product.k));
  float* const c = reinterpret_cast<float*>(static_cast<char*>(workspace) + own);
  float* const bias = c + m * n;
  const bool by_rows = product.c.col == 1;
  Product wide = product;
  wide.c = by_rows ? MutableMatrix{c, n, 1} : MutableMatrix{c, 1, m};
  if (product.bias.data != nullptr) {
    const ConstMatrix& from = product.bias;
    const bool is_row = from.row == 0;
    widen_run(half, static_cast<const uint16_t*>(from.data), is_row ? from.col : from.row,
              is_row ? n : m, bias);
    wide.bias = {bias, is_row ? 0 : 1, is_row ? 1 : 0};
  }
  const bool pairs = kHasPairTile && dtype == DLCORE_BF16 && queue.bf16_pairs;
  multiply<float, S>(queue, wide, Elements{&half, pairs ? product.k : 0}, workspace);
  const int64_t runs = by_rows ? m : n;
  const int64_t length = by_rows ? n : m;
  const int64_t step = by_rows ? product.c.row : product.c.col;
  const int64_t per_part = std::max<int64_t>(1, (int64_t{1} << 15) / length);
  queue.parallel_for(divide_up(runs, per_part), [&](int64_t part) {
    const int64_t end = std::min(runs, (part + 1) * per_part);
    uint16_t* const to = static_cast<uint16_t*>(product.c.data);
    for (int64_t i = part * per_part; i < end; ++i) {
      half.narrow(length, c + i * length, to + i * step);
    }
  });
}

void multiply_any(const Queue& queue, dlcore_dtype dtype, const Product& product, void* workspace) {
  if (product.m == 0 || product.n == 0) return;
  switch (dtype) {
    case DLCORE_F64:
      return multiply<double, double>(queue, product, Elements{}, workspace);
    case DLCORE_F16:
      return multiply_halves<Half>(queue, dtype, product, workspace);
    case DLCORE_BF16:
      return multiply_halves<BFloat16>(queue, dtype, product, workspace);
    default:
      return multiply<float, float>(queue, product, Elements{}, workspace);
  }
}

template <class T>
uint64_t packed_bytes(int64_t m, int64_t n, int64_t k) {
  const TileSplit split = TileSplit::of(m, k, kTileRows, kChunk);
  const PieceSize size =
      piece_size(split.tiles, divide_up(n, kTileCols<T>), split.blocks, kTileRows, kTileCols<T>);
  const int64_t elements =
      size.blocks * split.packed_block() * (size.tiles * kTileRows + size.panels * kTileCols<T>);
  return static_cast<uint64_t>(elements) * sizeof(T);
}

template <class T>
uint64_t workspace_of(int64_t m, int64_t n, int64_t k) {
  if (m == 0 || n == 0) return 0;
  uint64_t bytes = 0;
  if (is_thin(m, n, k)) {
    // No machine has so much memory, and the product must not overflow.
    constexpr int64_t kMost = int64_t{1} << 56;
    bytes = static_cast<uint64_t>(std::min(m, n) * std::min(k, kMost)) * sizeof(T);
    if (m == 1 || n == 1) return bytes;
  }
  return std::max({bytes, packed_bytes<T>(m, n, k), packed_bytes<T>(n, m, k)});
}

uint64_t workspace_any(dlcore_dtype dtype, int64_t m, int64_t n, int64_t k) {
  if (dtype == DLCORE_F64) return workspace_of<double>(m, n, k);
  const uint64_t bytes = workspace_of<float>(m, n, k);
  if (!is_half(dtype)) return bytes;
  return aligned(bytes) + static_cast<uint64_t>(m * n + std::max(m, n)) * sizeof(float);
}

}  // namespace

extern const MatrixProvider kOwnProvider;
const MatrixProvider kOwnProvider = {"own", workspace_any, multiply_any, true};

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {

const MatrixProvider& own_provider(int64_t target) {
#if HWY_TARGETS & HWY_AVX3
  if (target == HWY_AVX3) return N_AVX3::kOwnProvider;
#endif
#if HWY_TARGETS & HWY_AVX2
  if (target == HWY_AVX2) return N_AVX2::kOwnProvider;
#endif
  static_cast<void>(target);
  return HWY_NAMESPACE::kOwnProvider;
}

}  // namespace dlcore::cpu
#endif
