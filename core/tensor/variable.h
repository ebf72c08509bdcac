// SPDX-License-Identifier: Apache-2.0
// A named, mutable cell that holds a tensor.
#pragma once

#include <memory>
#include <string>

#include "core/autograd/node.h"
#include "core/base/mutex.h"
#include "core/engine/engine.h"
#include "core/ops/value.h"
#include "core/tensor/tensor.h"

namespace dlcore {

// How a value comes about that is drawn when first needed.
struct InitialValue {
  enum class Kind { kGiven, kZeros, kOnes, kUniform, kNormal };
  Kind kind = Kind::kGiven;
  double scale = 0;  // uniform: bound; normal: standard deviation
  uint64_t seed = 0;
  uint64_t stream = 0;
};

class Variable : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kVariable;

  Variable(Engine& engine, std::string name, TensorRef value, bool trainable);
  Variable(Engine& engine, std::string name, Dtype dtype, const Dims& shape, InitialValue initial,
           bool trainable);

  const std::string& name() const { return name_; }
  Dtype dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  bool trainable() const { return trainable_.load(std::memory_order_relaxed); }
  void set_trainable(bool on) { trainable_.store(on, std::memory_order_relaxed); }
  Engine& engine() const { return counted_.engine(); }
  const std::shared_ptr<GradientSlot>& slot() const { return slot_; }
  void set_initial(uint64_t seed, uint64_t stream);
  // A variable of a snapshot: it holds `value`, which `of` held at some moment, for ever.
  Variable(const Variable& of, TensorRef value);
  bool frozen() const { return frozen_; }
  // Throws FAILED_PRECONDITION, naming the call, when the variable is frozen.
  void need_changeable(const char* call) const;

  // As a program reads it: the graph's value while capturing, a leaf while recording if it is
  // trainable.
  TensorRef read(Context& ctx);
  // Its value, drawn if need be, without history.
  TensorRef value(Context& ctx);
  // Throws INVALID_ARGUMENT for another dtype or shape; while capturing, becomes an update of the
  // graph.
  void assign(Context& ctx, Tensor& value);
  void accumulate(Context& ctx, Tensor& value);

  TensorRef gradient(Context& ctx);
  void set_gradient(Context& ctx, Tensor* gradient);  // nullptr forgets it

  // Held from beginning to end by whatever reads the variable and then updates it: the runs of
  // executables, whose updates follow from what they read at their beginning, steps of optimizers,
  // and everything else that stores a value. So no update is lost. It is taken before `lock`.
  Mutex& run_lock() { return run_lock_; }
  // For one update. Inside a run, whose callback may store into what the run has locked, it is not
  // waited for.
  [[nodiscard]] std::unique_lock<Mutex> lock_runs(const Context& ctx);
  // For updates of many variables at once: the caller holds `lock` throughout.
  Mutex& lock() { return lock_; }
  Tensor& value_locked(Context& ctx);
  void store_locked(TensorRef value);
  // Nobody else sees the elements: they may be overwritten.
  bool sole_owner_locked();

 private:
  void draw(Context& ctx);
  void check_fits(const Tensor& value, const char* what) const;

  std::string name_;
  Dtype dtype_;
  Dims shape_;
  std::atomic<bool> trainable_;
  const bool frozen_ = false;
  InitialValue initial_;
  Mutex run_lock_;
  Mutex lock_;
  TensorRef value_;
  TensorRef leaf_;  // of the present value
  std::shared_ptr<GradientSlot> slot_;
  Counted counted_;
};

struct SlotGradient {
  std::shared_ptr<GradientSlot> slot;
  Value gradient;
};
struct Assignment {
  Variable* variable;
  Value value;
};
// Stores values, without their history, all of them at one moment or none. Eagerly the caller holds
// the run locks; while capturing, they become updates of the graph.
void assign_together(Context& ctx, std::span<const Assignment> assignments);
// Replaces the gradients of variables, all of them or none.
void set_gradients(Context& ctx, std::span<Variable* const> variables,
                   std::span<const Value> gradients);
// Adds to what slots hold, to all of them or to none.
void add_to_slots(Context& ctx, std::span<const SlotGradient> arrived);

}  // namespace dlcore
