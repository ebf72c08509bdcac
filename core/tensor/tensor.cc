// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/autograd/node.h"
#include "core/engine/context.h"
#include "core/tensor/gather_elements.h"

namespace dlcore {
namespace {

TensorRef new_slot(Context& ctx, Device& device, Dtype dtype) {
  TensorPool& pool = ctx.tensor_pool();
  auto* tensor = new (pool.take()) Tensor;
  tensor->pool = &pool;
  tensor->engine = &ctx.engine();
  tensor->device = &device;
  tensor->dtype = static_cast<uint8_t>(dtype);
  tensor->sizes = tensor->inline_sizes;
  tensor->counts.store(1, std::memory_order_relaxed);
  tensor->tag.store(Tag::kTensor, std::memory_order_release);
  return TensorRef::adopt(tensor);
}

void reserve_sizes(Tensor& tensor, size_t rank) {
  if (rank > DLCORE_MAX_RANK)
    invalid("rank is {}, expected at most {}", rank, int{DLCORE_MAX_RANK});
  tensor.rank = static_cast<uint8_t>(rank);
  if (rank > static_cast<size_t>(Tensor::kInlineRank)) tensor.sizes = new int64_t[2 * rank];
}

void allocate_elements(Tensor& tensor, int64_t count) {
  tensor.count = count;
  const uint64_t bytes = static_cast<uint64_t>(count) * dtype_bytes(tensor.dtype);
  if (bytes <= Tensor::kInlineBytes && tensor.device->direct()) {
    tensor.inline_data = true;
    tensor.data = tensor.inline_elements;
  } else {
    tensor.storage = Storage::allocate(*tensor.device, bytes);
    tensor.data = tensor.storage->data();
  }
}

}  // namespace

Dims Tensor::dims() const {
  Dims d;
  for (int i = 0; i < rank; ++i) d.push_back(dim(i));
  return d;
}

bool Tensor::contiguous() const {
  int64_t expected = 1;
  if (count == 0) return true;
  for (int i = rank - 1; i >= 0; --i) {
    if (sizes[i] != 1 && sizes[rank + i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

TensorExtra& Tensor::make_extra() {
  if (extra == nullptr) extra = new TensorExtra;
  return *extra;
}

void Tensor::set_sizes(std::span<const int64_t> shape) {
  reserve_sizes(*this, shape.size());
  if (!shape.empty()) std::memcpy(sizes, shape.data(), shape.size_bytes());
  contiguous_strides(shape, mutable_strides());
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

void contiguous_strides(std::span<const int64_t> shape, int64_t* strides) {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
}

int64_t checked_count(std::span<const int64_t> shape, Dtype dtype) {
  if (shape.size() > DLCORE_MAX_RANK)
    invalid("rank is {}, expected at most {}", shape.size(), int{DLCORE_MAX_RANK});
  // Sizes of 0 are left out: strides must be representable even when there are no elements.
  int64_t count = 1, padded = static_cast<int64_t>(dtype_bytes(dtype));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0)
      invalid("shape {}: dimension {} is {}, expected 0 or more", shape_text(shape), i, shape[i]);
    count = shape[i] == 0 ? 0 : count;
    if (__builtin_mul_overflow(padded, shape[i] == 0 ? 1 : shape[i], &padded)) {
      invalid("shape {} of {}: the number of bytes overflows", shape_text(shape),
              dtype_name(dtype));
    }
  }
  return count == 0 ? 0 : padded / static_cast<int64_t>(dtype_bytes(dtype));
}

TensorRef new_tensor(Context& ctx, Device& device, Dtype dtype, std::span<const int64_t> shape) {
  const int64_t count = checked_count(shape, dtype);
  TensorRef tensor = new_slot(ctx, device, dtype);
  tensor->set_sizes(shape);
  allocate_elements(*tensor, count);
  return tensor;
}

TensorRef new_like(Context& ctx, const Tensor& like) {
  TensorRef tensor = new_slot(ctx, *like.device, like.dtype);
  reserve_sizes(*tensor, like.rank);
  std::copy_n(like.sizes, 2 * size_t{like.rank}, tensor->sizes);
  allocate_elements(*tensor, like.count);
  return tensor;
}

TensorRef new_weak(Context& ctx, Dtype dtype, const void* element) {
  TensorRef scalar = new_tensor(ctx, ctx.engine().cpu(), dtype, {});
  std::memcpy(scalar->data, element, dtype_bytes(dtype));
  scalar->weak = true;
  return scalar;
}

TensorRef new_view(Context& ctx, Tensor& source, std::span<const int64_t> shape,
                   std::span<const int64_t> strides, int64_t offset) {
  const auto dtype = static_cast<Dtype>(source.dtype);
  TensorRef view = new_slot(ctx, *source.device, dtype);
  view->set_sizes(shape);
  if (!strides.empty()) std::memcpy(view->mutable_strides(), strides.data(), strides.size_bytes());
  view->count = 1;
  for (int64_t d : shape) view->count *= d;
  view->weak = source.weak;
  view->data =
      static_cast<std::byte*>(source.data) + offset * static_cast<int64_t>(dtype_bytes(dtype));
  if (source.storage != nullptr) {
    source.storage->retain();
    view->storage = source.storage;
  } else {
    Tensor* base = source.base != nullptr ? source.base : &source;
    base->retain();
    view->base = base;
  }
  return view;
}

TensorRef new_over(Context& ctx, Storage* storage, Dtype dtype, std::span<const int64_t> shape,
                   std::span<const int64_t> strides, void* first) {
  TensorRef tensor;
  try {
    tensor = new_slot(ctx, storage->device(), dtype);
    tensor->set_sizes(shape);
  } catch (...) {
    storage->release();
    throw;
  }
  if (!strides.empty())
    std::memcpy(tensor->mutable_strides(), strides.data(), strides.size_bytes());
  tensor->count = 1;
  for (int64_t d : shape) tensor->count *= d;
  tensor->data = first;
  tensor->storage = storage;
  return tensor;
}

TensorRef new_alias(Context& ctx, Tensor& source) {
  if (source.data == nullptr) {  // abstract
    TensorRef alias = new_abstract(ctx, *source.device, source.dtype, source.dims(), source.weak);
    if (source.extra != nullptr) {
      TensorExtra& extra = alias->make_extra();
      if (source.extra->level != nullptr) source.extra->level->retain();
      extra.level = source.extra->level;
      extra.primal = source.extra->primal;
      extra.tangent = source.extra->tangent;
      extra.batched = source.extra->batched;
      extra.capture = source.extra->capture;
      extra.value = source.extra->value;
    }
    return alias;
  }
  if (source.storage != nullptr) return new_view(ctx, source, source.shape(), source.strides(), 0);
  // Elements inside the slot are copied, so that the alias does not keep the source alive.
  TensorRef alias = new_tensor(ctx, *source.device, source.dtype, source.shape());
  alias->weak = source.weak;
  gather_elements(source, alias->data);
  return alias;
}

TensorRef new_abstract(Context& ctx, Device& device, Dtype dtype, const Dims& dims, bool weak) {
  TensorRef tensor = new_slot(ctx, device, dtype);
  reserve_sizes(*tensor, dims.size());
  tensor->weak = weak;
  tensor->count = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    tensor->sizes[i] = dims[i].value;
    tensor->sizes[dims.size() + i] = 0;
    if (dims[i].symbolic() || tensor->count < 0) {
      tensor->count = -1;
    } else {
      tensor->count = checked_multiply(tensor->count, dims[i].value);
    }
  }
  return tensor;
}

void write_tensor(Context& ctx, Tensor& to, const void* data) {
  const uint64_t bytes = static_cast<uint64_t>(to.count) * dtype_bytes(to.dtype);
  if (bytes == 0) return;
  if (to.device->direct()) {
    std::memcpy(to.data, data, bytes);
    return;
  }
  const auto& queue = ctx.queue(*to.device);
  to.storage->before_write(*queue);
  queue->copy_from_host(to.data, data, bytes);
  to.storage->after_write(queue);
}

TensorRef copy_to_device(Context& ctx, Tensor& tensor, Device& device) {
  if (tensor.device == &device) return TensorRef(&tensor);
  std::vector<std::byte> elements(static_cast<size_t>(tensor.count) * dtype_bytes(tensor.dtype));
  read_tensor(ctx, tensor, elements.data());
  TensorRef there = new_tensor(ctx, device, tensor.dtype, tensor.shape());
  write_tensor(ctx, *there, elements.data());
  there->weak = tensor.weak;
  return there;
}

void read_tensor(Context& ctx, Tensor& from, void* data) {
  if (from.count == 0) return;
  if (from.device->direct()) {
    gather_elements(from, data);
    return;
  }
  const auto& queue = ctx.queue(*from.device);
  from.storage->wait_for_write(*queue);
  const uint64_t width = dtype_bytes(from.dtype);
  if (from.contiguous()) {
    queue->copy_to_host(data, from.data, static_cast<uint64_t>(from.count) * width);
    return;
  }
  // Copies the whole range that the strides reach, then picks the elements on the host.
  const Reach reach = reach_of(from.shape(), from.strides());
  std::vector<std::byte> range(static_cast<size_t>(reach.last - reach.first + 1) * width);
  queue->copy_to_host(
      range.data(), static_cast<std::byte*>(from.data) + reach.first * static_cast<int64_t>(width),
      range.size());
  gather_elements(range.data() - reach.first * static_cast<int64_t>(width), from.dtype,
                  from.shape(), from.strides(), data);
}

}  // namespace dlcore
