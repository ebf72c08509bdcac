// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/variable.h"

#include <cmath>
#include <cstring>
#include <thread>
#include <unordered_map>

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/graph/capture.h"
#include "core/ops/calls.h"
#include "core/ops/rules.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {

Variable::Variable(Engine& engine, std::string name, TensorRef value, bool trainable)
    : name_(std::move(name)),
      dtype_(value->dtype),
      shape_(value->dims()),
      trainable_(trainable),
      value_(std::move(value)),
      slot_(std::make_shared<GradientSlot>()),
      counted_(engine, engine.live.variables) {}

Variable::Variable(Engine& engine, std::string name, Dtype dtype, const Dims& shape,
                   InitialValue initial, bool trainable)
    : name_(std::move(name)),
      dtype_(dtype),
      shape_(shape),
      trainable_(trainable),
      initial_(initial),
      slot_(std::make_shared<GradientSlot>()),
      counted_(engine, engine.live.variables) {}

Variable::Variable(const Variable& of, TensorRef value)
    : name_(of.name_),
      dtype_(of.dtype_),
      shape_(of.shape_),
      trainable_(false),
      frozen_(true),
      value_(std::move(value)),
      slot_(std::make_shared<GradientSlot>()),
      counted_(of.engine(), of.engine().live.variables) {}

void Variable::need_changeable(const char* call) const {
  if (!frozen_) return;
  fail(DLCORE_FAILED_PRECONDITION, "{}: '{}' belongs to a snapshot, which never changes", call,
       name_);
}

std::unique_lock<Mutex> Variable::lock_runs(const Context& ctx) {
  return ctx.runs > 0 ? std::unique_lock<Mutex>() : std::unique_lock<Mutex>(run_lock_);
}

void Variable::set_initial(uint64_t seed, uint64_t stream) {
  std::lock_guard<Mutex> guard(lock_);
  initial_.seed = seed;
  initial_.stream = stream;
}

// Drawn on the CPU whatever the device, so that a model starts equal everywhere.
void Variable::draw(Context& ctx) {
  ModeGuard modes(ctx);
  ctx.recording = false;
  std::unique_ptr<Capture> capture = std::move(ctx.capture);
  std::vector<Ref<Transform>> levels;
  levels.swap(ctx.levels);
  Device& device = ctx.device();
  struct Restore {
    Context& ctx;
    std::unique_ptr<Capture>& capture;
    std::vector<Ref<Transform>>& levels;
    ~Restore() {
      ctx.capture = std::move(capture);
      ctx.levels.swap(levels);
    }
  } restore{ctx, capture, levels};

  Context::OnDevice on(ctx, ctx.engine().cpu());
  Value value;
  if (initial_.kind == InitialValue::Kind::kUniform ||
      initial_.kind == InitialValue::Kind::kNormal) {
    const int64_t words[3] = {static_cast<int64_t>(initial_.seed),
                              static_cast<int64_t>(initial_.stream), 0};
    const int64_t shape[] = {3};
    TensorRef key = new_tensor(ctx, ctx.device(), DLCORE_I64, shape);
    std::memcpy(key->data, words, sizeof words);
    const Value k(ctx, std::move(key));
    value = initial_.kind == InitialValue::Kind::kUniform
                ? random_uniform(ctx, k, shape_, -initial_.scale, initial_.scale, dtype_)
                : random_normal(ctx, k, shape_, 0, initial_.scale, dtype_);
  } else {
    value = full(ctx, shape_, initial_.kind == InitialValue::Kind::kOnes ? 1 : 0, dtype_);
  }
  if (&device == &ctx.engine().cpu()) {
    value_ = value.take();
    return;
  }
  TensorRef there = new_tensor(ctx, device, dtype_, value.tensor().shape());
  write_tensor(ctx, *there, value.tensor().data);
  value_ = std::move(there);
}

Tensor& Variable::value_locked(Context& ctx) {
  if (!value_) draw(ctx);
  return *value_;
}

void Variable::store_locked(TensorRef value) {
  leaf_ = nullptr;
  value_ = std::move(value);
}

bool Variable::sole_owner_locked() {
  leaf_ = nullptr;
  return value_ && value_->unique() && value_->sole_owner();
}

TensorRef Variable::value(Context& ctx) {
  if (ctx.capture) return ctx.capture->value(ctx, *this);
  std::lock_guard<Mutex> guard(lock_);
  value_locked(ctx);
  return value_;
}

