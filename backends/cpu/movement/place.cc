// SPDX-License-Identifier: Apache-2.0
// pad and slice_backward: an input put into a larger output that holds one value elsewhere. Index i
// of an axis of the input goes to start + step * i.
#include <algorithm>
#include <bit>

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/movement/all_dtypes.h"
#include "backends/cpu/movement/fill.h"
#include "backends/cpu/movement/movement.h"

namespace dlcore::cpu {
namespace plain {
namespace {

// Where the input's elements lie in the output, all in elements.
struct Placement {
  int64_t start = 0;
  int64_t strides[DLCORE_MAX_RANK];

  Placement(const dlcore_operand& out, const int64_t* starts, const int64_t* steps) {
    int64_t stride = 1;
    for (int32_t d = out.rank - 1; d >= 0; --d) {
      start += starts[d] * stride;
      strides[d] = steps == nullptr ? stride : steps[d] * stride;
      stride *= out.shape[d];
    }
  }
};

void place(const Queue& queue, const dlcore_operand& in, const dlcore_operand& out,
           const Placement& placement, uint64_t elsewhere) {
  const int64_t size = element_size(out.dtype);
  fill_elements(queue, out.data, elsewhere, size, out.count);
  if (in.count == 0) return;
  const int32_t last = in.rank - 1;
  const int64_t length = last < 0 ? 1 : in.shape[last];
  const int64_t rows = in.count / length;
  const int64_t per_part = std::max<int64_t>(1, (int64_t{1} << 16) / length);
  queue.parallel_for((rows + per_part - 1) / per_part, [&](int64_t part) {
    const int64_t end = std::min(rows, (part + 1) * per_part);
    for (int64_t row = part * per_part; row < end; ++row) {
      int64_t from = 0;
      int64_t to = placement.start;
      int64_t rest = row;
      for (int32_t d = last - 1; d >= 0; --d) {
        const int64_t index = rest % in.shape[d];
        rest /= in.shape[d];
        from += index * in.strides[d];
        to += index * placement.strides[d];
      }
      copy_elements(static_cast<char*>(out.data) + to * size,
                    last < 0 ? 1 : placement.strides[last],
                    static_cast<const char*>(in.data) + from * size,
                    last < 0 ? 1 : in.strides[last], size, length);
    }
  });
}

// [pads: 2 * rank, begins then ends; value]
dlcore_status pad(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& out = launch->outputs[0];
  const int64_t n_pads = launch->attrs[0];
  const double value = std::bit_cast<double>(launch->attrs[1 + n_pads]);
  place(*static_cast<const Queue*>(queue), launch->inputs[0], out,
        Placement(out, launch->attrs + 1, nullptr), element_bits(out.dtype, value));
  return DLCORE_OK;
}

// [shape: dims; starts; steps]
dlcore_status slice_backward(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& out = launch->outputs[0];
  const int64_t* const starts = launch->attrs + 1 + 2 * launch->attrs[0];
  const int64_t* const steps = starts + 1 + starts[0];
  place(*static_cast<const Queue*>(queue), launch->inputs[0], out,
        Placement(out, starts + 1, steps + 1), 0);
  return DLCORE_OK;
}

constexpr auto kKernels =
    join(for_all_dtypes(Op::kPad, DLCORE_KERNEL_STRIDED, pad),
         for_all_dtypes(Op::kSliceBackward, DLCORE_KERNEL_STRIDED, slice_backward));

}  // namespace
}  // namespace plain

DLCORE_CPU_PLAIN_KERNEL_FILE(place)

}  // namespace dlcore::cpu
