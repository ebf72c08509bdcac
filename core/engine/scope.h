// SPDX-License-Identifier: Apache-2.0
// Who owns tensors for the program on an ordinary context: a stack of scopes.
#pragma once

#include "core/base/handle.h"
#include "core/tensor/tensor.h"

namespace dlcore {

class Scope : public Handle {
 public:
  static constexpr Tag kTag = Tag::kScope;

  Scope(Context* ctx, Scope* parent) : context(ctx), parent(parent) {}
  ~Scope() { clear(); }

  Context* context;
  Scope* parent;
  Scope* child = nullptr;

  void own(Tensor* tensor);
  // Takes a tensor out of the scope it belongs to.
  static void disown(Tensor* tensor);
  // Releases everything it owns.
  void clear();

 private:
  std::atomic<bool> busy_{false};
  Tensor* first_ = nullptr;
};

}  // namespace dlcore
