// SPDX-License-Identifier: Apache-2.0
#include "core/io/host_elements.h"

namespace dlcore {

HostElements::HostElements(Context& ctx, TensorRef tensor) {
  const uint64_t size = static_cast<uint64_t>(tensor->count) * dtype_bytes(tensor->dtype);
  if (tensor->device->direct() && tensor->contiguous()) {
    tensor_ = std::move(tensor);
    bytes_ = {static_cast<const std::byte*>(tensor_->data), size};
    return;
  }
  copy_.resize(size);
  read_tensor(ctx, *tensor, copy_.data());
  bytes_ = copy_;
}

}  // namespace dlcore
