// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/indexing/index_list.h"

#include <cinttypes>
#include <cstdio>

#include "backends/cpu/elementwise/driver.h"

namespace dlcore::cpu {
namespace {

template <class T>
int64_t read_as(const void* data, const AxisList& axes, int64_t start, int64_t n, int64_t bound,
                int64_t* to) {
  T dense[kIndexBlock];
  const T* from = static_cast<const T*>(data) + start;
  if (!axes.contiguous()) {
    gather(data, axes, start, n, sizeof(T), dense);
    from = dense;
  }
  // One comparison for both bounds, and no branch while all is well.
  const auto is_bad = [&](int64_t i) {
    return static_cast<uint64_t>(to[i]) >= static_cast<uint64_t>(bound);
  };
  bool bad = false;
  for (int64_t i = 0; i < n; ++i) {
    const auto index = static_cast<int64_t>(from[i]);
    to[i] = index + (index < 0 ? bound : 0);
    bad |= is_bad(i);
  }
  if (!bad) return n;
  int64_t first = 0;
  while (!is_bad(first)) ++first;
  return first;
}

int64_t value_at(const dlcore_operand& x, int64_t offset) {
  switch (x.dtype) {
    case DLCORE_U8:
      return static_cast<const uint8_t*>(x.data)[offset];
    case DLCORE_I8:
      return static_cast<const int8_t*>(x.data)[offset];
    case DLCORE_I16:
      return static_cast<const int16_t*>(x.data)[offset];
    case DLCORE_I32:
      return static_cast<const int32_t*>(x.data)[offset];
    default:
      return static_cast<const int64_t*>(x.data)[offset];
  }
}

}  // namespace

Split::Split(const dlcore_operand& x, int32_t axis, int32_t middle_rank, const int64_t* wide)
    : data(static_cast<char*>(x.data)), size(element_size(x.dtype)) {
  for (int32_t a = 0; a < x.rank; ++a) {
    const bool in_middle = a >= axis && a < axis + middle_rank;
    const bool repeats = wide != nullptr && !in_middle && x.shape[a] == 1;
    const int64_t n = repeats ? wide[a] : x.shape[a];
    const int64_t stride = repeats ? 0 : x.strides[a];
    (a < axis ? outer : in_middle ? middle : inner).append(n, stride);
    if (a >= axis) tail.append(n, stride);
    all.append(n, stride);
  }
}

Split::Split(const dlcore_operand& indices, int64_t inner_count)
    : data(static_cast<char*>(indices.data)), size(element_size(indices.dtype)) {
  for (int32_t a = 0; a < indices.rank; ++a) {
    middle.append(indices.shape[a], indices.strides[a]);
    tail.append(indices.shape[a], indices.strides[a]);
  }
  inner.append(inner_count, 0);
  tail.append(inner_count, 0);
  all = tail;
}

int64_t read_indices(const void* data, dlcore_dtype dtype, const AxisList& axes, int64_t start,
                     int64_t n, int64_t bound, int64_t* to) {
  switch (dtype) {
    case DLCORE_U8:
      return read_as<uint8_t>(data, axes, start, n, bound, to);
    case DLCORE_I8:
      return read_as<int8_t>(data, axes, start, n, bound, to);
    case DLCORE_I16:
      return read_as<int16_t>(data, axes, start, n, bound, to);
    case DLCORE_I32:
      return read_as<int32_t>(data, axes, start, n, bound, to);
    default:
      return read_as<int64_t>(data, axes, start, n, bound, to);
  }
}

dlcore_status refuse_index(int64_t index, int64_t position, int64_t bound,
                           dlcore_failure* failure) {
  std::snprintf(failure->message, sizeof failure->message,
                "index %" PRId64 " at element %" PRId64 " is out of bounds for size %" PRId64,
                index, position, bound);
  return failure->code = DLCORE_OUT_OF_RANGE;
}

int64_t position_in(const dlcore_operand& x, const int64_t* wide, int64_t position) {
  int64_t result = 0, stride = 1;
  for (int32_t a = x.rank - 1; a >= 0; --a) {
    const int64_t index = position % wide[a];
    position /= wide[a];
    if (x.shape[a] != 1) result += index * stride;
    stride *= x.shape[a];
  }
  return result;
}

dlcore_status refuse_index(const dlcore_operand& indices, int64_t position, int64_t bound,
                           dlcore_failure* failure) {
  const int64_t offset = split_axes(indices, ~0u).elements.offset(position);
  return refuse_index(value_at(indices, offset), position, bound, failure);
}

}  // namespace dlcore::cpu
