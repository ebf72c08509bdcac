// SPDX-License-Identifier: Apache-2.0
// Prepares batches ahead of their use, on a thread of its own.
//
// The thread fills memory that it is handed and touches nothing else: no context, no lock of the
// engine. So a child made by fork(), which lacks the thread, finds no lock taken by it; there the
// prefetcher is of no use any more, and another one is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/engine/engine.h"

namespace dlcore {

class Context;

class Prefetcher {
 public:
  // Something to be filled. It lives until it is filled or taken back.
  struct Job {
    virtual void fill() = 0;  // on the thread; may throw, which makes it fail

    enum class State { kWaiting, kReady, kFailed };
    State state = State::kWaiting;  // the prefetcher's

   protected:
    ~Job() = default;
  };

  // nullptr in a build without threads, and when no thread can be had: then everything is done when
  // it is asked for. `state`, what jobs work with, lives at least as long as the thread.
  static std::unique_ptr<Prefetcher> start(Engine& engine, std::shared_ptr<void> state);
  virtual ~Prefetcher() = default;

  // False in a child of fork(), and once the engine is closed.
  virtual bool works() const = 0;
  // Jobs are done one after the other, in this order. May throw std::bad_alloc.
  virtual void submit(Job& job) = 0;
  // Waits; false when it has failed or will not be done. Throws when the context is to stop.
  virtual bool wait(Context& ctx, const Job& job) = 0;
  // Takes back what waits, and returns when nothing is being filled.
  virtual void take_back() noexcept = 0;
};

}  // namespace dlcore
