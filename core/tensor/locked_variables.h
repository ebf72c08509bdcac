// SPDX-License-Identifier: Apache-2.0
// Several variables locked together: what happens to them is atomic for everybody else.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/base/mutex.h"
#include "core/tensor/variable.h"

namespace dlcore {

class LockedVariables {
 public:
  // In the order of their addresses, so that two users of the same variables never wait for each
  // other.
  explicit LockedVariables(std::vector<Variable*> variables) : variables_(std::move(variables)) {
    std::sort(variables_.begin(), variables_.end(), std::less<>());
    locks_.reserve(2 * variables_.size());
    for (Variable* v : variables_) locks_.emplace_back(v->lock());
  }
  // Also where backward accumulates their gradients. Whoever takes a gradient's lock takes none
  // after it.
  void lock_gradients() {
    for (Variable* v : variables_) locks_.emplace_back(v->slot()->lock);
  }

 private:
  std::vector<Variable*> variables_;
  std::vector<std::unique_lock<Mutex>> locks_;
};

}  // namespace dlcore
