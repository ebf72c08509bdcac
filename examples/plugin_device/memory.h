// SPDX-License-Identifier: Apache-2.0
// The device's memory. The engine is handed addresses of a range that nobody may touch: host code
// that follows one stops at once. The same bytes are mapped a second time where only kernels look
// for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace host2 {

class Memory {
 public:
  // Reserves address space; pages are taken when they are first written. Throws std::system_error.
  Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // A device address, aligned to 256 bytes; nullptr when the device is full.
  void* allocate(uint64_t bytes);
  void deallocate(void* address, uint64_t bytes);

  // Where the bytes of a device address really are. Throws std::out_of_range when [address, address
  // + bytes) does not lie in the device's memory.
  std::byte* real(const void* address, uint64_t bytes) const;

 private:
  static uint64_t block_size(uint64_t bytes);
  void give_back_pages(uint64_t offset, uint64_t size);

  int file_ = -1;
  std::byte* public_ = nullptr;   // no access
  std::byte* private_ = nullptr;  // reading and writing
  std::mutex lock_;
  std::map<uint64_t, uint64_t> free_;  // offset -> size; neighbours are merged
};

}  // namespace host2
