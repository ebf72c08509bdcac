// SPDX-License-Identifier: Apache-2.0
// concat: the output in row-major order is, for every index of the axes before `axis`, a run of
// each input.
#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/movement/all_dtypes.h"
#include "backends/cpu/movement/movement.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/reduce/axes.h"

namespace dlcore::cpu {
namespace plain {
namespace {

struct Source {
  const char* data;
  AxisList axes;
  int64_t begin;  // of its run inside a row of the output
  int64_t length;
};

int64_t run_length(const dlcore_operand& x, int32_t axis) {
  int64_t length = 1;
  for (int32_t d = axis; d < x.rank; ++d) length *= x.shape[d];
  return length;
}

// Elements [begin, begin + n) of run `row` of a source.
void copy_run(const Source& from, int64_t row, int64_t begin, int64_t n, int64_t size, char* to) {
  const int64_t start = row * from.length + begin;
  if (from.axes.contiguous()) {
    std::memcpy(to, from.data + start * size, static_cast<size_t>(n * size));
  } else {
    gather(from.data, from.axes, start, n, size, to);
  }
}

dlcore_status concat(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& out = launch->outputs[0];
  if (out.count == 0) return DLCORE_OK;
  const int64_t wanted = launch->attrs[0];
  const int32_t axis = static_cast<int32_t>(wanted < 0 ? wanted + out.rank : wanted);
  Source sources[DLCORE_MAX_OP_INPUTS];
  int64_t row_length = 0;
  int32_t n_sources = 0;
  for (int32_t i = 0; i < launch->n_inputs; ++i) {
    const dlcore_operand& x = launch->inputs[i];
    if (x.count == 0) continue;
    const int64_t length = run_length(x, axis);
    sources[n_sources++] = {static_cast<const char*>(x.data), split_axes(x, ~0u).elements,
                            row_length, length};
    row_length += length;
  }
  const int64_t size = element_size(out.dtype);
  constexpr int64_t kPart = int64_t{1} << 16;
  const Queue& q = *static_cast<const Queue*>(queue);
  q.parallel_for((out.count + kPart - 1) / kPart, [&](int64_t part) {
    int64_t at = part * kPart;
    const int64_t end = std::min(out.count, at + kPart);
    int64_t row = at / row_length;
    int64_t column = at % row_length;
    int32_t s = 0;
    while (column >= sources[s].begin + sources[s].length) ++s;
    while (at < end) {
      const int64_t begin = column - sources[s].begin;
      const int64_t n = std::min(sources[s].length - begin, end - at);
      copy_run(sources[s], row, begin, n, size, static_cast<char*>(out.data) + at * size);
      at += n;
      column += n;
      if (++s == n_sources) {
        s = 0;
        column = 0;
        ++row;
      }
    }
  });
  return DLCORE_OK;
}

constexpr auto kKernels = for_all_dtypes(Op::kConcat, DLCORE_KERNEL_STRIDED, concat);

}  // namespace
}  // namespace plain

DLCORE_CPU_PLAIN_KERNEL_FILE(concat)

}  // namespace dlcore::cpu
