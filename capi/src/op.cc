// SPDX-License-Identifier: Apache-2.0
#include "dlcore/op.h"

#include <cstring>

#include "capi/src/call.h"
#include "core/catalogue/catalogue.h"
#include "core/graph/capture.h"
#include "core/ops/custom.h"
#include "core/ops/dispatch.h"
#include "core/ops/op_call.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

const OpDef& need_op(Context& ctx, int32_t number) {
  const OpDef* op = ctx.engine().ops().find(number);
  if (op == nullptr) op = ctx.engine().custom_ops().find(number);
  if (op == nullptr) invalid("op_invoke: no op has number {}", number);
  return *op;
}

template <size_t N>
dlcore_tensor* call_fixed(dlcore_context* ctx, int32_t number,
                          const std::array<dlcore_tensor*, N>& handles, const int64_t* words,
                          int64_t n_words) {
  return tensor_call(ctx, [&](Context& c) {
    const OpDef& op = need_op(c, number);
    std::array<Tensor*, N> inputs;
    for (size_t i = 0; i < N; ++i)
      inputs[i] = need_input(c, handles[i], op.name, static_cast<int64_t>(i));
    return invoke1(c, op, inputs, need_words(words, n_words, op.name));
  });
}

// The dtype of the weak scalar that a kind and a word stand for.
Dtype need_scalar_kind(const OpDef& op, int32_t kind, int64_t word) {
  if (kind == DLCORE_SCALAR_F64) return DLCORE_F64;
  if (kind == DLCORE_SCALAR_I64) return DLCORE_I64;
  if (kind == DLCORE_SCALAR_BOOL && (word == 0 || word == 1)) return DLCORE_BOOL;
  invalid("{}: scalar kind is {} and word {}", op.name, kind, word);
}

OpCall* open_call(const dlcore_op_call* handle) {
  OpCall* call = live<OpCall>(handle);
  return call != nullptr && call->phase != OpCall::Phase::kClosed ? call : nullptr;
}

dlcore_tensor* lent(const std::vector<TensorRef>& list, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= list.size()) return nullptr;
  return reinterpret_cast<dlcore_tensor*>(list[static_cast<size_t>(index)].get());
}

// fn(OpCall&, Context& child); what it throws is kept on the child.
template <class Fn>
dlcore_status call_status(dlcore_op_call* handle, Fn&& fn) {
  OpCall* call = open_call(handle);
  if (call == nullptr) return DLCORE_FAILED_PRECONDITION;
  return status_call(reinterpret_cast<dlcore_context*>(call->child),
                     [&](Context& child) { fn(*call, child); });
}

size_t need_index(int32_t index, size_t size, const char* what) {
  if (index < 0 || static_cast<size_t>(index) >= size)
    invalid("{}: index is {}, expected 0 to {}", what, index, size - 1);
  return static_cast<size_t>(index);
}

}  // namespace

dlcore_status dlcore_op_invoke(dlcore_context* ctx, int32_t number, dlcore_tensor* const* inputs,
                               int32_t n_inputs, const int64_t* attrs, int64_t n_words,
                               dlcore_tensor** outputs, int32_t n_outputs, uint64_t flags) {
  return status_call(ctx, [&](Context& c) {
    const OpDef& op = need_op(c, number);
    if (flags != 0) invalid("{}: flags is {:#x}, expected 0", op.name, flags);
    if (n_inputs > DLCORE_MAX_OP_INPUTS)
      invalid("{}: {} inputs were given, expected at most {}", op.name, n_inputs,
              int{DLCORE_MAX_OP_INPUTS});
    const int64_t n = need_count(n_inputs, inputs, op.name, "inputs");
    const int64_t m = need_count(n_outputs, outputs, op.name, "outputs");
    if (m > static_cast<int64_t>(op.outputs.size())) {
      invalid("{}: {} outputs are asked for, but it has {}", op.name, m, op.outputs.size());
    }
    std::array<Tensor*, DLCORE_MAX_OP_INPUTS> tensors;
    for (int64_t i = 0; i < n; ++i)
      tensors[static_cast<size_t>(i)] = need_input(c, inputs[i], op.name, i);
    std::array<TensorRef, DLCORE_MAX_OP_OUTPUTS> made;
    invoke(c, op, {tensors.data(), static_cast<size_t>(n)}, need_words(attrs, n_words, op.name),
           {made.data(), static_cast<size_t>(m)});
    give_all(c, {made.data(), static_cast<size_t>(m)}, outputs);
  });
}

