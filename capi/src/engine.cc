// SPDX-License-Identifier: Apache-2.0
#include "dlcore/engine.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "capi/src/call.h"
#include "core/device/plugin_loader.h"
#include "core/engine/error_handle.h"
#include "dlcore/context.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

// The error being handled, as a new handle; nullptr when even that needs more memory than there is.
dlcore_error* current_error() noexcept {
  try {
    try {
      throw;
    } catch (const Error& e) {
      return reinterpret_cast<dlcore_error*>(give_error(std::make_shared<Error>(e)));
    } catch (const std::bad_alloc&) {
      return reinterpret_cast<dlcore_error*>(
          give_error(std::make_shared<Error>(DLCORE_RESOURCE_EXHAUSTED, "out of memory")));
    } catch (const std::exception& e) {
      return reinterpret_cast<dlcore_error*>(
          give_error(std::make_shared<Error>(DLCORE_INTERNAL, e.what())));
    }
  } catch (...) {
    return nullptr;
  }
}

dlcore_status code_of(const dlcore_error* error) {
  return error == nullptr ? DLCORE_RESOURCE_EXHAUSTED : core<ErrorHandle>(error)->error->code;
}

// fn() -> T for the calls made before there is a context.
template <class T, class Fn>
T without_context(dlcore_error** error, T failed, Fn&& fn) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    return fn();
  } catch (...) {
    dlcore_error* made = current_error();
    if constexpr (std::is_same_v<T, dlcore_status>) failed = code_of(made);
    if (error != nullptr) {
      *error = made;
    } else {
      release<ErrorHandle>(made);
    }
    return failed;
  }
}

EngineOptions options_of(const dlcore_engine_options* given) {
  EngineOptions options;
  if (given == nullptr) return options;
  dlcore_engine_options o;
  dlcore_engine_options_init(&o, sizeof o);
  if (given->struct_size < sizeof(uint32_t))
    invalid("engine_open: options.struct_size is {}; use engine_options_init", given->struct_size);
  std::memcpy(&o, given, std::min<size_t>(given->struct_size, sizeof o));
  if (o.threads < 0 || o.threads > 4096)
    invalid("engine_open: threads is {}, expected 0 to 4096", o.threads);
  if (o.isa < DLCORE_ISA_BEST || o.isa > DLCORE_ISA_AVX512_BF16)
    invalid("engine_open: isa is {}, expected 0 to 4", o.isa);
  options.threads = o.threads;
  options.memory_limit = o.memory_limit;
  options.isa = static_cast<Isa>(o.isa);
  return options;
}

dlcore_engine* open_engine(const EngineOptions& options) {
  Ref<Engine> engine = make_ref<Engine>(options, cpu::make_device);
  engine->give_to_program();
  return reinterpret_cast<dlcore_engine*>(engine.leak());
}

}  // namespace

void dlcore_engine_options_init(dlcore_engine_options* options, uint64_t size) {
  init_struct(options, size);
}

dlcore_engine* dlcore_engine_open(const dlcore_engine_options* options, dlcore_error** error) {
  return without_context<dlcore_engine*>(error, nullptr,
                                         [&] { return open_engine(options_of(options)); });
}

dlcore_engine* dlcore_engine_open_with_allocator(const dlcore_engine_options* options,
                                                 dlcore_allocate_fn allocate,
                                                 dlcore_deallocate_fn deallocate, void* user_data,
                                                 void (*destroy)(void* user_data),
                                                 dlcore_error** error) {
  return without_context<dlcore_engine*>(error, nullptr, [&] {
    std::unique_ptr<HostMemory> memory(new (std::nothrow) HostMemory);
    if (memory == nullptr) {
      if (destroy != nullptr) destroy(user_data);
      throw std::bad_alloc();
    }
    memory->user_data = user_data;
    memory->destroy = destroy;  // from here on whatever fails
    memory->allocate = allocate;
    memory->deallocate = deallocate;
    std::shared_ptr<const HostMemory> shared = std::move(memory);
    need_pointer(reinterpret_cast<const void*>(allocate), "engine_open_with_allocator", "allocate");
    need_pointer(reinterpret_cast<const void*>(deallocate), "engine_open_with_allocator",
                 "deallocate");
    EngineOptions settings = options_of(options);
    settings.host_memory = std::move(shared);
    return open_engine(settings);
  });
}

void dlcore_engine_retain(dlcore_engine* engine) { retain<Engine>(engine); }
void dlcore_engine_release(dlcore_engine* engine) { release<Engine>(engine); }

