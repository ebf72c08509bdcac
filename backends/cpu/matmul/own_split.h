// SPDX-License-Identifier: Apache-2.0
// How the library's own matrix product is cut up: k into blocks (which decides the order of
// arithmetic), m into tiles, and the whole into pieces that fit the outer cache and parts for the
// pool (which do not).
#pragma once

#include <algorithm>
#include <cstdint>

namespace dlcore::cpu {

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  constexpr int64_t size() const { return end - begin; }
};

// Part `index` of `parts` nearly equal parts of a range.
constexpr Range even_range(const Range& all, int64_t parts, int64_t index) {
  const int64_t base = all.size() / parts;
  const int64_t longer = all.size() % parts;
  const int64_t begin = all.begin + index * base + std::min(index, longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

// Longest block of k: a tile of a and the panel of b that it meets stay in the two nearest caches,
// and the sums of many products are kept accurate by adding up blocks of them.
inline constexpr int64_t kLongestBlock = 256;

struct TileSplit {
  int64_t m = 0;
  int64_t k = 0;
  int64_t tiles = 0;   // of m, heights nearly equal
  int64_t blocks = 0;  // of k, lengths nearly equal; one empty block when k is 0
  int64_t chunk = 1;   // packed blocks are rounded up to it

  static constexpr TileSplit of(int64_t m, int64_t k, int64_t tile_rows, int64_t chunk) {
    return {m, k, divide_up(m, tile_rows), std::max<int64_t>(1, divide_up(k, kLongestBlock)),
            chunk};
  }
  constexpr Range tile(int64_t t) const { return even_range({0, m}, tiles, t); }
  constexpr Range block(int64_t b) const { return even_range({0, k}, blocks, b); }
  // Columns that one block takes when packed.
  constexpr int64_t packed_block() const { return divide_up(divide_up(k, blocks), chunk) * chunk; }
};

// What is packed at once, in tiles, panels and blocks: at most 2048 rows and columns and
// kMostPackedK of k, or 16 MiB in f32.
inline constexpr int64_t kMostPackedK = 1024;

struct PieceSize {
  int64_t tiles;
  int64_t panels;
  int64_t blocks;
};

constexpr PieceSize piece_size(int64_t tiles, int64_t panels, int64_t blocks, int64_t tile_rows,
                               int64_t tile_cols) {
  return {std::min(tiles, 2048 / tile_rows), std::min(panels, 2048 / tile_cols),
          std::min<int64_t>(blocks, kMostPackedK / kLongestBlock)};
}

// Parts of a piece: at most kPartTiles x kPartPanels tiles of c, smaller until there are 32 parts
// or a part is down to kSmallestPart multiply-adds.
struct Grid {
  int64_t rows;
  int64_t cols;
};

inline constexpr int64_t kPartTiles = 12;
inline constexpr int64_t kPartPanels = 4;
inline constexpr int64_t kSmallestPart = int64_t{1} << 20;

constexpr Grid split_tiles(int64_t tiles, int64_t panels, int64_t tile_work) {
  Grid grid{divide_up(tiles, kPartTiles), divide_up(panels, kPartPanels)};
  while (grid.rows * grid.cols < 32) {
    const int64_t work = tiles * panels * tile_work / (grid.rows * grid.cols);
    if (work < 2 * kSmallestPart) break;
    const int64_t tiles_each = divide_up(tiles, grid.rows);
    const int64_t panels_each = divide_up(panels, grid.cols);
    if (tiles_each == 1 && panels_each == 1) break;
    if (tiles_each > 2 * panels_each || panels_each == 1) {
      grid.rows = std::min(tiles, 2 * grid.rows);
    } else {
      grid.cols = std::min(panels, 2 * grid.cols);
    }
  }
  return grid;
}

// Products of so few rows or columns read the other matrix where it lies (vector_product-inl.h),
// unless k is so short that adding up vectors would take longer than packing. Many rows and few
// columns are better off in narrow_product-inl.h as long as it takes k.
inline constexpr int64_t kMostThinRows = 8;

constexpr bool is_thin(int64_t m, int64_t n, int64_t k) {
  if (m == 1 || n == 1) return true;
  if (k < 64) return false;
  return m <= kMostThinRows || (n <= kMostThinRows && (m < 128 || k > kMostPackedK));
}

// Columns of a product of so many rows that one part takes: about 128 KiB of the matrix, less where
// each column is more work.
constexpr int64_t thin_columns_per_part(int64_t rows, int64_t k, int64_t element_bytes) {
  const int64_t column = std::max<int64_t>(1, k * element_bytes) * divide_up(rows, 2);
  return std::max<int64_t>(64, divide_up((int64_t{1} << 17) / column, 64) * 64);
}

}  // namespace dlcore::cpu
