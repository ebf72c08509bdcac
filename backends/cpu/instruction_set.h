// SPDX-License-Identifier: Apache-2.0
// Which instruction set an engine runs on.
#pragma once

#include "core/engine/engine.h"

namespace dlcore::cpu {

// The best one that the processor has and the library was compiled for, or the one that is asked
// for. Throws UNAVAILABLE.
Isa choose_isa(Isa asked);
// Highway's name for it.
int64_t target_of(Isa isa);

// Puts a BLAS that the process may share into the mode that the engine needs: one thread of its
// own, since the engine's pool calls it from many.
void use_blas_from_many_threads();

}  // namespace dlcore::cpu
