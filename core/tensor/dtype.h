// SPDX-License-Identifier: Apache-2.0
// Element types as descriptors, sets of them, and promotion (Python Array API standard; an integer
// with a float gives the float's dtype).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "dlcore/base.h"

namespace dlcore {

using Dtype = dlcore_dtype;
constexpr int kDtypeCount = 11;

enum class DtypeKind : uint8_t { kNone, kBool, kUnsigned, kSigned, kFloat };

struct DtypeInfo {
  const char* name;
  DtypeKind kind;
  uint8_t bits;
  uint8_t block_elements;  // 1 but for packed types
  uint8_t block_bytes;
};

constexpr std::array<DtypeInfo, kDtypeCount> kDtypes = {{
    {nullptr, DtypeKind::kNone, 0, 1, 0},
    {"bool", DtypeKind::kBool, 8, 1, 1},
    {"u8", DtypeKind::kUnsigned, 8, 1, 1},
    {"i8", DtypeKind::kSigned, 8, 1, 1},
    {"i16", DtypeKind::kSigned, 16, 1, 2},
    {"i32", DtypeKind::kSigned, 32, 1, 4},
    {"i64", DtypeKind::kSigned, 64, 1, 8},
    {"f16", DtypeKind::kFloat, 16, 1, 2},
    {"bf16", DtypeKind::kFloat, 16, 1, 2},
    {"f32", DtypeKind::kFloat, 32, 1, 4},
    {"f64", DtypeKind::kFloat, 64, 1, 8},
}};

constexpr bool is_dtype(int64_t d) { return d > 0 && d < kDtypeCount; }
constexpr const DtypeInfo& info(Dtype d) {
  return kDtypes[static_cast<size_t>(is_dtype(d) ? d : 0)];
}
constexpr uint64_t dtype_bytes(Dtype d) { return info(d).block_bytes; }
constexpr const char* dtype_name(Dtype d) { return is_dtype(d) ? info(d).name : "none"; }
constexpr bool is_float(Dtype d) { return info(d).kind == DtypeKind::kFloat; }
constexpr bool is_integer(Dtype d) {
  return info(d).kind == DtypeKind::kSigned || info(d).kind == DtypeKind::kUnsigned;
}

// A set of dtypes: bit d for dtype d.
using DtypeSet = uint32_t;
constexpr DtypeSet dtype_set() { return 0; }
template <class... Rest>
constexpr DtypeSet dtype_set(Dtype d, Rest... rest) {
  return (DtypeSet{1} << d) | dtype_set(rest...);
}
constexpr bool contains(DtypeSet set, Dtype d) { return is_dtype(d) && (set >> d & 1) != 0; }

constexpr DtypeSet kBoolSet = dtype_set(DLCORE_BOOL);
constexpr DtypeSet kIntegerSet =
    dtype_set(DLCORE_U8, DLCORE_I8, DLCORE_I16, DLCORE_I32, DLCORE_I64);
constexpr DtypeSet kFloatSet = dtype_set(DLCORE_F32, DLCORE_F64);
constexpr DtypeSet kHalfSet = dtype_set(DLCORE_F16, DLCORE_BF16);
constexpr DtypeSet kNumericSet = kIntegerSet | kFloatSet;
constexpr DtypeSet kPlainSet = kNumericSet | kBoolSet;  // all but the half-precision ones
constexpr DtypeSet kAllSet = kPlainSet | kHalfSet;
constexpr DtypeSet kIndexSet = dtype_set(DLCORE_U8, DLCORE_I32, DLCORE_I64);

std::string dtype_set_text(DtypeSet set);  // "f32, f64"

// The common dtype of two strong operands; DLCORE_DTYPE_NONE when there is none (bool with a
// number).
Dtype promote(Dtype a, Dtype b);
// The dtype of a strong operand beside a weak scalar of kind `weak` (f64, i64 or bool): the strong
// one decides, except that a float scalar does not fit an integer operand.
Dtype promote_weak(Dtype strong, Dtype weak);

}  // namespace dlcore
