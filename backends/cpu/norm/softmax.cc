// SPDX-License-Identifier: Apache-2.0
// softmax:     exp(x - m) / s          with m = max(x) and s = sum of exp(x - m) along one axis
// log_softmax: (x - m) - log(s)
// A row of nothing but -inf has no softmax and gives NaN.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/softmax.cc"
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

template <class T>
struct Ends {  // one row of the input and of the output
  const Rows<T>& in;
  const std::byte* x;
  const Rows<T>& out;
  std::byte* y;
  int64_t length;
  const T* next_x;  // the row after this one, where rows are dense; else nullptr
  const T* next_y;

  // While exponentials keep the processor busy.
  void prefetch_next(int64_t start, int64_t n) const {
    if (next_x != nullptr) prefetch(next_x + start, n);
    if (next_y != nullptr) prefetch(next_y + start, n);
  }
};

struct Softmax {
  // y holds exp(x - m) before it is scaled, so that it must not be rounded in between.
  template <class T>
  static void row(const Ends<T>& e) {
    const hn::ScalableTag<T> d;
    alignas(64) T in_buffer[kBlock];
    alignas(64) T out_buffer[kBlock];
    const auto max = hn::Set(d, max_of_row(e.in, e.x, 0, e.length, in_buffer));
    const auto term = [d, max](auto v) HWY_ATTR { return exp_scaled(d, hn::Sub(v, max)); };
    PairwiseSum<T> sum;
    for (int64_t start = 0; start < e.length; start += kBlock) {
      const int64_t n = std::min(kBlock, e.length - start);
      const T* x = e.in.read(e.x, start, n, in_buffer);
      T* y = e.out.place(e.y, start, n, out_buffer);
      e.prefetch_next(start, n);
      sum.push(fold_and_store<SumOp>(n, y, MaxOp::kIdentity<T>, term, x));
      e.out.write(e.y, start, n, y);
    }
    const auto inverse = hn::Set(d, T(1) / sum.total());
    for (int64_t start = 0; start < e.length; start += kBlock) {
      const int64_t n = std::min(kBlock, e.length - start);
      const T* scaled = e.out.read(e.y, start, n, out_buffer);
      T* y = e.out.place(e.y, start, n, out_buffer);
      map_block<T>(
          n, y, [inverse](auto v) HWY_ATTR { return hn::Mul(v, inverse); }, scaled);
      e.out.write(e.y, start, n, y);
    }
  }

  // What is left once the sum of the whole row is known: exp(x - m) again, and the division.
  template <class T>
  static HWY_INLINE auto rest(T max, T sum) {
    const hn::ScalableTag<T> d;
    const auto m = hn::Set(d, max);
    const auto inverse = hn::Set(d, T(1) / sum);
    return [d, m, inverse](auto v)
               HWY_ATTR { return hn::Mul(exp_scaled(d, hn::Sub(v, m)), inverse); };
  }
};

struct LogSoftmax {
  template <class T>
  static HWY_INLINE auto rest(T max, T sum) {
    const hn::ScalableTag<T> d;
    const auto m = hn::Set(d, max);
    const auto log_sum = hn::Set(d, log_scalar(sum));
    return [m, log_sum](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, m), log_sum); };
  }

  template <class T>
  static void row(const Ends<T>& e) {
    const hn::ScalableTag<T> d;
    alignas(64) T in_buffer[kBlock];
    alignas(64) T out_buffer[kBlock];
    const T max = max_of_row(e.in, e.x, 0, e.length, in_buffer);
    const auto m = hn::Set(d, max);
    PairwiseSum<T> sum;
    for (int64_t start = 0; start < e.length; start += kBlock) {
      const int64_t n = std::min(kBlock, e.length - start);
      const T* x = e.in.read(e.x, start, n, in_buffer);
      e.prefetch_next(start, n);
      sum.push(fold_map<SumOp>(
          n, MaxOp::kIdentity<T>, [d, m](auto v) HWY_ATTR { return exp_scaled(d, hn::Sub(v, m)); },
          x));
    }
    const auto map = rest(max, sum.total());
    for (int64_t start = 0; start < e.length; start += kBlock) {
      const int64_t n = std::min(kBlock, e.length - start);
      const T* x = e.in.read(e.x, start, n, in_buffer);
      T* y = e.out.place(e.y, start, n, out_buffer);
      map_block<T>(n, y, map, x);
      e.out.write(e.y, start, n, y);
    }
  }
};

// Rows longer than a chunk are shared by threads, and those of halves that do not fit a buffer are
// not rounded between two passes: both go through partial sums.
template <class T>
bool by_chunks(const Rows<T>& in) {
  return in.length() > kChunk || (in.narrow() && in.length() > kPackedElements);
}

template <class Rule, class T>
void run_chunks(const Queue& queue, const Rows<T>& in, const Rows<T>& out, ScaledSum<T>* partial) {
  const int64_t rows = in.count();
  const int64_t length = in.length();
  const int64_t chunks = chunks_of(length);
  for_each_chunk(queue, rows, length, [&](int64_t r, int64_t chunk, int64_t start, int64_t n) {
    alignas(64) T buffer[kBlock];
    partial[r * chunks + chunk] = scaled_sum_of_row(in, in.row(r), start, n, buffer);
  });
  if (queue.stopped()) return;
  for (int64_t r = 0; r < rows; ++r) {
    ScaledSum<T>& total = partial[r * chunks];
    for (int64_t c = 1; c < chunks; ++c) total = merged(total, partial[r * chunks + c]);
    if (!std::isfinite(total.max)) total.sum = std::numeric_limits<T>::quiet_NaN();
  }
  for_each_chunk(queue, rows, length,
                 [&](int64_t r, int64_t, int64_t first, int64_t count) HWY_ATTR {
                   alignas(64) T in_buffer[kBlock];
                   alignas(64) T out_buffer[kBlock];
                   const auto map = Rule::rest(partial[r * chunks].max, partial[r * chunks].sum);
                   const std::byte* from = in.row(r);
                   std::byte* to = out.row(r);
                   for (int64_t start = first; start < first + count; start += kBlock) {
                     const int64_t n = std::min(kBlock, first + count - start);
                     const T* x = in.read(from, start, n, in_buffer);
                     T* y = out.place(to, start, n, out_buffer);
                     map_block<T>(n, y, map, x);
                     out.write(to, start, n, y);
                   }
                 });
}

template <class Rule, class T>
dlcore_status launch_rows(void* queue, const dlcore_launch* launch) {
  const Queue& q = *static_cast<const Queue*>(queue);
  const dlcore_operand& input = launch->inputs[0];
  if (input.count == 0) return DLCORE_OK;
  const uint32_t mask = axis_mask(input.rank, launch->attrs[0]);
  const Rows<T> in = rows_of<T>(input, mask);
  const Rows<T> out = rows_of<T>(launch->outputs[0], mask);
  if (by_chunks(in)) {
    run_chunks<Rule>(q, in, out, static_cast<ScaledSum<T>*>(launch->workspace));
    return DLCORE_OK;
  }
  const int64_t length = in.length();
  for_each_row_group(q, in.count(), length, [&](int64_t first, int64_t count) {
    alignas(64) T x_buffer[kPackedElements];
    alignas(64) T y_buffer[kPackedElements];
    RowGroup<T> x(in, first, count, x_buffer);
    RowGroup<T> y(out, first, count, y_buffer);
    x.load();
    for (int64_t r = 0; r < count; ++r) {
      const bool last = first + r + 1 == in.count();
      Rule::row(Ends<T>{x.rows(), x.row(r), y.rows(), y.row(r), length,
                        last ? nullptr : in.dense_row(first + r + 1),
                        last ? nullptr : out.dense_row(first + r + 1)});
    }
    y.store();
  });
  return DLCORE_OK;
}

template <class T>
uint64_t workspace(const dlcore_launch* launch) {
  const dlcore_operand& input = launch->inputs[0];
  const Rows<T> in = rows_of<T>(input, axis_mask(input.rank, launch->attrs[0]));
  if (input.count == 0 || !by_chunks(in)) return 0;
  return static_cast<uint64_t>(in.count() * chunks_of(in.length())) * sizeof(ScaledSum<T>);
}

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kSoftmax, DLCORE_F32, kFlags, launch_rows<Softmax, float>, workspace<float>),
    make_kernel(Op::kSoftmax, DLCORE_F16, kFlags, launch_rows<Softmax, float>, workspace<float>),
    make_kernel(Op::kSoftmax, DLCORE_BF16, kFlags, launch_rows<Softmax, float>, workspace<float>),
    make_kernel(Op::kSoftmax, DLCORE_F64, kFlags, launch_rows<Softmax, double>, workspace<double>),
    make_kernel(Op::kLogSoftmax, DLCORE_F32, kFlags, launch_rows<LogSoftmax, float>,
                workspace<float>),
    make_kernel(Op::kLogSoftmax, DLCORE_F16, kFlags, launch_rows<LogSoftmax, float>,
                workspace<float>),
    make_kernel(Op::kLogSoftmax, DLCORE_BF16, kFlags, launch_rows<LogSoftmax, float>,
                workspace<float>),
    make_kernel(Op::kLogSoftmax, DLCORE_F64, kFlags, launch_rows<LogSoftmax, double>,
                workspace<double>),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(softmax)
}  // namespace dlcore::cpu
#endif
