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
  const T* x;
  const Rows<T>& out;
  T* y;
  int64_t length;
};

template <class T>
void softmax_row(const Ends<T>& e) {
  const hn::ScalableTag<T> d;
  alignas(64) T in_buffer[kBlock];
  alignas(64) T out_buffer[kBlock];
  const auto max = hn::Set(d, max_of_row(e.in, e.x, e.length, in_buffer));
  PairwiseSum<T> sum;
  for (int64_t start = 0; start < e.length; start += kBlock) {
    const int64_t n = std::min(kBlock, e.length - start);
    const T* x = e.in.read(e.x, start, n, in_buffer);
    T* y = e.out.place(e.y, start, out_buffer);
    map_block<T>(
        n, y, [d, max](auto v) HWY_ATTR { return vmath::exp(d, hn::Sub(v, max)); }, x);
    sum.push(fold_block<SumOp>(static_cast<const T*>(y), n));
    e.out.write(e.y, start, n, y);
  }
  const auto inverse = hn::Set(d, T(1) / sum.total());
  for (int64_t start = 0; start < e.length; start += kBlock) {
    const int64_t n = std::min(kBlock, e.length - start);
    const T* scaled = e.out.read(e.y, start, n, out_buffer);
    T* y = e.out.place(e.y, start, out_buffer);
    map_block<T>(
        n, y, [inverse](auto v) HWY_ATTR { return hn::Mul(v, inverse); }, scaled);
    e.out.write(e.y, start, n, y);
  }
}

template <class T>
void log_softmax_row(const Ends<T>& e) {
  const hn::ScalableTag<T> d;
  alignas(64) T in_buffer[kBlock];
  alignas(64) T out_buffer[kBlock];
  const auto max = hn::Set(d, max_of_row(e.in, e.x, e.length, in_buffer));
  PairwiseSum<T> sum;
  for (int64_t start = 0; start < e.length; start += kBlock) {
    const int64_t n = std::min(kBlock, e.length - start);
    const T* x = e.in.read(e.x, start, n, in_buffer);
    sum.push(fold_map<SumOp>(
        n, MaxOp::kIdentity<T>,
        [d, max](auto v) HWY_ATTR { return vmath::exp(d, hn::Sub(v, max)); }, x));
  }
  const auto log_sum = hn::Set(d, log_scalar(sum.total()));
  for (int64_t start = 0; start < e.length; start += kBlock) {
    const int64_t n = std::min(kBlock, e.length - start);
    const T* x = e.in.read(e.x, start, n, in_buffer);
    T* y = e.out.place(e.y, start, out_buffer);
    map_block<T>(
        n, y, [max, log_sum](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, max), log_sum); }, x);
    e.out.write(e.y, start, n, y);
  }
}

template <class T, void (*kRow)(const Ends<T>&)>
dlcore_status launch_rows(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& input = launch->inputs[0];
  if (input.count == 0) return DLCORE_OK;
  const uint32_t mask = axis_mask(input.rank, launch->attrs[0]);
  const Rows<T> in(input, mask);
  const Rows<T> out(launch->outputs[0], mask);
  const int64_t length = in.length();
  const auto run_group = [&](int64_t first, int64_t count) {
    alignas(64) T x_buffer[kPackedElements];
    alignas(64) T y_buffer[kPackedElements];
    RowGroup<T> x(in, first, count, x_buffer);
    RowGroup<T> y(out, first, count, y_buffer);
    x.load();
    for (int64_t r = 0; r < count; ++r) kRow({x.rows(), x.row(r), y.rows(), y.row(r), length});
    y.store();
  };
  for_each_row_group(*static_cast<const Queue*>(queue), in.count(), length, run_group);
  return DLCORE_OK;
}

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kSoftmax, DLCORE_F32, kFlags, launch_rows<float, softmax_row<float>>),
    make_kernel(Op::kSoftmax, DLCORE_F64, kFlags, launch_rows<double, softmax_row<double>>),
    make_kernel(Op::kLogSoftmax, DLCORE_F32, kFlags, launch_rows<float, log_softmax_row<float>>),
    make_kernel(Op::kLogSoftmax, DLCORE_F64, kFlags, launch_rows<double, log_softmax_row<double>>),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(softmax)
}  // namespace dlcore::cpu
#endif
