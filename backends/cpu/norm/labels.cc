// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/norm/labels.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "backends/cpu/reduce/axes.h"

namespace dlcore::cpu {
namespace {

template <class T>
void convert(const dlcore_operand& labels, int64_t* to) {
  const AxisList axes = split_axes(labels, ~0u).elements;
  const T* from = static_cast<const T*>(labels.data);
  for (int64_t i = 0; i < labels.count; ++i) to[i] = static_cast<int64_t>(from[axes.offset(i)]);
}

}  // namespace

CrossEntropyAttrs::CrossEntropyAttrs(const dlcore_launch* launch) {
  const int64_t* word = launch->attrs;
  const int64_t bytes = *word++;
  const std::string_view name(reinterpret_cast<const char*>(word), static_cast<size_t>(bytes));
  reduction = name == "mean"  ? LossReduction::kMean
              : name == "sum" ? LossReduction::kSum
                              : LossReduction::kNone;
  word += (bytes + 7) / 8;
  if (*word++ != 0) ignore_index = *word++;
  label_smoothing = std::bit_cast<double>(*word);
}

dlcore_status read_labels(const dlcore_operand& labels, std::optional<int64_t> ignore_index,
                          int64_t classes, int64_t* to, int64_t* counted, dlcore_failure* failure) {
  switch (labels.dtype) {
    case DLCORE_U8:
      convert<uint8_t>(labels, to);
      break;
    case DLCORE_I32:
      convert<int32_t>(labels, to);
      break;
    default:
      convert<int64_t>(labels, to);
      break;
  }
  *counted = labels.count;
  for (int64_t i = 0; i < labels.count; ++i) {
    if (ignore_index && to[i] == *ignore_index) {
      to[i] = kIgnoredLabel;
      --*counted;
    } else if (to[i] < 0 || to[i] >= classes) {
      std::snprintf(failure->message, sizeof failure->message,
                    "label %" PRId64 " at row %" PRId64 " is out of bounds for %" PRId64 " classes",
                    to[i], i, classes);
      return failure->code = DLCORE_OUT_OF_RANGE;
    }
  }
  return DLCORE_OK;
}

}  // namespace dlcore::cpu
