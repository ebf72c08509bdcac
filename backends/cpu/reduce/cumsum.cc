// SPDX-License-Identifier: Apache-2.0
// cumsum: out[i] = x[0] + ... + x[i] along one axis, added from the left. f32 is carried in f64,
// integers wrap.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/queue.h"
#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/reduce/reduce.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu::plain {
namespace {

constexpr int64_t kTile = 128;  // neighbouring sequences that are summed together
constexpr int64_t kGrain = 32 * 1024;

template <class T>
using Carry = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// `width` sequences whose elements lie `x_step` and `out_step` apart; offsets[c] leads to sequence
// c.
template <class T>
void scan(const T* x, const int64_t* offsets, int64_t x_step, T* out, int64_t out_step,
          int64_t length, int64_t width) {
  Carry<T> sums[kTile] = {};
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t c = 0; c < width; ++c) {
      sums[c] += static_cast<Carry<T>>(x[offsets[c] + i * x_step]);
      out[i * out_step + c] = static_cast<T>(sums[c]);
    }
  }
}

template <class T>
dlcore_status cumsum(void* queue, const dlcore_launch* launch) {
  const Queue& q = *static_cast<const Queue*>(queue);
  const dlcore_operand& input = launch->inputs[0];
  T* out = static_cast<T*>(launch->outputs[0].data);
  const T* x = static_cast<const T*>(input.data);
  if (input.count == 0) return DLCORE_OK;
  const uint32_t mask = axis_mask(input.rank, launch->attrs[0]);
  const RowView view = split_axes(input, mask);
  const int64_t length = view.elements.count();
  const int64_t step = view.elements.n == 0 ? 0 : view.elements.axes[0].stride;
  int64_t inner = 1;  // neighbouring sequences in the output
  for (int a = input.rank - 1; a >= 0 && (mask >> a & 1) == 0; --a) inner *= input.shape[a];
  if (mask == 0) inner = 1;

  const int64_t tile = std::min(inner, kTile);
  const int64_t tiles_per_run = (inner + tile - 1) / tile;
  const int64_t tiles = view.rows.count() / inner * tiles_per_run;
  const int64_t tiles_per_part = std::max<int64_t>(1, kGrain / (tile * length));
  q.parallel_for((tiles + tiles_per_part - 1) / tiles_per_part, [&](int64_t part) {
    if (q.stopped()) return;
    const int64_t last = std::min((part + 1) * tiles_per_part, tiles);
    for (int64_t t = part * tiles_per_part; t < last; ++t) {
      const int64_t run = t / tiles_per_run;
      const int64_t column = t % tiles_per_run * tile;
      const int64_t width = std::min(tile, inner - column);
      int64_t offsets[kTile];
      for (int64_t c = 0; c < width; ++c) offsets[c] = view.rows.offset(run * inner + column + c);
      scan(x, offsets, step, out + run * inner * length + column, inner, length, width);
    }
  });
  return DLCORE_OK;
}

template <class T>
constexpr dlcore_kernel row() {
  return make_kernel(Op::kCumsum, dtype_of<T>(), DLCORE_KERNEL_STRIDED, cumsum<T>);
}

constexpr dlcore_kernel kKernels[] = {row<uint8_t>(), row<int8_t>(), row<int16_t>(), row<int32_t>(),
                                      row<int64_t>(), row<float>(),  row<double>()};

}  // namespace
}  // namespace dlcore::cpu::plain

namespace dlcore::cpu {
DLCORE_CPU_PLAIN_KERNEL_FILE(cumsum)
}  // namespace dlcore::cpu
