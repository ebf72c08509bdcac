// SPDX-License-Identifier: Apache-2.0
#include "core/ops/dispatch.h"

#include <algorithm>
#include <cmath>

#include "core/autograd/levels.h"
#include "core/graph/capture.h"
#include "core/ops/calls.h"
#include "core/ops/custom.h"
#include "core/ops/execute.h"
#include "core/ops/plain_call.h"
#include "core/tensor/gather_elements.h"

namespace dlcore {
namespace {

const char* input_name(const OpDef& op, size_t i) {
  return op.inputs[std::min(i, op.inputs.size() - 1)].name;
}

const InputDef& input_def(const OpDef& op, size_t i) {
  return op.inputs[std::min(i, op.inputs.size() - 1)];
}

// One call on its way: inputs brought to the form that inference and kernels expect.
class Call {
 public:
  Call(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
       std::span<const int64_t> attrs)
      : ctx_(ctx), op_(op), inputs_(inputs) {
    const int64_t expressions = ctx.capture ? ctx.capture->dims().expression_count() : 0;
    complete_attrs(op.name, attr_defs(op), attrs, expressions, attrs_);
  }

  void run(std::span<TensorRef> outputs) {
    check_count();
    if (op_.is(kRandom) && draw_key(outputs)) return;
    refuse_types_only();
    choose_device();
    promote_inputs();
    if (ctx_.capture) bring_into_capture();
    move_scalars();
    refuse_other_captures();

    const int32_t depth = top_level(ctx_, inputs_);
    const bool recorded = needs_history(ctx_, op_, depth, inputs_.span());
    if (recorded && op_.vjp == nullptr && op_.custom == nullptr) return compose(outputs);
    if (depth > 0 && op_.compose != nullptr && op_.vjp == nullptr && op_.jvp == nullptr)
      return compose(outputs);

    SmallVector<TensorType, 4> types;
    for (Tensor* t : inputs_) types.push_back(type_of(t));
    SmallVector<TensorType, 2> made(op_.outputs.size());
    if (op_.custom != nullptr) {
      custom_infer(ctx_, *op_.custom, types, attrs_.span(), made.span());
    } else {
      infer_types(op_, types, attrs_.span(), ctx_.capture ? &ctx_.capture->dims() : nullptr,
                  made.span());
    }
    mark_weak(made.span());

    SmallVector<TensorRef, 2> all(made.size());
    if (depth > 0) {
      invoke_at_level(ctx_, op_, depth, inputs_.span(), attrs_.span(), all.span());
    } else if (ctx_.capture) {
      ctx_.capture->append(ctx_, op_, inputs_.span(), attrs_.span(), made, all.span());
    } else {
      execute(ctx_, op_, inputs_.span(), attrs_.span(), made, all.span());
    }
    if (recorded) record(ctx_, op_, depth, inputs_.span(), attrs_.span(), made, all.span());
    for (size_t i = 0; i < outputs.size() && i < all.size(); ++i) outputs[i] = std::move(all[i]);
  }

 private:
  void check_count() {
    const size_t n = op_.inputs.size();
    if (!op_.variadic() && inputs_.size() > n) {
      invalid("{}: {} inputs were given, expected at most {}", op_.name, inputs_.size(), n);
    }
    if (inputs_.size() > DLCORE_MAX_OP_INPUTS) {
      invalid("{}: {} inputs were given, expected at most {}", op_.name, inputs_.size(),
              int{DLCORE_MAX_OP_INPUTS});
    }
    while (!op_.variadic() && inputs_.size() < n) inputs_.push_back(nullptr);
    if (op_.variadic() && inputs_.size() < n)
      invalid("{}: {} is empty, expected at least one tensor", op_.name, op_.inputs[n - 1].name);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == nullptr && !input_def(op_, i).optional) {
        invalid("{}: input {} ({}) is missing", op_.name, i, input_name(op_, i));
      }
    }
  }