TensorRef Variable::read(Context& ctx) {
  const bool as_leaf = ctx.recording && trainable() && ctx.recording_below > 0;
  if (ctx.capture) return as_leaf ? ctx.capture->leaf(ctx, *this) : ctx.capture->value(ctx, *this);
  std::lock_guard<Mutex> guard(lock_);
  value_locked(ctx);
  // What leaves the variable is an alias: the program's handles must not count as users of the cell
  // itself.
  if (!as_leaf) return new_alias(ctx, *value_);
  if (!leaf_) leaf_ = make_leaf(ctx, *value_, slot_);
  // Contexts on other threads read the same leaf, and each gives its handle to a scope of its own.
  TensorRef handle = new_alias(ctx, *leaf_);
  attach_history(*handle, leaf_->extra->node, 0);
  return handle;
}

void Variable::check_fits(const Tensor& value, const char* what) const {
  if (value.dtype != dtype_ || !(value.dims() == shape_)) {
    const DimMath math(nullptr);
    invalid("{}: '{}' holds {} {}, but the tensor is {} {}", what, name_, dtype_name(dtype_),
            math.text(shape_), dtype_name(value.dtype),
            value.symbolic() ? "with other sizes" : math.text(value.dims()));
  }
}

void Variable::assign(Context& ctx, Tensor& value) {
  need_changeable("variable_assign");
  check_fits(value, "variable_assign");
  if (value.leveled())
    invalid("variable_assign: '{}' is given a tensor of a transform level", name_);
  if (ctx.capture) return ctx.capture->assign(ctx, *this, value);
  if (value.data == nullptr) {
    invalid("variable_assign: '{}' is given a value of {}, which has no elements", name_,
            value.symbolic() ? "a capture" : "an infer callback");
  }
  TensorRef stored = new_alias(ctx, value);
  stored->weak = false;
  const auto alone = lock_runs(ctx);
  std::lock_guard<Mutex> guard(lock_);
  store_locked(std::move(stored));
}

void Variable::accumulate(Context& ctx, Tensor& value) {
  need_changeable("variable_accumulate");
  check_fits(value, "variable_accumulate");
  if (value.leveled())
    invalid("variable_accumulate: '{}' is given a tensor of a transform level", name_);
  ModeGuard modes(ctx);
  ctx.recording = false;
  const Value addend(ctx, TensorRef(&value));
  if (value.data == nullptr && !value.symbolic())
    invalid("variable_accumulate: '{}' is given a value of an infer callback", name_);
  if (ctx.capture) {
    const Value sum = Value(ctx, ctx.capture->value(ctx, *this)) + addend;
    return ctx.capture->assign(ctx, *this, sum.tensor());
  }
  const auto alone = lock_runs(ctx);
  std::lock_guard<Mutex> guard(lock_);
  value_locked(ctx);
  store_locked((Value(ctx, value_) + addend).take());
}

TensorRef Variable::gradient(Context& ctx) {
  if (ctx.capture) return ctx.capture->gradient(*slot_);
  std::lock_guard<Mutex> guard(slot_->lock);
  // A handle of its own, as of a leaf.
  return slot_->gradient ? new_alias(ctx, *slot_->gradient) : TensorRef();
}

void Variable::set_gradient(Context& ctx, Tensor* gradient) {
  if (gradient != nullptr) {
    need_changeable("variable_set_gradient");
    check_fits(*gradient, "variable_set_gradient");
    if (gradient->leveled())
      invalid("variable_set_gradient: '{}' is given a tensor of a transform level", name_);
    if (gradient->data == nullptr && !(gradient->symbolic() && ctx.capture)) {
      invalid("variable_set_gradient: '{}' is given a value of {}, which has no elements", name_,
              gradient->symbolic() ? "a capture" : "an infer callback");
    }
  }
  TensorRef stored = gradient == nullptr ? TensorRef() : new_alias(ctx, *gradient);
  if (ctx.capture) return ctx.capture->set_gradient(slot_, std::move(stored));
  std::lock_guard<Mutex> guard(slot_->lock);
  slot_->gradient = std::move(stored);
}

