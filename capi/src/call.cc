// SPDX-License-Identifier: Apache-2.0
#include "capi/src/call.h"

#include <algorithm>
#include <cstring>

#include "core/graph/capture.h"
#include "core/tensor/variable.h"

namespace dlcore::api {
namespace {

const char* noun(Tag tag) {
  switch (tag) {
    case Tag::kEngine:
      return "an engine";
    case Tag::kContext:
      return "a context";
    case Tag::kError:
      return "an error";
    case Tag::kScope:
      return "a scope";
    case Tag::kTensor:
    case Tag::kNone:
      return "a tensor";
    case Tag::kVariable:
      return "a variable";
    case Tag::kTransform:
      return "a transform level";
    case Tag::kGraph:
      return "a graph";
    case Tag::kExecutable:
      return "an executable";
    case Tag::kModule:
      return "a module";
    case Tag::kOptimizer:
      return "an optimizer";
    case Tag::kLoader:
      return "a loader";
    case Tag::kArchive:
      return "an archive";
    case Tag::kOpCall:
      return "an op call";
    case Tag::kCheckpoint:
      return "a checkpoint";
    case Tag::kSchedule:
      return "a schedule";
    case Tag::kDead:
      break;
  }
  return "no handle of this library";
}

}  // namespace

void refuse_handle(const void* handle, Tag expected, const char* call, const char* name) {
  if (handle == nullptr) invalid("{}: {} is NULL, expected {}", call, name, noun(expected));
  const Tag tag = static_cast<const Handle*>(handle)->tag.load(std::memory_order_acquire);
  if (tag == Tag::kDead || tag == expected) {
    fail(DLCORE_FAILED_PRECONDITION, "{}: {} has been released or closed already", call, name);
  }
  if (tag == Tag::kNone) invalid("{}: {} is tensor_none(), expected a tensor", call, name);
  invalid("{}: {} is {}, expected {}", call, name, noun(tag), noun(expected));
}

bool is_none(const dlcore_tensor* handle) {
  return handle != nullptr &&
         reinterpret_cast<const Handle*>(handle)->tag.load(std::memory_order_relaxed) == Tag::kNone;
}

Tensor& need_tensor(Context& ctx, const dlcore_tensor* handle, const char* call, const char* name) {
  Tensor& tensor = need<Tensor>(handle, call, name);
  if (tensor.engine != &ctx.engine()) invalid("{}: {} belongs to another engine", call, name);
  return tensor;
}

Tensor* need_input(Context& ctx, const dlcore_tensor* handle, const char* call, int64_t index) {
  if (is_none(handle)) return nullptr;
  Tensor* tensor = live<Tensor>(handle);
  if (tensor == nullptr) {
    const std::string name = formatted("input {}", index);
    refuse_handle(handle, Tag::kTensor, call, name.c_str());
  }
  if (tensor->engine != &ctx.engine())
    invalid("{}: input {} belongs to another engine", call, index);
  return tensor;
}

void need_pointer(const void* pointer, const char* call, const char* name) {
  if (pointer == nullptr) invalid("{}: {} is NULL", call, name);
}

std::string need_text(const char* text, const char* call, const char* name) {
  need_pointer(text, call, name);
  return text;
}

int64_t need_count(int64_t count, const void* array, const char* call, const char* name) {
  if (count < 0) invalid("{}: the number of {} is {}, expected 0 or more", call, name, count);
  if (count > 0 && array == nullptr)
    invalid("{}: {} is NULL, but their number is {}", call, name, count);
  return count;
}

std::span<const int64_t> need_words(const int64_t* words, int64_t n_words, const char* call) {
  return {words, static_cast<size_t>(need_count(n_words, words, call, "attribute words"))};
}

Tensor& need_elements(Context& ctx, const dlcore_tensor* handle, const char* call) {
  Tensor& tensor = need_tensor(ctx, handle, call, "tensor");
  if (tensor.leveled()) {
    fail(DLCORE_FAILED_PRECONDITION,
         "{}: the tensor belongs to a transform level; lower it, or take its primal or tangent",
         call);
  }
  if (tensor.symbolic()) {
    const std::string origin =
        ctx.capture ? ctx.capture->origin(tensor) : "a capture that has ended";
    fail(DLCORE_FAILED_PRECONDITION,
         "{}: the tensor is a value of a captured graph and has no elements yet; it was made by {}",
         call, origin);
  }
  if (tensor.data == nullptr) {
    fail(DLCORE_FAILED_PRECONDITION,
         "{}: the tensor has no elements: infer callbacks see dtypes and shapes only", call);
  }
  return tensor;
}

Variable& need_variable(Context& ctx, const dlcore_variable* handle, const char* call) {
  Variable& variable = need<Variable>(handle, call, "variable");
  if (&variable.engine() != &ctx.engine())
    invalid("{}: variable '{}' belongs to another engine", call, variable.name());
  return variable;
}

void give_all(Context& ctx, std::span<TensorRef> made, dlcore_tensor** outputs) {
  std::vector<Tensor*> given;
  given.reserve(made.size());
  try {
    for (TensorRef& t : made) given.push_back(t ? ctx.give(std::move(t)) : nullptr);
  } catch (...) {
    for (Tensor* t : given) {
      if (t == nullptr) continue;
      Scope::disown(t);
      if (t->program_release() == Handle::Released::kLast) destroy(t);
    }
    throw;
  }
  for (size_t i = 0; i < given.size(); ++i) outputs[i] = reinterpret_cast<dlcore_tensor*>(given[i]);
}

void end_context(Context* ctx) {
  if (ctx->program_release() == Handle::Released::kLast) destroy(ctx);
}

int64_t copy_text(std::string_view text, char* buffer, int64_t size) {
  if (buffer != nullptr && size > 0) {
    const size_t n = std::min(text.size(), static_cast<size_t>(size - 1));
    std::memcpy(buffer, text.data(), n);
    buffer[n] = '\0';
  }
  return static_cast<int64_t>(text.size()) + 1;
}

}  // namespace dlcore::api
