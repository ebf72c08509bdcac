// SPDX-License-Identifier: Apache-2.0
// How an op is described. One op is one constexpr OpDef in core/ops/families/: schema, inference,
// derivative and batching rules side by side. See families/activations.cc for the simplest
// examples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/tensor/dtype.h"

namespace dlcore {

// A list of known capacity that can be written in a constant.
template <class T, size_t N>
struct FixedList {
  std::array<T, N> items{};
  size_t count = 0;

  constexpr FixedList() = default;
  constexpr FixedList(std::initializer_list<T> list) {
    for (const T& item : list) items[count++] = item;
  }
  constexpr size_t size() const { return count; }
  constexpr const T& operator[](size_t i) const { return items[i]; }
  constexpr const T* begin() const { return items.data(); }
  constexpr const T* end() const { return items.data() + count; }
};

struct InputDef {
  const char* name = "";
  const char* doc = "";
  // The dtypes it takes. Inputs marked `promotes` (the default) are brought to one common dtype.
  DtypeSet dtypes = 0;
  bool promotes = true;
  bool optional = false;
  bool variadic = false;  // the last input only
};

enum class AttrType : uint8_t { kInt, kFloat, kBool, kDtype, kString, kInts, kDims };

struct AttrDef {
  const char* name = "";
  const char* doc = "";
  AttrType type = AttrType::kInt;
  bool optional = false;     // presence word; absent by default
  bool required = false;     // has no default
  bool positional = false;   // an argument of the typed functions, not an option
  bool allow_rest = false;   // kDims: one size may be -1, for what is left
  double number = 0;         // the default, for kInt, kFloat, kBool, kDtype
  const char* text = "";     // the default, for kString
  const char* choices = "";  // the strings allowed, separated by '|'
};

// Short forms for attribute lists.
constexpr AttrDef positional(AttrDef a) {
  a.positional = true;
  return a;
}
constexpr AttrDef required(AttrDef a) {
  a.required = a.positional = true;
  return a;
}
constexpr AttrDef optional(AttrDef a) {
  a.optional = true;
  return a;
}
constexpr AttrDef with_rest(AttrDef a) {
  a.allow_rest = true;
  return a;
}
constexpr AttrDef int_attr(const char* name, const char* doc, int64_t value = 0) {
  return {.name = name, .doc = doc, .type = AttrType::kInt, .number = static_cast<double>(value)};
}
constexpr AttrDef float_attr(const char* name, const char* doc, double value = 0) {
  return {.name = name, .doc = doc, .type = AttrType::kFloat, .number = value};
}
constexpr AttrDef bool_attr(const char* name, const char* doc, bool value = false) {
  return {.name = name, .doc = doc, .type = AttrType::kBool, .number = value ? 1.0 : 0.0};
}
constexpr AttrDef dtype_attr(const char* name, const char* doc, Dtype value = DLCORE_F32) {
  return {.name = name, .doc = doc, .type = AttrType::kDtype, .number = static_cast<double>(value)};
}
constexpr AttrDef string_attr(const char* name, const char* doc, const char* value,
                              const char* choices) {
  return {.name = name, .doc = doc, .type = AttrType::kString, .text = value, .choices = choices};
}
constexpr AttrDef ints_attr(const char* name, const char* doc) {
  return {.name = name, .doc = doc, .type = AttrType::kInts};
}
constexpr AttrDef dims_attr(const char* name, const char* doc) {
  return {.name = name, .doc = doc, .type = AttrType::kDims};
}

struct OutputDef {
  const char* name = "y";
  const char* doc = "";
  const char* dtype = "T";  // for the reference: "T", "bool", "i64", "attribute dtype"
  bool hidden = false;      // kept for the derivative; not an output of the typed functions
};

struct OperandView;
class Infer;
class View;
class Vjp;
class Jvp;
class Batch;
class Compose;
class CustomOp;

enum OpTraits : uint32_t {
  kElementwise = 1,  // inputs broadcast to one shape, which is the outputs'
  kLinear = 2,       // in its tensor inputs taken together: its forward derivative is itself
  kView = 4,         // the output shares the input's elements
  kHidden = 8,       // numbered but without a typed function
  kRandom = 16,  // the last input is the key; left out, it is drawn from the context's generator
  kNoGradient = 32,  // the derivative is zero or there is none
};

// Which inputs (low half) and outputs (high half) a derivative needs the elements of.
using SaveMask = uint32_t;
constexpr SaveMask save_input(int i) { return SaveMask{1} << i; }
constexpr SaveMask save_output(int i) { return SaveMask{1} << (16 + i); }
constexpr SaveMask save_nothing() { return 0; }

struct OpDef {
  int32_t number = 0;  // permanent, never reused
  int32_t version = 1;
  const char* name = "";
  const char* family = "";
  const char* since = "0.1";
  const char* doc = "";
  FixedList<InputDef, 6> inputs{};
  FixedList<AttrDef, 6> attrs{};
  FixedList<OutputDef, 3> outputs{{OutputDef{}}};
  uint32_t traits = 0;
  // Number of the input whose dtype selects the kernel; -1: the first output's.
  int32_t key_input = 0;

  void (*infer)(Infer&) = nullptr;
  void (*view)(View&) = nullptr;  // for kView
  // Presents operands to kernels in a form with fewer cases; nullptr: as they are (elementwise:
  // broadcast).
  void (*arrange)(std::span<OperandView> inputs, std::span<OperandView> outputs) = nullptr;
  void (*compose)(Compose&) = nullptr;  // written in other ops; used where a device has no kernel
  DtypeSet composes = ~DtypeSet{0};     // dtypes of the key input for which `compose` is right
  void (*vjp)(Vjp&) = nullptr;
  // What vjp needs, given which inputs want a gradient (bit i for input i).
  SaveMask (*saves)(uint32_t needs) = nullptr;
  void (*jvp)(Jvp&) = nullptr;      // derived from vjp when missing
  void (*batch)(Batch&) = nullptr;  // a loop when missing

  const CustomOp* custom = nullptr;  // of a program's own op: its callbacks

  constexpr bool is(uint32_t trait) const { return (traits & trait) != 0; }
  constexpr bool variadic() const {
    return inputs.size() > 0 && inputs[inputs.size() - 1].variadic;
  }
  constexpr bool differentiable() const {
    return !is(kNoGradient) && (vjp != nullptr || compose != nullptr);
  }
};

// One file of ops.
using OpFamily = std::span<const OpDef* const>;

}  // namespace dlcore
