// SPDX-License-Identifier: Apache-2.0
#include "dlcore/tensor.h"

#include <algorithm>
#include <cstring>

#include "capi/src/call.h"
#include "core/graph/capture.h"
#include "core/ops/rules.h"
#include "core/tensor/from_host.h"
#include "core/tensor/gather_elements.h"
#include "core/tensor/text.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

// The one tensor that stands for an absent input. Only its tag is ever looked at.
constinit Handle none_tensor(Tag::kNone);

std::span<const int64_t> need_shape(const int64_t* shape, int32_t rank, const char* call) {
  if (rank < 0 || rank > DLCORE_MAX_RANK)
    invalid("{}: rank is {}, expected 0 to {}", call, rank, int{DLCORE_MAX_RANK});
  if (rank > 0) need_pointer(shape, call, "shape");
  return {shape, static_cast<size_t>(rank)};
}

void need_dtype(dlcore_dtype dtype, const char* call) {
  if (!is_dtype(dtype)) invalid("{}: dtype is {}, which is none", call, dtype);
}

int64_t count_of(std::span<const int64_t> shape, Dtype dtype, const char* call) {
  try {
    return checked_count(shape, dtype);
  } catch (Error& e) {
    e.message = formatted("{}: {}", call, e.message);
    throw;
  }
}

TensorRef copy_in(Context& ctx, const char* call, Dtype dtype, std::span<const int64_t> shape,
                  const void* data) {
  if (count_of(shape, dtype, call) > 0) need_pointer(data, call, "data");
  return from_host(ctx, call, dtype, shape, data);
}

template <class T>
dlcore_tensor* from_elements(dlcore_context* handle, const char* call, Dtype dtype,
                             const int64_t* shape, int32_t rank, const T* data, int64_t count) {
  return tensor_call(handle, [&](Context& c) {
    const auto dims = need_shape(shape, rank, call);
    const int64_t expected = count_of(dims, dtype, call);
    if (count != expected) {
      invalid("{}: count is {}, expected {} for shape {}", call, count, expected, shape_text(dims));
    }
    return copy_in(c, call, dtype, dims, data);
  });
}

template <class T>
dlcore_tensor* scalar(dlcore_context* handle, Dtype dtype, T value, bool weak) {
  return tensor_call(handle, [&](Context& c) {
    TensorRef t = new_tensor(c, weak ? c.engine().cpu() : c.device(), dtype, {});
    write_tensor(c, *t, &value);
    t->weak = weak;
    return t;
  });
}

template <class T>
dlcore_status read_elements(dlcore_context* handle, const char* call, dlcore_tensor* tensor,
                            Dtype dtype, T* data, int64_t count) {
  return status_call(handle, [&](Context& c) {
    Tensor& t = need_elements(c, tensor, call);
    if (t.dtype != dtype)
      invalid("{}: the tensor is {}, not {}", call, dtype_name(t.dtype), dtype_name(dtype));
    if (count != t.count)
      invalid("{}: count is {}, but the tensor has {} elements", call, count, t.count);
    if (count > 0) need_pointer(data, call, "data");
    read_tensor(c, t, data);
  });
}

}  // namespace

dlcore_tensor* dlcore_tensor_create(dlcore_context* ctx, dlcore_dtype dtype, const int64_t* shape,
                                    int32_t rank, const void* data, uint64_t bytes) {
  return tensor_call(ctx, [&](Context& c) {
    need_dtype(dtype, "tensor_create");
    const auto dims = need_shape(shape, rank, "tensor_create");
    const uint64_t expected =
        static_cast<uint64_t>(count_of(dims, dtype, "tensor_create")) * dtype_bytes(dtype);
    if (bytes != expected) {
      invalid("tensor_create: bytes is {}, expected {} for {} {}", bytes, expected,
              dtype_name(dtype), shape_text(dims));
    }
    return copy_in(c, "tensor_create", dtype, dims, data);
  });
}

dlcore_tensor* dlcore_tensor_create_strided(dlcore_context* ctx, dlcore_dtype dtype,
                                            const int64_t* shape, const int64_t* strides,
                                            int32_t rank, const void* data, uint64_t elements,
                                            int64_t offset) {
  return tensor_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "tensor_create_strided";
    need_dtype(dtype, kCall);
    const auto dims = need_shape(shape, rank, kCall);
    if (rank > 0) need_pointer(strides, kCall, "strides");
    const std::span<const int64_t> steps(strides, static_cast<size_t>(rank));
    const int64_t count = count_of(dims, dtype, kCall);
    if (count == 0) return copy_in(c, kCall, dtype, dims, data);
    need_pointer(data, kCall, "data");
    const Reach reach = reach_of(dims, steps);
    const int64_t first = checked_add(offset, reach.first), last = checked_add(offset, reach.last);
    if (first < 0 || static_cast<uint64_t>(last) >= elements) {
      invalid("{}: elements {} to {} are read, but data has {}", kCall, first, last, elements);
    }
    const auto* origin =
        static_cast<const std::byte*>(data) + offset * static_cast<int64_t>(dtype_bytes(dtype));
    return from_host(c, kCall, dtype, dims, steps, origin);
  });
}

