// SPDX-License-Identifier: Apache-2.0
// How kernels that work along axes see a strided operand: as rows (the axes that stay) of elements
// (the axes that are worked on), both in row-major order and with neighbouring axes merged where
// possible.
#pragma once

#include <cstdint>

#include "dlcore/plugin.h"

namespace dlcore::cpu {

struct Axis {
  int64_t size;
  int64_t stride;  // in elements
};

// A list of axes walked in row-major order.
struct AxisList {
  int n = 0;
  Axis axes[DLCORE_MAX_RANK];

  // Adds an axis on the inside, merging it with the one before where they form one run.
  void append(int64_t size, int64_t stride);
  int64_t count() const;
  // Offset of the element at row-major position `index`.
  int64_t offset(int64_t index) const;
  // True when position i lies at offset i.
  bool contiguous() const { return n == 0 || (n == 1 && axes[0].stride == 1); }
};

// One operand as rows x elements.
struct RowView {
  AxisList rows;
  AxisList elements;
};

// Splits an operand by a mask: bit a set means that axis a belongs to `elements`.
RowView split_axes(const dlcore_operand& operand, uint32_t element_axes);

// The mask of one axis, which may count from the end; rank 0 has none.
uint32_t axis_mask(int32_t rank, int64_t axis);
// The mask of axis `axis` and all after it.
uint32_t trailing_mask(int32_t rank, int64_t axis);

// Copies positions [start, start + count) of the axes, `size` bytes each, to and from a dense
// buffer.
void gather(const void* base, const AxisList& axes, int64_t start, int64_t count, int64_t size,
            void* to);
void scatter(const void* from, const AxisList& axes, int64_t start, int64_t count, int64_t size,
             void* base);

// Rows of one operand, read or written in blocks through a buffer where they are not dense.
template <class T>
class Rows {
 public:
  Rows(const dlcore_operand& operand, uint32_t element_axes)
      : base_(static_cast<T*>(operand.data)), view_(split_axes(operand, element_axes)) {}

  // Rows that lie one after the other in `buffer`.
  Rows(T* buffer, int64_t count, int64_t length) : base_(buffer) {
    view_.rows.append(count, length);
    view_.elements.append(length, 1);
  }

  const RowView& view() const { return view_; }
  bool dense() const { return view_.elements.contiguous(); }
  int64_t count() const { return view_.rows.count(); }
  int64_t length() const { return view_.elements.count(); }
  T* row(int64_t index) const { return base_ + view_.rows.offset(index); }

  T at(const T* row, int64_t element) const { return row[view_.elements.offset(element)]; }

  // Elements [start, start + n) of a row: the row itself, or a copy in `buffer`.
  const T* read(const T* row, int64_t start, int64_t n, T* buffer) const {
    if (dense()) return row + start;
    gather(row, view_.elements, start, n, sizeof(T), buffer);
    return buffer;
  }
  // Where to put elements [start, ...) of a row before `write` is called with the same place.
  T* place(T* row, int64_t start, T* buffer) const { return dense() ? row + start : buffer; }
  void write(T* row, int64_t start, int64_t n, const T* place) const {
    if (!dense()) scatter(place, view_.elements, start, n, sizeof(T), row);
  }

 private:
  T* base_;
  RowView view_;
};

}  // namespace dlcore::cpu
