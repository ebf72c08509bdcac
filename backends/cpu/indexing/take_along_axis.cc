// SPDX-License-Identifier: Apache-2.0
// take_along_axis: an element per index, in row-major order.
#include <algorithm>
#include <cstring>

#include "backends/cpu/indexing/index_list.h"
#include "backends/cpu/indexing/indexing.h"
#include "backends/cpu/movement/all_dtypes.h"
#include "backends/cpu/queue.h"

namespace dlcore::cpu {
namespace plain {
namespace {

class TakeAlongAxis {
 public:
  explicit TakeAlongAxis(const dlcore_launch* launch)
      : out_(launch->outputs[0]),
        axis_(normal(launch)),
        x_(launch->inputs[0], axis_, 1, out_.shape),
        indices_(launch->inputs[1], axis_, 1, out_.shape),
        index_dtype_(launch->inputs[1].dtype),
        bound_(launch->inputs[0].shape[axis_]),
        inner_(x_.inner.count()),
        length_(out_.count / x_.outer.count()) {}

  // The position in the output of the first index out of range, or -1.
  int64_t run(const Queue& queue) const {
    constexpr int64_t kPart = int64_t{1} << 14;  // elements, whole blocks
    FirstBad bad(out_.count);
    queue.parallel_for((out_.count + kPart - 1) / kPart, [&](int64_t part) {
      const int64_t end = std::min(out_.count, (part + 1) * kPart);
      for (int64_t at = part * kPart; at < end && !queue.stopped(); at += kIndexBlock) {
        if (!pick(at, std::min(kIndexBlock, end - at), bad)) return;
      }
    });
    return bad.position();
  }
  int64_t bound() const { return bound_; }

 private:
  static int32_t normal(const dlcore_launch* launch) {
    const int64_t axis = launch->attrs[0];
    return static_cast<int32_t>(axis < 0 ? axis + launch->inputs[0].rank : axis);
  }

  // Elements [start, start + n) of the output.
  bool pick(int64_t start, int64_t n, FirstBad& bad) const {
    int64_t offsets[kIndexBlock];
    const int64_t good =
        read_indices(indices_.data, index_dtype_, indices_.all, start, n, bound_, offsets);
    if (good < n) {
      bad.note(start + good);
      return false;
    }
    const int64_t step = x_.step();
    int64_t o = start / length_, left = length_ - start % length_, c = start % inner_;
    int64_t from = x_.outer.offset(o);
    for (int64_t i = 0; i < n; ++i) {
      offsets[i] = from + offsets[i] * step + x_.inner_offset(c);
      if (++c == inner_) c = 0;
      if (--left > 0) continue;
      left = length_;
      from = x_.outer.offset(++o);
    }
    char* const to = static_cast<char*>(out_.data) + start * x_.size;
    switch (x_.size) {
      case 1:
        copy<1>(x_.data, offsets, n, to);
        break;
      case 2:
        copy<2>(x_.data, offsets, n, to);
        break;
      case 4:
        copy<4>(x_.data, offsets, n, to);
        break;
      default:
        copy<8>(x_.data, offsets, n, to);
        break;
    }
    return true;
  }

  template <int64_t kBytes>
  static void copy(const char* from, const int64_t* offsets, int64_t n, char* to) {
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(to + i * kBytes, from + offsets[i] * kBytes, kBytes);
  }

  const dlcore_operand& out_;
  int32_t axis_;
  Split x_, indices_;
  dlcore_dtype index_dtype_;
  int64_t bound_, inner_;
  int64_t length_;  // elements for one index of the outer axes
};

dlcore_status take_along_axis(void* queue, const dlcore_launch* launch) {
  const TakeAlongAxis call(launch);
  const int64_t bad = call.run(*static_cast<const Queue*>(queue));
  if (bad < 0) return DLCORE_OK;
  const dlcore_operand& indices = launch->inputs[1];
  return refuse_index(indices, position_in(indices, launch->outputs[0].shape, bad), call.bound(),
                      launch->failure);
}

constexpr auto kKernels =
    for_all_dtypes(Op::kTakeAlongAxis, DLCORE_KERNEL_STRIDED, take_along_axis);

}  // namespace
}  // namespace plain

DLCORE_CPU_PLAIN_KERNEL_FILE(take_along_axis)

}  // namespace dlcore::cpu
