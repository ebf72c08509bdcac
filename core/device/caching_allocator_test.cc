// SPDX-License-Identifier: Apache-2.0
#include "core/device/caching_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "core/base/error.h"

namespace dlcore {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Hands out addresses that no memory is behind: following one crashes. Checks what comes back.
class FakeSource : public MemorySource {
 public:
  explicit FakeSource(uint64_t capacity = UINT64_MAX) : capacity_(capacity) {}
  ~FakeSource() override { EXPECT_TRUE(live_.empty()) << "blocks not given back"; }

  void* allocate(uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (broken) fail(DLCORE_INTERNAL, "device lost");
    if (bytes > capacity_ - held) fail(DLCORE_RESOURCE_EXHAUSTED, "source is empty");
    held += bytes;
    next_ += 64;
    live_[next_] = bytes;
    return reinterpret_cast<void*>(next_);
  }
  void deallocate(void* address, uint64_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(reinterpret_cast<uintptr_t>(address));
    ASSERT_NE(found, live_.end());
    EXPECT_EQ(found->second, bytes);
    live_.erase(found);
    held -= bytes;
  }

  uint64_t held = 0;
  bool broken = false;

 private:
  std::mutex mutex_;
  const uint64_t capacity_;
  uintptr_t next_ = 0;
  std::map<uintptr_t, uint64_t> live_;
};

// The error that allocating raises; an empty one when it does not.
Error error_of(CachingAllocator& allocator, uint64_t bytes) {
  try {
    allocator.deallocate(allocator.allocate(bytes), bytes);
  } catch (const Error& error) {
    return error;
  }
  return Error(DLCORE_OK, "");
}

TEST(CachingAllocator, ReusesBlocks) {
  FakeSource source;
  CachingAllocator allocator(source);
  void* first = allocator.allocate(1000);
  allocator.deallocate(first, 1000);
  EXPECT_EQ(allocator.allocate(1000), first);
  EXPECT_NE(allocator.allocate(1000), first);
  EXPECT_EQ(allocator.stats().allocations, 3u);
  EXPECT_EQ(allocator.stats().source_allocations, 2u);
  allocator.deallocate(first, 1000);
  allocator.deallocate(reinterpret_cast<void*>(128), 1000);
}

TEST(CachingAllocator, BlockSizes) {
  EXPECT_EQ(CachingAllocator::block_size(0), 64u);
  EXPECT_EQ(CachingAllocator::block_size(64), 64u);
  EXPECT_EQ(CachingAllocator::block_size(65), 128u);
  EXPECT_EQ(CachingAllocator::block_size(513), 576u);
  EXPECT_EQ(CachingAllocator::block_size(1025), 1152u);
  uint64_t previous = 0;
  for (uint64_t bytes = 0; bytes < 70000; ++bytes) {
    const uint64_t block = CachingAllocator::block_size(bytes);
    ASSERT_GE(block, bytes);
    ASSERT_EQ(block % 64, 0u);
    ASSERT_LE(block, std::max<uint64_t>(bytes + 64, bytes + bytes / 8)) << bytes;
    ASSERT_GE(block, previous);
    ASSERT_EQ(CachingAllocator::block_size(block), block);
    previous = block;
  }
  for (int power = 6; power <= 62; ++power) {
    const uint64_t bytes = uint64_t{1} << power;
    EXPECT_EQ(CachingAllocator::block_size(bytes), bytes);
  }
  EXPECT_EQ(CachingAllocator::block_size((uint64_t{1} << 62) + 1), 0u);
}

TEST(CachingAllocator, EverySizeClassGivesBackWhatItTook) {
  FakeSource source;  // checks the sizes that come back
  CachingAllocator allocator(source);
  for (int power = 0; power < 58; ++power) {
    for (uint64_t bytes :
         {uint64_t{1} << power, (uint64_t{9} << power) / 8 + 1, (uint64_t{15} << power) / 8}) {
      allocator.deallocate(allocator.allocate(bytes), bytes);
      EXPECT_EQ(allocator.trim(), CachingAllocator::block_size(bytes));
      EXPECT_EQ(source.held, 0u);
    }
  }
}

TEST(CachingAllocator, CountsBytes) {
  FakeSource source;
  CachingAllocator allocator(source);
  void* a = allocator.allocate(64);
  void* b = allocator.allocate(100);
  EXPECT_EQ(allocator.stats().live_bytes, 192u);
  EXPECT_EQ(allocator.stats().live_blocks, 2u);
  allocator.deallocate(b, 100);
  allocator.deallocate(nullptr, 100);
  EXPECT_EQ(allocator.stats().live_bytes, 64u);
  EXPECT_EQ(allocator.stats().cached_bytes, 128u);
  EXPECT_EQ(allocator.stats().peak_live_bytes, 192u);
  allocator.reset_peak();
  EXPECT_EQ(allocator.stats().peak_live_bytes, 64u);
  EXPECT_EQ(allocator.trim(), 128u);
  EXPECT_EQ(allocator.stats().cached_bytes, 0u);
  EXPECT_EQ(source.held, 64u);
  allocator.deallocate(a, 64);
}

TEST(CachingAllocator, NoBytesGiveAnAddressOfTheirOwn) {
  FakeSource source;
  CachingAllocator allocator(source);
  void* a = allocator.allocate(0);
  void* b = allocator.allocate(0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  allocator.deallocate(a, 0);
  allocator.deallocate(b, 0);
}

TEST(CachingAllocator, LimitFreesCachesThenRefuses) {
  FakeSource source;
  CachingAllocator allocator(source, 512 * kMiB);
  void* big = allocator.allocate(384 * kMiB);
  allocator.deallocate(allocator.allocate(128 * kMiB), 128 * kMiB);
  void* small = allocator.allocate(64 * kMiB);  // the cached 128 MiB have to go
  EXPECT_EQ(allocator.stats().cached_bytes, 0u);
  const Error error = error_of(allocator, 100 * kMiB);
  EXPECT_EQ(error.code, DLCORE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.message, "cannot allocate 104857600 bytes: 512 MiB limit, 448 MiB live");
  EXPECT_EQ(error_of(allocator, 64 * kMiB).code, DLCORE_OK);  // exactly full is fine
  allocator.deallocate(small, 64 * kMiB);
  allocator.deallocate(big, 384 * kMiB);
}

TEST(CachingAllocator, HopelessRequestsKeepTheCache) {
  FakeSource source;
  CachingAllocator allocator(source, kMiB);
  allocator.deallocate(allocator.allocate(1024), 1024);
  EXPECT_EQ(error_of(allocator, 2 * kMiB).code, DLCORE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(error_of(allocator, UINT64_MAX).code, DLCORE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(error_of(allocator, uint64_t{1} << 62).code, DLCORE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(allocator.stats().cached_bytes, 1024u);
}

TEST(CachingAllocator, EmptySourceFreesCachesThenRefuses) {
  FakeSource source(kMiB);
  CachingAllocator allocator(source);
  allocator.deallocate(allocator.allocate(kMiB), kMiB);
  void* half = allocator.allocate(kMiB / 2);
  const Error error = error_of(allocator, kMiB);
  EXPECT_EQ(error.code, DLCORE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.message, "cannot allocate 1048576 bytes: no limit set, 512 KiB live");
  ASSERT_NE(error.cause, nullptr);
  EXPECT_EQ(error.cause->message, "source is empty");
  EXPECT_EQ(error_of(allocator, kMiB / 2).code, DLCORE_OK);
  allocator.deallocate(half, kMiB / 2);
  EXPECT_EQ(allocator.stats().live_bytes, 0u);
}

TEST(CachingAllocator, OtherErrorsOfTheSourcePass) {
  FakeSource source;
  CachingAllocator allocator(source, kMiB);
  source.broken = true;
  for (int i = 0; i < 3; ++i) {
    const Error error = error_of(allocator, 600 * 1024);
    EXPECT_EQ(error.code, DLCORE_INTERNAL);
    EXPECT_EQ(error.message, "device lost");
  }
  source.broken = false;
  EXPECT_EQ(error_of(allocator, 600 * 1024).code, DLCORE_OK);  // the failed ones left no trace
}

TEST(CachingAllocator, FailsWhenAskedTo) {
  FakeSource source;
  CachingAllocator allocator(source);
  allocator.set_fail_after(2);
  EXPECT_EQ(error_of(allocator, 64).code, DLCORE_OK);
  EXPECT_EQ(error_of(allocator, 64).code, DLCORE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(error_of(allocator, 64).code, DLCORE_OK);
  allocator.set_fail_after(1);
  allocator.set_fail_after(0);
  EXPECT_EQ(error_of(allocator, 64).code, DLCORE_OK);
}

TEST(CachingAllocator, ManyThreads) {
  FakeSource source(8 * kMiB);
  CachingAllocator allocator(source, 6 * kMiB);
  std::mutex mutex;
  std::set<void*> live;  // no address may be live twice
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      uint64_t random = t + 1;
      for (int round = 0; round < 3000; ++round) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bytes = (random >> 33) % (3 * kMiB);
        try {
          void* address = allocator.allocate(bytes);
          {
            const std::lock_guard lock(mutex);
            ASSERT_TRUE(live.insert(address).second);
          }
          {
            const std::lock_guard lock(mutex);
            live.erase(address);
          }
          allocator.deallocate(address, bytes);
        } catch (const Error& error) {
          ASSERT_EQ(error.code, DLCORE_RESOURCE_EXHAUSTED);
        }
        if (round % 100 == 0) allocator.trim();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const AllocatorStats stats = allocator.stats();
  EXPECT_EQ(stats.live_bytes, 0u);
  EXPECT_EQ(stats.live_blocks, 0u);
  EXPECT_LE(stats.peak_live_bytes, 6 * kMiB);
  EXPECT_EQ(source.held, stats.cached_bytes);
}

}  // namespace
}  // namespace dlcore
