// SPDX-License-Identifier: Apache-2.0
// take: for every index of the axes before the one that is picked from, a row per index. Indices
// are read in blocks, so that the rows of the next ones can be fetched ahead.
#include <algorithm>
#include <cstring>

#include "backends/cpu/indexing/index_list.h"
#include "backends/cpu/indexing/indexing.h"
#include "backends/cpu/movement/all_dtypes.h"
#include "backends/cpu/queue.h"

namespace dlcore::cpu {
namespace plain {
namespace {

template <int64_t kBytes>
void copy_short(const char* from, int64_t step, const int64_t* indices, int64_t n, char* to) {
  for (int64_t i = 0; i < n; ++i, to += kBytes) std::memcpy(to, from + indices[i] * step, kBytes);
}

void copy_rows(const char* from, int64_t step, const int64_t* indices, int64_t n, int64_t bytes,
               char* to) {
  constexpr int64_t kAhead = 8;
  const auto length = static_cast<size_t>(bytes);
  for (int64_t i = 0; i < n; ++i, to += bytes) {
    if (i + kAhead < n) fetch_row(from + indices[i + kAhead] * step, bytes);
    std::memcpy(to, from + indices[i] * step, length);
  }
}

class Take {
 public:
  explicit Take(const dlcore_launch* launch)
      : axis_(normal(launch)),
        x_(launch->inputs[0], axis_, 1),
        indices_(launch->inputs[1]),
        list_(split_axes(indices_, ~0u).elements),
        to_(static_cast<char*>(launch->outputs[0].data)),
        bound_(launch->inputs[0].shape[axis_]),
        outer_(x_.outer.count()),
        row_(x_.inner.count() * x_.size) {
    constexpr int64_t kPart = int64_t{1} << 17;  // bytes
    const int64_t block = std::min(kIndexBlock, indices_.count) * row_;
    blocks_ = (indices_.count + kIndexBlock - 1) / kIndexBlock;
    blocks_per_part_ = std::min(blocks_, std::max<int64_t>(1, kPart / block));
    outer_per_part_ = std::max<int64_t>(1, kPart / block / blocks_per_part_);
  }

  // The position of the first index out of range, or -1.
  int64_t run(const Queue& queue) {
    const int64_t columns = (blocks_ + blocks_per_part_ - 1) / blocks_per_part_;
    const int64_t rows = (outer_ + outer_per_part_ - 1) / outer_per_part_;
    FirstBad bad(indices_.count);
    queue.parallel_for(rows * columns, [&](int64_t part) {
      const int64_t begin = part % columns * blocks_per_part_;
      const int64_t end = std::min(blocks_, begin + blocks_per_part_);
      for (int64_t block = begin; block < end && !queue.stopped(); ++block) {
        if (!copy_block(block, part / columns * outer_per_part_, bad)) return;
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

  bool copy_block(int64_t block, int64_t outer, FirstBad& bad) const {
    int64_t indices[kIndexBlock];
    const int64_t start = block * kIndexBlock, n = std::min(kIndexBlock, indices_.count - start);
    const int64_t good =
        read_indices(indices_.data, indices_.dtype, list_, start, n, bound_, indices);
    if (good < n) {
      bad.note(start + good);
      return false;
    }
    const int64_t end = std::min(outer_, outer + outer_per_part_);
    for (int64_t o = outer; o < end; ++o) {
      copy(x_.at(x_.outer.offset(o)), indices, n, to_ + (o * indices_.count + start) * row_);
    }
    return true;
  }

  void copy(const char* from, const int64_t* indices, int64_t n, char* to) const {
    const int64_t step = x_.step() * x_.size;
    if (!x_.inner.contiguous()) {
      for (int64_t i = 0; i < n; ++i, to += row_)
        gather(from + indices[i] * step, x_.inner, 0, row_ / x_.size, x_.size, to);
    } else if (row_ == 1) {
      copy_short<1>(from, step, indices, n, to);
    } else if (row_ == 2) {
      copy_short<2>(from, step, indices, n, to);
    } else if (row_ == 4) {
      copy_short<4>(from, step, indices, n, to);
    } else if (row_ == 8) {
      copy_short<8>(from, step, indices, n, to);
    } else {
      copy_rows(from, step, indices, n, row_, to);
    }
  }

  int32_t axis_;
  Split x_;
  const dlcore_operand& indices_;
  AxisList list_;
  char* to_;
  int64_t bound_, outer_, row_;  // bytes of a row
  int64_t blocks_, blocks_per_part_, outer_per_part_;
};

dlcore_status take(void* queue, const dlcore_launch* launch) {
  Take call(launch);
  const int64_t bad = call.run(*static_cast<const Queue*>(queue));
  if (bad < 0) return DLCORE_OK;
  return refuse_index(launch->inputs[1], bad, call.bound(), launch->failure);
}

constexpr auto kKernels = for_all_dtypes(Op::kTake, DLCORE_KERNEL_STRIDED, take);

}  // namespace
}  // namespace plain

DLCORE_CPU_PLAIN_KERNEL_FILE(take)

}  // namespace dlcore::cpu
