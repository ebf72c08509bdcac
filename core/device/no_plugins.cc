// SPDX-License-Identifier: Apache-2.0
// Stands for the loader in a build without plug-ins (-Dplugins=disabled).
#include "core/base/error.h"
#include "core/device/plugin_loader.h"

namespace dlcore {

void load_plugin(Engine& engine, const std::string& path) {
  if (!engine.open()) fail(DLCORE_FAILED_PRECONDITION, "engine_load_plugin: the engine is closed");
  fail(DLCORE_UNIMPLEMENTED,
       "engine_load_plugin: cannot load '{}': this library was built with -Dplugins=disabled",
       path);
}

}  // namespace dlcore
