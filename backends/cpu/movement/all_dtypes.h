// SPDX-License-Identifier: Apache-2.0
// Table rows of ops whose kernel is the same for every dtype.
#pragma once

#include <array>

#include "backends/cpu/targets.h"

namespace dlcore::cpu {

constexpr std::array<dlcore_kernel, 10> for_all_dtypes(Op op, uint32_t flags,
                                                       dlcore_kernel_fn launch) {
  std::array<dlcore_kernel, 10> rows{};
  for (dlcore_dtype dtype = DLCORE_BOOL; dtype <= DLCORE_F64; ++dtype) {
    rows[static_cast<size_t>(dtype - DLCORE_BOOL)] = make_kernel(op, dtype, flags, launch);
  }
  return rows;
}

// One table from several.
template <size_t... N>
constexpr auto join(const std::array<dlcore_kernel, N>&... tables) {
  std::array<dlcore_kernel, (N + ...)> all{};
  size_t at = 0;
  auto append = [&](const auto& table) {
    for (const dlcore_kernel& row : table) all[at++] = row;
  };
  (append(tables), ...);
  return all;
}

}  // namespace dlcore::cpu
