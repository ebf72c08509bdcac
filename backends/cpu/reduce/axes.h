// SPDX-License-Identifier: Apache-2.0
// How kernels that work along axes see a strided operand: as rows (the axes that stay) of elements
// (the axes that are worked on), both in row-major order and with neighbouring axes merged where
// possible.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/elementwise/half_conversion.h"
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
  // True when positions [start, start + count) lie one after the other.
  bool one_run(int64_t start, int64_t count) const {
    if (contiguous() || count == 0) return true;
    const Axis& last = axes[n - 1];
    return last.stride == 1 && start % last.size + count <= last.size;
  }
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

// Reads and writes halves as f32.
void gather_wide(const HalfConversion& codec, const std::byte* base, const AxisList& axes,
                 int64_t start, int64_t count, float* to);
void scatter_narrow(const HalfConversion& codec, const float* from, const AxisList& axes,
                    int64_t start, int64_t count, std::byte* base);

// Rows of one operand, read or written in blocks through a buffer where they are not dense
// elements of T. With a `codec` the elements are halves and T is float.
template <class T>
class Rows {
 public:
  Rows(const dlcore_operand& operand, uint32_t element_axes, const HalfConversion* codec = nullptr)
      : base_(static_cast<std::byte*>(operand.data)),
        view_(split_axes(operand, element_axes)),
        codec_(codec) {}

  // Rows that lie one after the other in `buffer`.
  Rows(T* buffer, int64_t count, int64_t length) : base_(reinterpret_cast<std::byte*>(buffer)) {
    view_.rows.append(count, length);
    view_.elements.append(length, 1);
  }

  const RowView& view() const { return view_; }
  bool dense() const { return codec_ == nullptr && view_.elements.contiguous(); }
  // Elements are rounded when they are written.
  bool narrow() const { return codec_ != nullptr; }
  int64_t count() const { return view_.rows.count(); }
  int64_t length() const { return view_.elements.count(); }
  std::byte* row(int64_t index) const { return base_ + view_.rows.offset(index) * size(); }

  // The elements of a row, nullptr where they are not dense.
  const T* dense_row(int64_t index) const {
    return dense() ? reinterpret_cast<const T*>(row(index)) : nullptr;
  }

  T at(const std::byte* row, int64_t element) const {
    T value;
    read_copy(row, element, 1, &value);
    return value;
  }

  // Elements [start, start + n) of a row: the row itself, or a copy in `buffer`.
  const T* read(const std::byte* row, int64_t start, int64_t n, T* buffer) const {
    if (codec_ == nullptr && view_.elements.one_run(start, n)) {
      return reinterpret_cast<const T*>(row) + view_.elements.offset(start);
    }
    read_copy(row, start, n, buffer);
    return buffer;
  }
  // Where to put elements [start, start + n) of a row before `write` is called with the same place.
  T* place(std::byte* row, int64_t start, int64_t n, T* buffer) const {
    if (codec_ != nullptr || !view_.elements.one_run(start, n)) return buffer;
    return reinterpret_cast<T*>(row) + view_.elements.offset(start);
  }
  void write(std::byte* row, int64_t start, int64_t n, const T* place) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      if (codec_ != nullptr) {
        return scatter_narrow(*codec_, place, view_.elements, start, n, row);
      }
    }
    if (view_.elements.one_run(start, n)) return;
    scatter(place, view_.elements, start, n, sizeof(T), row);
  }

 private:
  int64_t size() const { return codec_ != nullptr ? 2 : static_cast<int64_t>(sizeof(T)); }
  void read_copy(const std::byte* row, int64_t start, int64_t n, T* to) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      if (codec_ != nullptr) return gather_wide(*codec_, row, view_.elements, start, n, to);
    }
    gather(row, view_.elements, start, n, sizeof(T), to);
  }

  std::byte* base_;
  RowView view_;
  const HalfConversion* codec_ = nullptr;
};

}  // namespace dlcore::cpu
