// SPDX-License-Identifier: Apache-2.0
#include "dlcore/context.h"

#include "capi/src/call.h"
#include "core/engine/error_handle.h"
#include "core/tensor/variable.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {
constexpr auto kAlways = Entry::Kind::kAlwaysRuns;

// Reads of a context that do not enter it: safe beside a running call.
template <class T, class Fn>
T look(const dlcore_context* handle, T failed, Fn&& fn) noexcept {
  Context* ctx = live<Context>(handle);
  return ctx == nullptr ? failed : fn(*ctx);
}

int32_t swap_mode(dlcore_context* handle, bool Context::*mode, int32_t on) {
  return value_call<int32_t>(
      handle, -1,
      [&](Context& c) {
        const bool before = c.*mode;
        c.*mode = on != 0;
        return before ? 1 : 0;
      },
      kAlways);
}

}  // namespace

void dlcore_context_close(dlcore_context* handle) {
  Context* ctx = live<Context>(handle);
  if (ctx == nullptr) return;
  if (ctx->enter_to_close()) release<Context>(handle);
}

const char* dlcore_context_device(const dlcore_context* ctx) {
  return look<const char*>(ctx, nullptr, [](Context& c) { return c.device().name().c_str(); });
}

dlcore_engine* dlcore_context_engine(const dlcore_context* ctx) {
  return look<dlcore_engine*>(
      ctx, nullptr, [](Context& c) { return reinterpret_cast<dlcore_engine*>(&c.engine()); });
}

int32_t dlcore_ok(const dlcore_context* ctx) {
  return dlcore_context_status(ctx) == DLCORE_OK ? 1 : 0;
}

dlcore_status dlcore_context_status(const dlcore_context* handle) {
  return value_call<dlcore_status>(
      const_cast<dlcore_context*>(handle),
      live<Context>(handle) == nullptr ? DLCORE_INVALID_ARGUMENT : DLCORE_FAILED_PRECONDITION,
      [](Context& c) {
        if (c.ok()) c.take_notices();
        return c.ok() ? dlcore_status{DLCORE_OK} : c.error()->code;
      },
      kAlways);
}

const char* dlcore_context_error_message(const dlcore_context* handle) {
  return value_call<const char*>(
      const_cast<dlcore_context*>(handle), "",
      [](Context& c) { return c.ok() ? "" : c.error()->message.c_str(); }, kAlways);
}

dlcore_error* dlcore_context_take_error(dlcore_context* handle) {
  return value_call<dlcore_error*>(
      handle, nullptr,
      [](Context& c) -> dlcore_error* {
        if (c.ok()) return nullptr;
        ErrorHandle* made = give_error(c.error());
        c.take_error();
        return reinterpret_cast<dlcore_error*>(made);
      },
      kAlways);
}

void dlcore_context_clear_error(dlcore_context* handle) {
  status_call(
      handle, [](Context& c) { c.take_error(); }, kAlways);
}

dlcore_status dlcore_context_set_error(dlcore_context* handle, dlcore_status code,
                                       const char* message) {
  return status_call(handle, [&](Context&) {
    const std::string text = need_text(message, "context_set_error", "message");
    if (code <= DLCORE_OK || code > DLCORE_UNAUTHENTICATED) {
      invalid("context_set_error: code is {}, expected 1 to 16", code);
    }
    fail(code, "{}", text);
  });
}

dlcore_status dlcore_error_code(const dlcore_error* error) {
  ErrorHandle* e = live<ErrorHandle>(error);
  return e == nullptr ? DLCORE_OK : e->error->code;
}
const char* dlcore_error_message(const dlcore_error* error) {
  ErrorHandle* e = live<ErrorHandle>(error);
  return e == nullptr ? "" : e->error->message.c_str();
}
const char* dlcore_error_op(const dlcore_error* error) {
  ErrorHandle* e = live<ErrorHandle>(error);
  return e == nullptr ? "" : e->error->op.c_str();
}
const dlcore_error* dlcore_error_cause(const dlcore_error* error) {
  ErrorHandle* e = live<ErrorHandle>(error);
  return e == nullptr ? nullptr : reinterpret_cast<const dlcore_error*>(e->cause.get());
}
void dlcore_error_release(dlcore_error* error) {
  // A cause is lent by its error and has no reference of the program's to give up.
  if (ErrorHandle* e = live<ErrorHandle>(error); e != nullptr && e->held_by_program())
    release<ErrorHandle>(error);
}

void dlcore_context_cancel(dlcore_context* handle) {
  look<int>(handle, 0, [](Context& c) {
    c.cancel();
    return 0;
  });
}

dlcore_status dlcore_context_set_deadline(dlcore_context* handle, int64_t milliseconds) {
  return status_call(handle, [&](Context& c) { c.set_deadline(milliseconds); });
}

dlcore_status dlcore_context_synchronize(dlcore_context* handle) {
  return status_call(handle, [](Context& c) { c.synchronize(); });
}

int32_t dlcore_context_set_recording(dlcore_context* ctx, int32_t on) {
  return swap_mode(ctx, &Context::recording, on);
}
int32_t dlcore_context_set_training(dlcore_context* ctx, int32_t on) {
  return swap_mode(ctx, &Context::training, on);
}
int32_t dlcore_context_is_recording(const dlcore_context* ctx) {
  return value_call<int32_t>(
      const_cast<dlcore_context*>(ctx), -1, [](Context& c) { return c.recording ? 1 : 0; },
      kAlways);
}
int32_t dlcore_context_is_training(const dlcore_context* ctx) {
  return value_call<int32_t>(
      const_cast<dlcore_context*>(ctx), -1, [](Context& c) { return c.training ? 1 : 0; }, kAlways);
}

dlcore_status dlcore_context_set_seed(dlcore_context* handle, uint64_t seed) {
  return status_call(handle, [&](Context& c) { c.set_seed(seed); });
}

dlcore_variable* dlcore_context_generator(dlcore_context* handle) {
  return value_call<dlcore_variable*>(handle, nullptr, [](Context& c) {
    return reinterpret_cast<dlcore_variable*>(&c.generator());
  });
}

dlcore_scope* dlcore_scope_open(dlcore_context* handle) {
  return value_call<dlcore_scope*>(
      handle, nullptr, [](Context& c) { return reinterpret_cast<dlcore_scope*>(c.open_scope()); });
}

dlcore_tensor* dlcore_scope_keep(dlcore_context* handle, dlcore_tensor* tensor) {
  status_call(
      handle,
      [&](Context& c) {
        if (Tensor* t = live<Tensor>(tensor)) c.keep_in_parent(*t);
      },
      kAlways);
  return tensor;
}

void dlcore_scope_reset(dlcore_context* handle, dlcore_scope* scope) {
  status_call(
      handle,
      [&](Context& c) {
        Scope* s = live<Scope>(scope);
        if (s != nullptr && s->context == &c) c.reset_scope(*s);
      },
      kAlways);
}

void dlcore_scope_close(dlcore_context* handle, dlcore_scope* scope) {
  status_call(
      handle,
      [&](Context& c) {
        Scope* s = live<Scope>(scope);
        if (s != nullptr && s->context == &c && s->parent != nullptr) c.close_scope(*s);
      },
      kAlways);
}
