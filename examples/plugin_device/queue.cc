// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include <exception>
#include <new>
#include <utility>

namespace host2 {
namespace {

std::optional<Failure> run_guarded(const Queue::Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Failure{DLCORE_RESOURCE_EXHAUSTED, "host2 has no memory for its own use"};
  } catch (const std::exception& e) {
    return Failure{DLCORE_INTERNAL, e.what()};
  }
}

}  // namespace

void Progress::wait(uint64_t position) {
  if (passed(position)) return;
  std::unique_lock guard(lock_);
  changed_.wait(guard, [&] { return passed(position); });
}

void Progress::advance(uint64_t position) {
  {
    const std::lock_guard guard(lock_);
    passed_.store(position, std::memory_order_release);
  }
  changed_.notify_all();
}

void Progress::record(Failure failure) {
  const std::lock_guard guard(lock_);
  if (!failure_) failure_ = std::move(failure);
}

std::optional<Failure> Progress::take_failure() {
  const std::lock_guard guard(lock_);
  return std::exchange(failure_, std::nullopt);
}

std::optional<Failure> Progress::failure_up_to(uint64_t position) {
  const std::lock_guard guard(lock_);
  return failure_ && failure_->position <= position ? failure_ : std::nullopt;
}

Queue::Queue() : worker_([this] { run(); }) {}

Queue::~Queue() {
  {
    const std::lock_guard guard(lock_);
    closed_ = true;
  }
  changed_.notify_one();
  worker_.join();
}

void Queue::push(Work work) {
  {
    const std::lock_guard guard(lock_);
    waiting_.push_back(std::move(work));
    pushed_.fetch_add(1, std::memory_order_relaxed);
  }
  changed_.notify_one();
}

std::optional<Failure> Queue::synchronize() {
  drain();
  return progress_->take_failure();
}

void Queue::wait_for(const Queue& other, uint64_t position) {
  push([progress = other.progress_, position] {
    progress->wait(position);
    return progress->failure_up_to(position);
  });
}

void Queue::run() {
  for (uint64_t position = 1;; ++position) {
    Work work;
    {
      std::unique_lock guard(lock_);
      changed_.wait(guard, [this] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (std::optional<Failure> failure = run_guarded(work)) {
      failure->position = position;
      progress_->record(std::move(*failure));
    }
    progress_->advance(position);
  }
}

}  // namespace host2