void dlcore_engine_close(dlcore_engine* engine) {
  Engine* e = live<Engine>(engine);
  if (e == nullptr) return;
  e->shut_down();
  release<Engine>(engine);
}

dlcore_status dlcore_engine_load_plugin(dlcore_engine* engine, const char* path,
                                        dlcore_error** error) {
  return without_context<dlcore_status>(error, DLCORE_INTERNAL, [&] {
    Engine& e = need<Engine>(engine, "engine_load_plugin", "engine");
    load_plugin(e, need_text(path, "engine_load_plugin", "path"));
    return dlcore_status{DLCORE_OK};
  });
}

int64_t dlcore_engine_device_count(const dlcore_engine* engine) {
  Engine* e = live<Engine>(engine);
  return e == nullptr ? 0 : e->device_count();
}

const char* dlcore_engine_device_name(const dlcore_engine* engine, int64_t index) {
  Engine* e = live<Engine>(engine);
  Device* device = e == nullptr ? nullptr : e->device_at(index);
  return device == nullptr ? nullptr : device->name().c_str();
}

dlcore_status dlcore_engine_get_statistics(const dlcore_engine* engine,
                                           dlcore_engine_statistics* statistics) {
  Engine* e = live<Engine>(engine);
  if (e == nullptr || statistics == nullptr || statistics->struct_size < sizeof(uint32_t))
    return DLCORE_INVALID_ARGUMENT;
  return without_context<dlcore_status>(nullptr, DLCORE_INTERNAL, [&] {
    dlcore_engine_statistics s;
    std::memset(&s, 0, sizeof s);
    s.struct_size = statistics->struct_size;
    s.threads = e->threads().threads();
    s.isa = static_cast<int32_t>(e->isa());
    s.live_tensors = e->live_tensors();
    s.live_variables = e->live.variables;
    s.live_modules = e->live.modules;
    s.live_optimizers = e->live.optimizers;
    s.live_loaders = e->live.loaders;
    s.live_graphs = e->live.graphs;
    s.live_contexts = e->live.contexts;
    for (int64_t i = 0; i < e->device_count(); ++i) {
      e->device_at(i)->collect_passed();
      const AllocatorStats a = e->device_at(i)->allocator().stats();
      s.live_bytes += a.live_bytes;
      s.cached_bytes += a.cached_bytes;
      s.peak_bytes += a.peak_live_bytes;
      s.allocations += a.allocations;
      s.source_allocations += a.source_allocations;
    }
    s.memory_limit = e->memory_limit();
    s.live_schedules = e->live.schedules;
    std::memcpy(statistics, &s, std::min<size_t>(s.struct_size, sizeof s));
    return dlcore_status{DLCORE_OK};
  });
}

int64_t dlcore_engine_collect(dlcore_engine* engine) {
  Engine* e = live<Engine>(engine);
  return e == nullptr ? -1 : e->deferred().run();
}

void dlcore_engine_trim(dlcore_engine* engine) {
  Engine* e = live<Engine>(engine);
  for (int64_t i = 0; e != nullptr && i < e->device_count(); ++i) {
    e->device_at(i)->collect_passed();
    e->device_at(i)->allocator().trim();
  }
}

void dlcore_engine_fail_allocation(dlcore_engine* engine, int64_t n) {
  Engine* e = live<Engine>(engine);
  for (int64_t i = 0; e != nullptr && i < e->device_count(); ++i)
    e->device_at(i)->allocator().set_fail_after(n);
}

// ---- Opening contexts, which is done without one.

dlcore_context* dlcore_context_open(dlcore_engine* engine, const char* device, uint64_t seed,
                                    uint64_t flags, dlcore_error** error) {
  return without_context<dlcore_context*>(error, nullptr, [&] {
    Engine& e = need<Engine>(engine, "context_open", "engine");
    const std::string name = need_text(device, "context_open", "device");
    if (!e.open()) fail(DLCORE_FAILED_PRECONDITION, "context_open: the engine is closed");
    if ((flags & ~uint64_t{DLCORE_CONTEXT_MANUAL | DLCORE_CONTEXT_INFERENCE}) != 0) {
      invalid("context_open: flags is {:#x}, expected a combination of 1 and 2", flags);
    }
    Device* found = e.find_device(name);
    if (found == nullptr) {
      fail(DLCORE_NOT_FOUND, "context_open: no device '{}'; this engine has {}", name,
           e.device_names());
    }
    Ref<Context> ctx = make_ref<Context>(Ref<Engine>(&e), *found, seed, flags);
    ctx->give_to_program();
    return reinterpret_cast<dlcore_context*>(ctx.leak());
  });
}
