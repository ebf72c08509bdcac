// SPDX-License-Identifier: Apache-2.0
#include "dlcore/checkpoint.h"

#include "capi/src/call.h"
#include "capi/src/stream.h"
#include "core/io/checkpoint.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

Checkpoint& need_checkpoint(Context& ctx, const dlcore_checkpoint* handle, const char* call) {
  return need_own<Checkpoint>(ctx, handle, call, "checkpoint");
}

template <class T>
dlcore_status add(dlcore_context* ctx, dlcore_checkpoint* checkpoint, const char* name,
                  const void* object, const char* call, const char* kind) {
  return status_call(ctx, [&](Context& c) {
    Checkpoint& to = need_checkpoint(c, checkpoint, call);
    to.add(need_text(name, call, "name"), need_own<T>(c, object, call, kind));
  });
}

}  // namespace

dlcore_checkpoint* dlcore_checkpoint_create(dlcore_context* ctx) {
  return object_call<dlcore_checkpoint>(ctx, [](Context& c) { return make_ref<Checkpoint>(c); });
}

void dlcore_checkpoint_retain(dlcore_checkpoint* checkpoint) { retain<Checkpoint>(checkpoint); }
void dlcore_checkpoint_release(dlcore_checkpoint* checkpoint) { release<Checkpoint>(checkpoint); }

dlcore_status dlcore_checkpoint_add_module(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                           const char* name, dlcore_module* module) {
  return add<Module>(ctx, checkpoint, name, module, "checkpoint_add_module", "module");
}

dlcore_status dlcore_checkpoint_add_optimizer(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                              const char* name, dlcore_optimizer* optimizer) {
  return add<Optimizer>(ctx, checkpoint, name, optimizer, "checkpoint_add_optimizer", "optimizer");
}

dlcore_status dlcore_checkpoint_add_schedule(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                             const char* name, dlcore_schedule* schedule) {
  return add<Schedule>(ctx, checkpoint, name, schedule, "checkpoint_add_schedule", "schedule");
}

dlcore_status dlcore_checkpoint_add_loader(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                           const char* name, dlcore_loader* loader) {
  return add<Loader>(ctx, checkpoint, name, loader, "checkpoint_add_loader", "loader");
}

dlcore_status dlcore_checkpoint_add_variable(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                             const char* name, dlcore_variable* variable) {
  return add<Variable>(ctx, checkpoint, name, variable, "checkpoint_add_variable", "variable");
}

dlcore_status dlcore_checkpoint_set_text(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                         const char* key, const char* text) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "checkpoint_set_text";
    need_checkpoint(c, checkpoint, kCall).set_text(need_text(key, kCall, "key"), text);
  });
}

const char* dlcore_checkpoint_text(const dlcore_checkpoint* checkpoint, const char* key) {
  const Checkpoint* c = live<Checkpoint>(checkpoint);
  if (c == nullptr || key == nullptr) return nullptr;
  try {
    return c->text(key);
  } catch (...) {  // no memory for the key
    return nullptr;
  }
}

dlcore_status dlcore_checkpoint_save(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                     const char* path) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "checkpoint_save";
    need_checkpoint(c, checkpoint, kCall).save(c, need_text(path, kCall, "path"));
  });
}

dlcore_status dlcore_checkpoint_load(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                     const char* path) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "checkpoint_load";
    Checkpoint& to = need_checkpoint(c, checkpoint, kCall);
    const std::string file = need_text(path, kCall, "path");
    to.load(c, read_safetensors_file(file), formatted("'{}'", file));
  });
}

dlcore_status dlcore_checkpoint_write(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                      dlcore_write_fn write, void* user_data) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "checkpoint_write";
    need_checkpoint(c, checkpoint, kCall).write(c, writer(write, user_data, kCall));
  });
}

dlcore_status dlcore_checkpoint_read(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                     dlcore_read_fn read, void* user_data) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "checkpoint_read";
    Checkpoint& to = need_checkpoint(c, checkpoint, kCall);
    to.load(c, read_safetensors(reader(read, user_data, kCall)), "what was read");
  });
}

dlcore_status dlcore_checkpoint_load_buffer(dlcore_context* ctx, dlcore_checkpoint* checkpoint,
                                            const void* data, uint64_t size) {
  return status_call(ctx, [&](Context& c) {
    constexpr const char* kCall = "checkpoint_load_buffer";
    Checkpoint& to = need_checkpoint(c, checkpoint, kCall);
    to.load(c, parse_buffer(data, size, kCall), "the buffer");
  });
}

const char* dlcore_checkpoint_warning(const dlcore_checkpoint* checkpoint) {
  const Checkpoint* c = live<Checkpoint>(checkpoint);
  return c == nullptr ? nullptr : c->warning().c_str();
}
