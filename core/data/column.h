// SPDX-License-Identifier: Apache-2.0
// One of the two sides of a data set: samples or labels, a row for each example.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/engine/context.h"
#include "core/tensor/tensor.h"

namespace dlcore {

class Column {
 public:
  // Rows as they lie in `data`, which `owner` keeps.
  Column(Dtype dtype, std::vector<int64_t> row_shape, std::span<const std::byte> data,
         std::shared_ptr<const void> owner);
  // Bytes that become f32, divided by 255.
  static Column scaled_bytes(std::vector<int64_t> row_shape, std::vector<std::byte> data);
  static Column of_labels(std::vector<int64_t> labels);
  // The tensor's first axis counts the rows. Its elements are copied only where the host cannot see
  // them.
  static Column of_tensor(Context& ctx, Tensor& tensor);

  // A tensor of these rows on the context's device.
  TensorRef rows(Context& ctx, std::span<const int64_t> indices) const;
  // The same in steps: a tensor for `count` rows, without elements yet, and the rows themselves,
  // which `to` has room for. Gathering uses neither context nor engine.
  TensorRef empty_rows(Context& ctx, int64_t count) const;
  void gather(std::span<const int64_t> indices, void* to) const;

 private:
  Dtype dtype_;
  std::vector<int64_t> row_shape_;
  std::span<const std::byte> data_;
  std::shared_ptr<const void> owner_;
  int64_t row_bytes_;  // in data_
  bool scaled_ = false;
};

}  // namespace dlcore
