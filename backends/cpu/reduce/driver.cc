// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/reduce/driver.h"

#include <algorithm>
#include <cstdio>

#include "backends/cpu/op_numbers.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/reduce/tree.h"

namespace dlcore::cpu {
namespace {

constexpr int64_t kGrain = 32 * 1024;      // elements worth a part of their own
constexpr int64_t kAccumulatorMax = 16;    // bytes
constexpr int64_t kColumnAccumulator = 8;  // bytes, where there is a `columns` function
constexpr int64_t kShortBatch = 64;        // short sequences whose results are finished at once
constexpr int64_t kMergeWidth = 16;        // outputs whose chunks are merged at once

// Step 3 of tree.h for several sequences side by side: `width` accumulators of `size` bytes a
// level.
class PairwiseStack {
 public:
  PairwiseStack(const Reduction& reduction, int64_t width, void* levels)
      : reduction_(reduction),
        width_(width),
        level_bytes_(width * reduction.accumulator_size),
        levels_(static_cast<char*>(levels)) {}

  // Where the next accumulators go, before push() takes them in.
  char* next() { return levels_ + depth_ * level_bytes_; }
  // A block, or the subtree of as many: a power of two that divides the number of blocks before.
  void push(int64_t blocks = 1) {
    ++depth_;
    for (int64_t c = count_ / blocks; (c & 1) != 0; c >>= 1) merge_top();
    count_ += blocks;
  }
  const char* finish() {
    while (depth_ > 1) merge_top();
    return levels_;
  }

 private:
  void merge_top() {
    --depth_;
    reduction_.combine(levels_ + (depth_ - 1) * level_bytes_, levels_ + depth_ * level_bytes_,
                       width_);
  }

  const Reduction& reduction_;
  int64_t width_;
  int64_t level_bytes_;
  char* levels_;
  int64_t depth_ = 0;
  int64_t count_ = 0;
};

uint32_t reduced_axes(const dlcore_launch& launch) {
  const int32_t rank = launch.inputs[0].rank;
  const uint32_t all = (1u << rank) - 1;
  if (launch.attrs[0] == 0) return all;
  const Op op = static_cast<Op>(launch.op);
  if (op == Op::kArgmax || op == Op::kArgmin) return axis_mask(rank, launch.attrs[1]);
  uint32_t mask = 0;
  for (int64_t i = 0; i < launch.attrs[1]; ++i) mask |= axis_mask(rank, launch.attrs[2 + i]);
  return mask;
}

struct Task {
  const Reduction& reduction;
  const char* base;
  RowView view;
  int64_t outputs;
  int64_t length;
  bool columns = false;
  int64_t run = 1;   // outputs whose inputs are neighbours
  int64_t tile = 1;  // outputs that are reduced together, at most
  int64_t tiles_per_run = 1;
  AxisList run_starts;  // the kept axes without the one that a run follows

  Task(const Reduction& r, const dlcore_launch& launch)
      : reduction(r),
        base(static_cast<const char*>(launch.inputs[0].data)),
        view(split_axes(launch.inputs[0], reduced_axes(launch))),
        outputs(view.rows.count()),
        length(view.elements.count()),
        run_starts(view.rows) {
    const AxisList& kept = view.rows;
    const AxisList& reduced = view.elements;
    const bool dense_elements = reduced.n == 0 || reduced.axes[reduced.n - 1].stride == 1;
    if (r.columns == nullptr || dense_elements || kept.n == 0) return;
    const Axis inner = kept.axes[kept.n - 1];
    if (inner.stride != 1 || inner.size < 4) return;
    columns = true;
    run = inner.size;
    tile = std::min(run, kColumns);
    tiles_per_run = (run + tile - 1) / tile;
    --run_starts.n;
  }