dlcore_tensor* dlcore_tensor_f32(dlcore_context* ctx, const int64_t* shape, int32_t rank,
                                 const float* data, int64_t count) {
  return from_elements(ctx, "tensor_f32", DLCORE_F32, shape, rank, data, count);
}
dlcore_tensor* dlcore_tensor_f64(dlcore_context* ctx, const int64_t* shape, int32_t rank,
                                 const double* data, int64_t count) {
  return from_elements(ctx, "tensor_f64", DLCORE_F64, shape, rank, data, count);
}
dlcore_tensor* dlcore_tensor_i64(dlcore_context* ctx, const int64_t* shape, int32_t rank,
                                 const int64_t* data, int64_t count) {
  return from_elements(ctx, "tensor_i64", DLCORE_I64, shape, rank, data, count);
}
dlcore_tensor* dlcore_tensor_i32(dlcore_context* ctx, const int64_t* shape, int32_t rank,
                                 const int32_t* data, int64_t count) {
  return from_elements(ctx, "tensor_i32", DLCORE_I32, shape, rank, data, count);
}

dlcore_tensor* dlcore_tensor_scalar_f32(dlcore_context* ctx, float v) {
  return scalar(ctx, DLCORE_F32, v, false);
}
dlcore_tensor* dlcore_tensor_scalar_f64(dlcore_context* ctx, double v) {
  return scalar(ctx, DLCORE_F64, v, false);
}
dlcore_tensor* dlcore_tensor_scalar_i64(dlcore_context* ctx, int64_t v) {
  return scalar(ctx, DLCORE_I64, v, false);
}
dlcore_tensor* dlcore_tensor_scalar_bool(dlcore_context* ctx, uint8_t v) {
  return scalar<uint8_t>(ctx, DLCORE_BOOL, v != 0, false);
}
dlcore_tensor* dlcore_tensor_weak_f64(dlcore_context* ctx, double v) {
  return scalar(ctx, DLCORE_F64, v, true);
}
dlcore_tensor* dlcore_tensor_weak_i64(dlcore_context* ctx, int64_t v) {
  return scalar(ctx, DLCORE_I64, v, true);
}
dlcore_tensor* dlcore_tensor_weak_bool(dlcore_context* ctx, uint8_t v) {
  return scalar<uint8_t>(ctx, DLCORE_BOOL, v != 0, true);
}

dlcore_tensor* dlcore_tensor_none(void) { return reinterpret_cast<dlcore_tensor*>(&none_tensor); }

dlcore_tensor* dlcore_tensor_to_device(dlcore_context* ctx, dlcore_tensor* tensor,
                                       const char* device) {
  return tensor_call(ctx, [&](Context& c) {
    Tensor& from = need_elements(c, tensor, "tensor_to_device");
    Device& to = c.engine().device(need_text(device, "tensor_to_device", "device"));
    return copy_to_device(c, from, to);
  });
}

void dlcore_tensor_retain(dlcore_tensor* tensor) {
  if (Tensor* t = live<Tensor>(tensor)) t->program_retain();
}

void dlcore_tensor_release(dlcore_tensor* tensor) {
  Tensor* t = live<Tensor>(tensor);
  if (t == nullptr) return;
  give_up(t, [t] { Scope::disown(t); });
}

void dlcore_tensor_release_many(dlcore_tensor* const* tensors, int64_t count) {
  for (int64_t i = 0; tensors != nullptr && i < count; ++i) dlcore_tensor_release(tensors[i]);
}

