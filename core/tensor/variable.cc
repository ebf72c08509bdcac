// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/variable.h"

#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/graph/capture.h"
#include "core/ops/calls.h"
#include "core/ops/rules.h"

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
  if (value.symbolic()) invalid("variable_assign: '{}' is given a value of a capture", name_);
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
    if (gradient->symbolic() && !ctx.capture)
      invalid("variable_set_gradient: '{}' is given a value of a capture", name_);
  }
  TensorRef stored = gradient == nullptr ? TensorRef() : new_alias(ctx, *gradient);
  if (ctx.capture) return ctx.capture->set_gradient(slot_, std::move(stored));
  std::lock_guard<Mutex> guard(slot_->lock);
  slot_->gradient = std::move(stored);
}

void add_to_slots(Context& ctx, std::span<const SlotGradient> arrived) {
  for (const SlotGradient& a : arrived) {
    if (!a.gradient.tensor().leveled()) continue;
    fail(DLCORE_FAILED_PRECONDITION,
         "backward: the gradient of a variable belongs to a transform level; take it with "
         "autograd_grad, and out of "
         "the level");
  }
  if (ctx.capture) {
    for (const SlotGradient& a : arrived) {
      const TensorRef old = ctx.capture->gradient(*a.slot);
      ctx.capture->set_gradient(a.slot, (old ? Value(ctx, old) + a.gradient : a.gradient).ref());
    }
    return;
  }
  // What can fail comes first, so that the slots change all together.
  std::vector<TensorRef> before, sums;
  for (const SlotGradient& a : arrived) {
    {
      std::lock_guard<Mutex> guard(a.slot->lock);
      before.push_back(a.slot->gradient);
    }
    sums.push_back((before.back() ? Value(ctx, before.back()) + a.gradient : a.gradient).ref());
  }
  const Context::Unstoppable guard(ctx);
  for (size_t i = 0; i < arrived.size(); ++i) {
    GradientSlot& slot = *arrived[i].slot;
    std::lock_guard<Mutex> lock(slot.lock);
    // Meanwhile another thread, or this loop, may have added to it, or a step consumed it.
    if (slot.gradient.get() != before[i].get()) {
      const Value& more = arrived[i].gradient;
      sums[i] = slot.gradient ? (Value(ctx, slot.gradient) + more).take() : more.ref();
    }
    slot.gradient = std::move(sums[i]);
  }
}

}  // namespace dlcore
