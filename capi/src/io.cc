// SPDX-License-Identifier: Apache-2.0
#include "dlcore/io.h"

#include <vector>

#include "capi/src/call.h"
#include "capi/src/stream.h"
#include "core/io/archive.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

std::vector<NamedTensor> need_tensors(Context& ctx, const char* const* names,
                                      dlcore_tensor* const* tensors, int64_t count,
                                      const char* call) {
  need_count(count, names, call, "names");
  const int64_t n = need_count(count, tensors, call, "tensors");
  std::vector<NamedTensor> all;
  for (int64_t i = 0; i < n; ++i) {
    std::string name = need_text(names[i], call, "a name");
    Tensor& tensor = need_tensor(ctx, tensors[i], call, "a tensor");
    if (tensor.data == nullptr) {
      invalid(
          "{}: tensor '{}' has no elements: it belongs to a capture, a transform or an infer "
          "callback",
          call, name);
    }
    all.push_back({std::move(name), TensorRef(&tensor)});
  }
  return all;
}

}  // namespace

extern "C" {

dlcore_status dlcore_archive_save(dlcore_context* ctx, const char* path, const char* const* names,
                                  dlcore_tensor* const* tensors, int64_t count) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "archive_save";
    const std::string file = need_text(path, kCall, "path");
    save_tensors(c, file, need_tensors(c, names, tensors, count, kCall));
  });
}

dlcore_status dlcore_archive_write(dlcore_context* ctx, dlcore_write_fn write, void* user_data,
                                   const char* const* names, dlcore_tensor* const* tensors,
                                   int64_t count) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "archive_write";
    const WriteFunction to = writer(write, user_data, kCall);
    write_tensors(c, to, need_tensors(c, names, tensors, count, kCall));
  });
}

dlcore_archive* dlcore_archive_open(dlcore_context* ctx, const char* path) {
  return object_call<dlcore_archive>(
      ctx, [&](Context&) { return make_ref<Archive>(need_text(path, "archive_open", "path")); });
}

dlcore_archive* dlcore_archive_open_buffer(dlcore_context* ctx, const void* data, uint64_t size) {
  return object_call<dlcore_archive>(ctx, [&](Context&) {
    if (size > 0) need_pointer(data, "archive_open_buffer", "data");
    return make_ref<Archive>(std::span(static_cast<const std::byte*>(data), size));
  });
}

dlcore_archive* dlcore_archive_open_stream(dlcore_context* ctx, dlcore_read_fn read,
                                           void* user_data) {
  return object_call<dlcore_archive>(ctx, [&](Context&) {
    return make_ref<Archive>(reader(read, user_data, "archive_open_stream"));
  });
}

void dlcore_archive_retain(dlcore_archive* archive) { retain<Archive>(archive); }
void dlcore_archive_release(dlcore_archive* archive) { release<Archive>(archive); }

int64_t dlcore_archive_count(const dlcore_archive* archive) {
  const Archive* a = live<Archive>(archive);
  return a == nullptr ? -1 : static_cast<int64_t>(a->tensors().size());
}

const char* dlcore_archive_name(const dlcore_archive* archive, int64_t index) {
  const Archive* a = live<Archive>(archive);
  if (a == nullptr || index < 0 || index >= static_cast<int64_t>(a->tensors().size()))
    return nullptr;
  return a->tensors()[static_cast<size_t>(index)].name.c_str();
}

dlcore_tensor* dlcore_archive_tensor(dlcore_context* ctx, dlcore_archive* archive,
                                     const char* name) {
  return tensor_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "archive_tensor";
    return need<Archive>(archive, kCall, "archive").tensor(c, need_text(name, kCall, "name"));
  });
}

}  // extern "C"
