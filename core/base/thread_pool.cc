// SPDX-License-Identifier: Apache-2.0
// A region is opened and closed by its caller at the "gate", one word that also counts the workers
// inside. Workers spin on it for a moment and then sleep, each on a word of its own; the caller
// never waits for a worker that has not come in, because every part it would have taken has been
// taken by someone else. Everybody has a share of the parts, takes those first and then what is left
// of the others': so a thread meets the stretch of memory that it had in the op before, which its
// caches hold, and reads it from front to back.
#include "core/base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

#include "core/base/processors.h"

namespace dlcore {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxThreads = 4096;
constexpr auto kSpin = std::chrono::microseconds(50);

// The gate: flags, workers inside, and the number of the region (which may wrap around: a worker
// that mistakes a region for one it has been in just does not help).
constexpr uint32_t kOpen = 1;
constexpr uint32_t kStop = 2;
constexpr uint32_t kOneInside = 4;
constexpr uint32_t kInsideMask = 0xfffc;
constexpr uint32_t kOneRegion = 0x10000;
constexpr uint32_t region_of(uint32_t gate) { return gate / kOneRegion; }
static_assert(kMaxThreads < kInsideMask / kOneInside);

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls done() for kSpin; what it answered last.
template <class Done>
bool spin_until(const Done& done) {
  const auto deadline = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      relax();
    }
  } while (Clock::now() < deadline);
  return done();
}

class Team;

enum WorkerState : uint32_t { kAwake, kAsleep, kBeingWoken };

struct alignas(64) Worker {
  Team* team = nullptr;
  int index = 0;
  pthread_t thread{};
  std::atomic<uint32_t> state{kAwake};
#ifdef __linux__
  // Handed over with `state`: written by the worker before it sleeps, by the waker before it wakes
  // it.
  cpu_set_t home{};
  bool home_known = false;
  bool moved = false;
#endif
};

// The workers of one process. A child made by fork() has none of its parent's threads, so it forms
// a team of its own.
class Team {
 public:
  explicit Team(int workers);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  bool belongs_to_this_process() const { return process_ == getpid(); }
  int workers() const { return n_workers_; }
  // False when the team is busy with another region; nothing has been run then.
  bool try_run(int64_t parts, ThreadPool::Body body, const void* state);
  void stop();  // joins the workers

  std::unique_ptr<Team> before_fork;  // kept, since its memory may be in use by a racing thread

 private:
  static void* thread_main(void* worker);
  void serve(Worker& self);
  bool start(Worker& worker, int index);
  uint32_t await_region(Worker& self, uint32_t seen);
  void sleep(Worker& self, uint32_t seen);
  void wake(Worker& worker);
  void wake_children(int index);
  bool enter(uint32_t gate);
  void leave();
  void deal(int64_t parts);
  void run_parts(int64_t own_share);
  void close_region();

  struct Job {
    ThreadPool::Body body = nullptr;
    const void* state = nullptr;
    int64_t helpers = 0;  // workers worth waking
  };

  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  std::unique_ptr<Worker[]> members_;
  std::unique_ptr<Share[]> shares_;  // the caller's, then the workers'
  int n_workers_ = 0;
  pid_t process_ = getpid();
  Job job_;  // written while the gate is closed and nobody is inside
  alignas(64) std::atomic<uint32_t> gate_{0};
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stopped_{false};
};

