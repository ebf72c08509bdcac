// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu_device.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/create/create.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "backends/cpu/indexing/indexing.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/matmul/matmul.h"
#include "backends/cpu/matmul/provider.h"
#include "backends/cpu/movement/movement.h"
#include "backends/cpu/norm/norm.h"
#include "backends/cpu/optimizer/optimizer.h"
#include "backends/cpu/pooling/pooling.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/reduce/reduce.h"
#include "core/base/error.h"

namespace dlcore::cpu {
namespace {

constexpr KernelFile kKernelFiles[] = {
    binary_kernels,
    compare_kernels,
    unary_kernels,
    math_kernels,
    select_kernels,
    integer_kernels,
    copy_kernels,
    astype_kernels,
    float_reduce_kernels,
    logsumexp_kernels,
    integer_reduce_kernels,
    arg_reduce_kernels,
    cumsum_kernels,
    softmax_kernels,
    softmax_backward_kernels,
    layer_norm_kernels,
    layer_norm_backward_kernels,
    batch_norm_kernels,
    batch_norm_backward_kernels,
    cross_entropy_kernels,
    update_kernels,
    global_norm_kernels,
    matmul_kernels,
    integer_matmul_kernels,
    correlate_kernels,
    weight_gradient_kernels,
    concat_kernels,
    place_kernels,
    one_hot_kernels,
    take_kernels,
    take_along_axis_kernels,
    scatter_kernels,
    max_pool_kernels,
    max_pool_backward_kernels,
    avg_pool_kernels,
    fill_kernels,
    random_float_kernels,
    random_discrete_kernels,
};

// What the functions of the device work on.
struct CpuDevice {
  ThreadPool* pool;
  bool own_matmul_only;
  bool bf16_pairs;
  std::vector<dlcore_kernel> kernels;
  std::shared_ptr<const HostMemory> memory;  // nullptr for the system's
};

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kLargeBlock = 2 * kHugePage;

// Kernels for any instruction set first, then those of the one in use, which are preferred.
std::vector<dlcore_kernel> kernels_for(int64_t target) {
  std::vector<dlcore_kernel> kernels;
  for (int64_t wanted : {int64_t{0}, target}) {
    for (KernelFile file : kKernelFiles) {
      for (const TargetKernels& table : file()) {
        if (table.target == wanted)
          kernels.insert(kernels.end(), table.kernels.begin(), table.kernels.end());
      }
    }
  }
  return kernels;
}

dlcore_status allocate_from(const HostMemory& memory, uint64_t bytes, void** address,
                            dlcore_failure* failure) {
  void* const given = memory.allocate(memory.user_data, bytes, kAlignment);
  if (given == nullptr) return DLCORE_RESOURCE_EXHAUSTED;
  if (reinterpret_cast<uintptr_t>(given) % kAlignment == 0) {
    *address = given;
    return DLCORE_OK;
  }
  memory.deallocate(memory.user_data, given, bytes);
  std::snprintf(failure->message, sizeof failure->message,
                "the program's allocator returned address %p, expected a multiple of %d", given,
                static_cast<int>(kAlignment));
  return DLCORE_FAILED_PRECONDITION;
}

// On pages of 2 MiB where there are: a stream through many small ones waits for their addresses.
void* large_block(uint64_t bytes) {
  void* block = nullptr;
  if (posix_memalign(&block, kHugePage, bytes) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return block;
}

dlcore_status allocate(void* self, uint64_t bytes, void** address, dlcore_failure* failure) {
  if (bytes > UINT64_MAX - kAlignment) return DLCORE_RESOURCE_EXHAUSTED;
  const uint64_t padded =
      bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const HostMemory* const memory = static_cast<CpuDevice*>(self)->memory.get();
  if (memory != nullptr) return allocate_from(*memory, padded, address, failure);
  *address = padded < kLargeBlock ? std::aligned_alloc(kAlignment, padded) : large_block(padded);
  return *address != nullptr ? DLCORE_OK : DLCORE_RESOURCE_EXHAUSTED;
}

void deallocate(void* self, void* address, uint64_t bytes) {
  const HostMemory* const memory = static_cast<CpuDevice*>(self)->memory.get();
  if (memory == nullptr) return std::free(address);
  memory->deallocate(memory->user_data, address, bytes);
}

dlcore_status queue_open(void* self, void** queue, dlcore_failure*) {
  auto* device = static_cast<CpuDevice*>(self);
  auto* made = new (std::nothrow) Queue;
  if (made == nullptr) return DLCORE_RESOURCE_EXHAUSTED;
  made->pool = device->pool;
  made->own_matmul_only = device->own_matmul_only;
  made->bf16_pairs = device->bf16_pairs;
  *queue = made;
  return DLCORE_OK;
}

void queue_close(void*, void* queue) { delete static_cast<Queue*>(queue); }

dlcore_status copy_from_host(void*, void*, void* to, const void* host, uint64_t bytes,
                             dlcore_failure*) {
  if (bytes > 0) std::memcpy(to, host, bytes);
  return DLCORE_OK;
}

dlcore_status copy_to_host(void*, void*, void* host, const void* from, uint64_t bytes,
                           dlcore_failure*) {
  if (bytes > 0) std::memcpy(host, from, bytes);
  return DLCORE_OK;
}

dlcore_status synchronize(void*, void*, dlcore_failure*) { return DLCORE_OK; }
uint64_t queue_position(void*, void*) { return 0; }
dlcore_status queue_wait(void*, void*, void*, uint64_t) { return DLCORE_OK; }
int32_t queue_passed(void*, void*, uint64_t) { return 1; }

void queue_set_stop(void*, void* queue, const int32_t* stop) {
  static_cast<Queue*>(queue)->stop = reinterpret_cast<const std::atomic<int32_t>*>(stop);
}

void queue_set_deadline(void*, void* queue, int64_t deadline) {
  static_cast<Queue*>(queue)->deadline = deadline;
}

}  // namespace

BuiltInDevice make_device(ThreadPool& pool, const EngineOptions& options) {
  const Isa isa = choose_isa(options.isa);
  auto device = std::make_shared<CpuDevice>();
  device->pool = &pool;
  device->memory = options.host_memory;
  device->own_matmul_only = options.isa != Isa::kBest;
  device->bf16_pairs = isa == Isa::kAvx512Bf16;
  device->kernels = kernels_for(target_of(isa));
  use_blas_from_many_threads();

  dlcore_device_api api;
  std::memset(&api, 0, sizeof api);
  api.struct_size = sizeof api;
  api.flags = DLCORE_DEVICE_HOST_MEMORY;
  api.name = "cpu";
  api.description = "the host's processor";
  api.self = device.get();
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
  api.queue_set_stop = queue_set_stop;
  api.queue_set_deadline = queue_set_deadline;
  api.kernels = device->kernels.data();
  api.n_kernels = static_cast<int64_t>(device->kernels.size());
  return {api, std::move(device), isa};
}

}  // namespace dlcore::cpu
