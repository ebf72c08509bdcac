// SPDX-License-Identifier: Apache-2.0
#include "core/data/prefetcher.h"

#if !DLCORE_NO_THREADS
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#endif

namespace dlcore {

#if DLCORE_NO_THREADS

std::unique_ptr<Prefetcher> Prefetcher::start(Engine&, std::shared_ptr<void>) { return nullptr; }

#else

// For a job that is being filled. Longer, and the thread has lost its processor; to sleep until it
// has it back could cost this one's too.
constexpr auto kSpin = std::chrono::microseconds(50);

class ThreadPrefetcher final : public Prefetcher, public Background {
 public:
  ThreadPrefetcher(Engine& engine, std::shared_ptr<void> state)
      : engine_(engine), shared_(std::make_unique<Shared>()) {
    shared_->state = std::move(state);
    // Threads inherit the mask: the program's signals stay with the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      shared_->thread = std::thread([shared = shared_.get()] { shared->serve(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    try {
      if (!engine.add_background(*this)) stop();
    } catch (...) {
      stop();
      throw;
    }
  }

  ~ThreadPrefetcher() override {
    engine_.remove_background(*this);
    stop();
    // The thread of another process cannot be joined, and may have been in the middle of anything.
    if (!mine()) (void)shared_.release();
  }

  bool works() const override {
    if (!mine()) return false;
    std::lock_guard<std::mutex> guard(shared_->lock);
    return !shared_->stopping;
  }

  void submit(Job& job) override {
    {
      std::lock_guard<std::mutex> guard(shared_->lock);
      shared_->waiting.push_back(&job);
    }
    shared_->work.notify_one();
  }

  Outcome collect(Job& job) override {
    if (!mine()) return Outcome::kNotReady;
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    while (shared_->running == &job && std::chrono::steady_clock::now() < deadline) {
    }
    std::lock_guard<std::mutex> guard(shared_->lock);
    if (shared_->running == &job) return Outcome::kLate;
    std::erase(shared_->waiting, &job);
    return job.state_ == Job::State::kReady ? Outcome::kReady : Outcome::kNotReady;
  }

  void take_back() noexcept override {
    if (!mine()) return;
    std::unique_lock<std::mutex> guard(shared_->lock);
    shared_->waiting.clear();
    shared_->done.wait(guard, [this] { return shared_->running == nullptr; });
  }

  void stop() noexcept override {
    if (!mine()) return;
    {
      std::lock_guard<std::mutex> guard(shared_->lock);
      shared_->stopping = true;
    }
    shared_->work.notify_one();
    shared_->done.notify_all();
    if (shared_->thread.joinable()) shared_->thread.join();
  }

 private:
  struct Shared {
    std::mutex lock;  // all of it, and the states of jobs
    std::condition_variable work, done;
    std::deque<Job*> waiting;
    std::atomic<const Job*> running{nullptr};  // written under the lock
    bool stopping = false;
    std::thread thread;
    std::shared_ptr<void> state;

    void serve() {
#ifdef __linux__
      pthread_setname_np(pthread_self(), "dlcore-loader");
#endif
      std::unique_lock<std::mutex> guard(lock);
      for (;;) {
        work.wait(guard, [this] { return stopping || !waiting.empty(); });
        if (stopping) return;
        Job& job = *waiting.front();
        waiting.pop_front();
        running = &job;
        guard.unlock();
        Job::State state = Job::State::kReady;
        try {
          job.fill();
        } catch (...) {
          state = Job::State::kFailed;
        }
        guard.lock();
        job.state_ = state;
        running = nullptr;
        done.notify_all();
      }
    }
  };

  bool mine() const { return process_ == getpid(); }

  Engine& engine_;
  const pid_t process_ = getpid();
  std::unique_ptr<Shared> shared_;
};

std::unique_ptr<Prefetcher> Prefetcher::start(Engine& engine, std::shared_ptr<void> state) {
  try {
    return std::make_unique<ThreadPrefetcher>(engine, std::move(state));
  } catch (const std::system_error&) {
    return nullptr;
  }
}

#endif

}  // namespace dlcore
