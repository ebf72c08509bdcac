// SPDX-License-Identifier: Apache-2.0
// Operands of updates: elementwise over tensors of one shape, block by block.
#pragma once

#include <bit>
#include <cstdint>

#include "backends/cpu/reduce/axes.h"
#include "core/base/half.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// Elements worth a part of their own.
inline constexpr int64_t kUpdatePart = 16 * 1024;

inline double attr_f64(const dlcore_launch* launch, int index) {
  return std::bit_cast<double>(launch->attrs[index]);
}

// A rank-0 operand as f64.
inline double scalar_f64(const dlcore_operand& operand) {
  switch (operand.dtype) {
    case DLCORE_F32:
      return static_cast<double>(*static_cast<const float*>(operand.data));
    case DLCORE_F16:
      return to_double(*static_cast<const Half*>(operand.data));
    case DLCORE_BF16:
      return to_double(*static_cast<const BFloat16*>(operand.data));
    case DLCORE_I64:
      return static_cast<double>(*static_cast<const int64_t*>(operand.data));
    default:
      return *static_cast<const double*>(operand.data);
  }
}

}  // namespace dlcore::cpu
