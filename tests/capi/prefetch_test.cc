// SPDX-License-Identifier: Apache-2.0
// dlcore/data.h: batches that are prepared ahead are those that would have come anyway.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "support.h"
#include "support/sanitized.h"

namespace dlcore::test {
namespace {

class Prefetch : public ApiTest {
 protected:
  static constexpr int64_t kCounts[] = {0, 1, 2, 5, 1024};

  dlcore_loader* numbered(int64_t n, int64_t batch, uint64_t flags, int64_t prefetch,
                          int64_t width = 2) {
    Doubles x, y;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < width; ++k) x.push_back(static_cast<double>(100 * i + k % 100));
      y.push_back(static_cast<double>(i));
    }
    dlcore_loader* loader = dlcore_loader_from_tensors(ctx_, f32({n, width}, x),
                                                       tensor(DLCORE_I64, {n}, y), batch, flags);
    EXPECT_EQ(dlcore_loader_set_prefetch(ctx_, loader, prefetch), DLCORE_OK);
    return loader;
  }
  // A fresh context has the same loader numbers.
  template <class Body>
  auto fresh(const Body& body) {
    dlcore_context* const old = std::exchange(ctx_, open(42));
    auto result = body();
    EXPECT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
    dlcore_context_close(std::exchange(ctx_, old));
    return result;
  }
  // Labels, and whether the samples belong to them; -1 ends an epoch.
  double next(dlcore_loader* loader, Doubles& labels) {
    dlcore_tensor *x, *y;
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    const bool more = dlcore_loader_next(ctx_, loader, &x, &y) == 1;
    if (more) {
      const Doubles xs = read(x), ys = read(y);
      const size_t width = xs.size() / ys.size();
      for (size_t i = 0; i < ys.size(); ++i) {
        EXPECT_EQ(xs[i * width], 100 * ys[i]);
        EXPECT_EQ(xs[i * width + width - 1], 100 * ys[i] + static_cast<double>((width - 1) % 100));
      }
      labels.insert(labels.end(), ys.begin(), ys.end());
    } else {
      labels.push_back(-1);
    }
    dlcore_scope_close(ctx_, scope);
    return more ? 1 : 0;
  }
  Doubles epoch(dlcore_loader* loader) {
    Doubles labels;
    while (next(loader, labels) == 1) {
    }
    labels.pop_back();
    return labels;
  }
  static Doubles counting(int64_t n) {
    Doubles all(static_cast<size_t>(n));
    std::iota(all.begin(), all.end(), 0.0);
    return all;
  }
  static int64_t threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  }
};

TEST_F(Prefetch, BatchesAndOrderStayTheSame) {
  for (const uint64_t flags : {uint64_t{0}, uint64_t{DLCORE_LOADER_SHUFFLE}}) {
    for (const auto& [n, batch] :
         std::vector<std::pair<int64_t, int64_t>>{{20, 6}, {18, 6}, {3, 100}, {7, 1}, {0, 4}}) {
      std::vector<Doubles> all;
      for (const int64_t prefetch : kCounts) {
        all.push_back(fresh([&, n = n, batch = batch] {
          dlcore_loader* loader = numbered(n, batch, flags, prefetch);
          Doubles labels;
          for (int64_t i = 0; i < 4 * dlcore_loader_batches(loader) + 5; ++i) {
            next(loader, labels);
            labels.push_back(static_cast<double>(dlcore_loader_epoch(loader)));
          }
          return labels;
        }));
        EXPECT_EQ(all.back(), all[0]) << n << " " << batch << " prefetch " << prefetch;
      }
    }
  }
}

TEST_F(Prefetch, FollowsSeeksAndChangesOfTheNumber) {
  std::vector<Doubles> all;
  for (const int64_t prefetch : kCounts) {
    all.push_back(fresh([&] {
      dlcore_loader* loader = numbered(23, 4, DLCORE_LOADER_SHUFFLE, prefetch);
      Doubles labels;
      for (int round = 0; round < 12; ++round) {
        for (int i = 0; i < round % 4; ++i) next(loader, labels);
        dlcore_loader_seek(ctx_, loader, round % 3, round % 7);
        for (int i = 0; i < 3; ++i) next(loader, labels);
        if (prefetch > 0) dlcore_loader_set_prefetch(ctx_, loader, round % 5);
      }
      return labels;
    }));
    EXPECT_EQ(all.back(), all[0]) << "prefetch " << prefetch;
  }
}

TEST_F(Prefetch, FailuresComeWithTheirBatch) {
  for (const int64_t prefetch : kCounts) {
    dlcore_loader* loader = numbered(4000, 400, 0, prefetch);
    Doubles labels;
    for (int64_t n = 0; n < 40; ++n) {
      dlcore_engine_fail_allocation(engine_, n % 7);
      if (next(loader, labels) == 1) continue;
      const bool failed = dlcore_ok(ctx_) == 0;
      if (failed) expect_error(DLCORE_RESOURCE_EXHAUSTED, "");
      if (failed) labels.pop_back();
    }
    dlcore_engine_fail_allocation(engine_, 0);
    while (next(loader, labels) == 1) {
    }
    // Epochs, whole and in order.
    ASSERT_EQ(labels.size() % 4001, 0u);
    for (size_t i = 0; i < labels.size(); ++i) {
      const size_t at = i % 4001;
      ASSERT_EQ(labels[i], at == 4000 ? -1 : static_cast<double>(at)) << i;
    }
  }
}

