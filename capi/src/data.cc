// SPDX-License-Identifier: Apache-2.0
#include "dlcore/data.h"

#include "capi/src/call.h"
#include "core/data/loader.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

Loader& need_loader(Context& ctx, const dlcore_loader* handle, const char* call) {
  return need_own<Loader>(ctx, handle, call, "loader");
}

}  // namespace

extern "C" {

dlcore_loader* dlcore_loader_open(dlcore_context* ctx, const char* source, int64_t batch,
                                  uint64_t flags) {
  return object_call<dlcore_loader>(ctx, [&](Context& c) {
    return make_ref<Loader>(c, need_text(source, "loader_open", "source"), batch, flags);
  });
}

dlcore_loader* dlcore_loader_from_tensors(dlcore_context* ctx, dlcore_tensor* samples,
                                          dlcore_tensor* labels, int64_t batch, uint64_t flags) {
  return object_call<dlcore_loader>(ctx, [&](Context& c) {
    constexpr const char* kCall = "loader_from_tensors";
    return make_ref<Loader>(c, need_tensor(c, samples, kCall, "samples"),
                            need_tensor(c, labels, kCall, "labels"), batch, flags);
  });
}

void dlcore_loader_retain(dlcore_loader* loader) { retain<Loader>(loader); }
void dlcore_loader_release(dlcore_loader* loader) { release<Loader>(loader); }

int32_t dlcore_loader_next(dlcore_context* ctx, dlcore_loader* loader, dlcore_tensor** x,
                           dlcore_tensor** y) {
  dlcore_tensor *samples = nullptr, *labels = nullptr;
  const int32_t more = value_call<int32_t>(ctx, 0, [&](Context& c) {
    constexpr const char* kCall = "loader_next";
    need_pointer(x, kCall, "x");
    need_pointer(y, kCall, "y");
    Loader::Batch batch = need_loader(c, loader, kCall).next(c);
    if (!batch.x) return 0;
    samples = reinterpret_cast<dlcore_tensor*>(c.give(std::move(batch.x)));
    labels = reinterpret_cast<dlcore_tensor*>(c.give(std::move(batch.y)));
    return 1;
  });
  if (x != nullptr) *x = samples;
  if (y != nullptr) *y = labels;
  return more;
}

dlcore_status dlcore_loader_seek(dlcore_context* ctx, dlcore_loader* loader, int64_t epoch,
                                 int64_t batch) {
  return status_call(ctx,
                     [&](Context& c) { need_loader(c, loader, "loader_seek").seek(epoch, batch); });
}

dlcore_status dlcore_loader_set_prefetch(dlcore_context* ctx, dlcore_loader* loader,
                                         int64_t batches) {
  return status_call(ctx, [&](Context& c) {
    need_loader(c, loader, "loader_set_prefetch").set_prefetch(batches);
  });
}

int64_t dlcore_loader_samples(const dlcore_loader* loader) {
  const Loader* l = live<Loader>(loader);
  return l == nullptr ? -1 : l->samples();
}

int64_t dlcore_loader_batches(const dlcore_loader* loader) {
  const Loader* l = live<Loader>(loader);
  return l == nullptr ? -1 : l->batches();
}

int64_t dlcore_loader_epoch(const dlcore_loader* loader) {
  const Loader* l = live<Loader>(loader);
  return l == nullptr ? -1 : l->epoch();
}

dlcore_status dlcore_context_set_data_directory(dlcore_context* ctx, const char* directory) {
  return status_call(ctx, [&](Context& c) {
    c.set_data_directory(directory == nullptr
                             ? std::string()
                             : need_text(directory, "context_set_data_directory", "directory"));
  });
}

}  // extern "C"
