// SPDX-License-Identifier: Apache-2.0
// The lock of the library. A build without threads (-Dthreads=disabled) uses nothing of the
// system's thread library, but programs may still call it from threads of theirs: there it spins.
#pragma once

#include <mutex>  // the guards

#if DLCORE_NO_THREADS
#include <atomic>
#include <thread>
#endif

namespace dlcore {

#if DLCORE_NO_THREADS

class Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  bool try_lock() noexcept { return !held_.test_and_set(std::memory_order_acquire); }
  void lock() noexcept {
    while (!try_lock()) std::this_thread::yield();  // who holds it may need this processor
  }
  void unlock() noexcept { held_.clear(std::memory_order_release); }

 private:
  std::atomic_flag held_;
};

#else

using Mutex = std::mutex;

#endif

}  // namespace dlcore
