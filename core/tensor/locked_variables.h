// SPDX-License-Identifier: Apache-2.0
// Several variables locked together: what happens to them is atomic for everybody else.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/base/mutex.h"
#include "core/tensor/variable.h"

namespace dlcore {

// In the order of their addresses, so that two users of the same variables never wait for each
// other, and each of them once.
inline std::vector<Variable*> in_lock_order(std::vector<Variable*> variables) {
  std::sort(variables.begin(), variables.end(), std::less<>());
  variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  return variables;
}

// Keeps everybody else who would update the variables out, for as long as an update of them takes.
// Comes before LockedVariables.
class LockedRuns {
 public:
  explicit LockedRuns(std::vector<Variable*> variables) {
    variables = in_lock_order(std::move(variables));
    locks_.reserve(variables.size());
    for (Variable* v : variables) locks_.emplace_back(v->run_lock());
  }

 private:
  std::vector<std::unique_lock<Mutex>> locks_;
};

// Keeps everybody else from reading and storing.
class LockedVariables {
 public:
  explicit LockedVariables(std::vector<Variable*> variables)
      : variables_(in_lock_order(std::move(variables))) {
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
