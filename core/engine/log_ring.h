// SPDX-License-Identifier: Apache-2.0
// What the engine has to say, kept until somebody takes it.
#pragma once

#include <atomic>
#include <deque>
#include <string_view>

#include "core/base/mutex.h"
#include "dlcore/log.h"

#if !DLCORE_NO_THREADS
#include <condition_variable>
#endif

namespace dlcore {

class LogRing {
 public:
  static constexpr size_t kRecords = 256;

  // Without memory for it the record is lost, and counted.
  void write(int32_t level, std::string_view source, std::string_view message) noexcept;
  // The oldest record; waits up to `milliseconds` for one, without end when negative. False when
  // none came.
  bool next(dlcore_log_record& record, int64_t milliseconds);
  // Nobody waits any more.
  void close() noexcept;

  int32_t set_level(int32_t level) { return level_.exchange(level, std::memory_order_relaxed); }

 private:
  bool wait(std::unique_lock<Mutex>& lock, int64_t milliseconds);

  std::atomic<int32_t> level_{DLCORE_LOG_INFO};
  Mutex lock_;
#if !DLCORE_NO_THREADS
  std::condition_variable arrived_;
#endif
  std::deque<dlcore_log_record> records_;
  int64_t lost_ = 0;  // before the oldest
  bool closed_ = false;
};

}  // namespace dlcore
