// SPDX-License-Identifier: Apache-2.0
#include "allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit std::atomic<int64_t> left{0};  // allocations until one fails; 0: none is to fail
constinit std::atomic<bool> for_good{false};
constinit std::atomic<bool> failed{false};
constinit std::atomic<int64_t> live{0};

bool fails() {
  if (left.load(std::memory_order_relaxed) == 0) return false;
  int64_t now = left.load();
  while (now > 0 && !(now == 1 && for_good) && !left.compare_exchange_weak(now, now - 1)) {
  }
  if (now != 1) return false;
  failed = true;
  return true;
}

}  // namespace

namespace dlcore::test {

void fail_host_allocation(int64_t n, Failing how) {
  for_good = how == Failing::kFromThere;
  failed = false;
  left = n;
}

bool host_allocation_failed() { return failed; }

bool disarm_host_allocations() {
  left = 0;
  return failed;
}

int64_t live_host_blocks() { return live; }

}  // namespace dlcore::test

#ifdef __GLIBC__

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

static void* counted(void* block) {
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

static void* refused() {
  errno = ENOMEM;
  return nullptr;
}

void* malloc(size_t size) { return fails() ? refused() : counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) {
  return fails() ? refused() : counted(__libc_calloc(count, size));
}
void* memalign(size_t alignment, size_t size) {
  return fails() ? refused() : counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** block, size_t alignment, size_t size) {
  void* const made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}
void* realloc(void* block, size_t size) {
  if (block == nullptr) return malloc(size);
  if (fails()) return refused();
  void* const moved = __libc_realloc(block, size);
  if (moved == nullptr && size == 0) live.fetch_sub(1, std::memory_order_relaxed);
  return moved;
}
void free(void* block) {
  if (block != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}

}  // extern "C"

#else  // whose malloc cannot be called under another name

namespace {

void* allocate(size_t size, size_t alignment) {
  if (fails()) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* need(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(size_t n) { return need(allocate(n, 1)); }
void* operator new[](size_t n) { return need(allocate(n, 1)); }
void* operator new(size_t n, std::align_val_t a) {
  return need(allocate(n, static_cast<size_t>(a)));
}
void* operator new[](size_t n, std::align_val_t a) {
  return need(allocate(n, static_cast<size_t>(a)));
}
void* operator new(size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }

#endif
