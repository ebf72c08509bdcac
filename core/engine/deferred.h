// SPDX-License-Identifier: Apache-2.0
// The destroy functions of what programs gave with their callbacks. They are the program's code, so
// they run only where the program expects it: in a call of its own, or at the end of the engine.
#pragma once

#include <utility>
#include <vector>

#include "core/base/mutex.h"

namespace dlcore {

using DestroyFunction = void (*)(void* user_data);

class Deferred {
 public:
  ~Deferred() { run(); }

  void add(DestroyFunction destroy, void* user_data) noexcept {
    try {
      std::lock_guard<Mutex> guard(lock_);
      waiting_.emplace_back(destroy, user_data);
    } catch (...) {  // no memory to wait in
      destroy(user_data);
    }
  }

  int64_t run() noexcept {
    std::vector<std::pair<DestroyFunction, void*>> due;
    {
      std::lock_guard<Mutex> guard(lock_);
      due.swap(waiting_);
    }
    for (const auto& [destroy, user_data] : due) destroy(user_data);
    return static_cast<int64_t>(due.size());
  }

 private:
  Mutex lock_;
  std::vector<std::pair<DestroyFunction, void*>> waiting_;
};

}  // namespace dlcore
