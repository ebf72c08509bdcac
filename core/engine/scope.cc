// SPDX-License-Identifier: Apache-2.0
#include "core/engine/scope.h"

#include <atomic>
#include <utility>

namespace dlcore {
namespace {

// Scopes are touched for a few instructions at a time, by the owner and by whoever releases early.
class SpinGuard {
 public:
  explicit SpinGuard(std::atomic<bool>& flag) : flag_(flag) {
    while (flag_.exchange(true, std::memory_order_acquire)) {
    }
  }
  ~SpinGuard() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& flag_;
};

// Threads that release look at the owner of a tensor before they take its lock.
Scope* owner_of(Tensor* tensor) {
  return std::atomic_ref<Scope*>(tensor->scope).load(std::memory_order_acquire);
}
void set_owner(Tensor* tensor, Scope* scope) {
  std::atomic_ref<Scope*>(tensor->scope).store(scope, std::memory_order_release);
}

}  // namespace

void Scope::own(Tensor* tensor) {
  SpinGuard guard(busy_);
  set_owner(tensor, this);
  tensor->scope_previous = nullptr;
  tensor->scope_next = first_;
  if (first_ != nullptr) first_->scope_previous = tensor;
  first_ = tensor;
}

void Scope::disown(Tensor* tensor) {
  Scope* scope = owner_of(tensor);
  if (scope == nullptr) return;
  SpinGuard guard(scope->busy_);
  if (owner_of(tensor) != scope) return;
  if (tensor->scope_previous != nullptr) {
    tensor->scope_previous->scope_next = tensor->scope_next;
  } else {
    scope->first_ = tensor->scope_next;
  }
  if (tensor->scope_next != nullptr) tensor->scope_next->scope_previous = tensor->scope_previous;
  set_owner(tensor, nullptr);
}

void Scope::clear() {
  for (;;) {
    Tensor* tensor;
    {
      SpinGuard guard(busy_);
      tensor = first_;
      if (tensor == nullptr) return;
      first_ = tensor->scope_next;
      if (first_ != nullptr) first_->scope_previous = nullptr;
      set_owner(tensor, nullptr);
    }
    if (tensor->program_release() == Handle::Released::kLast) destroy(tensor);
  }
}

}  // namespace dlcore
