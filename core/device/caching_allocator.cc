// SPDX-License-Identifier: Apache-2.0
#include "core/device/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/error.h"

namespace dlcore {
namespace {

// Size classes: multiples of 64 bytes up to 512, then eight equal steps to each doubling, so that a
// block is never more than 1/8 larger than what is asked for. Requests beyond kLargest are refused.
constexpr uint64_t kGranule = CachingAllocator::kAlignment;
constexpr int kSteps = 8;
constexpr uint64_t kLargest = uint64_t{1} << 62;
constexpr int kFirstOctave = std::countr_zero(kGranule * kSteps);  // 512 bytes
constexpr size_t kClasses = kSteps + size_t{kSteps} * (62 - kFirstOctave);

// Of the class that serves `bytes` <= kLargest: its index and the bytes of its blocks.
std::pair<size_t, uint64_t> size_class_of(uint64_t bytes) {
  const uint64_t last = std::max<uint64_t>(bytes, 1) - 1;  // the largest offset within the block
  if (last < kGranule * kSteps) {
    return {last / kGranule, (last / kGranule + 1) * kGranule};
  }
  const int octave = std::bit_width(last) - 1;
  const uint64_t step = (uint64_t{1} << octave) / kSteps;
  const uint64_t steps = last / step;  // kSteps <= steps < 2 * kSteps
  const auto octaves_before = static_cast<size_t>(octave - kFirstOctave);
  return {kSteps * octaves_before + steps, (steps + 1) * step};
}

uint64_t block_size_of_class(size_t index) {
  if (index < kSteps) return (index + 1) * kGranule;
  const uint64_t steps = kSteps + index % kSteps;
  const size_t octave = kFirstOctave + index / kSteps - 1;
  return (steps + 1) * ((uint64_t{1} << octave) / kSteps);
}

// "511 MiB", "1.5 KiB", "64 bytes"
std::string readable(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return formatted("{} bytes", bytes);
  const int unit = static_cast<int>((std::bit_width(bytes) - 1) / 10);
  const uint64_t one = uint64_t{1} << (10 * unit);
  if (bytes % one == 0) return formatted("{} {}", bytes / one, kUnits[unit - 1]);
  return formatted("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(one),
                   kUnits[unit - 1]);
}

}  // namespace

CachingAllocator::CachingAllocator(MemorySource& source, uint64_t limit)
    : source_(source), classes_(kClasses) {
  stats_.limit = limit;
}

CachingAllocator::~CachingAllocator() { trim(); }

uint64_t CachingAllocator::block_size(uint64_t bytes) {
  return bytes > kLargest ? 0 : size_class_of(bytes).second;
}

void* CachingAllocator::allocate(uint64_t bytes) {
  std::unique_lock lock(mutex_);
  if (fail_after_ > 0 && --fail_after_ == 0) {
    throw AskedFailure(DLCORE_RESOURCE_EXHAUSTED,
                       formatted("cannot allocate {} bytes: this failure was asked for", bytes));
  }
  if (bytes > kLargest) {
    fail(DLCORE_RESOURCE_EXHAUSTED, "cannot allocate {} bytes: {}", bytes, describe_use());
  }
  const auto [index, block] = size_class_of(bytes);
  SizeClass& size_class = classes_[index];
  if (!size_class.cached.empty()) {
    void* const address = size_class.cached.back();
    size_class.cached.pop_back();
    stats_.cached_bytes -= block;
    count_live(block);
    return address;
  }
  if (!make_room(block)) {
    fail(DLCORE_RESOURCE_EXHAUSTED, "cannot allocate {} bytes: {}", bytes, describe_use());
  }
  requested_bytes_ += block;
  lock.unlock();  // a source may take long
  return fetch(size_class, bytes, block);
}

// Asks the source, without the lock but with the bytes counted as requested, and takes the answer
// in.
void* CachingAllocator::fetch(SizeClass& size_class, uint64_t bytes, uint64_t block) {
  void* address = nullptr;
  try {
    address = ask_source(block);
    const std::lock_guard lock(mutex_);
    if (size_class.cached.capacity() <= size_class.blocks) {
      size_class.cached.reserve(std::max<size_t>(16, 2 * size_class.blocks));
    }
    ++size_class.blocks;
    requested_bytes_ -= block;
    ++stats_.source_allocations;
    count_live(block);
    return address;
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    requested_bytes_ -= block;
    if (error.code != DLCORE_RESOURCE_EXHAUSTED) throw;
    Error exhausted(DLCORE_RESOURCE_EXHAUSTED,
                    formatted("cannot allocate {} bytes: {}", bytes, describe_use()));
    exhausted.cause = std::make_shared<const Error>(error);
    throw exhausted;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    requested_bytes_ -= block;
    if (address != nullptr) source_.deallocate(address, block);
    throw;
  }
}

// A source that has no memory is asked once more after it has got back what is cached.
void* CachingAllocator::ask_source(uint64_t block) {
  try {
    return source_.allocate(block);
  } catch (const Error& error) {
    if (error.code != DLCORE_RESOURCE_EXHAUSTED || trim() == 0) throw;
  }
  return source_.allocate(block);
}

void CachingAllocator::deallocate(void* address, uint64_t bytes) noexcept {
  if (address == nullptr) return;
  const auto [index, block] = size_class_of(bytes);
  const std::lock_guard lock(mutex_);
  classes_[index].cached.push_back(address);
  stats_.live_bytes -= block;
  --stats_.live_blocks;
  stats_.cached_bytes += block;
}

uint64_t CachingAllocator::trim() noexcept {
  const std::lock_guard lock(mutex_);
  return trim_locked();
}

uint64_t CachingAllocator::trim_locked() noexcept {
  for (size_t index = 0; index < classes_.size(); ++index) {
    SizeClass& size_class = classes_[index];
    const uint64_t block = block_size_of_class(index);
    for (void* address : size_class.cached) source_.deallocate(address, block);
    size_class.blocks -= size_class.cached.size();
    size_class.cached.clear();
  }
  return std::exchange(stats_.cached_bytes, 0);
}

AllocatorStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_live_bytes = stats_.live_bytes;
}

void CachingAllocator::set_fail_after(int64_t n) {
  const std::lock_guard lock(mutex_);
  fail_after_ = n;
}

void CachingAllocator::count_live(uint64_t block) {
  stats_.live_bytes += block;
  ++stats_.live_blocks;
  ++stats_.allocations;
  stats_.peak_live_bytes = std::max(stats_.peak_live_bytes, stats_.live_bytes);
}

// Whether a new block stays within the limit, after trimming where that helps. Blocks are at most
// 2^62 bytes and existing ones fit into an address space, so the sums do not overflow.
bool CachingAllocator::make_room(uint64_t block) noexcept {
  if (stats_.limit == 0) return true;
  const uint64_t needed = stats_.live_bytes + requested_bytes_ + block;
  if (needed > stats_.limit) return false;
  if (needed + stats_.cached_bytes > stats_.limit) trim_locked();
  return true;
}

std::string CachingAllocator::describe_use() const {
  const std::string limit = stats_.limit == 0 ? "no limit set" : readable(stats_.limit) + " limit";
  return formatted("{}, {} live", limit, readable(stats_.live_bytes));
}

}  // namespace dlcore
