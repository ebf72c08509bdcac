// SPDX-License-Identifier: Apache-2.0
#include "core/engine/context.h"

#include <algorithm>
#include <cstring>

#include "core/graph/capture.h"
#include "core/tensor/variable.h"
#include "dlcore/context.h"

namespace dlcore {
namespace {
// Objects change owners rarely, and from any thread.
constinit Mutex ownership_lock;
}  // namespace

Context::Context(Ref<Engine> engine, Device& device, uint64_t seed, uint64_t flags)
    : engine_(std::move(engine)),
      device_(&device),
      seed_(seed),
      flags_(flags),
      out_of_memory_(std::make_shared<Error>(DLCORE_RESOURCE_EXHAUSTED, "out of memory")),
      counted_(*engine_, engine_->live.contexts) {
  if ((flags & DLCORE_CONTEXT_INFERENCE) != 0) recording = training = false;
  tensor_pool_ = engine_->lease_pool();
  try {
    if (!manual()) {
      root_ = make_ref<Scope>(this, nullptr);
      innermost_ = root_.get();
    }
    queue(device);
  } catch (...) {
    engine_->return_pool(tensor_pool_);
    throw;
  }
}

Context::~Context() {
  capture.reset();
  while (innermost_ != nullptr && innermost_ != root_.get()) close_scope(*innermost_);
  root_ = nullptr;
  levels.clear();
  std::vector<ObjectHandle*> owned;
  {
    std::lock_guard<Mutex> guard(ownership_lock);
    owned.swap(owned_);
    for (ObjectHandle* object : owned) object->owner = nullptr;
  }
  for (auto it = owned.rbegin(); it != owned.rend(); ++it) {
    if ((*it)->program_release() == Released::kLast) destroy(*it);
  }
  generator_ = nullptr;
  queues_.clear();
  engine_->return_pool(tensor_pool_);
}

bool Context::manual() const { return (flags_ & DLCORE_CONTEXT_MANUAL) != 0; }

const std::shared_ptr<DeviceQueue>& Context::queue(Device& device) {
  const auto index = static_cast<size_t>(device.index());
  if (queues_.size() <= index) queues_.resize(index + 1);
  auto& queue = queues_[index];
  if (!queue) {
    queue = std::make_shared<DeviceQueue>(device);
    tell_queue(*queue);
  }
  return queue;
}

// What kernels that run on it have to stop for.
void Context::tell_queue(DeviceQueue& queue) {
  const dlcore_device_api& api = queue.device.api();
  // An asynchronous device would look at it later, perhaps when this context is gone.
  if (queue.device.asynchronous()) return;
  static_assert(std::atomic<int32_t>::is_always_lock_free &&
                sizeof(std::atomic<int32_t>) == sizeof(int32_t));
  static constexpr int32_t kNever = 0;
  if (api.queue_set_stop != nullptr) {
    api.queue_set_stop(api.self, queue.handle,
                       unstoppable_ ? &kNever : reinterpret_cast<const int32_t*>(stop_));
  }
  if (api.queue_set_deadline != nullptr) {
    const std::chrono::nanoseconds at = deadline_.time_since_epoch();
    api.queue_set_deadline(api.self, queue.handle,
                           has_deadline_ && !unstoppable_ ? at.count() : INT64_MAX);
  }
}

void Context::tell_queues() {
  for (const auto& queue : queues_) {
    if (queue) tell_queue(*queue);
  }
}

void Context::set_unstoppable(bool on) {
  if (std::exchange(unstoppable_, on) != on) tell_queues();
}

void Context::synchronize() {
  std::exception_ptr first;
  for (const auto& queue : queues_) {
    try {
      if (queue) queue->synchronize();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void Context::keep_error(std::shared_ptr<const Error> error) {
  if (error_ == nullptr) error_ = std::move(error);
}

void Context::keep_current_exception() {
  if (error_ != nullptr) return;
  try {
    try {
      throw;
    } catch (const Error& e) {
      error_ = std::make_shared<Error>(e);
    } catch (const std::bad_alloc&) {
      error_ = out_of_memory_;
    } catch (const std::length_error& e) {
      error_ = std::make_shared<Error>(DLCORE_RESOURCE_EXHAUSTED, e.what());
    } catch (const std::exception& e) {
      error_ = std::make_shared<Error>(DLCORE_INTERNAL, e.what());
    } catch (...) {
      error_ = std::make_shared<Error>(DLCORE_UNKNOWN, "an exception of unknown type");
    }
  } catch (...) {  // keeping the error needed memory, and there was none
    error_ = out_of_memory_;
  }
}

void Context::set_deadline(int64_t milliseconds) {
  has_deadline_ = milliseconds >= 0;
  if (has_deadline_) {
    constexpr int64_t kLongest = int64_t{1000} * 86400 * 365 * 100;
    deadline_ = std::chrono::steady_clock::now() +
                std::chrono::milliseconds(std::min(milliseconds, kLongest));
  }
  tell_queues();
}

void Context::check_stop_slow() {
  if (unstoppable_) return;
  if (stop_->load(std::memory_order_relaxed) == 1) {
    stop_->store(0, std::memory_order_relaxed);
    fail(DLCORE_CANCELLED, "cancelled");
  }
  if (has_deadline_ && std::chrono::steady_clock::now() >= deadline_) {
    has_deadline_ = false;
    tell_queues();
    fail(DLCORE_DEADLINE_EXCEEDED, "the deadline has passed");
  }
}

void Context::take_notices_slow() {
  try {
    if (intruded_.exchange(false, std::memory_order_relaxed)) {
      fail(DLCORE_FAILED_PRECONDITION, "the context was used by two threads at the same time");
    }
    check_stop_slow();
  } catch (...) {
    keep_current_exception();
  }
}

void Context::set_seed(uint64_t seed) {
  const int64_t state[3] = {static_cast<int64_t>(seed), 0, 0};
  const int64_t shape[1] = {3};
  TensorRef value = new_tensor(*this, engine_->cpu(), DLCORE_I64, shape);
  std::memcpy(value->data, state, sizeof state);
  if (!generator_) {
    generator_ = make_ref<Variable>(*engine_, "generator", std::move(value), /*trainable=*/false);
  } else {
    generator_->assign(*this, *value);
  }
  seed_ = seed;
}

Variable& Context::generator() {
  if (!generator_) set_seed(seed_);
  return *generator_;
}

void Context::inherit(Context& parent) {
  runs = parent.runs;
  recording = parent.recording;
  training = parent.training;
  recording_below = parent.recording_below;
  levels = parent.levels;
  inherited_levels = depth();
  generator_ = Ref<Variable>(&parent.generator());
  stop_ = parent.stop_;
  has_deadline_ = parent.has_deadline_;
  deadline_ = parent.deadline_;
  unstoppable_ = parent.unstoppable_;
  tell_queues();
}

Tensor* Context::give(TensorRef tensor) {
  if (!manual()) {
    if (tensor->scope != nullptr || tensor->held_by_program()) {
      // A handle is owned by one scope; what is already the program's is given as another handle.
      TensorRef again = new_alias(*this, *tensor);
      if (tensor->has_history()) attach_history(*again, tensor->extra->node, tensor->extra->output);
      tensor = std::move(again);
    }
    innermost_->own(tensor.get());
  }
  Tensor* raw = tensor.leak();
  raw->give_to_program();
  return raw;
}

void Context::reserve_object() {
  if (manual()) return;
  std::lock_guard<Mutex> guard(ownership_lock);
  if (owned_.size() == owned_.capacity()) owned_.reserve(std::max<size_t>(16, 2 * owned_.size()));
}

void Context::own_object(ObjectHandle* object) {
  std::lock_guard<Mutex> guard(ownership_lock);
  owned_.push_back(object);
  object->owner = this;
}

void Context::disown_object(ObjectHandle* object) {
  std::lock_guard<Mutex> guard(ownership_lock);
  if (object->owner == nullptr) return;
  std::erase(object->owner->owned_, object);
  object->owner = nullptr;
}

Scope* Context::open_scope() {
  if (manual()) fail(DLCORE_FAILED_PRECONDITION, "scope_open: a manual context has no scopes");
  auto scope = make_ref<Scope>(this, innermost_);
  Scope* raw = scope.leak();
  raw->give_to_program();
  innermost_->child = raw;
  innermost_ = raw;
  return raw;
}

void Context::reset_scope(Scope& scope) {
  while (innermost_ != &scope) close_scope(*innermost_);
  scope.clear();
}

void Context::close_scope(Scope& scope) {
  reset_scope(scope);
  innermost_ = scope.parent;
  innermost_->child = nullptr;
  if (scope.program_release() == Released::kLast) destroy(&scope);
}

void Context::keep_in_parent(Tensor& tensor) {
  Scope* scope = tensor.scope;
  if (scope == nullptr || scope->parent == nullptr || scope->context != this) return;
  Scope* parent = scope->parent;
  Scope::disown(&tensor);
  parent->own(&tensor);
}

}  // namespace dlcore
