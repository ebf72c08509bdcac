// SPDX-License-Identifier: Apache-2.0
#include "core/ops/callback.h"

#include "core/base/error.h"
#include "core/engine/child_context.h"
#include "core/graph/capture.h"
#include "dlcore/context.h"

namespace dlcore {
namespace {

// What the callback may look at is the program's while it runs.
template <class Fn>
void lend(OpCall& call, Fn&& fn) {
  for (auto* list : {&call.inputs, &call.outputs, &call.gradients}) {
    for (TensorRef& t : *list) {
      if (t && !(call.phase == OpCall::Phase::kForward && list == &call.outputs)) fn(*t);
    }
  }
}

}  // namespace

void run_callback(Context& ctx, bool manual, std::string_view owner, std::string_view what,
                  OpCall& call, const CallbackBody& body) {
  const ChildContext child(ctx, manual ? DLCORE_CONTEXT_MANUAL : 0);
  std::swap(child->capture, ctx.capture);  // its calls are captured like the caller's
  call.child = &*child;
  lend(call, [](Tensor& t) {
    t.retain();
    t.give_to_program();
  });
  const dlcore_status status = body(child.handle(), reinterpret_cast<dlcore_op_call*>(&call));
  lend(call, [](Tensor& t) { t.program_release(); });
  std::swap(child->capture, ctx.capture);
  call.child = nullptr;
  std::shared_ptr<const Error> cause = child->take_error();
  if (status == DLCORE_OK && cause == nullptr) return;
  const dlcore_status code = cause != nullptr ? cause->code : status;
  Error error(code,
              formatted("{}: its {} callback failed with {}{}{}", owner, what,
                        dlcore_status_name(code), cause ? ": " : "", cause ? cause->message : ""));
  error.cause = std::move(cause);
  throw error;
}

}  // namespace dlcore
