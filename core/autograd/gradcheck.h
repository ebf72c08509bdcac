// SPDX-License-Identifier: Apache-2.0
// Derivatives compared with central differences.
#pragma once

#include "core/ops/value.h"
#include "dlcore/autograd.h"

namespace dlcore {

// Throws FAILED_PRECONDITION where they differ. `order` is 1 or 2.
void gradcheck(Context& ctx, dlcore_gradcheck_function function, void* user_data,
               std::span<const Value> inputs, int32_t order, double tolerance);

}  // namespace dlcore
