// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/ops/custom.h"
#include "core/tensor/tensor.h"

namespace dlcore {
namespace {

// Pools that no engine uses now. They are never destroyed, so that old handles can be recognised.
struct PoolStock {
  Mutex lock;
  TensorPool* first = nullptr;
};
constinit PoolStock pool_stock;

}  // namespace

TensorPool::TensorPool() : SlotPool(sizeof(Tensor)) {}

Engine::Engine(const EngineOptions& options, MakeCpuDevice make_cpu)
    : memory_limit_(options.memory_limit) {
  const int threads = options.threads > 0 ? options.threads : ThreadPool::available_processors();
  threads_ = std::make_unique<ThreadPool>(threads);
  BuiltInDevice cpu = make_cpu(*threads_, options);
  isa_ = cpu.isa;
  devices_.push_back(std::make_unique<Device>(cpu.api, 0, memory_limit_, std::move(cpu.owner)));
  custom_ops_ = std::make_unique<CustomOps>();
}

Engine::~Engine() = default;

void Engine::shut_down() {
  if (!open_.exchange(false)) return;
  {
    std::lock_guard<Mutex> guard(background_lock_);
    for (Background* work : background_) work->stop();
  }
  threads_->stop();
  log_.close();
}

void Engine::keep(std::shared_ptr<void> object) {
  std::lock_guard<Mutex> guard(lock_);
  kept_.push_back(std::move(object));
}

bool Engine::add_background(Background& work) {
  std::lock_guard<Mutex> guard(background_lock_);
  if (!open()) return false;
  background_.push_back(&work);
  return true;
}

void Engine::remove_background(Background& work) {
  std::lock_guard<Mutex> guard(background_lock_);
  std::erase(background_, &work);
}

Device* Engine::find_device(std::string_view name) {
  std::lock_guard<Mutex> guard(lock_);
  for (auto& d : devices_) {
    if (d->name() == name) return d.get();
  }
  return nullptr;
}

Device& Engine::device(std::string_view name) {
  Device* found = find_device(name);
  if (found == nullptr)
    fail(DLCORE_NOT_FOUND, "no device '{}'; this engine has {}", name, device_names());
  return *found;
}

int64_t Engine::device_count() {
  std::lock_guard<Mutex> guard(lock_);
  return static_cast<int64_t>(devices_.size());
}

Device* Engine::device_at(int64_t index) {
  std::lock_guard<Mutex> guard(lock_);
  return index >= 0 && index < static_cast<int64_t>(devices_.size())
             ? devices_[static_cast<size_t>(index)].get()
             : nullptr;
}

std::string Engine::device_names() {
  std::string names;
  for (int64_t i = 0; i < device_count(); ++i) names += (i == 0 ? "" : ", ") + device_at(i)->name();
  return names;
}

void Engine::add_device(const dlcore_device_api& api, std::shared_ptr<void> owner) {
  if (find_device(api.name) != nullptr)
    fail(DLCORE_ALREADY_EXISTS, "device '{}' exists already", api.name);
  std::lock_guard<Mutex> guard(lock_);
  const int index = static_cast<int>(devices_.size());
  devices_.push_back(std::make_unique<Device>(api, index, memory_limit_, std::move(owner)));
}

TensorPool* Engine::lease_pool() {
  std::lock_guard<Mutex> guard(lock_);
  // Giving it back must not fail: there is room for all of them on either list.
  const size_t pools = leased_.size() + orphans_.size() + 1;
  for (auto* list : {&leased_, &orphans_}) {
    if (list->capacity() < pools) list->reserve(std::max<size_t>(8, 2 * pools));
  }
  TensorPool* pool = nullptr;
  {
    std::lock_guard<Mutex> stock(pool_stock.lock);
    pool = pool_stock.first;
    if (pool != nullptr) pool_stock.first = pool->next;
  }
  if (pool == nullptr) pool = new TensorPool;
  leased_.push_back(pool);
  return pool;
}

void Engine::return_pool(TensorPool* pool) noexcept {
  {
    std::lock_guard<Mutex> guard(lock_);
    std::erase(leased_, pool);
    orphans_.push_back(pool);
  }
  retain();  // the pool's tensors keep the engine
  pool->orphan_of.store(this, std::memory_order_seq_cst);
  end_orphanage(pool);
}

void Engine::end_orphanage(TensorPool* pool) {
  if (pool->live() != 0) return;
  Engine* engine = pool->orphan_of.exchange(nullptr, std::memory_order_seq_cst);
  if (engine == nullptr) return;  // somebody else saw it empty, too
  {
    std::lock_guard<Mutex> guard(engine->lock_);
    std::erase(engine->orphans_, pool);
  }
  {
    std::lock_guard<Mutex> guard(pool_stock.lock);
    pool->next = pool_stock.first;
    pool_stock.first = pool;
  }
  Ref<Engine>::adopt(engine);
}

int64_t Engine::live_tensors() {
  std::lock_guard<Mutex> guard(lock_);
  int64_t n = 0;
  for (TensorPool* pool : leased_) n += pool->live();
  for (TensorPool* pool : orphans_) n += pool->live();
  return n;
}

}  // namespace dlcore
