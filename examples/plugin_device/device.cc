// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "kernels/kernels.h"
#include "queue.h"

namespace host2 {
namespace {

Queue& queue_of(void* queue) { return *static_cast<Queue*>(queue); }
Memory& memory() { return Device::get().memory(); }

dlcore_status hand_out(dlcore_failure* failure, const std::optional<Failure>& late) {
  if (!late) return DLCORE_OK;
  describe(failure, late->code, late->message);
  return late->code;
}

dlcore_status allocate(void*, uint64_t bytes, void** address, dlcore_failure* failure) {
  const dlcore_status status = report(failure, [&] { *address = memory().allocate(bytes); });
  if (status != DLCORE_OK || *address != nullptr) return status;
  describe(failure, DLCORE_RESOURCE_EXHAUSTED, "host2 is full");
  return DLCORE_RESOURCE_EXHAUSTED;
}

void deallocate(void*, void* address, uint64_t bytes) { memory().deallocate(address, bytes); }

dlcore_status queue_open(void*, void** queue, dlcore_failure* failure) {
  return report(failure, [&] { *queue = new Queue; });
}

void queue_close(void*, void* queue) { delete static_cast<Queue*>(queue); }

dlcore_status copy_from_host(void*, void* queue, void* to, const void* host, uint64_t bytes,
                             dlcore_failure* failure) {
  return report(failure, [&] {
    std::byte* const target = memory().real(to, bytes);
    // The host may reuse its memory at once: little is kept aside, for much the caller waits.
    constexpr uint64_t kLittle = 64 << 10;
    if (bytes <= kLittle) {
      std::vector<std::byte> kept(bytes);
      std::memcpy(kept.data(), host, bytes);
      queue_of(queue).push([target, kept = std::move(kept)] {
        std::memcpy(target, kept.data(), kept.size());
        return std::nullopt;
      });
      return;
    }
    queue_of(queue).push([target, host, bytes] {
      std::memcpy(target, host, bytes);
      return std::nullopt;
    });
    queue_of(queue).drain();
  });
}

dlcore_status copy_to_host(void*, void* queue, void* host, const void* from, uint64_t bytes,
                           dlcore_failure* failure) {
  std::optional<Failure> late;
  const dlcore_status status = report(failure, [&] {
    const std::byte* const source = memory().real(from, bytes);
    late = queue_of(queue).synchronize();
    if (!late) std::memcpy(host, source, bytes);
  });
  return status == DLCORE_OK ? hand_out(failure, late) : status;
}

dlcore_status synchronize(void*, void* queue, dlcore_failure* failure) {
  std::optional<Failure> late;
  const dlcore_status status = report(failure, [&] { late = queue_of(queue).synchronize(); });
  return status == DLCORE_OK ? hand_out(failure, late) : status;
}

uint64_t queue_position(void*, void* queue) { return queue_of(queue).position(); }

dlcore_status queue_wait(void*, void* queue, void* other, uint64_t position) {
  return report(nullptr, [&] { queue_of(queue).wait_for(queue_of(other), position); });
}

int32_t queue_passed(void*, void* queue, uint64_t position) {
  return queue_of(queue).passed(position) ? 1 : 0;
}

Kernels all_kernels() {
  Kernels kernels;
  add_elementwise(kernels);
  add_compare(kernels);
  add_convert(kernels);
  add_reduce(kernels);
  add_softmax(kernels);
  add_loss(kernels);
  add_matrix(kernels);
  add_movement(kernels);
  add_create(kernels);
  add_optimizer(kernels);
  return kernels;
}

}  // namespace

void describe(dlcore_failure* failure, dlcore_status code, const std::string& message) {
  if (failure == nullptr) return;
  failure->code = code;
  const size_t length = std::min(message.size(), sizeof failure->message - 1);
  std::memcpy(failure->message, message.data(), length);
  failure->message[length] = '\0';
}

Device& Device::get() {
  static Device* const device = new Device;  // never destroyed: engines may outlive static objects
  return *device;
}

void Device::learn_ops(const dlcore_host_api& host) {
  static std::mutex lock;
  const std::lock_guard guard(lock);
  if (!kernels_.empty()) return;
  std::map<int32_t, std::string> names;
  std::vector<dlcore_kernel> kernels;
  for (const Kernel& k : all_kernels()) {
    const int32_t number = host.op_number(host.host, k.op);
    if (number < 0) continue;  // an engine without this op
    names[number] = k.op;
    kernels.push_back({number, k.dtype, k.flags, 0, k.launch, k.accepts, k.workspace});
  }
  names_ = std::move(names);
  kernels_ = std::move(kernels);
}

dlcore_device_api Device::api() {
  dlcore_device_api api;
  std::memset(&api, 0, sizeof api);
  api.struct_size = sizeof api;
  api.flags = DLCORE_DEVICE_ASYNC;
  api.name = "host2";
  api.description = "this processor, behind queues and with memory that programs cannot address";
  api.self = this;
  api.allocate = allocate;
  api.deallocate = deallocate;
  api.queue_open = queue_open;
  api.queue_close = queue_close;
  api.copy_from_host = copy_from_host;
  api.copy_to_host = copy_to_host;
  api.synchronize = synchronize;
  api.queue_position = queue_position;
  api.queue_wait = queue_wait;
  api.queue_passed = queue_passed;
  api.kernels = kernels_.data();
  api.n_kernels = static_cast<int64_t>(kernels_.size());
  return api;
}

}  // namespace host2