dlcore_tensor* dlcore_op_call0(dlcore_context* ctx, int32_t op, const int64_t* attrs,
                               int64_t n_words) {
  return call_fixed<0>(ctx, op, {}, attrs, n_words);
}
dlcore_tensor* dlcore_op_call1(dlcore_context* ctx, int32_t op, dlcore_tensor* a,
                               const int64_t* attrs, int64_t n_words) {
  return call_fixed<1>(ctx, op, {a}, attrs, n_words);
}
dlcore_tensor* dlcore_op_call2(dlcore_context* ctx, int32_t op, dlcore_tensor* a, dlcore_tensor* b,
                               const int64_t* attrs, int64_t n_words) {
  return call_fixed<2>(ctx, op, {a, b}, attrs, n_words);
}
dlcore_tensor* dlcore_op_call3(dlcore_context* ctx, int32_t op, dlcore_tensor* a, dlcore_tensor* b,
                               dlcore_tensor* c, const int64_t* attrs, int64_t n_words) {
  return call_fixed<3>(ctx, op, {a, b, c}, attrs, n_words);
}

dlcore_tensor* dlcore_op_call_scalar(dlcore_context* ctx, int32_t number, dlcore_tensor* x,
                                     int32_t scalar_kind, int64_t word, int32_t side) {
  return tensor_call(ctx, [&](Context& c) {
    const OpDef& op = need_op(c, number);
    if (op.inputs.size() != 2 || op.variadic())
      invalid("{}: op_call_scalar takes ops of two inputs", op.name);
    if (side != 0 && side != 1) invalid("{}: side is {}, expected 0 or 1", op.name, side);
    Tensor* tensor = need_input(c, x, op.name, side);
    const Dtype kind = need_scalar_kind(op, scalar_kind, word);
    return invoke_scalar(c, op, tensor, kind, &word, side == 1);
  });
}

int32_t dlcore_catalogue_find(dlcore_context* ctx, int32_t catalogue, const char* name) {
  if (ctx == nullptr) {
    try {
      return name == nullptr ? -1 : catalogue_find(OpTable(), catalogue, name);
    } catch (...) {
      return -1;
    }
  }
  return value_call<int32_t>(ctx, -1, [&](Context& c) {
    const std::string wanted = need_text(name, "catalogue_find", "name");
    const int32_t number = catalogue_find(c.engine().ops(), catalogue, wanted);
    if (number >= 0) return number;
    const OpDef* custom = catalogue == DLCORE_CATALOGUE_OPS
                              ? c.engine().custom_ops().find(std::string_view(wanted))
                              : nullptr;
    if (custom != nullptr) return custom->number;
    const std::string_view hint = catalogue_hint(catalogue, wanted);
    if (hint.empty()) fail(DLCORE_NOT_FOUND, "catalogue_find: no '{}'", wanted);
    fail(DLCORE_NOT_FOUND, "catalogue_find: no '{}'; use '{}'", wanted, hint);
  });
}

const char* dlcore_op_name(dlcore_context* ctx, int32_t op) {
  return value_call<const char*>(
      ctx, nullptr,
      [&](Context& c) -> const char* {
        const OpDef* def = c.engine().ops().find(op);
        if (def == nullptr) def = c.engine().custom_ops().find(op);
        return def == nullptr ? nullptr : def->name;
      },
      Entry::Kind::kAlwaysRuns);
}

int32_t dlcore_op_has_kernel(dlcore_context* ctx, int32_t number, dlcore_dtype dtype) {
  return value_call<int32_t>(ctx, 0, [&](Context& c) {
    const OpDef& op = need_op(c, number);
    return is_dtype(dtype) && find_kernel(c.device(), op, dtype) != nullptr ? 1 : 0;
  });
}

dlcore_status dlcore_op_register(dlcore_context* ctx, const char* name, int32_t n_inputs,
                                 int32_t n_outputs, int32_t n_attrs, dlcore_op_callback infer,
                                 dlcore_op_callback forward, dlcore_op_callback backward,
                                 void* user_data, void (*destroy)(void*), int32_t* number) {
  // What takes over user_data: from here on `destroy` runs exactly once, whatever happens.
  std::unique_ptr<CustomOp> op(new (std::nothrow) CustomOp);
  if (op == nullptr) {
    if (destroy != nullptr) destroy(user_data);
    return status_call(
        ctx, [](Context&) { fail(DLCORE_RESOURCE_EXHAUSTED, "op_register: out of memory"); });
  }
  op->user_data = user_data;
  op->destroy = destroy;
  return status_call(ctx, [&](Context& c) {
    op->name = need_text(name, "op_register", "name");
    if (op->name.empty()) invalid("op_register: name is '', expected at least one character");
    need_pointer(reinterpret_cast<const void*>(infer), "op_register", "infer");
    need_pointer(reinterpret_cast<const void*>(forward), "op_register", "forward");
    need_pointer(number, "op_register", "op");
    if (n_inputs < 1 || n_inputs > 6)
      invalid("op_register: n_inputs is {}, expected 1 to 6", n_inputs);
    if (n_outputs < 1 || n_outputs > 3)
      invalid("op_register: n_outputs is {}, expected 1 to 3", n_outputs);
    if (n_attrs < 0 || n_attrs > 6) invalid("op_register: n_attrs is {}, expected 0 to 6", n_attrs);
    if (c.engine().ops().find(op->name) != nullptr) {
      fail(DLCORE_ALREADY_EXISTS, "op_register: '{}' is a built-in op", op->name);
    }
    op->manual = c.manual();
    op->infer = infer;
    op->forward = forward;
    op->backward = backward;
    op->describe(n_inputs, n_outputs, n_attrs);
    *number = c.engine().custom_ops().add(std::move(op));
  });
}

