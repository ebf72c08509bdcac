// SPDX-License-Identifier: Apache-2.0
#include "dlcore/variable.h"

#include "capi/src/call.h"
#include "core/tensor/variable.h"

using namespace dlcore;
using namespace dlcore::api;

dlcore_variable* dlcore_variable_create(dlcore_context* ctx, const char* name, dlcore_tensor* value,
                                        uint64_t flags) {
  return object_call<dlcore_variable>(ctx, [&](Context& c) {
    const std::string text = need_text(name, "variable_create", "name");
    Tensor& t = need_tensor(c, value, "variable_create", "value");
    if ((flags & ~uint64_t{DLCORE_VARIABLE_TRAINABLE}) != 0)
      invalid("variable_create: flags is {:#x}, expected 0 or 1", flags);
    const bool trainable = (flags & DLCORE_VARIABLE_TRAINABLE) != 0;
    if (t.data == nullptr)
      invalid(
          "variable_create: the value of '{}' has no elements: it belongs to a capture, a "
          "transform level or an infer callback",
          text);
    if (trainable && !is_float(t.dtype))
      invalid("variable_create: '{}' is {}, expected a floating dtype to be trainable", text,
              dtype_name(t.dtype));
    TensorRef stored = new_alias(c, t);
    stored->weak = false;
    return make_ref<Variable>(c.engine(), text, std::move(stored), trainable);
  });
}

void dlcore_variable_retain(dlcore_variable* variable) { retain<Variable>(variable); }
void dlcore_variable_release(dlcore_variable* variable) { release<Variable>(variable); }

const char* dlcore_variable_name(const dlcore_variable* variable) {
  Variable* v = live<Variable>(variable);
  return v == nullptr ? nullptr : v->name().c_str();
}

int32_t dlcore_variable_is_trainable(const dlcore_variable* variable) {
  Variable* v = live<Variable>(variable);
  return v == nullptr ? -1 : v->trainable() ? 1 : 0;
}

dlcore_status dlcore_variable_set_trainable(dlcore_context* ctx, dlcore_variable* variable,
                                            int32_t trainable) {
  return status_call(ctx, [&](Context& c) {
    Variable& v = need_variable(c, variable, "variable_set_trainable");
    if (trainable != 0 && !is_float(v.dtype()))
      invalid("variable_set_trainable: '{}' is {}, expected a floating dtype", v.name(),
              dtype_name(v.dtype()));
    if (trainable != 0) v.need_changeable("variable_set_trainable");
    v.set_trainable(trainable != 0);
  });
}

dlcore_tensor* dlcore_variable_read(dlcore_context* ctx, dlcore_variable* variable) {
  return tensor_call(
      ctx, [&](Context& c) { return need_variable(c, variable, "variable_read").read(c); });
}

dlcore_status dlcore_variable_assign(dlcore_context* ctx, dlcore_variable* variable,
                                     dlcore_tensor* value) {
  return status_call(ctx, [&](Context& c) {
    need_variable(c, variable, "variable_assign")
        .assign(c, need_tensor(c, value, "variable_assign", "value"));
  });
}

dlcore_status dlcore_variable_accumulate(dlcore_context* ctx, dlcore_variable* variable,
                                         dlcore_tensor* value) {
  return status_call(ctx, [&](Context& c) {
    need_variable(c, variable, "variable_accumulate")
        .accumulate(c, need_tensor(c, value, "variable_accumulate", "value"));
  });
}

dlcore_tensor* dlcore_variable_gradient(dlcore_context* ctx, dlcore_variable* variable) {
  return tensor_call(
      ctx, [&](Context& c) { return need_variable(c, variable, "variable_gradient").gradient(c); });
}

dlcore_status dlcore_variable_set_gradient(dlcore_context* ctx, dlcore_variable* variable,
                                           dlcore_tensor* gradient) {
  return status_call(ctx, [&](Context& c) {
    Variable& v = need_variable(c, variable, "variable_set_gradient");
    v.set_gradient(c, gradient == nullptr
                          ? nullptr
                          : &need_tensor(c, gradient, "variable_set_gradient", "gradient"));
  });
}
