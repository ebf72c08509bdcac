// SPDX-License-Identifier: Apache-2.0
// Clipping of gradients by their common norm, written in ops so that it can be captured.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/ops/calls.h"
#include "core/optim/optimizer.h"

namespace dlcore {
namespace {

constexpr int32_t kGlobalNorm = 163;

// The norm of all; of norms, where there are more tensors than one call takes.
Value norm_of(std::vector<Value> values) {
  constexpr size_t kMost = DLCORE_MAX_OP_INPUTS;
  while (values.size() > kMost) {
    std::vector<Value> norms;
    const std::span<const Value> all(values);
    for (size_t at = 0; at < all.size(); at += kMost) {
      norms.push_back(call(kGlobalNorm, all.subspan(at, std::min(kMost, all.size() - at))));
    }
    values = std::move(norms);
  }
  return call(kGlobalNorm, values);
}

}  // namespace

TensorRef Optimizer::clip_gradients(Context& ctx, double max_norm) {
  if (!(max_norm > 0)) {
    invalid("optimizer_clip_gradients: max_norm is {}, expected more than 0", max_norm);
  }
  std::lock_guard<Mutex> guard(lock_);
  const ModeGuard modes(ctx);
  ctx.recording = false;
  std::vector<Value> gradients;
  std::vector<Variable*> variables;
  for (const Group& group : groups_) {
    for (const Parameter& p : group.parameters) {
      TensorRef gradient = p.variable->gradient(ctx);
      if (!gradient) continue;
      gradients.emplace_back(ctx, std::move(gradient));
      variables.push_back(p.variable.get());
    }
  }
  if (gradients.empty()) {
    fail(DLCORE_FAILED_PRECONDITION,
         "optimizer_clip_gradients: no variable has a gradient; call backward first");
  }
  Value norm = norm_of(gradients);
  const Value scale = minimum(max_norm / norm, weak(ctx, 1));
  for (Value& gradient : gradients) {
    const Dtype dtype = gradient.dtype();
    gradient = gradient * (scale.dtype() == dtype ? scale : astype(scale, dtype));
  }
  set_gradients(ctx, variables, gradients);
  return norm.take();
}

}  // namespace dlcore