int32_t dlcore_op_call_input_count(const dlcore_op_call* call) {
  OpCall* c = open_call(call);
  return c == nullptr ? 0 : static_cast<int32_t>(c->inputs.size());
}
dlcore_tensor* dlcore_op_call_input(dlcore_op_call* call, int32_t index) {
  OpCall* c = open_call(call);
  return c == nullptr ? nullptr : lent(c->inputs, index);
}
dlcore_tensor* dlcore_op_call_output(dlcore_op_call* call, int32_t index) {
  OpCall* c = open_call(call);
  return c == nullptr ? nullptr : lent(c->outputs, index);
}
dlcore_tensor* dlcore_op_call_gradient(dlcore_op_call* call, int32_t index) {
  OpCall* c = open_call(call);
  return c == nullptr ? nullptr : lent(c->gradients, index);
}
int32_t dlcore_op_call_needs_gradient(const dlcore_op_call* call, int32_t index) {
  OpCall* c = open_call(call);
  return c != nullptr && index >= 0 && static_cast<size_t>(index) < c->needs.size() &&
                 c->needs[static_cast<size_t>(index)]
             ? 1
             : 0;
}
int64_t dlcore_op_call_attr(const dlcore_op_call* call, int32_t index) {
  OpCall* c = open_call(call);
  return c != nullptr && index >= 0 && static_cast<size_t>(index) < c->attrs.size()
             ? c->attrs[static_cast<size_t>(index)]
             : 0;
}

dlcore_status dlcore_op_call_set_output_type(dlcore_op_call* call, int32_t index,
                                             dlcore_dtype dtype, const int64_t* shape,
                                             int32_t rank) {
  return call_status(call, [&](OpCall& c, Context&) {
    constexpr const char* kCall = "op_call_set_output_type";
    if (c.phase != OpCall::Phase::kInfer)
      fail(DLCORE_FAILED_PRECONDITION, "{}: only infer sets types", kCall);
    TensorType& type = c.output_types[need_index(index, c.output_types.size(), kCall)];
    if (!is_dtype(dtype)) invalid("{}: dtype is {}, which is none", kCall, dtype);
    if (rank < 0 || rank > DLCORE_MAX_RANK)
      invalid("{}: rank is {}, expected 0 to {}", kCall, rank, int{DLCORE_MAX_RANK});
    if (rank > 0) need_pointer(shape, kCall, "shape");
    checked_count({shape, static_cast<size_t>(rank)}, dtype);
    type.dtype = dtype;
    type.dims.clear();
    for (int32_t i = 0; i < rank; ++i) type.dims.push_back(shape[i]);
  });
}

dlcore_status dlcore_op_call_set_output_like(dlcore_op_call* call, int32_t index,
                                             const dlcore_tensor* like) {
  return call_status(call, [&](OpCall& c, Context& child) {
    constexpr const char* kCall = "op_call_set_output_like";
    if (c.phase != OpCall::Phase::kInfer)
      fail(DLCORE_FAILED_PRECONDITION, "{}: only infer sets types", kCall);
    TensorType type = type_of(&need_tensor(child, like, kCall, "like"));
    type.weak = false;
    c.output_types[need_index(index, c.output_types.size(), kCall)] = type;
  });
}

dlcore_status dlcore_op_call_set_output(dlcore_op_call* call, int32_t index, dlcore_tensor* value) {
  return call_status(call, [&](OpCall& c, Context& child) {
    constexpr const char* kCall = "op_call_set_output";
    if (c.phase != OpCall::Phase::kForward)
      fail(DLCORE_FAILED_PRECONDITION, "{}: only forward sets outputs", kCall);
    c.outputs[need_index(index, c.outputs.size(), kCall)] =
        TensorRef(&need_tensor(child, value, kCall, "value"));
  });
}

dlcore_status dlcore_op_call_set_input_gradient(dlcore_op_call* call, int32_t index,
                                                dlcore_tensor* value) {
  return call_status(call, [&](OpCall& c, Context& child) {
    constexpr const char* kCall = "op_call_set_input_gradient";
    if (c.phase != OpCall::Phase::kBackward)
      fail(DLCORE_FAILED_PRECONDITION, "{}: only backward sets gradients", kCall);
    c.input_gradients[need_index(index, c.input_gradients.size(), kCall)] =
        TensorRef(&need_tensor(child, value, kCall, "value"));
  });
}
