// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/dtype.h"

#include <algorithm>

namespace dlcore {

std::string dtype_set_text(DtypeSet set) {
  std::string text;
  for (Dtype d = 1; d < kDtypeCount; ++d) {
    if (!contains(set, d)) continue;
    if (!text.empty()) text += ", ";
    text += dtype_name(d);
  }
  return text;
}

Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  const DtypeInfo& x = info(a);
  const DtypeInfo& y = info(b);
  if (x.kind == DtypeKind::kBool || y.kind == DtypeKind::kBool) return DLCORE_DTYPE_NONE;
  if (x.kind == DtypeKind::kFloat && y.kind == DtypeKind::kFloat) {
    if (x.bits == y.bits) return DLCORE_F32;  // f16 with bf16: neither holds the other
    return x.bits > y.bits ? a : b;
  }
  if (x.kind == DtypeKind::kFloat) return a;
  if (y.kind == DtypeKind::kFloat) return b;
  if (x.kind == y.kind) return x.bits > y.bits ? a : b;
  const Dtype is_signed = x.kind == DtypeKind::kSigned ? a : b;
  // u8 with i8 needs i16; any wider signed type holds u8.
  return is_signed == DLCORE_I8 ? DLCORE_I16 : is_signed;
}

Dtype promote_weak(Dtype strong, Dtype weak) {
  if (strong == DLCORE_BOOL) return weak == DLCORE_BOOL ? strong : DLCORE_DTYPE_NONE;
  if (weak == DLCORE_BOOL) return DLCORE_DTYPE_NONE;
  if (is_float(weak) && !is_float(strong)) return DLCORE_DTYPE_NONE;
  return strong;
}

}  // namespace dlcore
