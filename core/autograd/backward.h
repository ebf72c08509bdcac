// SPDX-License-Identifier: Apache-2.0
// Reverse mode: walking history from results to what they were computed from.
#pragma once

#include <vector>

#include "core/ops/value.h"

namespace dlcore {

struct GradOptions {
  bool create_graph = false;
  bool retain_graph = false;
  bool allow_unused = false;
};

// Gradients of sum_i <outputs[i], seeds[i]> with respect to each of `wrt`. An absent seed is 1, for
// outputs of one element. Absent results only with allow_unused.
std::vector<Value> gradients_of(Context& ctx, std::span<const Value> outputs,
                                std::span<const Value> wrt, std::span<const Value> seeds,
                                const GradOptions& options);

// Adds d loss / d variable to every trainable variable that `loss` depends on.
void backward(Context& ctx, const Value& loss);

}  // namespace dlcore