  int64_t tiles() const { return outputs / run * tiles_per_run; }
  // Each output is a tile of its own, and a block is all that it has.
  bool one_block() const { return !columns && length <= kBlock; }
};

// `count` elements of a sequence, from number `start` on, in a dense array: themselves or a copy.
const char* dense_block(const Task& task, const char* row, int64_t start, int64_t count,
                        char* buffer) {
  const Reduction& r = task.reduction;
  const AxisList& axes = task.view.elements;
  if (axes.one_run(start, count)) return row + axes.offset(start) * r.element_size;
  gather(row, axes, start, count, r.element_size, buffer);
  return buffer;
}

// What reduces `blocks` blocks from element `start` on at once; nullptr when nothing does.
auto subtree_of(const Task& task, int64_t start, int64_t blocks) -> decltype(Reduction::subtree) {
  const Reduction& r = task.reduction;
  const AxisList& axes = task.view.elements;
  const int64_t n = blocks * kBlock;
  if (axes.one_run(start, n)) return r.subtree;
  const Axis& last = axes.axes[axes.n - 1];
  // The element after the last must be one that is there.
  const bool more = start % last.size + n < last.size;
  return last.stride == 2 && more ? r.even_subtree : nullptr;
}

// Elements [start, start + n) of one output.
void reduce_sequence(const Task& task, int64_t offset, int64_t start, int64_t n,
                     PairwiseStack& stack) {
  const Reduction& r = task.reduction;
  alignas(64) char buffer[kBlock * 8];
  const char* row = task.base + offset * r.element_size;
  const int64_t end = start + n;
  // The largest first, so that each begins at a multiple of its own size.
  for (int64_t blocks = kChunk / kBlock; blocks > 0; blocks /= 2) {
    while (start + blocks * kBlock <= end) {
      const auto subtree = subtree_of(task, start, blocks);
      if (subtree == nullptr) break;
      subtree(row + task.view.elements.offset(start) * r.element_size, blocks, stack.next());
      stack.push(blocks);
      start += blocks * kBlock;
    }
  }
  for (; start < end; start += kBlock) {
    const int64_t count = std::min(kBlock, end - start);
    r.block(dense_block(task, row, start, count, buffer), start, count, stack.next());
    stack.push();
  }
}

// Rows of whole blocks that are neighbours in memory, as in a transposed matrix: one block of all
// of them at a time as columns, pushed in the order of the sequence. False when it does not apply.
bool reduce_transposed(const Task& task, int64_t offset, int64_t start, int64_t n,
                       PairwiseStack& stack) {
  const Reduction& r = task.reduction;
  const AxisList& axes = task.view.elements;
  if (r.columns == nullptr || axes.n < 2 || axes.axes[axes.n - 2].stride != 1) return false;
  const Axis& along = axes.axes[axes.n - 1];
  const Axis& across = axes.axes[axes.n - 2];
  if (along.size < kBlock || kChunk % along.size != 0 || n % along.size != 0) return false;
  const int64_t width = n / along.size;
  if (width < 4 || start / along.size % across.size + width > across.size) return false;
  const int64_t blocks = along.size / kBlock;
  alignas(64) char accumulators[kChunk / kBlock * kColumnAccumulator];
  const char* x = task.base + (offset + axes.offset(start)) * r.element_size;
  for (int64_t b = 0; b < blocks; ++b) {
    int64_t rows[kBlock];
    for (int64_t i = 0; i < kBlock; ++i) rows[i] = (b * kBlock + i) * along.stride;
    r.columns(x, rows, kBlock, width, accumulators + b * width * r.accumulator_size);
  }
  for (int64_t w = 0; w < width; ++w) {
    for (int64_t b = 0; b < blocks; ++b) {
      std::copy_n(accumulators + (b * width + w) * r.accumulator_size, r.accumulator_size,
                  stack.next());
      stack.push();
    }
  }
  return true;
}

// Elements [start, start + n) of `width` neighbouring outputs.
void reduce_columns(const Task& task, int64_t offset, int64_t width, int64_t start, int64_t n,
                    PairwiseStack& stack) {
  const Reduction& r = task.reduction;
  const AxisList& axes = task.view.elements;
  int64_t rows[kBlock];
  const char* x = task.base + offset * r.element_size;
  for (const int64_t end = start + n; start < end; start += kBlock) {
    const int64_t count = std::min(kBlock, end - start);
    for (int64_t i = 0; i < count; ++i) {
      rows[i] = axes.n == 1 ? (start + i) * axes.axes[0].stride : axes.offset(start + i);
    }
    r.columns(x, rows, count, width, stack.next());
    stack.push();
  }
}

// Outputs [first, last) over sequences of one block at most: what a block gives is all there is.
void reduce_short(const Task& task, int64_t first, int64_t last, char* out) {
  const Reduction& r = task.reduction;
  alignas(64) char accumulators[kShortBatch * kAccumulatorMax];
  alignas(64) char buffer[kBlock * 8];
  const AxisList& kept = task.view.rows;
  for (int64_t at = first; at < last; at += kShortBatch) {
    const int64_t n = std::min(kShortBatch, last - at);
    for (int64_t i = 0; i < n; ++i) {
      const char* x = nullptr;
      if (task.length > 0) {
        x = task.base + kept.offset(at + i) * r.element_size;
        x = dense_block(task, x, 0, task.length, buffer);
      }
      r.block(x, 0, task.length, accumulators + i * r.accumulator_size);
    }
    r.finish(accumulators, n, task.length, out + at * r.output_size);
  }
}

// One tile over one chunk. `to` receives accumulators, or outputs when the chunk is the only one.
void reduce_tile(const Task& task, int64_t tile, int64_t chunk, bool only, char* to) {
  const Reduction& r = task.reduction;
  // A chunk has 64 blocks: 7 levels and the one being filled.
  alignas(64) char levels[8 * kColumns * kColumnAccumulator];
  const int64_t run = tile / task.tiles_per_run;
  const int64_t column = tile % task.tiles_per_run * task.tile;
  const int64_t width = std::min(task.tile, task.run - column);
  const int64_t first = run * task.run + column;
  const int64_t start = chunk * kChunk;
  const int64_t n = std::min(kChunk, task.length - start);
  PairwiseStack stack(r, width, levels);
  if (n <= 0) {
    for (int64_t i = 0; i < width; ++i)
      r.block(nullptr, 0, 0, stack.next() + i * r.accumulator_size);
    stack.push();
  } else if (task.columns) {
    reduce_columns(task, task.run_starts.offset(run) + column, width, start, n, stack);
  } else if (!reduce_transposed(task, task.view.rows.offset(first), start, n, stack)) {
    reduce_sequence(task, task.view.rows.offset(first), start, n, stack);
  }
  const char* accumulators = stack.finish();
  if (only) {
    r.finish(accumulators, width, task.length, to + first * r.output_size);
  } else {
    std::copy_n(accumulators, width * r.accumulator_size, to + first * r.accumulator_size);
  }
}

void merge_chunks(const Queue& queue, const Task& task, int64_t chunks, const char* partial,
                  char* out) {
  const Reduction& r = task.reduction;
  const int64_t parts = (task.outputs + kMergeWidth - 1) / kMergeWidth;
  queue.parallel_for(parts, [&](int64_t part) {
    alignas(64) char levels[56 * kMergeWidth * kAccumulatorMax];
    const int64_t first = part * kMergeWidth;
    const int64_t width = std::min(kMergeWidth, task.outputs - first);
    PairwiseStack stack(r, width, levels);
    for (int64_t c = 0; c < chunks; ++c) {
      std::copy_n(partial + (c * task.outputs + first) * r.accumulator_size,
                  width * r.accumulator_size, stack.next());
      stack.push();
    }
    r.finish(stack.finish(), width, task.length, out + first * r.output_size);
  });
}

int64_t chunk_count(int64_t length) { return std::max<int64_t>(1, (length + kChunk - 1) / kChunk); }

}  // namespace

uint64_t reduction_workspace(const dlcore_launch* launch) {
  const RowView view = split_axes(launch->inputs[0], reduced_axes(*launch));
  const int64_t chunks = chunk_count(view.elements.count());
  return chunks == 1 ? 0 : static_cast<uint64_t>(chunks * view.rows.count() * kAccumulatorMax);
}

dlcore_status run_reduction(void* queue, const dlcore_launch* launch, const Reduction& reduction) {
  const Queue& q = *static_cast<const Queue*>(queue);
  const Task task(reduction, *launch);
  if (task.outputs == 0) return DLCORE_OK;
  if (task.length == 0 && reduction.needs_elements) {
    std::snprintf(launch->failure->message, sizeof launch->failure->message,
                  "the reduced axes have no elements: this has no value");
    return launch->failure->code = DLCORE_INVALID_ARGUMENT;
  }
  const int64_t chunks = chunk_count(task.length);
  const bool only = chunks == 1;
  char* out = static_cast<char*>(launch->outputs[0].data);
  char* to = only ? out : static_cast<char*>(launch->workspace);
  const int64_t tile_work = task.tile * std::clamp<int64_t>(task.length, 1, kChunk);
  const int64_t tiles_per_part = std::max<int64_t>(1, kGrain / tile_work);
  const int64_t groups = (task.tiles() + tiles_per_part - 1) / tiles_per_part;
  q.parallel_for(groups * chunks, [&](int64_t part) {
    if (q.stopped()) return;
    const int64_t chunk = part % chunks;
    char* target = only ? to : to + chunk * task.outputs * reduction.accumulator_size;
    const int64_t first = part / chunks * tiles_per_part;
    const int64_t last = std::min(first + tiles_per_part, task.tiles());
    if (task.one_block()) return reduce_short(task, first, last, target);
    for (int64_t t = first; t < last; ++t) reduce_tile(task, t, chunk, only, target);
  });
  if (!only && !q.stopped()) merge_chunks(q, task, chunks, to, out);
  return DLCORE_OK;
}

}  // namespace dlcore::cpu
