// SPDX-License-Identifier: Apache-2.0
// What the CPU device hands to its kernels as `queue`: work runs on the calling thread, split over
// the engine's pool.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/base/thread_pool.h"

namespace dlcore::cpu {

struct Queue {
  ThreadPool* pool = nullptr;
  // Set once the running call was asked to stop; the engine then discards what kernels wrote.
  const std::atomic<int32_t>* stop = nullptr;
  // The same from this moment on, in nanoseconds of the steady clock.
  int64_t deadline = INT64_MAX;
  // Matrix products use the library's own kernels only: the engine pins the instruction set.
  bool own_matmul_only = false;
  // The instruction set has dot products of bf16, which matrix products of that dtype then use.
  bool bf16_pairs = false;

  bool stopped() const {
    if (stop != nullptr && stop->load(std::memory_order_relaxed) != 0) return true;
    return deadline != INT64_MAX && std::chrono::steady_clock::now().time_since_epoch() >=
                                        std::chrono::nanoseconds(deadline);
  }

  // Runs body(part) for every part in [0, parts), on this thread and the pool's; those that have
  // not begun when the call is to stop are left out. The number of parts must follow from shapes
  // alone, never from the number of threads: that keeps results bit-equal.
  template <class Body>
  void parallel_for(int64_t parts, const Body& body) const {
    const Parts<Body> work{*this, body};
    if (parts <= 1 || pool == nullptr) {
      for (int64_t i = 0; i < parts; ++i) work.run(i);
      return;
    }
    pool->run(
        parts,
        [](const void* state, int64_t part) { static_cast<const Parts<Body>*>(state)->run(part); },
        &work);
  }

 private:
  template <class Body>
  struct Parts {
    const Queue& queue;
    const Body& body;
    void run(int64_t part) const {
      if (!queue.stopped()) body(part);
    }
  };
};

}  // namespace dlcore::cpu
