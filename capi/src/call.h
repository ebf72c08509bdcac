// SPDX-License-Identifier: Apache-2.0
// The border. Every function of the C API is a thunk: it enters the context, checks its arguments,
// calls the core, and keeps what was thrown on the context. Nothing gets through.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/handle.h"
#include "core/engine/context.h"
#include "core/ops/value.h"
#include "core/tensor/tensor.h"
#include "dlcore/base.h"

namespace dlcore::api {

// The C struct behind each handle type is never defined: pointers are the core's objects under
// another name.
template <class T>
T* core(const void* handle) {
  return const_cast<T*>(static_cast<const T*>(handle));
}

// The object behind a handle, or nullptr when it is NULL, closed, or of another type. The program
// may hold objects that are only lent to it, but tensors only by references of its own.
template <class T>
T* live(const void* handle) {
  if (handle == nullptr) return nullptr;
  auto* object = static_cast<Handle*>(const_cast<void*>(handle));
  if (object->tag.load(std::memory_order_acquire) != T::kTag) return nullptr;
  if (T::kTag == Tag::kTensor && !object->held_by_program()) return nullptr;
  return core<T>(handle);
}

// The same for arguments: throws INVALID_ARGUMENT for NULL or another type, FAILED_PRECONDITION for
// a closed one.
[[noreturn]] void refuse_handle(const void* handle, Tag expected, const char* call,
                                const char* name);
template <class T>
T& need(const void* handle, const char* call, const char* name) {
  T* object = live<T>(handle);
  if (object == nullptr) refuse_handle(handle, T::kTag, call, name);
  return *object;
}
// Also of the context's engine.
Tensor& need_tensor(Context& ctx, const dlcore_tensor* handle, const char* call, const char* name);
// Also with elements to be read.
Tensor& need_elements(Context& ctx, const dlcore_tensor* handle, const char* call);
// nullptr for dlcore_tensor_none().
Tensor* need_input(Context& ctx, const dlcore_tensor* handle, const char* call, int64_t index);
bool is_none(const dlcore_tensor* handle);

// An object of the context's engine.
template <class T>
T& need_own(Context& ctx, const void* handle, const char* call, const char* name) {
  T& object = need<T>(handle, call, name);
  if (&object.engine() != &ctx.engine())
    invalid("{}: {} belongs to another engine than the context", call, name);
  return object;
}
// Also of the context's engine.
Variable& need_variable(Context& ctx, const dlcore_variable* handle, const char* call);

void need_pointer(const void* pointer, const char* call, const char* name);
std::string need_text(const char* text, const char* call, const char* name);
int64_t need_count(int64_t count, const void* array, const char* call, const char* name);
std::span<const int64_t> need_words(const int64_t* words, int64_t n_words, const char* call);

inline Value value_of(Context& ctx, Tensor& t) { return {ctx, TensorRef(&t)}; }

void end_context(Context* ctx);  // that was closed during a call

// One call on a context. False when it may not run: NULL, closed, in use by another thread, or with
// an error.
class Entry {
 public:
  enum class Kind { kNormal, kAlwaysRuns };
  explicit Entry(dlcore_context* handle, Kind kind = Kind::kNormal) {
    Context* ctx = live<Context>(handle);
    if (ctx == nullptr) return;
    if (!ctx->enter()) {
      ctx->note_intruder();
      refusal_ = DLCORE_FAILED_PRECONDITION;
      return;
    }
    context_ = ctx;
    if (kind == Kind::kAlwaysRuns) {
      may_run_ = true;
      return;
    }
    if (ctx->ok()) ctx->take_notices();
    may_run_ = ctx->ok();
    if (!may_run_) refusal_ = ctx->error()->code;
  }
  ~Entry() {
    if (context_ != nullptr && context_->leave()) end_context(context_);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  explicit operator bool() const { return may_run_; }
  Context& context() { return *context_; }
  dlcore_status refusal() const { return refusal_; }

 private:
  Context* context_ = nullptr;
  bool may_run_ = false;
  dlcore_status refusal_ = DLCORE_INVALID_ARGUMENT;
};

// fn(Context&) -> TensorRef; an empty one answers NULL without an error.
template <class Fn>
dlcore_tensor* tensor_call(dlcore_context* handle, Fn&& fn) noexcept {
  Entry entry(handle);
  if (!entry) return nullptr;
  Context& ctx = entry.context();
  try {
    TensorRef made = fn(ctx);
    if (!made) return nullptr;
    return reinterpret_cast<dlcore_tensor*>(ctx.give(std::move(made)));
  } catch (...) {
    ctx.keep_current_exception();
    return nullptr;
  }
}

// fn(Context&) -> Ref<T>
template <class Public, class Fn>
Public* object_call(dlcore_context* handle, Fn&& fn) noexcept {
  Entry entry(handle);
  if (!entry) return nullptr;
  Context& ctx = entry.context();
  try {
    ctx.reserve_object();
    return reinterpret_cast<Public*>(ctx.give_object(fn(ctx)));
  } catch (...) {
    ctx.keep_current_exception();
    return nullptr;
  }
}

// fn(Context&) -> void
template <class Fn>
dlcore_status status_call(dlcore_context* handle, Fn&& fn,
                          Entry::Kind kind = Entry::Kind::kNormal) noexcept {
  Entry entry(handle, kind);
  if (!entry) return entry.refusal();
  Context& ctx = entry.context();
  try {
    fn(ctx);
    return DLCORE_OK;
  } catch (const Error& e) {
    const dlcore_status code = e.code;
    const bool first = ctx.ok();
    ctx.keep_current_exception();
    return first ? ctx.error()->code
                 : code;  // keeping it may have needed more memory than there is
  } catch (...) {
    ctx.keep_current_exception();
    return ctx.error()->code;
  }
}

// fn(Context&) -> R
template <class R, class Fn>
R value_call(dlcore_context* handle, R failed, Fn&& fn,
             Entry::Kind kind = Entry::Kind::kNormal) noexcept {
  Entry entry(handle, kind);
  if (!entry) return failed;
  Context& ctx = entry.context();
  try {
    return fn(ctx);
  } catch (...) {
    ctx.keep_current_exception();
    return failed;
  }
}

// Gives each tensor to the program, all of them or, on failure, none; an empty one becomes NULL.
void give_all(Context& ctx, std::span<TensorRef> made, dlcore_tensor** outputs);

// Sets up a caller's option or result struct of `size` bytes; what that leaves out of T means
// defaults.
template <class T>
void init_struct(T* object, uint64_t size) {
  if (object == nullptr || size < sizeof(uint32_t)) return;
  const size_t n = std::min<size_t>(size, sizeof *object);
  std::memset(object, 0, n);
  object->struct_size = static_cast<uint32_t>(n);
}

// Copies text out by the two-call pattern: the bytes needed, including the NUL.
int64_t copy_text(std::string_view text, char* buffer, int64_t size);

template <class T>
void retain(const void* handle) noexcept {
  T* object = live<T>(handle);
  if (object == nullptr) return;
  object->retain();
  object->give_to_program();
}

// Gives up one of the program's references. The last one may be the one that a scope or a context
// holds for the program: then disown() takes the object out of it. Threads that give up one each at
// the same moment agree who gives up the last one.
template <class T, class Disown>
void give_up(T* object, Disown&& disown) noexcept {
  constexpr uint64_t kOne = Handle::kProgramReference;
  uint64_t c = object->counts.load(std::memory_order_acquire);
  if (c / kOne == 1) {  // nobody else has one
    disown();
    if (object->program_release() == Handle::Released::kLast) destroy(object);
    return;
  }
  // The program's reference becomes one of the library's, which keeps the object for a moment.
  uint64_t wanted;
  do {
    if (c < kOne) return;
    wanted = c / kOne == 1 ? c - kOne : c - kOne + 1;
  } while (!object->counts.compare_exchange_weak(c, wanted, std::memory_order_acq_rel));
  if (wanted < kOne) disown();
  if (object->drop()) destroy(object);
}

// Gives up one of the program's references to an object other than a tensor.
template <class T>
void release(const void* handle) noexcept {
  T* object = live<T>(handle);
  if (object == nullptr) return;
  give_up(object, [&] {
    if constexpr (std::is_base_of_v<ObjectHandle, T>) Context::disown_object(object);
  });
}

}  // namespace dlcore::api
