// SPDX-License-Identifier: Apache-2.0
// A block of a device's memory, shared by the tensors that see it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/mutex.h"
#include "core/device/device.h"

namespace dlcore {

class Storage {
 public:
  static Storage* allocate(Device& device, uint64_t bytes);
  // Memory of another library, which is only read: `release` gives it back at the end.
  static Storage* borrow(Device& device, void* data, uint64_t bytes, std::function<void()> release);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // Nobody else sees the memory: it may be written to.
  bool unique() const { return references_.load(std::memory_order_acquire) == 1 && !give_back_; }

  Device& device() const { return device_; }
  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

  // Ordering between queues of an asynchronous device; nothing to do on the others. Work that only
  // reads and is waited for needs no more than wait_for_write. Each before_ is followed by its
  // after_, also when the work could not be put into the queue; that part cannot fail, since a use
  // nobody knows of would let the memory go too early.
  void wait_for_write(DeviceQueue& queue);
  void before_read(const std::shared_ptr<DeviceQueue>& queue);
  void before_write(DeviceQueue& queue);
  void after_read(const DeviceQueue& queue) noexcept;
  void after_write(const std::shared_ptr<DeviceQueue>& queue) noexcept;

 private:
  struct Uses {
    Mutex lock;
    // First the last write, without a queue when there was none; then reads since, one for each
    // queue, at position 0 while they are being put there.
    std::vector<QueueUse> all = std::vector<QueueUse>(1);
  };
  Storage(Device& device, void* data, uint64_t bytes);

  std::atomic<uint32_t> references_{1};
  Device& device_;
  void* data_;
  uint64_t bytes_;
  std::unique_ptr<Uses> uses_;       // of asynchronous devices only
  std::function<void()> give_back_;  // of borrowed memory only
};

}  // namespace dlcore
