// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/from_host.h"

#include <vector>

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/tensor/gather_elements.h"

namespace dlcore {
namespace {

void need_bools(const void* data, int64_t count, const char* call) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  for (int64_t i = 0; i < count; ++i) {
    if (bytes[i] > 1)
      invalid("{}: byte {} of a bool tensor is {}, expected 0 or 1", call, i, bytes[i]);
  }
}

}  // namespace

TensorRef from_host(Context& ctx, const char* call, Dtype dtype, std::span<const int64_t> shape,
                    const void* data) {
  if (dtype == DLCORE_BOOL) need_bools(data, checked_count(shape, dtype), call);
  TensorRef tensor = new_tensor(ctx, ctx.device(), dtype, shape);
  write_tensor(ctx, *tensor, data);
  return tensor;
}

TensorRef from_host(Context& ctx, const char* call, Dtype dtype, std::span<const int64_t> shape,
                    std::span<const int64_t> strides, const void* first) {
  const auto count = static_cast<size_t>(checked_count(shape, dtype));
  std::vector<std::byte> dense(count * dtype_bytes(dtype));
  gather_elements(first, dtype, shape, strides, dense.data());
  return from_host(ctx, call, dtype, shape, dense.data());
}

}  // namespace dlcore