TEST_F(Prefetch, ACancellationSkipsNoBatch) {
  dlcore_loader* loader = numbered(40, 4, 0, 3);
  Doubles labels;
  for (int i = 0; i < 10; ++i) {
    dlcore_context_cancel(ctx_);
    dlcore_tensor *x, *y;
    EXPECT_EQ(dlcore_loader_next(ctx_, loader, &x, &y), 0);
    expect_error(DLCORE_CANCELLED, "");
    EXPECT_EQ(next(loader, labels), 1);
  }
  EXPECT_EQ(labels, counting(40));
}

TEST_F(Prefetch, LeavesNoThreadAndNoMemory) {
  epoch(numbered(8, 2, 0, 0));
  const int64_t before = threads();
  const dlcore_engine_statistics s = statistics();
  for (int i = 0; i < 20; ++i) {
    dlcore_loader* loader = numbered(8, 2, 0, 3, 100);
    Doubles labels;
    next(loader, labels);
    if (i == 0) {
      EXPECT_EQ(threads(), before + 1);
    }
    if (i % 2 == 0) {
      EXPECT_EQ(dlcore_loader_set_prefetch(ctx_, loader, 0), DLCORE_OK);
    }
    if (i == 0) {
      EXPECT_EQ(threads(), before);
    }
    dlcore_loader_release(loader);
  }
  EXPECT_EQ(threads(), before);
  EXPECT_EQ(statistics().live_loaders, s.live_loaders);
}

TEST_F(Prefetch, TheEngineMayCloseMeanwhile) {
  for (int i = 0; i < 20; ++i) {
    dlcore_engine* engine = dlcore_engine_open(nullptr, nullptr);
    dlcore_engine_retain(engine);
    dlcore_context* ctx = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
    const int64_t shape[] = {64, 1000};
    dlcore_tensor* data = dlcore_full(ctx, shape, 2, 1);
    dlcore_loader* loader = dlcore_loader_from_tensors(ctx, data, data, 1, 0);
    dlcore_loader_set_prefetch(ctx, loader, 50);
    dlcore_tensor *x, *y;
    EXPECT_EQ(dlcore_loader_next(ctx, loader, &x, &y), 1);
    dlcore_engine_close(engine);
    EXPECT_EQ(dlcore_loader_next(ctx, loader, &x, &y), 0);
    EXPECT_EQ(dlcore_context_status(ctx), DLCORE_FAILED_PRECONDITION);
    if (i % 2 == 0) dlcore_loader_release(loader);
    dlcore_context_close(ctx);
    dlcore_engine_release(engine);
  }
}

#if !DLCORE_TEST_THREAD_SANITIZER  // TSan does not allow threads to start after a fork
TEST_F(Prefetch, AChildOfForkGoesOnAlone) {
  dlcore_loader* loader = numbered(60, 4, DLCORE_LOADER_SHUFFLE, 5, 1000);
  Doubles labels;
  next(loader, labels);
  for (int i = 0; i < 10; ++i) {
    std::array<int, 2> ends;
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      Doubles rest;
      while (next(loader, rest) == 1) {
      }
      dlcore_loader_release(loader);
      const bool sent = write(ends[1], rest.data(), rest.size() * sizeof(double)) > 0;
      _exit(sent && !HasFailure() ? 0 : 1);
    }
    close(ends[1]);
    Doubles theirs(200);
    const ssize_t bytes = ::read(ends[0], theirs.data(), theirs.size() * sizeof(double));
    close(ends[0]);
    theirs.resize(static_cast<size_t>(std::max<ssize_t>(bytes, 0)) / sizeof(double));
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    Doubles ours;
    const int64_t at = dlcore_loader_epoch(loader);
    const auto done = static_cast<int64_t>(labels.size()) / 4;
    while (next(loader, ours) == 1) {
    }
    EXPECT_EQ(theirs, ours);
    dlcore_loader_seek(ctx_, loader, at, done);
    next(loader, labels);
  }
}
#endif

TEST_F(Prefetch, OneLoaderServesManyThreads) {
  dlcore_loader* loader = numbered(400, 2, DLCORE_LOADER_SHUFFLE, 4);
  std::mutex lock;
  std::multiset<int64_t> seen;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      dlcore_context* ctx = open(1);
      dlcore_tensor *x, *y;
      for (int i = 0; i < 50; ++i) {
        if (dlcore_loader_next(ctx, loader, &x, &y) == 0) continue;
        int64_t labels[2];
        dlcore_tensor_read_i64(ctx, y, labels, 2);
        std::lock_guard<std::mutex> guard(lock);
        seen.insert(std::begin(labels), std::end(labels));
      }
      EXPECT_EQ(dlcore_ok(ctx), 1) << dlcore_context_error_message(ctx);
      dlcore_context_close(ctx);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(seen.size(), 400u);
  EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 400u);
}

TEST_F(Prefetch, ChecksArguments) {
  dlcore_loader* loader = numbered(4, 2, 0, 0);
  for (const int64_t bad : {int64_t{-1}, int64_t{1025}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(dlcore_loader_set_prefetch(ctx_, loader, bad), DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "batches is " + std::to_string(bad));
  }
  EXPECT_EQ(dlcore_loader_set_prefetch(ctx_, nullptr, 1), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "loader is NULL");
  EXPECT_EQ(dlcore_loader_set_prefetch(nullptr, loader, 1), DLCORE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace dlcore::test
