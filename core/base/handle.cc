// SPDX-License-Identifier: Apache-2.0
#include "core/base/handle.h"

#include <cstdlib>

#include "core/base/error.h"

namespace dlcore {
namespace {
constexpr size_t kChunkBytes = 16384;
}

bool Handle::program_retain() {
  uint64_t c = counts.load(std::memory_order_relaxed);
  while (c >= kProgramReference) {
    if (counts.compare_exchange_weak(c, c + kProgramReference, std::memory_order_relaxed))
      return true;
  }
  return false;
}

void Handle::give_to_program() {
  uint64_t c = counts.load(std::memory_order_relaxed);
  uint64_t wanted;
  do {
    wanted = c >= kProgramReference ? c + kProgramReference - 1 : c + kProgramReference;
  } while (!counts.compare_exchange_weak(c, wanted, std::memory_order_acq_rel));
}

Handle::Released Handle::program_release() {
  uint64_t c = counts.load(std::memory_order_relaxed);
  uint64_t wanted;
  do {
    if (c < kProgramReference) return Released::kNotHeld;
    wanted = c - kProgramReference;
    if (wanted < kProgramReference) wanted -= 1;  // the library reference that the program held
  } while (!counts.compare_exchange_weak(c, wanted, std::memory_order_acq_rel));
  return wanted == 0 ? Released::kLast : Released::kHeld;
}

void SlotPool::grow() {
  const size_t slots = kChunkBytes / slot_bytes_ > 0 ? kChunkBytes / slot_bytes_ : 1;
  // Chunks are never freed: they stay reachable through their slots' free list or through live
  // handles.
  auto* chunk =
      static_cast<std::byte*>(std::aligned_alloc(64, (slots * slot_bytes_ + 63) / 64 * 64));
  if (chunk == nullptr) {
    fail(DLCORE_RESOURCE_EXHAUSTED, "cannot allocate {} bytes for handles", slots * slot_bytes_);
  }
  for (size_t i = 0; i < slots; ++i) {
    auto* slot = new (chunk + i * slot_bytes_) Handle;
    slot->pool = this;
    if (last_ != nullptr) {
      last_->next = slot;
    } else {
      first_ = slot;
    }
    last_ = slot;
    ++ready_;
  }
}

// Moves what was put back to the end of the ready list. The returned list has the newest slot
// first, so reversing it keeps the oldest in front.
void SlotPool::drain() {
  Handle* slot = returned_.exchange(nullptr, std::memory_order_acquire);
  if (slot == nullptr) return;
  Handle* newest = slot;
  Handle* reversed = nullptr;
  while (slot != nullptr) {
    Handle* next = slot->next;
    slot->next = reversed;
    reversed = slot;
    slot = next;
    ++ready_;
  }
  if (last_ != nullptr) {
    last_->next = reversed;
  } else {
    first_ = reversed;
  }
  last_ = newest;
}

void* SlotPool::take() {
  if (first_ == nullptr) {
#ifndef DLCORE_NEVER_REUSE_SLOTS
    drain();
#endif
    if (first_ == nullptr) grow();
  }
  Handle* slot = first_;
  first_ = slot->next;
  if (first_ == nullptr) last_ = nullptr;
  --ready_;
  taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return slot;
}

void SlotPool::reserve(int64_t n) {
  if (ready_ < n) drain();
  while (ready_ < n) grow();
}

// Counted after it is in the list: whoever then sees nothing alive may end the pool's use.
void SlotPool::put(Handle* slot) {
  slot->counts.store(0, std::memory_order_relaxed);
  slot->next = returned_.load(std::memory_order_relaxed);
  while (!returned_.compare_exchange_weak(slot->next, slot, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
  put_back_.fetch_add(1, std::memory_order_seq_cst);
}

int64_t SlotPool::live() const {
  const int64_t put_back = put_back_.load(std::memory_order_seq_cst);
  return taken_.load(std::memory_order_relaxed) - put_back;
}

}  // namespace dlcore
