// SPDX-License-Identifier: Apache-2.0
// One launch, copied so that it can run later, and how kernels are written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "dlcore/plugin.h"

namespace host2 {

struct Operand {
  std::byte* bytes = nullptr;  // where the elements really are
  std::span<const int64_t> shape;
  std::span<const int64_t> strides;  // in elements
  int64_t count = 0;
  dlcore_dtype dtype = DLCORE_DTYPE_NONE;  // NONE: an optional operand that is absent

  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(bytes);
  }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

// Reads packed attributes in the order of the op's schema (dlcore/op.h).
class Attributes {
 public:
  explicit Attributes(std::span<const int64_t> words) : words_(words) {}
  int64_t integer() { return words_[at_++]; }
  double real() { return std::bit_cast<double>(integer()); }
  bool flag() { return integer() != 0; }
  std::string text();
  std::span<const int64_t> list();
  void skip_dims() { at_ += 2 * static_cast<size_t>(integer()); }

 private:
  std::span<const int64_t> words_;
  size_t at_ = 0;
};

// Everything a kernel sees while it runs.
class Call {
 public:
  explicit Call(const dlcore_launch& launch);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Operand& in(size_t i = 0) const { return inputs_[i]; }
  const Operand& out(size_t i = 0) const { return outputs_[i]; }
  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].dtype != DLCORE_DTYPE_NONE; }
  Attributes attributes() const { return Attributes(words_); }
  std::byte* workspace() const { return workspace_; }
  int32_t op() const { return op_; }

  // Notes what is wrong, the first one wins; the kernel goes on and stays within its operands.
  void fail(dlcore_status code, std::string message);
  dlcore_status code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  std::vector<Operand> copy(const dlcore_operand* operands, int32_t n);

  int32_t op_;
  std::vector<std::unique_ptr<int64_t[]>> dimensions_;
  std::vector<Operand> inputs_;
  std::vector<Operand> outputs_;
  std::vector<int64_t> words_;
  std::byte* workspace_ = nullptr;
  dlcore_status code_ = DLCORE_OK;
  std::string message_;
};

using Body = void (*)(Call& call);
dlcore_status enqueue(void* queue, const dlcore_launch* launch, Body body);

// The launch function of a kernel whose work is `kBody`.
template <Body kBody>
dlcore_status launch(void* queue, const dlcore_launch* what) {
  return enqueue(queue, what, kBody);
}

template <class T>
constexpr dlcore_dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DLCORE_BOOL;
  if constexpr (std::is_same_v<T, uint8_t>) return DLCORE_U8;
  if constexpr (std::is_same_v<T, int8_t>) return DLCORE_I8;
  if constexpr (std::is_same_v<T, int16_t>) return DLCORE_I16;
  if constexpr (std::is_same_v<T, int32_t>) return DLCORE_I32;
  if constexpr (std::is_same_v<T, int64_t>) return DLCORE_I64;
  if constexpr (std::is_same_v<T, float>) return DLCORE_F32;
  if constexpr (std::is_same_v<T, double>) return DLCORE_F64;
}

// A kernel by the name of its op; the engine tells the number.
struct Kernel {
  const char* op;
  dlcore_dtype dtype;
  uint32_t flags;
  dlcore_kernel_fn launch;
  int32_t (*accepts)(const dlcore_launch* launch) = nullptr;
  uint64_t (*workspace)(const dlcore_launch* launch) = nullptr;
};
using Kernels = std::vector<Kernel>;

// One element type after another: each<float, double>([&]<class T>() { ... });
template <class... T, class Fn>
void each(Fn&& fn) {
  (fn.template operator()<T>(), ...);
}
template <class Fn>
void each_float(Fn&& fn) {
  each<float, double>(fn);
}
template <class Fn>
void each_number(Fn&& fn) {
  each<uint8_t, int8_t, int16_t, int32_t, int64_t, float, double>(fn);
}
template <class Fn>
void each_plain(Fn&& fn) {
  each<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double>(fn);
}

}  // namespace host2
