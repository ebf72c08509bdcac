// SPDX-License-Identifier: Apache-2.0
#include "core/io/dlpack.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/tensor/from_host.h"
#include "core/tensor/gather_elements.h"

namespace dlcore::dlpack {
namespace {

constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6;

struct Type {
  Dtype dtype;
  ElementType element;
};
constexpr std::array<Type, 10> kTypes = {{{DLCORE_BOOL, {kBool, 8, 1}},
                                          {DLCORE_U8, {kUint, 8, 1}},
                                          {DLCORE_I8, {kInt, 8, 1}},
                                          {DLCORE_I16, {kInt, 16, 1}},
                                          {DLCORE_I32, {kInt, 32, 1}},
                                          {DLCORE_I64, {kInt, 64, 1}},
                                          {DLCORE_F16, {kFloat, 16, 1}},
                                          {DLCORE_BF16, {kBfloat, 16, 1}},
                                          {DLCORE_F32, {kFloat, 32, 1}},
                                          {DLCORE_F64, {kFloat, 64, 1}}}};

ElementType element_of(Dtype dtype) {
  return std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.dtype == dtype; })
      ->element;
}

Dtype dtype_of(ElementType element) {
  for (const Type& t : kTypes) {
    if (t.element.code == element.code && t.element.bits == element.bits && element.lanes == 1)
      return t.dtype;
  }
  invalid("tensor_from_dlpack: there is no dtype for type code {} of {} bits and {} lanes",
          element.code, element.bits, element.lanes);
}

// What a managed tensor keeps alive.
template <class Managed>
struct Export {
  Managed managed{};
  TensorRef tensor;
  std::vector<int64_t> shape, strides;
};

template <class Managed>
Managed* give(Context& ctx, Tensor& tensor, ExportOptions options, bool& copied) {
  if (!tensor.device->host_memory()) {
    fail(DLCORE_UNIMPLEMENTED,
         "tensor_to_dlpack: the host cannot address the memory of device '{}'; copy the tensor to "
         "'cpu' first",
         tensor.device->name());
  }
  auto made = std::make_unique<Export<Managed>>();
  copied =
      options.copy || (options.contiguous && !tensor.contiguous()) || tensor.storage == nullptr;
  if (copied) {
    made->tensor = new_tensor(ctx, ctx.engine().cpu(), tensor.dtype, tensor.shape());
    read_tensor(ctx, tensor, made->tensor->data);
  } else {
    ctx.synchronize();
    made->tensor = new_alias(ctx, tensor);
  }
  const Tensor& t = *made->tensor;
  made->shape.assign(t.shape().begin(), t.shape().end());
  made->strides.assign(t.strides().begin(), t.strides().end());
  made->managed.array = {.data = t.count == 0 ? nullptr : t.data,
                         .device = {kCpu, 0},
                         .rank = t.rank,
                         .type = element_of(t.dtype),
                         .shape = made->shape.data(),
                         .strides = made->strides.data(),
                         .byte_offset = 0};
  made->managed.manager = made.get();
  made->managed.deleter = [](Managed* self) {
    delete static_cast<Export<Managed>*>(self->manager);
  };
  return &made.release()->managed;
}

// What is there, checked.
struct Found {
  Dtype dtype;
  std::span<const int64_t> shape;
  std::vector<int64_t> strides;
  std::byte* first;
  int64_t count;
};

Found look(const Array& array) {
  constexpr const char* kCall = "tensor_from_dlpack";
  if (array.device.type != kCpu) {
    fail(DLCORE_UNIMPLEMENTED, "{}: the elements are on a device of type {}, expected {} (the CPU)",
         kCall, array.device.type, kCpu);
  }
  if (array.rank < 0 || array.rank > DLCORE_MAX_RANK)
    invalid("{}: rank is {}, expected 0 to {}", kCall, array.rank, int{DLCORE_MAX_RANK});
  const auto rank = static_cast<size_t>(array.rank);
  if (rank > 0 && array.shape == nullptr) invalid("{}: shape is NULL, expected {}", kCall, rank);
  Found found{dtype_of(array.type), {array.shape, rank}, std::vector<int64_t>(rank), nullptr, 0};
  found.count = checked_count(found.shape, found.dtype);
  if (array.strides != nullptr) {
    found.strides.assign(array.strides, array.strides + rank);
  } else {
    contiguous_strides(found.shape, found.strides.data());
  }
  if (found.count > 0 && array.data == nullptr)
    invalid("{}: data is NULL, expected {} elements", kCall, found.count);
  found.first = static_cast<std::byte*>(array.data) + array.byte_offset;
  return found;
}

bool can_borrow(Context& ctx, const Found& found) {
  return &ctx.device() == &ctx.engine().cpu() && found.count > 0 && found.dtype != DLCORE_BOOL &&
         reinterpret_cast<uintptr_t>(found.first) % dtype_bytes(found.dtype) == 0 &&
         std::ranges::all_of(found.strides, [](int64_t s) { return s >= 0; });
}

template <class Managed>
TensorRef take_any(Context& ctx, Managed& managed, bool borrow) {
  const Found found = look(managed.array);
  if (!borrow || !can_borrow(ctx, found)) {
    TensorRef copy =
        from_host(ctx, "tensor_from_dlpack", found.dtype, found.shape, found.strides, found.first);
    if (managed.deleter != nullptr) managed.deleter(&managed);
    return copy;
  }
  const Reach reach = reach_of(found.shape, found.strides);
  const uint64_t bytes = static_cast<uint64_t>(reach.last + 1) * dtype_bytes(found.dtype);
  // Until the tensor is there the elements stay the caller's.
  const auto kept = std::make_shared<bool>(false);
  Storage* storage = Storage::borrow(ctx.device(), found.first, bytes, [&managed, kept] {
    if (*kept && managed.deleter != nullptr) managed.deleter(&managed);
  });
  TensorRef tensor = new_over(ctx, storage, found.dtype, found.shape, found.strides, found.first);
  *kept = true;
  return tensor;
}

}  // namespace

void* give_versioned(Context& ctx, Tensor& tensor, ExportOptions options) {
  bool copied = false;
  auto* managed = give<Versioned>(ctx, tensor, options, copied);
  managed->version = {1, 0};
  managed->flags = copied ? kIsCopied : kReadOnly;
  return managed;
}

void* give_unversioned(Context& ctx, Tensor& tensor, ExportOptions options) {
  bool copied = false;
  return give<Unversioned>(ctx, tensor, options, copied);
}

TensorRef take(Context& ctx, Versioned& managed, bool borrow) {
  if (managed.version.major > 1) {
    fail(DLCORE_UNIMPLEMENTED, "tensor_from_dlpack: the version is {}.{}, expected 1.x",
         managed.version.major, managed.version.minor);
  }
  return take_any(ctx, managed, borrow);
}

TensorRef take(Context& ctx, Unversioned& managed, bool borrow) {
  return take_any(ctx, managed, borrow);
}

}  // namespace dlcore::dlpack
