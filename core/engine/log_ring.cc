// SPDX-License-Identifier: Apache-2.0
#include "core/engine/log_ring.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace dlcore {
namespace {

// As much of the text as fits, cut between two characters of UTF-8, on one line.
template <size_t N>
void copy_line(std::string_view text, char (&to)[N]) {
  size_t n = std::min(text.size(), N - 1);
  if (n < text.size()) {
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  }
  std::memcpy(to, text.data(), n);
  std::replace(to, to + n, '\n', ' ');
  to[n] = '\0';
}

}  // namespace

void LogRing::write(int32_t level, std::string_view source, std::string_view message) noexcept {
  if (level < level_.load(std::memory_order_relaxed)) return;
  dlcore_log_record record = {};
  record.struct_size = sizeof record;
  record.level = level;
  record.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  copy_line(source, record.source);
  copy_line(message, record.message);
  std::lock_guard<Mutex> guard(lock_);
  if (closed_) return;
  try {
    records_.push_back(record);
  } catch (...) {
    if (records_.empty()) {
      ++lost_;
    } else {
      ++records_.back().lost;  // nearly where it belongs
    }
    return;
  }
  if (records_.size() > kRecords) {
    const int64_t before = records_.front().lost;
    records_.pop_front();
    records_.front().lost += before + 1;
  }
#if !DLCORE_NO_THREADS
  arrived_.notify_one();
#endif
}

bool LogRing::wait([[maybe_unused]] std::unique_lock<Mutex>& lock,
                   [[maybe_unused]] int64_t milliseconds) {
#if !DLCORE_NO_THREADS
  const auto ready = [this] { return !records_.empty() || closed_; };
  constexpr int64_t kLongest = int64_t{1000} * 86400 * 365;
  if (milliseconds < 0) {
    arrived_.wait(lock, ready);
  } else if (milliseconds > 0) {
    arrived_.wait_for(lock, std::chrono::milliseconds(std::min(milliseconds, kLongest)), ready);
  }
#endif
  return !records_.empty();
}

bool LogRing::next(dlcore_log_record& record, int64_t milliseconds) {
  std::unique_lock<Mutex> lock(lock_);
  if (!wait(lock, milliseconds)) return false;
  record = records_.front();
  record.lost += std::exchange(lost_, 0);
  records_.pop_front();
  return true;
}

void LogRing::close() noexcept {
  std::lock_guard<Mutex> guard(lock_);
  closed_ = true;
#if !DLCORE_NO_THREADS
  arrived_.notify_all();
#endif
}

}  // namespace dlcore
