// SPDX-License-Identifier: Apache-2.0
// What the CPU device hands to its kernels as `queue`: work runs on the calling thread, split over
// the engine's pool.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/thread_pool.h"

namespace dlcore::cpu {

struct Queue {
  ThreadPool* pool = nullptr;
  // Set while the running call was asked to stop; long kernels look at it between parts and return
  // early (their output is then discarded).
  const std::atomic<int32_t>* stop = nullptr;
  // Matrix products use the library's own kernels only: the engine pins the instruction set.
  bool own_matmul_only = false;
  // The instruction set has dot products of bf16, which matrix products of that dtype then use.
  bool bf16_pairs = false;

  bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed) != 0; }

  // Runs body(part) for every part in [0, parts), on this thread and the pool's. The number of
  // parts must follow from shapes alone, never from the number of threads: that keeps results
  // bit-equal.
  template <class Body>
  void parallel_for(int64_t parts, const Body& body) const {
    if (parts <= 1 || pool == nullptr) {
      for (int64_t i = 0; i < parts; ++i) body(i);
      return;
    }
    pool->run(
        parts, [](const void* state, int64_t part) { (*static_cast<const Body*>(state))(part); },
        &body);
  }
};

}  // namespace dlcore::cpu
