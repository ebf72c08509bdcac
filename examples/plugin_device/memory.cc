// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace host2 {
namespace {

constexpr uint64_t kCapacity = uint64_t{16} << 30;
constexpr uint64_t kGranule = 256;
constexpr uint64_t kPage = 4096;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::byte* map(int protection, int flags, int file) {
  void* const address = mmap(nullptr, kCapacity, protection, flags, file, 0);
  if (address == MAP_FAILED) fail("mmap");
  return static_cast<std::byte*>(address);
}

}  // namespace

Memory::Memory() {
  file_ = memfd_create("dlcore-host2", MFD_CLOEXEC);
  if (file_ < 0) fail("memfd_create");
  if (ftruncate(file_, static_cast<off_t>(kCapacity)) != 0) fail("ftruncate");
  private_ = map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_);
  public_ = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  free_[0] = kCapacity;
}

uint64_t Memory::block_size(uint64_t bytes) {
  return (bytes + (bytes == 0) + kGranule - 1) / kGranule * kGranule;
}

void* Memory::allocate(uint64_t bytes) {
  if (bytes > kCapacity) return nullptr;
  const uint64_t size = block_size(bytes);
  const std::lock_guard guard(lock_);
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    if (hole->second < size) continue;
    const uint64_t offset = hole->first;
    const uint64_t rest = hole->second - size;
    if (rest > 0) free_[offset + size] = rest;
    free_.erase(hole);
    return public_ + offset;
  }
  return nullptr;
}

void Memory::deallocate(void* address, uint64_t bytes) {
  uint64_t offset = static_cast<uint64_t>(static_cast<std::byte*>(address) - public_);
  uint64_t size = block_size(bytes);
  const std::lock_guard guard(lock_);
  give_back_pages(offset, size);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_[offset] = size;
}

void Memory::give_back_pages(uint64_t offset, uint64_t size) {
  const uint64_t begin = (offset + kPage - 1) / kPage * kPage;
  const uint64_t end = (offset + size) / kPage * kPage;
  if (begin >= end) return;
  // Where the file system cannot do it the pages stay taken, which harms nobody.
  (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                  static_cast<off_t>(end - begin));
}

std::byte* Memory::real(const void* address, uint64_t bytes) const {
  const auto offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(public_);
  if (offset > kCapacity || bytes > kCapacity - offset) {
    throw std::out_of_range("an address that is not of this device: " +
                            std::to_string(reinterpret_cast<uintptr_t>(address)));
  }
  return private_ + offset;
}

}  // namespace host2