namespace {

// What is to become of one slot.
struct SlotUpdate {
  std::shared_ptr<GradientSlot> slot;
  TensorRef before;  // what it held when `after` was computed
  TensorRef after;
};

// Takes the locks of all, without waiting for one while holding another.
std::vector<std::unique_lock<Mutex>> lock_slots(std::span<const SlotUpdate> updates) {
  std::vector<std::unique_lock<Mutex>> locks;
  locks.reserve(updates.size());
  while (locks.size() < updates.size()) {
    std::unique_lock<Mutex> lock(updates[locks.size()].slot->lock, std::defer_lock);
    if (locks.empty()) {
      lock.lock();
    } else if (!lock.try_lock()) {
      locks.clear();
      std::this_thread::yield();
      continue;
    }
    locks.push_back(std::move(lock));
  }
  return locks;
}

// Stores all, unless a slot holds something else by now.
bool store_if_unchanged(std::span<SlotUpdate> updates) {
  std::vector<TensorRef> old;  // given up after the locks
  old.reserve(updates.size());
  const auto locks = lock_slots(updates);
  for (const SlotUpdate& u : updates) {
    if (u.slot->gradient.get() != u.before.get()) return false;
  }
  for (SlotUpdate& u : updates) {
    old.push_back(std::move(u.slot->gradient));
    u.slot->gradient = std::move(u.after);
  }
  return true;
}

// The sums of what slots hold and what has arrived, in the order of arrival.
std::vector<SlotUpdate> sums_of(Context& ctx, std::span<const SlotGradient> arrived) {
  std::vector<SlotUpdate> updates;
  std::unordered_map<const GradientSlot*, size_t> at;
  for (const SlotGradient& a : arrived) {
    const auto [it, fresh] = at.try_emplace(a.slot.get(), updates.size());
    if (fresh) {
      SlotUpdate& update = updates.emplace_back();
      update.slot = a.slot;
      if (ctx.capture) {
        update.before = ctx.capture->gradient(*a.slot);
      } else {
        std::lock_guard<Mutex> guard(a.slot->lock);
        update.before = a.slot->gradient;
      }
      update.after = update.before;
    }
    TensorRef& sum = updates[it->second].after;
    sum = sum ? (Value(ctx, sum) + a.gradient).take() : a.gradient.ref();
  }
  return updates;
}

void store_in_capture(Capture& capture, std::span<SlotUpdate> updates) {
  for (const SlotUpdate& u : updates) capture.reserve_gradient(u.slot);
  for (SlotUpdate& u : updates) capture.set_gradient(u.slot, std::move(u.after));
}

}  // namespace

void assign_together(Context& ctx, std::span<const Assignment> assignments) {
  std::vector<TensorRef> values;
  std::vector<Variable*> variables;
  for (const Assignment& a : assignments) {
    variables.push_back(a.variable);
    values.push_back(ctx.capture ? ctx.capture->prepare(ctx, *a.variable, a.value.tensor())
                                 : a.value.ref());
  }
  if (ctx.capture) {
    for (size_t i = 0; i < values.size(); ++i) {
      ctx.capture->assign_prepared(*variables[i], std::move(values[i]));
    }
    return;
  }
  const LockedVariables locked(variables);
  for (size_t i = 0; i < values.size(); ++i) variables[i]->store_locked(std::move(values[i]));
}

void set_gradients(Context& ctx, std::span<Variable* const> variables,
                   std::span<const Value> gradients) {
  std::vector<SlotUpdate> updates;
  for (size_t i = 0; i < variables.size(); ++i) {
    updates.push_back({variables[i]->slot(), {}, new_alias(ctx, gradients[i].tensor())});
  }
  if (ctx.capture) return store_in_capture(*ctx.capture, updates);
  const auto locks = lock_slots(updates);
  for (SlotUpdate& u : updates) std::swap(u.slot->gradient, u.after);
}

void add_to_slots(Context& ctx, std::span<const SlotGradient> arrived) {
  for (const SlotGradient& a : arrived) {
    if (!a.gradient.tensor().leveled()) continue;
    fail(DLCORE_FAILED_PRECONDITION,
         "backward: the gradient of a variable belongs to a transform level; take it with "
         "autograd_grad, and out of "
         "the level");
  }
  // Meanwhile another thread may add to a slot, or a step consume what it holds: then once more.
  for (;;) {
    std::vector<SlotUpdate> updates = sums_of(ctx, arrived);
    if (ctx.capture) return store_in_capture(*ctx.capture, updates);
    if (store_if_unchanged(updates)) return;
  }
}

}  // namespace dlcore