  // What the infer callback of a custom op sees has a dtype and a shape, and nothing else.
  void refuse_types_only() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor* t = inputs_[i];
      if (t == nullptr || t->data != nullptr || t->symbolic() || t->leveled()) continue;
      fail(DLCORE_FAILED_PRECONDITION,
           "{}: {} has no elements: infer callbacks see dtypes and shapes only", op_.name,
           input_name(op_, i));
    }
  }

  // True when the call has been answered already.
  bool draw_key(std::span<TensorRef> outputs) {
    if (inputs_.back() != nullptr) return false;
    if (!ctx_.levels.empty()) {
      if (op_.compose != nullptr) return false;  // what it is composed of draws
      if (random_in_vmap(ctx_, op_, attrs_.span(), outputs)) return true;
    }
    hold(inputs_.size() - 1, ctx_.next_key(ctx_.device()));
    return false;
  }

  void hold(size_t i, TensorRef tensor) {
    inputs_[i] = tensor.get();
    held_.push_back(std::move(tensor));
  }

  // All inputs live on one device; a weak scalar goes where the others are.
  void choose_device() {
    Tensor* decides = nullptr;
    for (Tensor* t : inputs_) {
      if (t == nullptr) continue;
      if (decides == nullptr || (decides->weak && !t->weak)) decides = t;
    }
    if (decides == nullptr) return;
    device_ = decides->device;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor* t = inputs_[i];
      if (t == nullptr || t->device == device_) continue;
      if (t->weak && t->data != nullptr && !t->has_history()) continue;
      invalid("{}: {} is on device '{}', but another input is on '{}'; use tensor_to_device",
              op_.name, input_name(op_, i), t->device->name(), device_->name());
    }
  }

  // After promotion, which converts scalars on their way.
  void move_scalars() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor* t = inputs_[i];
      if (t != nullptr && t->device != device_) hold(i, copy_to_device(ctx_, *t, *device_));
    }
  }

  TensorRef convert_on_host(Tensor& scalar, Dtype dtype) {
    alignas(8) std::byte word[8];
    convert_scalar(scalar.data, scalar.dtype, dtype, word);
    TensorRef moved = new_tensor(ctx_, *device_, dtype, {});
    write_tensor(ctx_, *moved, word);
    moved->weak = scalar.weak && dtype == scalar.dtype;
    return moved;
  }

  void promote_inputs() {
    Dtype strong = DLCORE_DTYPE_NONE, weak = DLCORE_DTYPE_NONE;
    size_t strong_at = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor* t = inputs_[i];
      if (t == nullptr || !input_def(op_, i).promotes) continue;
      Dtype& common = t->weak ? weak : strong;
      const Dtype together =
          common == DLCORE_DTYPE_NONE ? Dtype{t->dtype} : promote(common, t->dtype);
      if (together == DLCORE_DTYPE_NONE) {
        invalid("{}: {} is {} and {} is {}, which have no common dtype", op_.name,
                input_name(op_, strong_at), dtype_name(common), input_name(op_, i),
                dtype_name(t->dtype));
      }
      if (!t->weak) strong_at = i;
      common = together;
    }
    Dtype common = strong;
    if (strong == DLCORE_DTYPE_NONE) {
      common = weak;
      all_weak_ = weak != DLCORE_DTYPE_NONE;
    } else if (weak != DLCORE_DTYPE_NONE) {
      common = promote_weak(strong, weak);
      if (common == DLCORE_DTYPE_NONE) {
        invalid("{}: a {} scalar does not fit a tensor of {}; cast the tensor with astype first",
                op_.name, is_float(weak) ? "floating" : dtype_name(weak), dtype_name(strong));
      }
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == nullptr) continue;
      const InputDef& def = input_def(op_, i);
      if (def.promotes && inputs_[i]->dtype != common) convert(i, common);
      if (!contains(def.dtypes, inputs_[i]->dtype) && def.dtypes != 0) {
        invalid("{}: {} is {}, expected {}", op_.name, input_name(op_, i),
                dtype_name(inputs_[i]->dtype), dtype_set_text(def.dtypes));
      }
    }
  }

  void convert(size_t i, Dtype dtype) {
    Tensor& t = *inputs_[i];
    if (t.weak && t.rank == 0 && t.data != nullptr && !t.has_history() && t.device->direct()) {
      hold(i, convert_on_host(t, dtype));
      return;
    }
    hold(i, astype(Value(ctx_, TensorRef(&t)), dtype).take());
  }

  void bring_into_capture() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor* t = inputs_[i];
      if (t == nullptr || t->data == nullptr) continue;
      if (t->rank != 0 || t->has_history() || !scalar_made_here(i)) {
        invalid(
            "{}: {} is a concrete tensor in a capture; make it an input, or wrap it with "
            "capture_constant",
            op_.name, input_name(op_, i));
      }
      hold(i, ctx_.capture->constant(ctx_, *t));
    }
  }

  // Weak scalars, and what they were converted to, are constants of the program's text.
  bool scalar_made_here(size_t i) const {
    if (inputs_[i]->weak) return true;
    return std::any_of(held_.begin(), held_.end(),
                       [&](const TensorRef& t) { return t.get() == inputs_[i]; });
  }

  void refuse_other_captures() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor* t = inputs_[i];
      if (t == nullptr || !t->symbolic()) continue;
      if (!ctx_.capture || t->extra->capture != ctx_.capture->number()) {
        fail(DLCORE_FAILED_PRECONDITION,
             "{}: {} is a value of a capture that is not open on this context", op_.name,
             input_name(op_, i));
      }
    }
  }

  void compose(std::span<TensorRef> outputs) {
    run_composite(ctx_, op_, inputs_.span(), attrs_.span(), outputs);
  }

  void mark_weak(std::span<TensorType> made) {
    if (!all_weak_ || !op_.is(kElementwise)) return;
    for (TensorType& t : made) t.weak = true;
  }

  Context& ctx_;
  const OpDef& op_;
  SmallVector<Tensor*, 8> inputs_;
  Words attrs_;
  SmallVector<TensorRef, 2> held_;
  bool all_weak_ = false;
  Device* device_ = nullptr;  // of the inputs
};

