// SPDX-License-Identifier: Apache-2.0
// Keeps blocks of a device's memory for reuse: fresh memory costs more than most kernels that write
// it. Only addresses pass through here, the memory itself is never touched: the host may be unable
// to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/mutex.h"

namespace dlcore {

// The failure that set_fail_after asked for: nobody may try again and hide it.
struct AskedFailure : Error {
  using Error::Error;
};

// Where blocks come from. Called from any thread, `deallocate` while the allocator is
// locked (it must not call back).
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // An address aligned to CachingAllocator::kAlignment. Throws Error, RESOURCE_EXHAUSTED when there
  // is no memory.
  virtual void* allocate(uint64_t bytes) = 0;
  virtual void deallocate(void* address, uint64_t bytes) noexcept = 0;
};

// Bytes count whole blocks, which are up to 1/8 larger than what was asked for (64 bytes at least).
struct AllocatorStats {
  uint64_t limit = 0;  // 0 for none
  uint64_t live_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t cached_bytes = 0;  // free, kept for reuse
  uint64_t peak_live_bytes = 0;
  uint64_t allocations = 0;         // that succeeded
  uint64_t source_allocations = 0;  // those of them that no cached block could serve
};

// Thread-safe. The source has to outlive it.
class CachingAllocator {
 public:
  static constexpr uint64_t kAlignment = 64;

  // Live and cached blocks together never exceed `limit` bytes; 0 means no limit.
  explicit CachingAllocator(MemorySource& source, uint64_t limit = 0);
  ~CachingAllocator();  // gives cached blocks back; live ones have to be back before
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Contents are undefined; 0 bytes give an address of their own too. When the limit or the source
  // refuses, everything cached is given back and the source asked again; if that fails too, throws
  // RESOURCE_EXHAUSTED, and the allocator stays usable.
  void* allocate(uint64_t bytes);
  // `bytes` as given to allocate. A null address is ignored.
  void deallocate(void* address, uint64_t bytes) noexcept;

  // Gives all cached blocks back to the source; returns their bytes.
  uint64_t trim() noexcept;

  AllocatorStats stats() const;
  // The largest live_bytes from here on counts.
  void reset_peak();

  // For tests: the n-th allocation from now on fails as if there were no memory, once; 0 disarms.
  void set_fail_after(int64_t n);

  // The size of the block that serves a request, for tests and reports; 0 when no block can be as
  // large.
  static uint64_t block_size(uint64_t bytes);

 private:
  struct SizeClass {
    std::vector<void*> cached;  // with room for all blocks, so that a block can always be put back
    size_t blocks = 0;          // cached or live
  };

  void count_live(uint64_t block);
  void* fetch(SizeClass& size_class, uint64_t bytes, uint64_t block);
  void* ask_source(uint64_t block);
  bool make_room(uint64_t block) noexcept;
  uint64_t trim_locked() noexcept;
  std::string describe_use() const;

  MemorySource& source_;
  mutable Mutex mutex_;
  std::vector<SizeClass> classes_;
  uint64_t requested_bytes_ = 0;  // being asked of the source
  int64_t fail_after_ = 0;
  AllocatorStats stats_;
};

}  // namespace dlcore
