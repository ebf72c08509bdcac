// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/sanitized.h"

namespace dlcore {
namespace {

template <class Body>
void run(ThreadPool& pool, int64_t parts, const Body& body) {
  pool.run(
      parts, [](const void* state, int64_t part) { (*static_cast<const Body*>(state))(part); },
      &body);
}

// Each part adds 1 to its own plain (not atomic) cell: TSan sees any unordered access.
void expect_each_part_once(ThreadPool& pool, int64_t parts) {
  std::vector<int> times(static_cast<size_t>(parts));
  run(pool, parts, [&](int64_t part) { ++times[static_cast<size_t>(part)]; });
  for (int64_t i = 0; i < parts; ++i) ASSERT_EQ(times[static_cast<size_t>(i)], 1) << "part " << i;
}

TEST(ThreadPool, RunsEachPartOnce) {
  for (int threads : {-3, 0, 1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), std::max(threads, 1));
    for (int64_t parts : {0, 1, 2, 3, 7, 64, 1000}) expect_each_part_once(pool, parts);
  }
}

TEST(ThreadPool, ResultsAreVisibleAfterManyRegions) {
  ThreadPool pool(4);
  std::vector<int64_t> cells(8);
  for (int round = 0; round < 20000; ++round) {
    run(pool, 8, [&](int64_t part) { cells[static_cast<size_t>(part)] += part; });
  }
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(cells[static_cast<size_t>(i)], 20000 * i);
}

TEST(ThreadPool, RegionNumberMayWrap) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 70000; ++round) run(pool, 2, [&](int64_t part) { sum += part; });
  EXPECT_EQ(sum.load(), 70000);
}

TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    expect_each_part_once(pool, 30);
  }
}

TEST(ThreadPool, PartsRunTogether) {
  ThreadPool pool(4);
  std::this_thread::sleep_for(
      std::chrono::milliseconds(5));  // all asleep: the tree has to wake them
  std::atomic<int> arrived{0};
  run(pool, 4, [&](int64_t) {
    ++arrived;
    while (arrived.load() < 4) std::this_thread::yield();  // hangs unless four threads are here
  });
  EXPECT_EQ(arrived.load(), 4);
}

TEST(ThreadPool, NestedCallsRunSerially) {
  ThreadPool pool(3);
  std::vector<int64_t> sums(6);
  run(pool, 6, [&](int64_t outer) {
    const auto thread = std::this_thread::get_id();
    run(pool, 10, [&](int64_t inner) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      sums[static_cast<size_t>(outer)] += inner;
    });
  });
  for (int64_t sum : sums) EXPECT_EQ(sum, 45);
}

TEST(ThreadPool, ManyCallers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&pool] {
      for (int round = 0; round < 300; ++round) expect_each_part_once(pool, 1 + round % 17);
    });
  }
  for (auto& caller : callers) caller.join();
}

TEST(ThreadPool, OpensAndClosesQuickly) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool(3);
    if (i % 2) expect_each_part_once(pool, 5);
  }
}

TEST(ThreadPool, WorkersBlockSignals) {
  ThreadPool pool(3);
  const auto caller = pthread_self();
  std::atomic<int> checked{0};
  std::atomic<int> arrived{0};
  run(pool, 3, [&](int64_t) {
    ++arrived;
    while (arrived.load() < 3) std::this_thread::yield();
    if (pthread_equal(pthread_self(), caller)) return;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGCHLD}) {
      EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
    }
    ++checked;
  });
  EXPECT_EQ(checked.load(), 2);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGUSR1), 0);  // the caller's own mask is as before
}

TEST(ThreadPool, WorkersKeepTheirAffinity) {
  ThreadPool pool(2);
  cpu_set_t mine;
  ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof mine, &mine), 0);
  for (int round = 0; round < 10; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> arrived{0};
    run(pool, 2, [&](int64_t) {
      ++arrived;
      while (arrived.load() < 2) std::this_thread::yield();
      cpu_set_t theirs;
      pthread_getaffinity_np(pthread_self(), sizeof theirs, &theirs);
      EXPECT_TRUE(CPU_EQUAL(&mine, &theirs));
    });
  }
}

#if !DLCORE_TEST_THREAD_SANITIZER  // TSan does not allow threads to start after a fork
int status_of_child(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// 0 when three threads met in one region.
int three_threads_meet(ThreadPool& pool) {
  std::atomic<int> arrived{0};
  run(pool, 3, [&](int64_t) {
    ++arrived;
    while (arrived.load() < 3) std::this_thread::yield();
  });
  return arrived.load() == 3 ? 0 : 1;
}

TEST(ThreadPool, ChildOfForkGetsItsOwnWorkers) {
  ThreadPool pool(3);
  expect_each_part_once(pool, 10);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int bad = three_threads_meet(pool);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      alarm(20);
      _exit(three_threads_meet(pool));
    }
    bad |= status_of_child(grandchild);
    _exit(bad);
  }
  EXPECT_EQ(status_of_child(child), 0);
  EXPECT_EQ(three_threads_meet(pool), 0);  // the parent's still work
}

#if !DLCORE_TEST_ADDRESS_SANITIZER  // which needs a large address space itself
TEST(ThreadPool, MakesDoWithFewerThreads) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    rlimit limit{};
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    limit.rlim_cur = limit.rlim_max =
        static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (int64_t{60} << 20));
    setrlimit(RLIMIT_AS, &limit);  // leaves room for a few stacks of 8 MiB
    ThreadPool pool(200);
    expect_each_part_once(pool, 100);
    _exit(pool.threads() < 200 && !testing::Test::HasFailure() ? 0 : 1);
  }
  EXPECT_EQ(status_of_child(child), 0);
}
#endif

TEST(ThreadPool, ForkWhileAnotherThreadIsInARegion) {
  ThreadPool pool(3);
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) run(pool, 100, [](int64_t) { std::this_thread::yield(); });
  });
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(three_threads_meet(pool));
    }
    EXPECT_EQ(status_of_child(child), 0);
  }
  done = true;
  other.join();
}

TEST(ThreadPool, ChildOfForkMayCloseThePool) {
  auto pool = std::make_unique<ThreadPool>(3);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    pool.reset();  // must not wait for the parent's workers
    _exit(0);
  }
  EXPECT_EQ(status_of_child(child), 0);
}
#endif

}  // namespace
}  // namespace dlcore