Team::Team(int workers)
    : members_(std::make_unique<Worker[]>(static_cast<size_t>(workers))),
      shares_(std::make_unique<Share[]>(static_cast<size_t>(workers) + 1)) {
  // Threads inherit the mask: the program's signals stay with the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (n_workers_ < workers && start(members_[static_cast<size_t>(n_workers_)], n_workers_)) {
    ++n_workers_;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Team::~Team() { stop(); }

void Team::stop() {
  if (!belongs_to_this_process()) return;  // its threads are not here
  // Waits for the region that runs; staying busy for ever, the team then refuses every other.
  while (busy_.exchange(true, std::memory_order_acquire)) {
    if (stopped_.load()) return;
    sched_yield();
  }
  stopped_.store(true);
  gate_.fetch_or(kStop);
  for (int i = 0; i < n_workers_; ++i) wake(members_[static_cast<size_t>(i)]);
  for (int i = 0; i < n_workers_; ++i) {
    pthread_join(members_[static_cast<size_t>(i)].thread, nullptr);
  }
}

bool Team::start(Worker& worker, int index) {
  worker.team = this;
  worker.index = index;
  return pthread_create(&worker.thread, nullptr, &Team::thread_main, &worker) == 0;
}

void* Team::thread_main(void* worker) {
  Worker& self = *static_cast<Worker*>(worker);
#ifdef __linux__
  pthread_setname_np(pthread_self(), "dlcore-worker");
#endif
  self.team->serve(self);
  return nullptr;
}

void Team::serve(Worker& self) {
  uint32_t seen = 0;
  for (;;) {
    const uint32_t gate = await_region(self, seen);
    if (gate & kStop) return;
    seen = region_of(gate);
    if (!enter(gate)) continue;
    wake_children(self.index);
    run_parts(self.index + 1);
    leave();
  }
}

// Whether the gate says anything new to a worker that has dealt with region `seen`.
bool calls_for(uint32_t gate, uint32_t seen) {
  return (gate & kStop) || ((gate & kOpen) && region_of(gate) != seen);
}

uint32_t Team::await_region(Worker& self, uint32_t seen) {
  uint32_t gate = 0;
  const auto called = [&] {
    gate = gate_.load(std::memory_order_acquire);
    return calls_for(gate, seen);
  };
  while (!spin_until(called)) sleep(self, seen);
  return gate;
}

// Sequentially consistent order between `state` and `gate_` here and in the caller makes sure that
// either the worker sees the region or the caller sees it asleep.
void Team::sleep(Worker& self, uint32_t seen) {
#ifdef __linux__
  self.home_known = pthread_getaffinity_np(pthread_self(), sizeof self.home, &self.home) == 0;
#endif
  self.state.store(kAsleep);
  uint32_t asleep = kAsleep;
  if (calls_for(gate_.load(), seen) && self.state.compare_exchange_strong(asleep, kAwake)) return;
  for (uint32_t state; (state = self.state.load()) != kAwake;) self.state.wait(state);
#ifdef __linux__
  if (self.moved) pthread_setaffinity_np(pthread_self(), sizeof self.home, &self.home);
  self.moved = false;
#endif
}

// The scheduler likes to wake a thread on the processor of whoever wakes it, where it would wait
// for a time slice while the waker computes. So it is barred from that processor until it is up.
void Team::wake(Worker& worker) {
  uint32_t asleep = kAsleep;
  if (worker.state.load() != kAsleep ||
      !worker.state.compare_exchange_strong(asleep, kBeingWoken)) {
    return;
  }
#ifdef __linux__
  const int here = sched_getcpu();
  if (worker.home_known && here >= 0 && here < CPU_SETSIZE &&
      CPU_ISSET(static_cast<size_t>(here), &worker.home) && CPU_COUNT(&worker.home) > 1) {
    cpu_set_t elsewhere = worker.home;
    CPU_CLR(static_cast<size_t>(here), &elsewhere);
    worker.moved = pthread_setaffinity_np(worker.thread, sizeof elsewhere, &elsewhere) == 0;
  }
#endif
  worker.state.store(kAwake);
  worker.state.notify_one();
}

// Waking goes along a binary tree whose root, -1, is the caller, so that it costs no thread much.
void Team::wake_children(int index) {
  for (int64_t child = 2 * int64_t{index} + 2; child <= 2 * int64_t{index} + 3; ++child) {
    if (child < job_.helpers) wake(members_[static_cast<size_t>(child)]);
  }
}

bool Team::enter(uint32_t gate) {
  const uint32_t region = region_of(gate);
  while ((gate & kOpen) && region_of(gate) == region) {
    if (gate_.compare_exchange_weak(gate, gate + kOneInside, std::memory_order_acq_rel))
      return true;
  }
  return false;
}

void Team::leave() {
  const uint32_t gate = gate_.fetch_sub(kOneInside, std::memory_order_acq_rel) - kOneInside;
  if ((gate & (kOpen | kInsideMask)) == 0) gate_.notify_one();
}

void Team::deal(int64_t parts) {
  const int64_t shares = job_.helpers + 1;
  const int64_t each = parts / shares, larger = parts % shares;
  int64_t next = 0;
  for (int64_t i = 0; i < shares; ++i) {
    Share& share = shares_[static_cast<size_t>(i)];
    share.next.store(next, std::memory_order_relaxed);
    share.end = next += each + (i < larger ? 1 : 0);
  }
}

void Team::run_parts(int64_t own_share) {
  const Job job = job_;
  const int64_t shares = job.helpers + 1;
  for (int64_t i = 0; i < shares; ++i) {
    Share& share = shares_[static_cast<size_t>((own_share + i) % shares)];
    if (share.next.load(std::memory_order_relaxed) >= share.end) continue;
    for (int64_t part; (part = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;) {
      job.body(job.state, part);
    }
  }
}

void Team::close_region() {
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto empty = [this] { return (gate_.load(std::memory_order_acquire) & kInsideMask) == 0; };
  if (spin_until(empty)) return;
  for (uint32_t gate; ((gate = gate_.load()) & kInsideMask) != 0;) gate_.wait(gate);
}

bool Team::try_run(int64_t parts, ThreadPool::Body body, const void* state) {
  if (busy_.load(std::memory_order_relaxed) || busy_.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  job_ = {body, state, std::min<int64_t>(n_workers_, parts - 1)};
  deal(parts);
  gate_.store((gate_.load(std::memory_order_relaxed) + kOneRegion) | kOpen);
  wake_children(-1);
  run_parts(0);
  close_region();
  busy_.store(false, std::memory_order_release);
  return true;
}

}  // namespace

struct ThreadPool::Impl {
  explicit Impl(int n) : wanted_workers(n), team(new Team(n)) {}
  ~Impl() { delete team.load(); }

  // This process's team; nullptr when a child of fork() cannot form one.
  Team* current() {
    Team* now = team.load(std::memory_order_acquire);
    return now->belongs_to_this_process() ? now : after_fork(now);
  }

  Team* after_fork(Team* old) {
    try {
      auto fresh = std::make_unique<Team>(wanted_workers);
      fresh->before_fork.reset(old);
      if (team.compare_exchange_strong(old, fresh.get())) return fresh.release();
      fresh->before_fork.release();  // another thread of the child was first
      return old;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  const int wanted_workers;
  std::atomic<Team*> team;
};

ThreadPool::ThreadPool(int threads)
    : impl_(std::make_unique<Impl>(std::clamp(threads, 1, kMaxThreads) - 1)) {}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const {
  return impl_->team.load(std::memory_order_acquire)->workers() + 1;
}

void ThreadPool::stop() { impl_->team.load(std::memory_order_acquire)->stop(); }

void ThreadPool::run(int64_t parts, Body body, const void* state) {
  if (parts > 1 && impl_->wanted_workers > 0) {
    Team* team = impl_->current();
    if (team != nullptr && team->workers() > 0 && team->try_run(parts, body, state)) return;
  }
  for (int64_t part = 0; part < parts; ++part) body(state, part);
}

int ThreadPool::available_processors() {
  const int allowed = processors_in_affinity_mask();
  const int quota = processors_in_cgroup_quota("");
  return quota > 0 ? std::min(allowed, quota) : allowed;
}

}  // namespace dlcore
