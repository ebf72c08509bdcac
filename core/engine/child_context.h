// SPDX-License-Identifier: Apache-2.0
// The context that a callback of the program is given for its own calls. It is the program's while
// the callback runs.
#pragma once

#include "core/engine/context.h"
#include "dlcore/base.h"

namespace dlcore {

class ChildContext {
 public:
  // Inherits device, modes and what stops the parent.
  ChildContext(Context& parent, uint64_t flags)
      : child_(make_ref<Context>(Ref<Engine>(&parent.engine()), parent.device(), parent.seed(),
                                 flags)) {
    child_->inherit(parent);
    child_->retain();
    child_->give_to_program();
  }
  ~ChildContext() { child_->program_release(); }
  ChildContext(const ChildContext&) = delete;
  ChildContext& operator=(const ChildContext&) = delete;

  Context& operator*() const { return *child_; }
  Context* operator->() const { return child_.get(); }
  dlcore_context* handle() const { return reinterpret_cast<dlcore_context*>(child_.get()); }

 private:
  Ref<Context> child_;
};

}  // namespace dlcore
