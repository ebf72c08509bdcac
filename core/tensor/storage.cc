// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/storage.h"

#include <algorithm>
#include <iterator>

namespace dlcore {

Storage::Storage(Device& device, void* data, uint64_t bytes)
    : device_(device), data_(data), bytes_(bytes) {
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

Storage* Storage::borrow(Device& device, void* data, uint64_t bytes,
                         std::function<void()> release) {
  auto* storage = new Storage(device, data, bytes);
  storage->give_back_ = std::move(release);
  return storage;
}

Storage::~Storage() {
  if (give_back_) {
    give_back_();
  } else if (uses_) {
    device_.free_block(data_, bytes_, std::move(uses_->all));
  } else {
    device_.allocator().deallocate(data_, bytes_);
  }
}

void Storage::wait_for_write(DeviceQueue& queue) {
  if (!uses_) return;
  std::lock_guard<Mutex> guard(uses_->lock);
  const QueueUse& write = uses_->all[0];
  if (write.queue && write.queue.get() != &queue) queue.wait_for(*write.queue, write.position);
}

void Storage::before_read(const std::shared_ptr<DeviceQueue>& queue) {
  if (!uses_) return;
  wait_for_write(*queue);
  std::vector<QueueUse> over;  // closing their queues may take long: not under the lock
  std::lock_guard<Mutex> guard(uses_->lock);
  std::vector<QueueUse>& all = uses_->all;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].queue != queue) continue;
    all[i].position = 0;
    return;
  }
  // Readers come and go; those that are done are forgotten.
  const auto done = std::partition(all.begin() + 1, all.end(), [](const QueueUse& use) {
    return use.position == 0 || !use.queue->passed(use.position);
  });
  over.assign(std::make_move_iterator(done), std::make_move_iterator(all.end()));
  all.erase(done, all.end());
  all.push_back({queue, 0});
}

void Storage::before_write(DeviceQueue& queue) {
  if (!uses_) return;
  std::lock_guard<Mutex> guard(uses_->lock);
  for (const QueueUse& use : uses_->all) {
    if (use.queue && use.queue.get() != &queue) queue.wait_for(*use.queue, use.position);
  }
}

void Storage::after_read(const DeviceQueue& queue) noexcept {
  if (!uses_) return;
  std::lock_guard<Mutex> guard(uses_->lock);
  for (size_t i = 1; i < uses_->all.size(); ++i) {
    if (uses_->all[i].queue.get() == &queue) uses_->all[i].position = queue.position();
  }
}

void Storage::after_write(const std::shared_ptr<DeviceQueue>& queue) noexcept {
  if (!uses_) return;
  std::lock_guard<Mutex> guard(uses_->lock);
  uses_->all.erase(uses_->all.begin() + 1, uses_->all.end());
  uses_->all[0] = {queue, queue->position()};
}

}  // namespace dlcore
