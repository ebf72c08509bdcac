// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/storage.h"

namespace dlcore {

Storage::Storage(Device& device, void* data, uint64_t bytes) : device_(device), data_(data), bytes_(bytes) {
  if (device.asynchronous()) uses_ = std::make_unique<Uses>();
}

Storage* Storage::allocate(Device& device, uint64_t bytes) {
  void* data = device.allocate_block(bytes);
  try {
    return new Storage(device, data, bytes);
  } catch (...) {
    device.allocator().deallocate(data, bytes);
    throw;
  }
}

Storage::~Storage() {
  if (!uses_) {
    device_.allocator().deallocate(data_, bytes_);
    return;
  }
  std::vector<QueueUse> uses = std::move(uses_->reads);
  if (uses_->write.queue) uses.push_back(uses_->write);
  device_.free_block(data_, bytes_, std::move(uses));
}

void Storage::before_read(DeviceQueue& queue) {
  if (!uses_) return;
  std::lock_guard<std::mutex> guard(uses_->lock);
  const QueueUse& write = uses_->write;
  if (write.queue && write.queue.get() != &queue) queue.wait_for(*write.queue, write.position);
}

void Storage::before_write(DeviceQueue& queue) {
  if (!uses_) return;
  before_read(queue);
  std::lock_guard<std::mutex> guard(uses_->lock);
  for (const QueueUse& read : uses_->reads) {
    if (read.queue.get() != &queue) queue.wait_for(*read.queue, read.position);
  }
}

void Storage::after_read(const std::shared_ptr<DeviceQueue>& queue) {
  if (!uses_) return;
  std::lock_guard<std::mutex> guard(uses_->lock);
  for (QueueUse& read : uses_->reads) {
    if (read.queue == queue) {
      read.position = queue->position();
      return;
    }
  }
  uses_->reads.push_back({queue, queue->position()});
}

void Storage::after_write(const std::shared_ptr<DeviceQueue>& queue) {
  if (!uses_) return;
  std::lock_guard<std::mutex> guard(uses_->lock);
  uses_->write = {queue, queue->position()};
  uses_->reads.clear();
}

}  // namespace dlcore
