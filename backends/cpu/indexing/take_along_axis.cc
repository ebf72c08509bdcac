// SPDX-License-Identifier: Apache-2.0
// take_along_axis: an element per index. For every index of the axes before the one that is picked
// from, the positions of that axis and of those after it are met in row-major order.
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
        outer_(x_.outer.count()),
        inner_(x_.inner.count()),
        length_(out_.count / outer_) {}

  // The position in the output of the first index out of range, or -1.
  int64_t run(const Queue& queue) const {
    constexpr int64_t kPart = int64_t{1} << 14;  // elements, whole blocks
    const int64_t columns = (length_ + kPart - 1) / kPart;
    const int64_t outer_per_part = std::max<int64_t>(1, kPart / length_);
    const int64_t rows = (outer_ + outer_per_part - 1) / outer_per_part;
    FirstBad bad(out_.count);
    queue.parallel_for(rows * columns, [&](int64_t part) {
      const int64_t begin = part % columns * kPart, end = std::min(length_, begin + kPart);
      const int64_t first = part / columns * outer_per_part;
      for (int64_t o = first; o < std::min(outer_, first + outer_per_part); ++o) {
        if (queue.stopped()) return;
        for (int64_t at = begin; at < end; at += kIndexBlock) {
          if (!pick(o, at, std::min(kIndexBlock, end - at), bad)) return;
        }
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

  // Elements [start, start + n) of one index of the outer axes.
  bool pick(int64_t o, int64_t start, int64_t n, FirstBad& bad) const {
    int64_t offsets[kIndexBlock];
    const char* const list = indices_.at(indices_.outer.offset(o));
    const int64_t good = read_indices(list, index_dtype_, indices_.tail, start, n, bound_, offsets);
    if (good < n) {
      bad.note(o * length_ + start + good);
      return false;
    }
    const int64_t step = x_.step();
    int64_t c = start % inner_;
    for (int64_t i = 0; i < n; ++i) {
      offsets[i] = offsets[i] * step + x_.inner_offset(c);
      if (++c == inner_) c = 0;
    }
    const char* const from = x_.at(x_.outer.offset(o));
    char* const to = static_cast<char*>(out_.data) + (o * length_ + start) * x_.size;
    switch (x_.size) {
      case 1:
        copy<1>(from, offsets, n, to);
        break;
      case 2:
        copy<2>(from, offsets, n, to);
        break;
      case 4:
        copy<4>(from, offsets, n, to);
        break;
      default:
        copy<8>(from, offsets, n, to);
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
  int64_t bound_, outer_, inner_;
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
