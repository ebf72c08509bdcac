// SPDX-License-Identifier: Apache-2.0
#include "core/device/device.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace dlcore {
namespace {
constexpr int kTableOps = 1024;
}

dlcore_failure empty_failure() {
  dlcore_failure failure;
  std::memset(&failure, 0, sizeof failure);
  failure.struct_size = sizeof failure;
  return failure;
}

void check_device(dlcore_status status, const dlcore_failure& failure, const char* what) {
  if (status == DLCORE_OK) return;
  const size_t length = strnlen(failure.message, sizeof failure.message);
  const std::string_view message(failure.message, length);
  if (message.empty()) fail(status, "{} failed with {}", what, dlcore_status_name(status));
  if (*what == '\0') fail(status, "{}", message);
  fail(status, "{}: {}", what, message);
}

DeviceQueue::DeviceQueue(Device& d) : device(d) {
  dlcore_failure failure = empty_failure();
  check_device(device.api().queue_open(device.api().self, &handle, &failure), failure, "opening a device queue");
}

DeviceQueue::~DeviceQueue() { device.api().queue_close(device.api().self, handle); }

uint64_t DeviceQueue::position() const { return device.api().queue_position(device.api().self, handle); }

bool DeviceQueue::passed(uint64_t position) const {
  return device.api().queue_passed(device.api().self, handle, position) != 0;
}

void DeviceQueue::wait_for(const DeviceQueue& other, uint64_t position) {
  check_device(device.api().queue_wait(device.api().self, handle, other.handle, position), empty_failure(),
               "waiting for another queue");
}

void DeviceQueue::synchronize() {
  dlcore_failure failure = empty_failure();
  check_device(device.api().synchronize(device.api().self, handle, &failure), failure, "");
}

void DeviceQueue::copy_to_host(void* host, const void* from, uint64_t bytes) {
  dlcore_failure failure = empty_failure();
  check_device(device.api().copy_to_host(device.api().self, handle, host, from, bytes, &failure), failure, "");
}

void DeviceQueue::copy_from_host(void* to, const void* host, uint64_t bytes) {
  dlcore_failure failure = empty_failure();
  check_device(device.api().copy_from_host(device.api().self, handle, to, host, bytes, &failure), failure, "");
}

Device::Device(const dlcore_device_api& api, int index, uint64_t memory_limit, std::shared_ptr<void> owner)
    : api_(api), name_(api.name), index_(index), owner_(std::move(owner)), allocator_(*this, memory_limit) {
  table_.assign(static_cast<size_t>(kTableOps) * kDtypeCount, nullptr);
  earlier_.assign(static_cast<size_t>(api.n_kernels), nullptr);
  for (int64_t i = 0; i < api.n_kernels; ++i) {
    const dlcore_kernel& k = api.kernels[i];
    if (k.op < 0 || k.op >= kTableOps || k.dtype < 0 || k.dtype >= kDtypeCount || k.launch == nullptr) {
      invalid("device '{}': kernel record {} is malformed: op {}, dtype {}", name_, i, k.op, k.dtype);
    }
    const dlcore_kernel*& slot = table_[static_cast<size_t>(k.op * kDtypeCount + k.dtype)];
    earlier_[static_cast<size_t>(i)] = slot;
    slot = &k;
  }
}

Device::~Device() { collect(/*wait=*/true); }

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
  collect(/*wait=*/false);
  try {
    return allocator_.allocate(bytes);
  } catch (const Error&) {
    collect(/*wait=*/true);
  }
  return allocator_.allocate(bytes);
}

void Device::free_block(void* address, uint64_t bytes, std::vector<QueueUse> uses) noexcept {
  std::erase_if(uses, [](const QueueUse& use) { return use.queue->passed(use.position); });
  if (uses.empty()) {
    allocator_.deallocate(address, bytes);
    return;
  }
  std::lock_guard<std::mutex> guard(pending_lock_);
  pending_.push_back({address, bytes, std::move(uses)});
}

void Device::collect(bool wait) {
  std::vector<Pending> waiting;
  {
    std::lock_guard<std::mutex> guard(pending_lock_);
    waiting.swap(pending_);
  }
  std::vector<Pending> still;
  for (Pending& block : waiting) {
    const bool passed = std::all_of(block.uses.begin(), block.uses.end(), [wait](const QueueUse& use) {
      while (wait && !use.queue->passed(use.position)) {
      }
      return use.queue->passed(use.position);
    });
    if (passed) {
      allocator_.deallocate(block.address, block.bytes);
    } else {
      still.push_back(std::move(block));
    }
  }
  std::lock_guard<std::mutex> guard(pending_lock_);
  for (Pending& block : still) pending_.push_back(std::move(block));
}

void* Device::allocate(uint64_t bytes) {
  void* address = nullptr;
  dlcore_failure failure = empty_failure();
  const dlcore_status status = api_.allocate(api_.self, bytes, &address, &failure);
  if (status != DLCORE_OK || address == nullptr) {
    fail(DLCORE_RESOURCE_EXHAUSTED, "device '{}' cannot allocate {} bytes", name_, bytes);
  }
  return address;
}

void Device::deallocate(void* address, uint64_t bytes) noexcept { api_.deallocate(api_.self, address, bytes); }

}  // namespace dlcore
