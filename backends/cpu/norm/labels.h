// SPDX-License-Identifier: Apache-2.0
// Attributes and class labels of cross entropy.
#pragma once

#include <cstdint>
#include <optional>

#include "dlcore/plugin.h"

namespace dlcore::cpu {

enum class LossReduction { kMean, kSum, kNone };

struct CrossEntropyAttrs {
  explicit CrossEntropyAttrs(const dlcore_launch* launch);

  LossReduction reduction;
  std::optional<int64_t> ignore_index;
  double label_smoothing;
};

inline constexpr int64_t kIgnoredLabel = -1;

// Reads labels of type i64, i32 or u8 with any strides into `to`, in row-major order; those equal
// to `ignore_index` become kIgnoredLabel. `counted` receives how many are not ignored.
// OUT_OF_RANGE, with the text in `failure`, for the first one outside [0, classes).
dlcore_status read_labels(const dlcore_operand& labels, std::optional<int64_t> ignore_index,
                          int64_t classes, int64_t* to, int64_t* counted, dlcore_failure* failure);

}  // namespace dlcore::cpu
