// SPDX-License-Identifier: Apache-2.0
// Copies of matrix blocks into the row-major order that the inner kernels read, from any strides.
#if defined(DLCORE_CPU_MATMUL_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_MATMUL_PACK_INL_H_
#undef DLCORE_CPU_MATMUL_PACK_INL_H_
#else
#define DLCORE_CPU_MATMUL_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A block of a source matrix.
template <class T>
struct Block {
  const T* data;
  int64_t row;
  int64_t col;
};

template <class T>
HWY_INLINE void copy_scalar(T* to, int64_t to_row, const Block<T>& from, int64_t rows,
                            int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) to[i * to_row + j] = from.data[i * from.row + j * from.col];
  }
}

// One vector of 16-byte blocks, `step` elements apart.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t step) {
  if constexpr (sizeof(T) * hn::MaxLanes(D()) <= 16) {
    static_cast<void>(step);
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr int64_t kBlocks = static_cast<int64_t>(sizeof(T) * hn::MaxLanes(D()) / 32);
    return hn::Combine(d, load_blocks(half, from + kBlocks * step, step),
                       load_blocks(half, from, step));
  }
}

// Elements in 16 bytes: rows of what is transposed at a time. 0 where there are no vectors.
template <class T>
inline constexpr int64_t kSide = HWY_TARGET == HWY_SCALAR ? 0
                                                          : 16 / static_cast<int64_t>(sizeof(T));

#if HWY_TARGET != HWY_SCALAR
// to[i][j] = from[j][i] for kSide rows i and the lanes of D as columns j: squares side by side.
template <class D>
HWY_INLINE void transpose_squares(D d, const float* HWY_RESTRICT from, int64_t from_row,
                                  float* HWY_RESTRICT to, int64_t to_row) {
  const hn::Repartition<double, D> dd;
  const int64_t step = 4 * from_row;
  const auto r0 = load_blocks(d, from, step);
  const auto r1 = load_blocks(d, from + from_row, step);
  const auto r2 = load_blocks(d, from + 2 * from_row, step);
  const auto r3 = load_blocks(d, from + 3 * from_row, step);
  const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23)), d, to + to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, high01, high23)), d, to + 2 * to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23)), d, to + 3 * to_row);
}

template <class D>
HWY_INLINE void transpose_squares(D d, const double* HWY_RESTRICT from, int64_t from_row,
                                  double* HWY_RESTRICT to, int64_t to_row) {
  const auto r0 = load_blocks(d, from, 2 * from_row);
  const auto r1 = load_blocks(d, from + from_row, 2 * from_row);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + to_row);
}

// Columns of to as wide as D; `rows` is kSide or more. The last rows may be written twice.
template <class D, class T>
HWY_INLINE void transpose_columns(D d, T* to, int64_t to_row, const T* from, int64_t from_row,
                                  int64_t rows) {
  int64_t i = 0;
  for (; i + kSide<T> <= rows; i += kSide<T>) {
    transpose_squares(d, from + i, from_row, to + i * to_row, to_row);
  }
  if (i < rows) {
    i = rows - kSide<T>;
    transpose_squares(d, from + i, from_row, to + i * to_row, to_row);
  }
}
#endif

// to[i][j] = from[j][i] for a source whose rows run down the destination's columns.
template <class T>
void copy_transposed(T* to, int64_t to_row, const Block<T>& from, int64_t rows, int64_t cols) {
#if HWY_TARGET != HWY_SCALAR
  if (rows >= kSide<T> && cols >= kSide<T>) {
    const Full<T> wide;
    const hn::CappedTag<T, static_cast<size_t>(kSide<T>)> square;
    int64_t j = 0;
    for (; j + kLanes<T> <= cols; j += kLanes<T>) {
      transpose_columns(wide, to + j, to_row, from.data + j * from.col, from.col, rows);
    }
    while (j < cols) {
      j = std::min(j, cols - kSide<T>);
      transpose_columns(square, to + j, to_row, from.data + j * from.col, from.col, rows);
      j += kSide<T>;
    }
    return;
  }
#endif
  copy_scalar(to, to_row, from, rows, cols);
}

// to[i * to_row + j] = from[i, j].
template <class T>
void copy_block(T* to, int64_t to_row, const Block<T>& from, int64_t rows, int64_t cols) {
  if (from.col == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(to + i * to_row, from.data + i * from.row, static_cast<size_t>(cols) * sizeof(T));
    }
  } else if (from.row == 1) {
    copy_transposed(to, to_row, from, rows, cols);
  } else {
    copy_scalar(to, to_row, from, rows, cols);
  }
}

// rows x cols of a into the layout of multiply_tile: [k / kChunk][row][k % kChunk].
template <class T>
void pack_tile(T* to, const Block<T>& from, int64_t rows, int64_t cols) {
  for (int64_t k = 0; k < cols; k += kChunk, to += rows * kChunk) {
    const Block<T> chunk{from.data + k * from.col, from.row, from.col};
    if (cols - k >= kChunk && from.col == 1) {
      for (int64_t i = 0; i < rows; ++i) {
        std::memcpy(to + i * kChunk, chunk.data + i * chunk.row, kChunk * sizeof(T));
      }
    } else {
      copy_block(to, kChunk, chunk, rows, cols - k < kChunk ? cols - k : kChunk);
    }
  }
}

// rows x cols of b, cols <= kTileCols<T>, into rows of kTileCols<T>, zeros behind what is there.
template <class T>
void pack_panel(T* to, const Block<T>& from, int64_t rows, int64_t cols) {
  constexpr int64_t kCols = kTileCols<T>;
  if (cols == kCols && from.col == 1) {
    const Full<T> d;
    for (int64_t i = 0; i < rows; ++i) {
      const T* const row = from.data + i * from.row;
      hn::Store(hn::LoadU(d, row), d, to + i * kCols);
      hn::Store(hn::LoadU(d, row + kLanes<T>), d, to + i * kCols + kLanes<T>);
    }
    return;
  }
  copy_block(to, kCols, from, rows, cols);
  for (int64_t i = 0; i < rows && cols < kCols; ++i) {
    std::memset(to + i * kCols + cols, 0, static_cast<size_t>(kCols - cols) * sizeof(T));
  }
}

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
