// SPDX-License-Identifier: Apache-2.0
// The owner of everything that costs something: devices, threads, slots of tensors.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/handle.h"
#include "core/base/mutex.h"
#include "core/base/thread_pool.h"
#include "core/device/device.h"
#include "core/engine/deferred.h"
#include "core/engine/log_ring.h"
#include "core/ops/registry.h"
#include "dlcore/engine.h"

namespace dlcore {

class CustomOps;
class Engine;

// The slots that the tensors of one context live in. A context leases it from a process-wide stock,
// and it goes back there when the context is closed and the last tensor released.
struct TensorPool : SlotPool {
  TensorPool();
  std::atomic<Engine*> orphan_of{nullptr};  // set once its context is closed while tensors live
  TensorPool* next = nullptr;               // in the stock
};

enum class Isa : int32_t { kBest = 0, kBaseline = 1, kAvx2 = 2, kAvx512 = 3, kAvx512Bf16 = 4 };

// Where the CPU device takes memory from, when the program gives it.
struct HostMemory {
  dlcore_allocate_fn allocate = nullptr;
  dlcore_deallocate_fn deallocate = nullptr;
  void* user_data = nullptr;
  void (*destroy)(void*) = nullptr;

  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() {
    if (destroy != nullptr) destroy(user_data);
  }
};

struct EngineOptions {
  int threads = 0;
  uint64_t memory_limit = 0;
  Isa isa = Isa::kBest;
  std::shared_ptr<const HostMemory> host_memory;  // nullptr for the system's
};

// Makes the CPU device's functions; given by the layer above, since the core knows no backend.
struct BuiltInDevice {
  dlcore_device_api api;
  std::shared_ptr<void> owner;
  Isa isa;  // that was chosen
};
using MakeCpuDevice = BuiltInDevice (*)(ThreadPool& pool, const EngineOptions& options);

// Work that an object of the engine does on threads of its own.
class Background {
 public:
  // The engine closes: ends the threads. May be called again.
  virtual void stop() noexcept = 0;

 protected:
  ~Background() = default;
};

class Engine : public Handle {
 public:
  static constexpr Tag kTag = Tag::kEngine;

  Engine(const EngineOptions& options, MakeCpuDevice make_cpu);
  ~Engine();

  // Stops the threads; execution is refused from here on.
  void shut_down();
  bool open() const { return open_.load(std::memory_order_acquire); }

  Device& cpu() { return *devices_[0]; }
  Device* find_device(std::string_view name);
  Device& device(std::string_view name);  // throws NOT_FOUND
  int64_t device_count();
  Device* device_at(int64_t index);  // nullptr for an index that is none
  void add_device(const dlcore_device_api& api, std::shared_ptr<void> owner);
  std::string device_names();

  TensorPool* lease_pool();
  void return_pool(TensorPool* pool) noexcept;
  // After a slot went back: ends the pool's orphanage when it was the last one.
  static void after_release(SlotPool* pool) {
    auto* tensors = static_cast<TensorPool*>(pool);
    if (tensors->orphan_of.load(std::memory_order_seq_cst) != nullptr) end_orphanage(tensors);
  }
  int64_t live_tensors();

  // Whoever has been added is stopped when the engine closes, unless it has been removed: then it
  // is not being stopped either. Answers false, and adds nothing, when the engine is closed
  // already.
  bool add_background(Background& work);
  void remove_background(Background& work);

  ThreadPool& threads() { return *threads_; }
  Isa isa() const { return isa_; }
  uint64_t memory_limit() const { return memory_limit_; }
  const OpTable& ops() const { return ops_; }
  CustomOps& custom_ops() { return *custom_ops_; }

  LogRing& log() { return log_; }
  Deferred& deferred() { return deferred_; }
  // Keeps something alive as long as the engine.
  void keep(std::shared_ptr<void> object);

  uint64_t next_capture_number() { return captures_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // Objects of each type that are alive, for the statistics.
  struct Live {
    std::atomic<int64_t> contexts{0}, variables{0}, modules{0}, optimizers{0}, loaders{0},
        graphs{0}, schedules{0};
  } live;

 private:
  static void end_orphanage(TensorPool* pool);

  std::atomic<bool> open_{true};
  LogRing log_;  // with what follows the last to go
  std::vector<std::shared_ptr<void>> kept_;
  std::atomic<uint64_t> captures_{0};
  OpTable ops_;
  std::unique_ptr<ThreadPool> threads_;
  uint64_t memory_limit_;
  Isa isa_;
  Mutex lock_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<TensorPool*> leased_, orphans_;
  std::unique_ptr<CustomOps> custom_ops_;
  Deferred deferred_;
  Mutex background_lock_;
  std::vector<Background*> background_;
};

// Counts one live object of an engine, which it keeps alive.
class Counted {
 public:
  Counted(Engine& engine, std::atomic<int64_t>& counter) : engine_(&engine), counter_(counter) {
    counter_.fetch_add(1, std::memory_order_relaxed);
  }
  ~Counted() { counter_.fetch_sub(1, std::memory_order_relaxed); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  Engine& engine() const { return *engine_; }

 private:
  Ref<Engine> engine_;
  std::atomic<int64_t>& counter_;
};

}  // namespace dlcore
