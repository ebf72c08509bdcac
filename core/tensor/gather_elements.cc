// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/gather_elements.h"

#include <cstring>

namespace dlcore {
namespace {

// One axis of Width-byte elements; returns where the next element goes.
template <size_t Width>
std::byte* gather_axis(const std::byte* from, size_t axis, std::span<const int64_t> shape,
                       std::span<const int64_t> strides, std::byte* to) {
  if (axis == shape.size()) {
    std::memcpy(to, from, Width);
    return to + Width;
  }
  const int64_t step = strides[axis] * static_cast<int64_t>(Width);
  if (axis + 1 == shape.size()) {
    if (strides[axis] == 1) {
      std::memcpy(to, from, static_cast<size_t>(shape[axis]) * Width);
      return to + static_cast<size_t>(shape[axis]) * Width;
    }
    for (int64_t i = 0; i < shape[axis]; ++i, to += Width) std::memcpy(to, from + i * step, Width);
    return to;
  }
  for (int64_t i = 0; i < shape[axis]; ++i)
    to = gather_axis<Width>(from + i * step, axis + 1, shape, strides, to);
  return to;
}

}  // namespace

Reach reach_of(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  Reach reach;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t far = checked_multiply(shape[i] - 1, strides[i]);
    (far < 0 ? reach.first : reach.last) = checked_add(far < 0 ? reach.first : reach.last, far);
  }
  return reach;
}

void gather_elements(const void* from, Dtype dtype, std::span<const int64_t> shape,
                     std::span<const int64_t> strides, void* to) {
  for (int64_t d : shape) {
    if (d == 0) return;
  }
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  switch (dtype_bytes(dtype)) {
    case 1:
      gather_axis<1>(source, 0, shape, strides, target);
      return;
    case 2:
      gather_axis<2>(source, 0, shape, strides, target);
      return;
    case 4:
      gather_axis<4>(source, 0, shape, strides, target);
      return;
    default:
      gather_axis<8>(source, 0, shape, strides, target);
      return;
  }
}

void gather_elements(const Tensor& from, void* to) {
  gather_elements(from.data, from.dtype, from.shape(), from.strides(), to);
}

}  // namespace dlcore
