// SPDX-License-Identifier: Apache-2.0
#include "core/device/plugin_loader.h"

#include <dlfcn.h>

#include <cstring>

#include "core/base/error.h"

namespace dlcore {
namespace {

// What a plug-in is given. It may keep it as long as one of its devices, which the engine owns.
struct Host {
  Host(Engine& e, std::string n) : engine(e), name(std::move(n)) {}

  Engine& engine;
  const std::string name;
  Error refusal{DLCORE_OK, ""};  // why the last device was not added
  dlcore_host_api api;
};

int32_t op_number(void* host, const char* name) {
  const OpDef* op = name == nullptr
                        ? nullptr
                        : static_cast<Host*>(host)->engine.ops().find(std::string_view(name));
  return op == nullptr ? -1 : op->number;
}

// What the engine calls without asking must be there.
void check_device(const dlcore_device_api& d) {
  const bool complete = d.name != nullptr && *d.name != '\0' && d.allocate && d.deallocate &&
                        d.queue_open && d.queue_close && d.copy_from_host && d.copy_to_host &&
                        d.synchronize && d.queue_position && d.queue_wait && d.queue_passed &&
                        d.n_kernels >= 0 && (d.n_kernels == 0 || d.kernels != nullptr);
  if (!complete)
    invalid("add_device: device '{}' lacks a name or one of its functions",
            d.name == nullptr ? "" : d.name);
}

dlcore_status add_device(void* opaque, const dlcore_device_api* device) {
  auto* host = static_cast<Host*>(opaque);
  try {
    if (device == nullptr || device->struct_size < offsetof(dlcore_device_api, queue_set_stop)) {
      invalid("add_device: the device's description is missing or too short");
    }
    dlcore_device_api api;
    std::memset(&api, 0, sizeof api);
    std::memcpy(&api, device, std::min<size_t>(device->struct_size, sizeof api));
    check_device(api);
    host->engine.add_device(api, nullptr);
    return DLCORE_OK;
  } catch (const Error& e) {
    host->refusal = e;
    return e.code;
  } catch (...) {
    return DLCORE_RESOURCE_EXHAUSTED;
  }
}

void log(void* self, int32_t level, const char* message) {
  const auto* host = static_cast<Host*>(self);
  host->engine.log().write(level, host->name, message == nullptr ? "" : message);
}

}  // namespace

void load_plugin(Engine& engine, const std::string& path) {
  if (!engine.open()) fail(DLCORE_FAILED_PRECONDITION, "engine_load_plugin: the engine is closed");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    fail(DLCORE_NOT_FOUND, "engine_load_plugin: {}", reason == nullptr ? path : reason);
  }
  auto init = reinterpret_cast<dlcore_plugin_init_fn>(dlsym(library, "dlcore_plugin_init"));
  dlclose(library);  // it stays loaded: RTLD_NODELETE
  if (init == nullptr) {
    fail(DLCORE_FAILED_PRECONDITION, "engine_load_plugin: '{}' exports no dlcore_plugin_init",
         path);
  }
  const auto host = std::make_shared<Host>(engine, path.substr(path.rfind('/') + 1));
  engine.keep(host);
  dlcore_host_api& api = host->api;
  std::memset(&api, 0, sizeof api);
  api.struct_size = sizeof api;
  api.abi = DLCORE_PLUGIN_ABI;
  api.library_version = DLCORE_VERSION;
  api.host = host.get();
  api.op_number = op_number;
  api.add_device = add_device;
  api.log = log;
  dlcore_failure failure = empty_failure();
  const dlcore_status status = init(&api, &failure);
  if (status == DLCORE_OK) return;
  if (host->refusal.code != DLCORE_OK)
    fail(host->refusal.code, "engine_load_plugin: {}", host->refusal.message);
  check_device(status, failure, "engine_load_plugin");
}

}  // namespace dlcore
