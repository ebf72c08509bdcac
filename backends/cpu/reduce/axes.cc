// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/reduce/axes.h"

#include <algorithm>
#include <cstring>

namespace dlcore::cpu {
namespace {

constexpr int64_t kHalfBytes = 2;
constexpr int64_t kHalfBlock = 512;

// Calls body(offset, stride, n) for every run of positions [start, start + count) along the last
// axis.
template <class Body>
void for_each_run(const AxisList& axes, int64_t start, int64_t count, const Body& body) {
  if (count <= 0) return;
  if (axes.n == 0) {
    body(0, 1, count);
    return;
  }
  int64_t index[DLCORE_MAX_RANK];
  int64_t offset = 0;
  for (int a = axes.n - 1; a >= 0; --a) {
    index[a] = start % axes.axes[a].size;
    start /= axes.axes[a].size;
    offset += index[a] * axes.axes[a].stride;
  }
  const int last = axes.n - 1;
  const Axis inner = axes.axes[last];
  for (;;) {
    const int64_t run = std::min(count, inner.size - index[last]);
    body(offset, inner.stride, run);
    count -= run;
    if (count == 0) return;
    offset -= index[last] * inner.stride;
    index[last] = 0;
    for (int a = last - 1; a >= 0; --a) {
      offset += axes.axes[a].stride;
      if (++index[a] < axes.axes[a].size) break;
      offset -= axes.axes[a].size * axes.axes[a].stride;
      index[a] = 0;
    }
  }
}

template <int64_t kSize>
void gather_as(const char* base, const AxisList& axes, int64_t start, int64_t count, char* to) {
  for_each_run(axes, start, count, [&](int64_t offset, int64_t stride, int64_t n) {
    const char* from = base + offset * kSize;
    if (stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(n * kSize));
    } else {
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * kSize, from + i * stride * kSize, kSize);
    }
    to += n * kSize;
  });
}

template <int64_t kSize>
void scatter_as(const char* from, const AxisList& axes, int64_t start, int64_t count, char* base) {
  for_each_run(axes, start, count, [&](int64_t offset, int64_t stride, int64_t n) {
    char* to = base + offset * kSize;
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride * kSize, from + i * kSize, kSize);
    from += n * kSize;
  });
}

}  // namespace

void AxisList::append(int64_t size, int64_t stride) {
  if (size == 1) return;
  if (n > 0 && axes[n - 1].stride == stride * size) {
    axes[n - 1] = {axes[n - 1].size * size, stride};
    return;
  }
  axes[n++] = {size, stride};
}

int64_t AxisList::count() const {
  int64_t product = 1;
  for (int a = 0; a < n; ++a) product *= axes[a].size;
  return product;
}

int64_t AxisList::offset(int64_t index) const {
  if (index == 0) return 0;  // also where there are no elements
  int64_t offset = 0;
  for (int a = n - 1; a > 0; --a) {
    offset += index % axes[a].size * axes[a].stride;
    index /= axes[a].size;
  }
  return n == 0 ? 0 : offset + index * axes[0].stride;
}

RowView split_axes(const dlcore_operand& operand, uint32_t element_axes) {
  RowView view;
  for (int a = 0; a < operand.rank; ++a) {
    AxisList& list = (element_axes >> a & 1) != 0 ? view.elements : view.rows;
    list.append(operand.shape[a], operand.strides[a]);
  }
  return view;
}

uint32_t axis_mask(int32_t rank, int64_t axis) {
  return rank == 0 ? 0 : 1u << (axis < 0 ? axis + rank : axis);
}

uint32_t trailing_mask(int32_t rank, int64_t axis) {
  const int64_t first = axis < 0 ? axis + rank : axis;
  return ((1u << rank) - 1) & ~((1u << first) - 1);
}

void gather(const void* base, const AxisList& axes, int64_t start, int64_t count, int64_t size,
            void* to) {
  const char* from = static_cast<const char*>(base);
  char* dense = static_cast<char*>(to);
  switch (size) {
    case 1:
      return gather_as<1>(from, axes, start, count, dense);
    case 2:
      return gather_as<2>(from, axes, start, count, dense);
    case 4:
      return gather_as<4>(from, axes, start, count, dense);
    default:
      return gather_as<8>(from, axes, start, count, dense);
  }
}

void gather_wide(const HalfConversion& codec, const std::byte* base, const AxisList& axes,
                 int64_t start, int64_t count, float* to) {
  if (axes.one_run(start, count)) {
    return codec.widen(count, base + axes.offset(start) * kHalfBytes, to);
  }
  uint16_t packed[kHalfBlock];
  for (const int64_t end = start + count; start < end; start += kHalfBlock) {
    const int64_t n = std::min(kHalfBlock, end - start);
    gather_as<kHalfBytes>(reinterpret_cast<const char*>(base), axes, start, n,
                          reinterpret_cast<char*>(packed));
    codec.widen(n, packed, to);
    to += n;
  }
}

void scatter_narrow(const HalfConversion& codec, const float* from, const AxisList& axes,
                    int64_t start, int64_t count, std::byte* base) {
  if (axes.one_run(start, count)) {
    return codec.narrow(count, from, base + axes.offset(start) * kHalfBytes);
  }
  uint16_t packed[kHalfBlock];
  for (const int64_t end = start + count; start < end; start += kHalfBlock) {
    const int64_t n = std::min(kHalfBlock, end - start);
    codec.narrow(n, from, packed);
    scatter_as<kHalfBytes>(reinterpret_cast<const char*>(packed), axes, start, n,
                           reinterpret_cast<char*>(base));
    from += n;
  }
}

void scatter(const void* from, const AxisList& axes, int64_t start, int64_t count, int64_t size,
             void* base) {
  const char* dense = static_cast<const char*>(from);
  char* to = static_cast<char*>(base);
  switch (size) {
    case 1:
      return scatter_as<1>(dense, axes, start, count, to);
    case 2:
      return scatter_as<2>(dense, axes, start, count, to);
    case 4:
      return scatter_as<4>(dense, axes, start, count, to);
    default:
      return scatter_as<8>(dense, axes, start, count, to);
  }
}

}  // namespace dlcore::cpu
