// SPDX-License-Identifier: Apache-2.0
// Prepares batches ahead of their use, on a thread of its own. Nobody waits for it long: what is
// not ready when it is needed, because the processors have other things to do, its user does at
// once.
//
// The thread fills memory that it is handed and touches nothing else: no context, no lock of the
// engine. So a child made by fork(), which lacks the thread, finds no lock taken by it; there the
// prefetcher is of no use any more, and another one is made.
#pragma once

#include <memory>

#include "core/engine/engine.h"

namespace dlcore {

class Prefetcher {
 public:
  // Something to be filled. It lives until it is filled or taken back.
  struct Job {
    virtual void fill() = 0;  // on the thread; may throw, which makes it fail

   protected:
    ~Job() = default;

   private:
    friend class ThreadPrefetcher;
    enum class State { kWaiting, kReady, kFailed };
    State state_ = State::kWaiting;  // under the prefetcher's lock
  };

  // nullptr in a build without threads, and when no thread can be had: then everything is done when
  // it is asked for. `state`, what jobs work with, lives at least as long as the thread.
  static std::unique_ptr<Prefetcher> start(Engine& engine, std::shared_ptr<void> state);
  virtual ~Prefetcher() = default;

  // False in a child of fork(), and once the engine is closed.
  virtual bool works() const = 0;
  // Jobs are done one after the other, in this order. May throw std::bad_alloc.
  virtual void submit(Job& job) = 0;
  // Ends the job: it is ready, or it is not and will not be; kLate: it is still being filled, and
  // has to live until another job is late or everything is taken back.
  enum class Outcome { kReady, kNotReady, kLate };
  virtual Outcome collect(Job& job) = 0;
  // Takes back what waits, and returns when nothing is being filled.
  virtual void take_back() noexcept = 0;
};

}  // namespace dlcore
