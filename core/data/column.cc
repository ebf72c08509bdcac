// SPDX-License-Identifier: Apache-2.0
#include "core/data/column.h"

#include <array>
#include <cstring>

#include "core/io/host_elements.h"

namespace dlcore {
namespace {

constexpr std::array<float, 256> kUnitInterval = [] {
  std::array<float, 256> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i) / 255.0f;
  return table;
}();

int64_t count_of(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  return count;
}

}  // namespace

Column::Column(Dtype dtype, std::vector<int64_t> row_shape, std::span<const std::byte> data,
               std::shared_ptr<const void> owner)
    : dtype_(dtype),
      row_shape_(std::move(row_shape)),
      data_(data),
      owner_(std::move(owner)),
      row_bytes_(count_of(row_shape_) * static_cast<int64_t>(dtype_bytes(dtype))) {}

Column Column::scaled_bytes(std::vector<int64_t> row_shape, std::vector<std::byte> data) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
  Column column(DLCORE_U8, std::move(row_shape), *owner, owner);
  column.dtype_ = DLCORE_F32;
  column.scaled_ = true;
  return column;
}

Column Column::of_labels(std::vector<int64_t> labels) {
  auto owner = std::make_shared<const std::vector<int64_t>>(std::move(labels));
  return Column(DLCORE_I64, {}, std::as_bytes(std::span(*owner)), owner);
}

Column Column::of_tensor(Context& ctx, Tensor& tensor) {
  auto owner = std::make_shared<const HostElements>(ctx, new_alias(ctx, tensor));
  const std::span<const int64_t> row = tensor.shape().subspan(1);
  return Column(tensor.dtype, {row.begin(), row.end()}, owner->bytes(), owner);
}

TensorRef Column::empty_rows(Context& ctx, int64_t count) const {
  std::vector<int64_t> shape = {count};
  shape.insert(shape.end(), row_shape_.begin(), row_shape_.end());
  return new_tensor(ctx, ctx.device(), dtype_, shape);
}

TensorRef Column::rows(Context& ctx, std::span<const int64_t> indices) const {
  TensorRef tensor = empty_rows(ctx, static_cast<int64_t>(indices.size()));
  if (tensor->device->direct()) {
    gather(indices, tensor->data);
    return tensor;
  }
  std::vector<std::byte> staging(static_cast<uint64_t>(tensor->count) * dtype_bytes(dtype_));
  gather(indices, staging.data());
  write_tensor(ctx, *tensor, staging.data());
  return tensor;
}

void Column::gather(std::span<const int64_t> indices, void* to) const {
  if (row_bytes_ == 0) return;
  const auto bytes = static_cast<size_t>(row_bytes_);
  if (scaled_) {
    auto* out = static_cast<float*>(to);
    for (const int64_t index : indices) {
      for (const std::byte b : data_.subspan(static_cast<size_t>(index) * bytes, bytes)) {
        *out++ = kUnitInterval[std::to_integer<size_t>(b)];
      }
    }
    return;
  }
  auto* out = static_cast<std::byte*>(to);
  for (const int64_t index : indices) {
    std::memcpy(out, data_.data() + static_cast<size_t>(index) * bytes, bytes);
    out += bytes;
  }
}

}  // namespace dlcore
