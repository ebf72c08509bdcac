// SPDX-License-Identifier: Apache-2.0
// A device as the core sees it: the functions of plugin.h, an allocator over its memory, and a
// dense table of its kernels. The CPU and every plug-in are reached through this one class.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/device/caching_allocator.h"
#include "core/tensor/dtype.h"
#include "dlcore/plugin.h"

namespace dlcore {

class Device;

// A queue of a device, opened by a context. Storages that its work uses keep it alive.
class DeviceQueue {
 public:
  explicit DeviceQueue(Device& device);
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  Device& device;
  void* handle = nullptr;

  uint64_t position() const;
  bool passed(uint64_t position) const;  // from any thread
  void wait_for(const DeviceQueue& other, uint64_t position);
  // Both wait for the device and throw its first late failure.
  void synchronize();
  void copy_to_host(void* host, const void* from, uint64_t bytes);
  void copy_from_host(void* to, const void* host, uint64_t bytes);
};

struct QueueUse {
  std::shared_ptr<DeviceQueue> queue;
  uint64_t position = 0;
};

class Device final : public MemorySource {
 public:
  // `owner` keeps alive what the functions of `api` refer to.
  Device(const dlcore_device_api& api, int index, uint64_t memory_limit,
         std::shared_ptr<void> owner);
  ~Device() override;

  const std::string& name() const { return name_; }
  int index() const { return index_; }
  bool host_memory() const { return (api_.flags & DLCORE_DEVICE_HOST_MEMORY) != 0; }
  bool asynchronous() const { return (api_.flags & DLCORE_DEVICE_ASYNC) != 0; }
  // The host may read and write its tensors' elements at any time.
  bool direct() const { return host_memory() && !asynchronous(); }
  const dlcore_device_api& api() const { return api_; }

  // The last record for op and dtype, or for op and any dtype; nullptr when there is none.
  const dlcore_kernel* kernel(int32_t op, Dtype dtype) const;
  // The record to try when that one does not accept the call.
  const dlcore_kernel* fallback(const dlcore_kernel* kernel) const;

  // On an asynchronous device that has no memory left, waits for blocks that queues are still
  // using.
  void* allocate_block(uint64_t bytes);
  // Gives a block back once every queue in `uses` has passed its position. Entries may be empty.
  void free_block(void* address, uint64_t bytes, std::vector<QueueUse> uses) noexcept;
  // Gives back what queues have passed; what an asynchronous device still uses counts as live.
  void collect_passed() noexcept;
  CachingAllocator& allocator() { return allocator_; }
  const CachingAllocator& allocator() const { return allocator_; }

  void* allocate(uint64_t bytes) override;                           // MemorySource
  void deallocate(void* address, uint64_t bytes) noexcept override;  // MemorySource

 private:
  struct Pending {
    void* address;
    uint64_t bytes;
    std::vector<QueueUse> uses;
  };
  void wait_and_collect();
  void give_back(std::vector<Pending>& blocks) noexcept;

  dlcore_device_api api_;
  std::string name_;
  int index_;
  std::shared_ptr<void> owner_;
  std::vector<const dlcore_kernel*> table_;    // [op][dtype]
  std::vector<const dlcore_kernel*> earlier_;  // by position in api_.kernels
  CachingAllocator allocator_;
  Mutex pending_lock_;
  std::vector<Pending> pending_;
};

// Throws what a status-returning function of a device reported.
void check_device(dlcore_status status, const dlcore_failure& failure, const char* what);
dlcore_failure empty_failure();
// Makes room for what a function of the device may report.
inline void clear(dlcore_failure& failure) {
  failure.struct_size = sizeof failure;
  failure.code = DLCORE_OK;
  failure.message[0] = '\0';
}

}  // namespace dlcore
