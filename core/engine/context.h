// SPDX-License-Identifier: Apache-2.0
// The execution state of one thread of work.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/engine/engine.h"
#include "core/engine/scope.h"
#include "core/engine/transform.h"
#include "core/tensor/tensor.h"

namespace dlcore {

class Capture;
class Variable;

class Context : public Handle {
  static constexpr uint32_t kBusy = 1, kClosing = 2;

 public:
  static constexpr Tag kTag = Tag::kContext;

  Context(Ref<Engine> engine, Device& device, uint64_t seed, uint64_t flags);
  ~Context();

  Engine& engine() { return *engine_; }
  Device& device() { return *device_; }
  const std::string& data_directory() const { return data_directory_; }
  void set_data_directory(std::string directory) { data_directory_ = std::move(directory); }
  TensorPool& tensor_pool() { return *tensor_pool_; }
  // The context's queue on a device, opened at the first use.
  const std::shared_ptr<DeviceQueue>& queue(Device& device);
  // Waits for all its queues and throws the first late failure of one.
  void synchronize();
  bool manual() const;

  // ---- Entering: one thread at a time.
  bool enter() {
    uint32_t free = 0;
    return busy_.compare_exchange_strong(free, kBusy, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  // True when the context was closed meanwhile: the caller then ends it, after all that the closing
  // thread did with it.
  bool leave() {
    uint32_t busy = kBusy;
    return !busy_.compare_exchange_strong(busy, 0, std::memory_order_release,
                                          std::memory_order_acquire);
  }
  // Enters for good, to end the context. False while a call runs: that call ends it when it leaves.
  bool enter_to_close() {
    uint32_t seen = 0;
    while (!busy_.compare_exchange_weak(seen, seen == 0 ? kBusy : seen | kClosing,
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    return seen == 0;
  }
  void note_intruder() { intruded_.store(true, std::memory_order_relaxed); }
  // Turns an intrusion or a cancellation into the sticky error.
  void take_notices() {
    if (intruded_.load(std::memory_order_relaxed) || stop_->load(std::memory_order_relaxed) != 0 ||
        has_deadline_) {
      take_notices_slow();
    }
  }

  // ---- The error that sticks.
  bool ok() const { return error_ == nullptr; }
  const std::shared_ptr<const Error>& error() const { return error_; }
  void keep_error(std::shared_ptr<const Error> error);
  // Inside a catch block: keeps the exception being handled. Needs no memory when there is none.
  void keep_current_exception();
  std::shared_ptr<const Error> take_error() { return std::exchange(error_, nullptr); }

  // ---- Cancellation.
  // A child is cancelled with the context whose call it serves.
  void cancel() { stop_->store(1, std::memory_order_relaxed); }
  void set_deadline(int64_t milliseconds);
  // Throws CANCELLED or DEADLINE_EXCEEDED when one is due; called between kernels.
  void check_stop() {
    if (stop_->load(std::memory_order_relaxed) != 0 || has_deadline_) check_stop_slow();
  }
  // Nothing is cancelled in the rest of a block: what it changes, it changes wholly.
  class Unstoppable {
   public:
    explicit Unstoppable(Context& ctx) : ctx_(ctx), previous_(ctx.unstoppable_) {
      ctx_.set_unstoppable(true);
    }
    ~Unstoppable() { ctx_.set_unstoppable(previous_); }
    Unstoppable(const Unstoppable&) = delete;
    Unstoppable& operator=(const Unstoppable&) = delete;

   private:
    Context& ctx_;
    bool previous_;
  };
  bool unstoppable() const { return unstoppable_; }

  // ---- Modes.
  bool recording = true;
  bool training = true;
  // History is kept for tensors wrapped in fewer levels than this; a backward pass that keeps no
  // history of its own at some level must not hide what outer levels record.
  int32_t recording_below = 1 << 30;

  // Graph runs that are under way on this context and those it serves as a child.
  int32_t runs = 0;

  std::vector<Ref<Transform>> levels;
  int32_t inherited_levels = 0;  // of a child context: those that it must leave open
  int32_t depth() const { return static_cast<int32_t>(levels.size()); }

  std::unique_ptr<Capture> capture;

  // ---- Random numbers.
  uint64_t seed() const { return seed_; }
  void set_seed(uint64_t seed);
  Variable& generator();
  // The key (seed, generator, call) of the next random call, as a tensor of `device`; consumes it.
  TensorRef next_key(Device& device);
  // Makes this the child of a context whose call runs: the same modes, levels and random numbers.
  void inherit(Context& parent);
  int64_t next_module_number() { return module_number_++; }
  int64_t loader_number() const { return loader_number_; }  // of the next one
  void count_loader() { ++loader_number_; }

  // ---- Ownership for the program.
  // Turns the library's reference into the program's, owned by the innermost scope if there is one.
  Tensor* give(TensorRef tensor);
  // Makes sure that giving one more object cannot fail: what made it may be undone no more.
  void reserve_object();
  template <class T>
  T* give_object(Ref<T> object) {
    if (!manual()) own_object(object.get());
    T* raw = object.leak();
    raw->give_to_program();
    return raw;
  }
  // The program releases an object: whoever owned it for the program does so no longer.
  static void disown_object(ObjectHandle* object);
  Scope* open_scope();
  void close_scope(Scope& scope);
  void reset_scope(Scope& scope);
  void keep_in_parent(Tensor& tensor);

  // Runs the rest of a block on another device.
  class OnDevice {
   public:
    OnDevice(Context& ctx, Device& device)
        : ctx_(ctx), previous_(std::exchange(ctx.device_, &device)) {}
    ~OnDevice() { ctx_.device_ = previous_; }

   private:
    Context& ctx_;
    Device* previous_;
  };

 private:
  void own_object(ObjectHandle* object);
  void take_notices_slow();
  void check_stop_slow();
  void set_unstoppable(bool on);
  void tell_queues();
  void tell_queue(DeviceQueue& queue);

  Ref<Engine> engine_;
  Device* device_;
  uint64_t seed_;
  uint64_t flags_;
  std::atomic<uint32_t> busy_{0};
  std::atomic<bool> intruded_{false};
  std::atomic<int32_t> own_stop_{0};         // 1: cancelled
  std::atomic<int32_t>* stop_ = &own_stop_;  // of a child: that of its outermost parent
  bool has_deadline_ = false;
  bool unstoppable_ = false;
  std::chrono::steady_clock::time_point deadline_;
  std::shared_ptr<const Error> error_;
  std::shared_ptr<const Error> out_of_memory_;  // made in advance

  TensorPool* tensor_pool_;
  std::vector<std::shared_ptr<DeviceQueue>> queues_;  // by index of the device
  Ref<Scope> root_;
  Scope* innermost_ = nullptr;
  std::vector<ObjectHandle*> owned_;  // in the order in which they were given
  Ref<Variable> generator_;
  int64_t module_number_ = 0;
  int64_t loader_number_ = 0;
  std::string data_directory_;
  Counted counted_;
};

// Restores the modes at the end of a block.
class ModeGuard {
 public:
  explicit ModeGuard(Context& ctx)
      : ctx_(ctx),
        recording_(ctx.recording),
        training_(ctx.training),
        below_(ctx.recording_below) {}
  ~ModeGuard() {
    ctx_.recording = recording_;
    ctx_.training = training_;
    ctx_.recording_below = below_;
  }
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  Context& ctx_;
  bool recording_, training_;
  int32_t below_;
};

}  // namespace dlcore
