// SPDX-License-Identifier: Apache-2.0
// The engine's pool of worker threads. One fork-join region at a time; a caller that finds it busy
// runs its parts itself, serially and with the same result.
#pragma once

#include <cstdint>
#include <memory>

namespace dlcore {

class ThreadPool {
 public:
  using Body = void (*)(const void* state, int64_t part);

  // `threads` counts the caller: 1 or less starts no worker.
  explicit ThreadPool(int threads);
  ~ThreadPool();  // joins the workers
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Joins the workers; from here on the caller does everything.
  void stop();

  // Runs body(state, part) once for every part in [0, parts); returns when all have finished, their
  // writes visible. `body` must not throw and must not call run on the same pool expecting
  // parallelism (a nested call runs serially).
  void run(int64_t parts, Body body, const void* state);

  // Processors this process may use: affinity mask, bounded by the cgroup's CPU quota.
  static int available_processors();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlcore
