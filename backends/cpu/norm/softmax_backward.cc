// SPDX-License-Identifier: Apache-2.0
// softmax_backward(g, y):     y (g - sum(g y))     along one axis
// log_softmax_backward(g, y): g - exp(y) sum(g)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/softmax_backward.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/norm/norm.h"
#include "backends/cpu/norm/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/reduce/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

struct Softmax {
  template <class V>
  static HWY_INLINE V term(V g, V y) {
    return hn::Mul(g, y);
  }
  template <class D, class V>
  static HWY_INLINE V gradient(D, V g, V y, V sum) {
    return hn::Mul(y, hn::Sub(g, sum));
  }
};

struct LogSoftmax {
  template <class V>
  static HWY_INLINE V term(V g, V) {
    return g;
  }
  template <class D, class V>
  static HWY_INLINE V gradient(D d, V g, V y, V sum) {
    return hn::Sub(g, hn::Mul(vmath::exp(d, y), sum));
  }
};

template <class T>
struct Ends {  // one row of each operand
  const Rows<T>& gs;
  const std::byte* g;
  const Rows<T>& ys;
  const std::byte* y;
  const Rows<T>& outs;
  std::byte* out;
};

// Of elements [start, start + length).
template <class Rule, class T>
T sum_of_terms(const Ends<T>& e, int64_t start, int64_t length) {
  alignas(64) T g_buffer[kBlock];
  alignas(64) T y_buffer[kBlock];
  PairwiseSum<T> sum;
  for (const int64_t end = start + length; start < end; start += kBlock) {
    const int64_t n = std::min(kBlock, end - start);
    const T* g = e.gs.read(e.g, start, n, g_buffer);
    const T* y = e.ys.read(e.y, start, n, y_buffer);
    sum.push(fold_map<SumOp>(
        n, T(0), [](auto a, auto b) HWY_ATTR { return Rule::term(a, b); }, g, y));
  }
  return sum.total();
}

template <class Rule, class T>
void write_gradient(const Ends<T>& e, T sum, int64_t start, int64_t length) {
  const hn::ScalableTag<T> d;
  alignas(64) T g_buffer[kBlock];
  alignas(64) T y_buffer[kBlock];
  alignas(64) T out_buffer[kBlock];
  const auto total = hn::Set(d, sum);
  for (const int64_t end = start + length; start < end; start += kBlock) {
    const int64_t n = std::min(kBlock, end - start);
    const T* g = e.gs.read(e.g, start, n, g_buffer);
    const T* y = e.ys.read(e.y, start, n, y_buffer);
    T* out = e.outs.place(e.out, start, n, out_buffer);
    map_block<T>(
        n, out, [d, total](auto a, auto b) HWY_ATTR { return Rule::gradient(d, a, b, total); }, g,
        y);
    e.outs.write(e.out, start, n, out);
  }
}

template <class Rule, class T>
void run_chunks(const Queue& queue, const Rows<T>& gs, const Rows<T>& ys, const Rows<T>& outs,
                T* partial) {
  const int64_t rows = ys.count();
  const int64_t chunks = chunks_of(ys.length());
  const auto ends = [&](int64_t r) {
    return Ends<T>{gs, gs.row(r), ys, ys.row(r), outs, outs.row(r)};
  };
  for_each_chunk(queue, rows, ys.length(), [&](int64_t r, int64_t chunk, int64_t start, int64_t n) {
    partial[r * chunks + chunk] = sum_of_terms<Rule>(ends(r), start, n);
  });
  if (queue.stopped()) return;
  for (int64_t r = 0; r < rows; ++r) {
    PairwiseSum<T> sum;
    for (int64_t c = 0; c < chunks; ++c) sum.push(partial[r * chunks + c]);
    partial[r * chunks] = sum.total();
  }
  for_each_chunk(queue, rows, ys.length(), [&](int64_t r, int64_t, int64_t start, int64_t n) {
    write_gradient<Rule>(ends(r), partial[r * chunks], start, n);
  });
}

template <class Rule, class T>
dlcore_status backward(void* queue, const dlcore_launch* launch) {
  const Queue& q = *static_cast<const Queue*>(queue);
  const dlcore_operand& input = launch->inputs[1];
  if (input.count == 0) return DLCORE_OK;
  const uint32_t mask = axis_mask(input.rank, launch->attrs[0]);
  const Rows<T> gs = rows_of<T>(launch->inputs[0], mask);
  const Rows<T> ys = rows_of<T>(input, mask);
  const Rows<T> outs = rows_of<T>(launch->outputs[0], mask);
  const int64_t length = ys.length();
  if (length > kChunk) {
    run_chunks<Rule>(q, gs, ys, outs, static_cast<T*>(launch->workspace));
    return DLCORE_OK;
  }
  for_each_row_group(q, ys.count(), length, [&](int64_t first, int64_t count) {
    alignas(64) T g_buffer[kPackedElements];
    alignas(64) T y_buffer[kPackedElements];
    alignas(64) T out_buffer[kPackedElements];
    RowGroup<T> g(gs, first, count, g_buffer);
    RowGroup<T> y(ys, first, count, y_buffer);
    RowGroup<T> out(outs, first, count, out_buffer);
    g.load();
    y.load();
    for (int64_t r = 0; r < count; ++r) {
      const Ends<T> e = {g.rows(), g.row(r), y.rows(), y.row(r), out.rows(), out.row(r)};
      write_gradient<Rule>(e, sum_of_terms<Rule>(e, 0, length), 0, length);
    }
    out.store();
  });
  return DLCORE_OK;
}

template <class T>
uint64_t workspace(const dlcore_launch* launch) {
  const dlcore_operand& input = launch->inputs[1];
  const Rows<T> ys = rows_of<T>(input, axis_mask(input.rank, launch->attrs[0]));
  if (input.count == 0 || ys.length() <= kChunk) return 0;
  return static_cast<uint64_t>(ys.count() * chunks_of(ys.length())) * sizeof(T);
}

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kSoftmaxBackward, DLCORE_F32, kFlags, backward<Softmax, float>,
                workspace<float>),
    make_kernel(Op::kSoftmaxBackward, DLCORE_F16, kFlags, backward<Softmax, float>,
                workspace<float>),
    make_kernel(Op::kSoftmaxBackward, DLCORE_BF16, kFlags, backward<Softmax, float>,
                workspace<float>),
    make_kernel(Op::kSoftmaxBackward, DLCORE_F64, kFlags, backward<Softmax, double>,
                workspace<double>),
    make_kernel(Op::kLogSoftmaxBackward, DLCORE_F32, kFlags, backward<LogSoftmax, float>,
                workspace<float>),
    make_kernel(Op::kLogSoftmaxBackward, DLCORE_F16, kFlags, backward<LogSoftmax, float>,
                workspace<float>),
    make_kernel(Op::kLogSoftmaxBackward, DLCORE_BF16, kFlags, backward<LogSoftmax, float>,
                workspace<float>),
    make_kernel(Op::kLogSoftmaxBackward, DLCORE_F64, kFlags, backward<LogSoftmax, double>,
                workspace<double>),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(softmax_backward)
}  // namespace dlcore::cpu
#endif
