// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: an engine with little memory, and bytes that become arguments.
#pragma once

#include <dlcore/dlcore.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace dlcore::fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t next() { return empty() ? 0 : data_[at_++]; }
  uint32_t below(uint32_t n) { return n == 0 ? 0 : next() % n; }
  // Mostly small numbers, now and then the ones that break things.
  int64_t number() {
    static constexpr int64_t kNasty[] = {INT64_MAX,        INT64_MIN,        -1,
                                         int64_t{1} << 40, int64_t{1} << 61, 0x3ff0000000000000};
    const uint8_t b = next();
    return b < 224 ? static_cast<int8_t>(b) % 8 : kNasty[b % 6];
  }
  // Eight bytes as they are.
  int64_t word() {
    uint64_t w = 0;
    for (int i = 0; i < 8; ++i) w |= uint64_t{next()} << (8 * i);
    return static_cast<int64_t>(w);
  }
  std::string rest() {
    const std::string text(reinterpret_cast<const char*>(data_ + std::min(at_, size_)),
                           size_ - std::min(at_, size_));
    at_ = size_;
    return text;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

// A finding: libFuzzer keeps the input that led here.
[[noreturn]] inline void found(const char* what, const std::string& detail = "") {
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

inline dlcore_engine* open_engine() {
  dlcore_engine_options options;
  dlcore_engine_options_init(&options, sizeof options);
  options.threads = 1;
  options.memory_limit = 16 << 20;
  return dlcore_engine_open(&options, nullptr);
}

inline void require_nothing_alive(const dlcore_engine* engine) {
  dlcore_engine_statistics s;
  s.struct_size = sizeof s;
  dlcore_engine_get_statistics(engine, &s);
  if (s.live_tensors + s.live_variables + s.live_modules + s.live_optimizers + s.live_loaders +
          s.live_graphs + s.live_contexts + s.live_schedules !=
      0) {
    found("something is left");
  }
  if (s.live_bytes != 0) found("bytes are left");
}

// What the last call said must be one of the statuses, and none that says the library is broken.
inline void require_sound_status(dlcore_context* ctx) {
  const dlcore_status status = dlcore_context_status(ctx);
  if (status == DLCORE_INTERNAL || status == DLCORE_UNKNOWN || status < 0 || status > 16)
    found("unsound status", dlcore_context_error_message(ctx));
}

// fn(ctx) on a fresh context of one engine, which has nothing left afterwards.
template <class Fn>
int on_fresh_context(Fn&& fn) {
  static dlcore_engine* const engine = open_engine();
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 1, 0, nullptr);
  fn(ctx);
  require_sound_status(ctx);
  dlcore_context_close(ctx);
  require_nothing_alive(engine);
  return 0;
}

}  // namespace dlcore::fuzz