// Runs fn(), whose errors name the op.
template <class Fn>
auto naming(const OpDef& op, Fn&& fn) {
  try {
    return fn();
  } catch (Error& e) {
    if (e.op.empty()) {
      e.op = op.name;
      const std::string prefix = std::string(op.name) + ": ";
      if (!e.message.starts_with(prefix)) e.message.insert(0, prefix);
    }
    throw;
  }
}

}  // namespace

TensorType type_of(const Tensor* tensor) {
  TensorType type;
  if (tensor == nullptr) return type;
  type.dtype = tensor->dtype;
  type.weak = tensor->weak;
  type.dims = tensor->dims();
  return type;
}

void infer_types(const OpDef& op, std::span<const TensorType> inputs,
                 std::span<const int64_t> attrs, DimTable* table, std::span<TensorType> outputs) {
  Infer rule(op, inputs, AttrReader(attr_defs(op), attrs), DimMath(table), outputs);
  op.infer(rule);
}

void invoke(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
            std::span<const int64_t> attrs, std::span<TensorRef> outputs) {
  naming(op, [&] {
    if (outputs.size() == 1 && attrs.empty() && plain_call(ctx, op, inputs, outputs[0])) return;
    Call(ctx, op, inputs, attrs).run(outputs);
  });
}

TensorRef invoke1(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
                  std::span<const int64_t> attrs) {
  TensorRef output[1];
  invoke(ctx, op, inputs, attrs, output);
  return std::move(output[0]);
}

TensorRef invoke_scalar(Context& ctx, const OpDef& op, Tensor* x, Dtype kind, const void* scalar,
                        bool scalar_first) {
  TensorRef made;
  const bool plain = naming(op, [&] {
    return x != nullptr && plain_scalar_call(ctx, op, *x, kind, scalar, scalar_first, made);
  });
  if (plain) return made;
  const TensorRef weak = new_weak(ctx, kind, scalar);
  Tensor* inputs[2] = {x, weak.get()};
  if (scalar_first) std::swap(inputs[0], inputs[1]);
  return invoke1(ctx, op, inputs, {});
}

}  // namespace dlcore
