// SPDX-License-Identifier: Apache-2.0
// The CPU as a device.
#pragma once

#include "core/engine/engine.h"

namespace dlcore::cpu {

// Throws UNAVAILABLE when the processor lacks the instruction set that options ask for.
BuiltInDevice make_device(ThreadPool& pool, const EngineOptions& options);

}  // namespace dlcore::cpu
