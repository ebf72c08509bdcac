// SPDX-License-Identifier: Apache-2.0
// Work in order, on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "dlcore/plugin.h"

namespace host2 {

// What went wrong, and the position of the work that it went wrong in.
struct Failure {
  dlcore_status code;
  std::string message;
  uint64_t position = 0;
};

// How far a queue has come. Queues that wait for this one look at it, also after it was closed.
class Progress {
 public:
  bool passed(uint64_t position) const {
    return passed_.load(std::memory_order_acquire) >= position;
  }
  void wait(uint64_t position);
  void advance(uint64_t position);

  // The first failure wins.
  void record(Failure failure);
  std::optional<Failure> take_failure();
  // The failure, if it happened up to `position`; it stays.
  std::optional<Failure> failure_up_to(uint64_t position);

 private:
  std::atomic<uint64_t> passed_{0};
  std::mutex lock_;
  std::condition_variable changed_;
  std::optional<Failure> failure_;
};

class Queue {
 public:
  // A failure is returned; an exception is one, too.
  using Work = std::function<std::optional<Failure>()>;

  Queue();
  ~Queue();  // waits for what it holds
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void push(Work work);
  // Waits until everything pushed so far has run.
  void drain() { progress_->wait(position()); }
  // The same, and hands out the first failure.
  std::optional<Failure> synchronize();

  uint64_t position() const { return pushed_.load(std::memory_order_relaxed); }
  bool passed(uint64_t position) const { return progress_->passed(position); }
  // Makes what is pushed from now on wait until `other` has passed `position`. A failure that
  // `other` had up to there becomes one of this queue: what it left behind may be about to be read.
  void wait_for(const Queue& other, uint64_t position);

 private:
  void run();

  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  std::atomic<uint64_t> pushed_{0};
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  bool closed_ = false;
  std::thread worker_;
};

}  // namespace host2