dlcore_status dlcore_tensor_describe(dlcore_context* ctx, const dlcore_tensor* tensor,
                                     dlcore_tensor_description* description) {
  return status_call(
      ctx,
      [&](Context& c) {
        const Tensor& t = need_tensor(c, tensor, "tensor_describe", "tensor");
        need_pointer(description, "tensor_describe", "description");
        if (description->struct_size < sizeof(uint32_t)) {
          invalid("tensor_describe: description.struct_size is {}", description->struct_size);
        }
        dlcore_tensor_description d;
        std::memset(&d, 0, sizeof d);
        d.struct_size = description->struct_size;
        d.dtype = t.dtype;
        d.rank = t.rank;
        d.count = t.count;
        d.bytes = t.count < 0 ? 0 : static_cast<uint64_t>(t.count) * dtype_bytes(t.dtype);
        d.is_weak = t.weak;
        d.is_contiguous = t.data == nullptr || t.contiguous();
        d.requires_grad = t.has_history();
        d.is_symbolic = t.symbolic();
        for (int i = 0; i < t.rank; ++i) {
          d.shape[i] = std::max<int64_t>(t.shape()[static_cast<size_t>(i)], -1);
          if (t.shape()[static_cast<size_t>(i)] < 0) d.shape[i] = -1;
          d.strides[i] = t.strides()[static_cast<size_t>(i)];
        }
        std::strncpy(d.device, t.device->name().c_str(), sizeof d.device - 1);
        std::memcpy(description, &d, std::min<size_t>(d.struct_size, sizeof d));
      },
      Entry::Kind::kAlwaysRuns);
}

dlcore_dtype dlcore_tensor_dtype(const dlcore_tensor* tensor) {
  Tensor* t = live<Tensor>(tensor);
  return t == nullptr ? DLCORE_DTYPE_NONE : dlcore_dtype{t->dtype};
}
int32_t dlcore_tensor_rank(const dlcore_tensor* tensor) {
  Tensor* t = live<Tensor>(tensor);
  return t == nullptr ? -1 : t->rank;
}
int64_t dlcore_tensor_count(const dlcore_tensor* tensor) {
  Tensor* t = live<Tensor>(tensor);
  return t == nullptr ? -1 : t->count;
}
int64_t dlcore_tensor_dim(const dlcore_tensor* tensor, int32_t axis) {
  Tensor* t = live<Tensor>(tensor);
  if (t == nullptr || axis < -t->rank || axis >= t->rank) return -1;
  return std::max<int64_t>(t->shape()[static_cast<size_t>(axis < 0 ? axis + t->rank : axis)], -1);
}

int64_t dlcore_tensor_to_string(dlcore_context* ctx, dlcore_tensor* tensor, char* buffer,
                                int64_t size) {
  return value_call<int64_t>(ctx, -1, [&](Context& c) {
    return copy_text(tensor_text(c, need_tensor(c, tensor, "tensor_to_string", "tensor")), buffer,
                     size);
  });
}

dlcore_status dlcore_tensor_read(dlcore_context* ctx, dlcore_tensor* tensor, dlcore_dtype dtype,
                                 void* data, uint64_t bytes) {
  return status_call(ctx, [&](Context& c) {
    Tensor& t = need_elements(c, tensor, "tensor_read");
    need_dtype(dtype, "tensor_read");
    if (t.dtype != dtype)
      invalid("tensor_read: the tensor is {}, not {}", dtype_name(t.dtype), dtype_name(dtype));
    const uint64_t expected = static_cast<uint64_t>(t.count) * dtype_bytes(dtype);
    if (bytes != expected)
      invalid("tensor_read: bytes is {}, but the tensor has {}", bytes, expected);
    if (bytes > 0) need_pointer(data, "tensor_read", "data");
    read_tensor(c, t, data);
  });
}
dlcore_status dlcore_tensor_read_f32(dlcore_context* ctx, dlcore_tensor* t, float* data,
                                     int64_t count) {
  return read_elements(ctx, "tensor_read_f32", t, DLCORE_F32, data, count);
}
dlcore_status dlcore_tensor_read_f64(dlcore_context* ctx, dlcore_tensor* t, double* data,
                                     int64_t count) {
  return read_elements(ctx, "tensor_read_f64", t, DLCORE_F64, data, count);
}
dlcore_status dlcore_tensor_read_i64(dlcore_context* ctx, dlcore_tensor* t, int64_t* data,
                                     int64_t count) {
  return read_elements(ctx, "tensor_read_i64", t, DLCORE_I64, data, count);
}
dlcore_status dlcore_tensor_read_i32(dlcore_context* ctx, dlcore_tensor* t, int32_t* data,
                                     int64_t count) {
  return read_elements(ctx, "tensor_read_i32", t, DLCORE_I32, data, count);
}
dlcore_status dlcore_tensor_read_bool(dlcore_context* ctx, dlcore_tensor* t, uint8_t* data,
                                      int64_t count) {
  return read_elements(ctx, "tensor_read_bool", t, DLCORE_BOOL, data, count);
}
