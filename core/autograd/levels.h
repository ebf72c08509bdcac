// SPDX-License-Identifier: Apache-2.0
// Ops on tensors of a transform level: the level's rule, applied one level below.
#pragma once

#include "core/ops/rules.h"

namespace dlcore {

// Highest level among the inputs; 0 for none. Throws when one belongs to a level that is not open
// on the context.
int32_t top_level(Context& ctx, std::span<Tensor* const> inputs);

// Runs an op whose inputs reach up to `depth` (>= 1); the results belong to that level.
void invoke_at_level(Context& ctx, const OpDef& op, int32_t depth, std::span<Tensor* const> inputs,
                     std::span<const int64_t> attrs, std::span<TensorRef> outputs);

// Wraps `primal` as a tensor of the level.
TensorRef lift_jvp(Context& ctx, Transform& level, Value primal, Value tangent);
// `primal` has the examples as axis 0.
TensorRef lift_vmap(Context& ctx, Transform& level, Value primal);

// For a random op without a key inside vmap levels: draws for every example of every level.
bool random_in_vmap(Context& ctx, const OpDef& op, std::span<const int64_t> attrs,
                    std::span<TensorRef> outputs);

}  // namespace dlcore
