// SPDX-License-Identifier: Apache-2.0
// What kernels over independent rows share: splitting them over the pool, operands of the row's
// shape.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "backends/cpu/queue.h"
#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/reduce/tree.h"
#include "backends/cpu/targets.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Elements of the rows that a part works on.
inline constexpr int64_t kRowGrain = 16 * 1024;
// Elements of the buffers in which rows that are not dense are worked on.
inline constexpr int64_t kPackedElements = 4096;
inline constexpr int64_t kPackedLength = 512;  // longer rows are copied one after the other

// Calls body(first, count) for groups of rows of `length` elements that fit a packing buffer.
template <class Body>
void for_each_row_group(const Queue& queue, int64_t rows, int64_t length, const Body& body) {
  const int64_t size = std::max<int64_t>(1, length);
  const int64_t per_part = std::max<int64_t>(1, kRowGrain / size);
  const int64_t per_group = std::max<int64_t>(1, kPackedElements / size);
  queue.parallel_for((rows + per_part - 1) / per_part, [&](int64_t part) {
    if (queue.stopped()) return;
    const int64_t last = std::min(rows, (part + 1) * per_part);
    for (int64_t r = part * per_part; r < last; r += per_group) {
      body(r, std::min(per_group, last - r));
    }
  });
}

// Calls body(row) for every row.
template <class Body>
void for_each_row(const Queue& queue, int64_t rows, int64_t length, const Body& body) {
  for_each_row_group(queue, rows, length, [&](int64_t first, int64_t count) {
    for (int64_t r = first; r < first + count; ++r) body(r);
  });
}

// Asks for the cache lines of elements that are needed soon.
template <class T>
void prefetch(const T* x, int64_t n) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < n; i += kLine) __builtin_prefetch(x + i);
}

// A group of rows of one operand. Rows that are not dense and fit a buffer are moved through it:
// short ones all at once, which uses whole cache lines where neighbouring rows are neighbours in
// memory.
template <class T>
class RowGroup {
 public:
  RowGroup(const Rows<T>& source, int64_t first, int64_t count, T (&buffer)[kPackedElements])
      : source_(source),
        first_(first),
        count_(count),
        packed_(packs(source)),
        buffer_(buffer),
        rows_(packed_ ? Rows<T>(buffer, count, source.length()) : source) {}

  static bool packs(const Rows<T>& source) {
    return !source.dense() && source.length() <= kPackedElements;
  }

  const Rows<T>& rows() const { return rows_; }
  std::byte* row(int64_t index) const {
    return packed_ ? reinterpret_cast<std::byte*>(packed(index)) : source_.row(first_ + index);
  }

  void load() {
    if (!packed_) return;
    if (at_once()) return move([](T& packed, T& element) { packed = element; });
    for (int64_t r = 0; r < count_; ++r) {
      source_.read(source_.row(first_ + r), 0, source_.length(), packed(r));
    }
  }
  void store() {
    if (!packed_) return;
    if (at_once()) return move([](T& packed, T& element) { element = packed; });
    for (int64_t r = 0; r < count_; ++r) {
      source_.write(source_.row(first_ + r), 0, source_.length(), packed(r));
    }
  }

 private:
  bool at_once() const { return !source_.narrow() && source_.length() <= kPackedLength; }
  T* packed(int64_t index) const { return buffer_ + index * source_.length(); }

  template <class Move>
  void move(const Move& move_one) {
    const int64_t length = source_.length();
    T* starts[kPackedElements / 8];
    constexpr int64_t kStarts = sizeof starts / sizeof starts[0];
    for (int64_t from = 0; from < count_; from += kStarts) {
      const int64_t n = std::min(kStarts, count_ - from);
      for (int64_t r = 0; r < n; ++r) {
        starts[r] = reinterpret_cast<T*>(source_.row(first_ + from + r));
      }
      for (int64_t i = 0; i < length; ++i) {
        const int64_t offset = source_.view().elements.offset(i);
        T* column = packed(from) + i;
        for (int64_t r = 0; r < n; ++r) move_one(column[r * length], starts[r][offset]);
      }
    }
  }

  const Rows<T>& source_;
  int64_t first_;
  int64_t count_;
  bool packed_;
  T* buffer_;
  Rows<T> rows_;
};

// Calls body(row, chunk, start, n) for the chunks of kChunk elements of rows that are too long for
// one thread.
inline int64_t chunks_of(int64_t length) { return (length + kChunk - 1) / kChunk; }
template <class Body>
void for_each_chunk(const Queue& queue, int64_t rows, int64_t length, const Body& body) {
  const int64_t chunks = chunks_of(length);
  queue.parallel_for(rows * chunks, [&](int64_t part) {
    if (queue.stopped()) return;
    const int64_t start = part % chunks * kChunk;
    body(part / chunks, part % chunks, start, std::min(kChunk, length - start));
  });
}

inline double attr_f64(int64_t word) { return std::bit_cast<double>(word); }

inline bool has_input(const dlcore_launch* launch, int32_t index) {
  return index < launch->n_inputs && launch->inputs[index].dtype != DLCORE_DTYPE_NONE;
}

// True when an input is absent or lies in row-major order as elements of T.
template <class T>
bool operand_is_dense(const dlcore_launch* launch, int32_t index) {
  if (!has_input(launch, index)) return true;
  const dlcore_operand& operand = launch->inputs[index];
  return operand.dtype == dtype_of<T>() && split_axes(operand, ~0u).elements.contiguous();
}

// The elements of an input in row-major order, copied to `copy` where they lie otherwise; NULL when
// the input is absent. `codec` tells how a dtype is widened.
template <class T>
const T* dense_operand(const dlcore_launch* launch, int32_t index,
                       const HalfConversion* (*codec)(int32_t dtype), T* copy) {
  if (!has_input(launch, index)) return nullptr;
  const dlcore_operand& operand = launch->inputs[index];
  const Rows<T> all(operand, ~0u, codec(operand.dtype));
  return all.read(all.row(0), 0, operand.count, copy);
}

}  // namespace dlcore::cpu
