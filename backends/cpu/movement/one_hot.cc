// SPDX-License-Identifier: Apache-2.0
// one_hot: a row of `depth` elements per index, 1 at the index and 0 elsewhere.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/movement/fill.h"
#include "backends/cpu/movement/movement.h"
#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu {
namespace plain {
namespace {

void keep_smallest(std::atomic<int64_t>& smallest, int64_t value) {
  int64_t seen = smallest.load(std::memory_order_relaxed);
  while (value < seen && !smallest.compare_exchange_weak(seen, value)) {
  }
}

template <class T>
dlcore_status one_hot(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& indices = launch->inputs[0];
  const dlcore_operand& out = launch->outputs[0];
  const Queue& q = *static_cast<const Queue*>(queue);
  const int64_t depth = launch->attrs[0];
  const int64_t size = element_size(out.dtype);
  const uint64_t one = element_bits(out.dtype, 1);
  const AxisList axes = split_axes(indices, ~0u).elements;
  const T* const data = static_cast<const T*>(indices.data);
  const int64_t per_part = std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, depth));
  std::atomic<int64_t> first_bad{indices.count};
  q.parallel_for((indices.count + per_part - 1) / per_part, [&](int64_t part) {
    const int64_t begin = part * per_part;
    const int64_t end = std::min(indices.count, begin + per_part);
    char* row = static_cast<char*>(out.data) + begin * depth * size;
    fill_elements(row, 0, size, (end - begin) * depth);
    for (int64_t i = begin; i < end; ++i, row += depth * size) {
      int64_t index = static_cast<int64_t>(data[axes.offset(i)]);
      if (index < 0) index += depth;
      if (index < 0 || index >= depth) {
        keep_smallest(first_bad, i);
        return;
      }
      fill_elements(row + index * size, one, size, 1);
    }
  });
  const int64_t bad = first_bad.load();
  if (bad == indices.count) return DLCORE_OK;
  launch->failure->code = DLCORE_OUT_OF_RANGE;
  std::snprintf(launch->failure->message, sizeof launch->failure->message,
                "index %lld at element %lld is out of bounds for depth %lld",
                static_cast<long long>(data[axes.offset(bad)]), static_cast<long long>(bad),
                static_cast<long long>(depth));
  return DLCORE_OUT_OF_RANGE;
}

constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kOneHot, DLCORE_I64, DLCORE_KERNEL_STRIDED, one_hot<int64_t>),
    make_kernel(Op::kOneHot, DLCORE_I32, DLCORE_KERNEL_STRIDED, one_hot<int32_t>),
    make_kernel(Op::kOneHot, DLCORE_U8, DLCORE_KERNEL_STRIDED, one_hot<uint8_t>),
};

}  // namespace
}  // namespace plain

DLCORE_CPU_PLAIN_KERNEL_FILE(one_hot)

}  // namespace dlcore::cpu
