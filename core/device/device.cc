// SPDX-License-Identifier: Apache-2.0
#include "core/device/device.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>

#include "core/base/error.h"

namespace dlcore {
namespace {
constexpr int kTableOps = 1024;
}

dlcore_failure empty_failure() {
  dlcore_failure failure;
  clear(failure);
  return failure;
}

void check_device(dlcore_status status, const dlcore_failure& failure, const char* what) {
  if (status == DLCORE_OK) return;
  const size_t length = strnlen(failure.message, sizeof failure.message);
  const std::string_view message(failure.message, length);
  if (message.empty())
    fail(status, "{}: failed with {}", *what == '\0' ? "device" : what, dlcore_status_name(status));
  if (*what == '\0') fail(status, "{}", message);
  fail(status, "{}: {}", what, message);
}

DeviceQueue::DeviceQueue(Device& d) : device(d) {
  dlcore_failure failure = empty_failure();
  check_device(device.api().queue_open(device.api().self, &handle, &failure), failure,
               "opening a device queue");
}

DeviceQueue::~DeviceQueue() { device.api().queue_close(device.api().self, handle); }

uint64_t DeviceQueue::position() const {
  return device.api().queue_position(device.api().self, handle);
}

bool DeviceQueue::passed(uint64_t position) const {
  return device.api().queue_passed(device.api().self, handle, position) != 0;
}

void DeviceQueue::wait_for(const DeviceQueue& other, uint64_t position) {
  check_device(device.api().queue_wait(device.api().self, handle, other.handle, position),
               empty_failure(), "waiting for another queue");
}

void DeviceQueue::synchronize() {
  dlcore_failure failure = empty_failure();
  check_device(device.api().synchronize(device.api().self, handle, &failure), failure, "");
}

void DeviceQueue::copy_to_host(void* host, const void* from, uint64_t bytes) {
  dlcore_failure failure = empty_failure();
  check_device(device.api().copy_to_host(device.api().self, handle, host, from, bytes, &failure),
               failure, "");
}

void DeviceQueue::copy_from_host(void* to, const void* host, uint64_t bytes) {
  dlcore_failure failure = empty_failure();
  check_device(device.api().copy_from_host(device.api().self, handle, to, host, bytes, &failure),
               failure, "");
}

Device::Device(const dlcore_device_api& api, int index, uint64_t memory_limit,
               std::shared_ptr<void> owner)
    : api_(api),
      name_(api.name),
      index_(index),
      owner_(std::move(owner)),
      allocator_(*this, memory_limit) {
  table_.assign(static_cast<size_t>(kTableOps) * kDtypeCount, nullptr);
  earlier_.assign(static_cast<size_t>(api.n_kernels), nullptr);
  for (int64_t i = 0; i < api.n_kernels; ++i) {
    const dlcore_kernel& k = api.kernels[i];
    if (k.op < 0 || k.op >= kTableOps || k.dtype < 0 || k.dtype >= kDtypeCount ||
        k.launch == nullptr) {
      invalid("device '{}': kernel record {} is malformed: op {}, dtype {}", name_, i, k.op,
              k.dtype);
    }
    const dlcore_kernel*& slot = table_[static_cast<size_t>(k.op * kDtypeCount + k.dtype)];
    earlier_[static_cast<size_t>(i)] = slot;
    slot = &k;
  }
}

// Closing a queue waits for what it holds, and the blocks are the last that keep queues open.
Device::~Device() {
  for (Pending& block : pending_) block.uses.clear();
  give_back(pending_);
}

const dlcore_kernel* Device::kernel(int32_t op, Dtype dtype) const {
  if (op < 0 || op >= kTableOps) return nullptr;
  const dlcore_kernel* exact = table_[static_cast<size_t>(op * kDtypeCount + dtype)];
  return exact != nullptr ? exact : table_[static_cast<size_t>(op * kDtypeCount)];
}

const dlcore_kernel* Device::fallback(const dlcore_kernel* kernel) const {
  const dlcore_kernel* earlier = earlier_[static_cast<size_t>(kernel - api_.kernels)];
  if (earlier != nullptr || kernel->dtype == DLCORE_DTYPE_NONE) return earlier;
  return table_[static_cast<size_t>(kernel->op * kDtypeCount)];
}

void* Device::allocate_block(uint64_t bytes) {
  if (!asynchronous()) return allocator_.allocate(bytes);
  collect_passed();
  try {
    return allocator_.allocate(bytes);
  } catch (const AskedFailure&) {
    throw;
  } catch (const Error& error) {
    if (error.code != DLCORE_RESOURCE_EXHAUSTED) throw;
  }
  wait_and_collect();
  return allocator_.allocate(bytes);
}

void Device::free_block(void* address, uint64_t bytes, std::vector<QueueUse> uses) noexcept {
  const auto done = [](const QueueUse& use) {
    return !use.queue || use.queue->passed(use.position);
  };
  std::erase_if(uses, done);
  if (uses.empty()) {
    allocator_.deallocate(address, bytes);
    return;
  }
  try {
    std::lock_guard<Mutex> guard(pending_lock_);
    pending_.push_back({address, bytes, std::move(uses)});
  } catch (const std::bad_alloc&) {  // nowhere to note it: wait here
    while (!std::all_of(uses.begin(), uses.end(), done)) std::this_thread::yield();
    allocator_.deallocate(address, bytes);
  }
}

void Device::give_back(std::vector<Pending>& blocks) noexcept {
  for (const Pending& block : blocks) allocator_.deallocate(block.address, block.bytes);
  blocks.clear();
}

// Blocks leave the list under the lock, but give up their queues outside it: closing one may take
// long.
void Device::collect_passed() noexcept {
  std::vector<Pending> passed;
  try {
    std::lock_guard<Mutex> guard(pending_lock_);
    const auto first = std::partition(pending_.begin(), pending_.end(), [](const Pending& block) {
      return !std::all_of(block.uses.begin(), block.uses.end(),
                          [](const QueueUse& use) { return use.queue->passed(use.position); });
    });
    passed.assign(std::make_move_iterator(first), std::make_move_iterator(pending_.end()));
    pending_.erase(first, pending_.end());
  } catch (const std::bad_alloc&) {
    return;  // next time
  }
  give_back(passed);
}

// Waits by a queue of its own: the others are used by other threads.
void Device::wait_and_collect() {
  std::vector<QueueUse> uses;
  {
    std::lock_guard<Mutex> guard(pending_lock_);
    for (const Pending& block : pending_)
      uses.insert(uses.end(), block.uses.begin(), block.uses.end());
  }
  if (uses.empty()) return;
  DeviceQueue waiter(*this);
  for (const QueueUse& use : uses) waiter.wait_for(*use.queue, use.position);
  try {
    waiter.synchronize();
  } catch (const Error&) {
    // Taken over from one of the others, which reports it to the program that gave it its work.
  }
  collect_passed();
}

void* Device::allocate(uint64_t bytes) {
  void* address = nullptr;
  dlcore_failure failure = empty_failure();
  const dlcore_status status = api_.allocate(api_.self, bytes, &address, &failure);
  if (status != DLCORE_OK && status != DLCORE_RESOURCE_EXHAUSTED)
    check_device(status, failure, formatted("device '{}'", name_).c_str());
  if (status != DLCORE_OK || address == nullptr) {
    fail(DLCORE_RESOURCE_EXHAUSTED, "device '{}' cannot allocate {} bytes", name_, bytes);
  }
  return address;
}

void Device::deallocate(void* address, uint64_t bytes) noexcept {
  api_.deallocate(api_.self, address, bytes);
}

}  // namespace dlcore
