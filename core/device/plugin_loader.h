// SPDX-License-Identifier: Apache-2.0
// Loading shared objects that add devices.
#pragma once

#include <string>

#include "core/engine/engine.h"

namespace dlcore {

void load_plugin(Engine& engine, const std::string& path);

}  // namespace dlcore
