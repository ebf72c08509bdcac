// SPDX-License-Identifier: Apache-2.0
// Calling back into the program.
#pragma once

#include <functional>
#include <string_view>

#include "core/base/handle.h"
#include "core/ops/op_call.h"
#include "dlcore/base.h"

namespace dlcore {

class CallGuard {
 public:
  CallGuard() : call_(make_ref<OpCall>()) {}
  ~CallGuard() { call_->close(); }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  OpCall& operator*() { return *call_; }
  OpCall* operator->() { return call_.get(); }

 private:
  Ref<OpCall> call_;
};

using CallbackBody = std::function<dlcore_status(dlcore_context* child, dlcore_op_call* call)>;

// Runs a callback on a child context, which inherits device, modes and what stops the caller, and
// has an error of its own: it becomes the cause of the one that is thrown. `owner` and `what` are
// what that one names.
void run_callback(Context& ctx, bool manual, std::string_view owner, std::string_view what,
                  OpCall& call, const CallbackBody& body);

}  // namespace dlcore
