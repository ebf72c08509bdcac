// SPDX-License-Identifier: Apache-2.0
// The pool of a build without threads (-Dthreads=disabled): the caller does everything.
#include "core/base/thread_pool.h"

namespace dlcore {

struct ThreadPool::Impl {};

ThreadPool::ThreadPool(int) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return 1; }

void ThreadPool::stop() {}

void ThreadPool::run(int64_t parts, Body body, const void* state) {
  for (int64_t part = 0; part < parts; ++part) body(state, part);
}

int ThreadPool::available_processors() { return 1; }

}  // namespace dlcore
