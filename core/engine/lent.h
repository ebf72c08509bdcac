// SPDX-License-Identifier: Apache-2.0
// An object whose handle its owner lends to the program. The program may use the handle for as long
// as the owner lives, without holding a reference of its own; releasing what was only borrowed does
// no harm to the owner.
#pragma once

#include <utility>

#include "core/base/handle.h"
#include "core/engine/context.h"

namespace dlcore {

template <class T>
class Lent {
 public:
  Lent() = default;
  explicit Lent(Ref<T> object) : object_(std::move(object)) {
    if (!object_) return;
    object_->retain();
    object_->give_to_program();
  }
  Lent(Lent&&) noexcept = default;
  Lent& operator=(Lent&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Lent() {
    if (!object_) return;
    object_->program_release();  // never the last of all: there is object_
    // When the program has released early what a context owns for it, ours was the reference that
    // was left.
    if (!object_->held_by_program()) Context::disown_object(object_.get());
  }

  T* get() const { return object_.get(); }
  T* operator->() const { return object_.get(); }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return static_cast<bool>(object_); }

 private:
  Ref<T> object_;
};

}  // namespace dlcore
