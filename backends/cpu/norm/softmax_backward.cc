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
  const T* g;
  const Rows<T>& ys;
  const T* y;
  const Rows<T>& outs;
  T* out;
};

template <class Rule, class T>
void backward_row(const Ends<T>& e) {
  const hn::ScalableTag<T> d;
  alignas(64) T g_buffer[kBlock];
  alignas(64) T y_buffer[kBlock];
  alignas(64) T out_buffer[kBlock];
  const int64_t length = e.ys.length();
  PairwiseSum<T> sum;
  for (int64_t start = 0; start < length; start += kBlock) {
    const int64_t n = std::min(kBlock, length - start);
    const T* g = e.gs.read(e.g, start, n, g_buffer);
    const T* y = e.ys.read(e.y, start, n, y_buffer);
    sum.push(fold_map<SumOp>(
        n, T(0), [](auto a, auto b) HWY_ATTR { return Rule::term(a, b); }, g, y));
  }
  const auto total = hn::Set(d, sum.total());
  for (int64_t start = 0; start < length; start += kBlock) {
    const int64_t n = std::min(kBlock, length - start);
    const T* g = e.gs.read(e.g, start, n, g_buffer);
    const T* y = e.ys.read(e.y, start, n, y_buffer);
    T* out = e.outs.place(e.out, start, out_buffer);
    map_block<T>(
        n, out, [d, total](auto a, auto b) HWY_ATTR { return Rule::gradient(d, a, b, total); }, g,
        y);
    e.outs.write(e.out, start, n, out);
  }
}

template <class Rule, class T>
dlcore_status backward(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& input = launch->inputs[1];
  if (input.count == 0) return DLCORE_OK;
  const uint32_t mask = axis_mask(input.rank, launch->attrs[0]);
  const Rows<T> gs(launch->inputs[0], mask);
  const Rows<T> ys(input, mask);
  const Rows<T> outs(launch->outputs[0], mask);
  const auto run_group = [&](int64_t first, int64_t count) {
    alignas(64) T g_buffer[kPackedElements];
    alignas(64) T y_buffer[kPackedElements];
    alignas(64) T out_buffer[kPackedElements];
    RowGroup<T> g(gs, first, count, g_buffer);
    RowGroup<T> y(ys, first, count, y_buffer);
    RowGroup<T> out(outs, first, count, out_buffer);
    g.load();
    y.load();
    for (int64_t r = 0; r < count; ++r) {
      backward_row<Rule, T>({g.rows(), g.row(r), y.rows(), y.row(r), out.rows(), out.row(r)});
    }
    out.store();
  };
  for_each_row_group(*static_cast<const Queue*>(queue), ys.count(), ys.length(), run_group);
  return DLCORE_OK;
}

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kSoftmaxBackward, DLCORE_F32, kFlags, backward<Softmax, float>),
    make_kernel(Op::kSoftmaxBackward, DLCORE_F64, kFlags, backward<Softmax, double>),
    make_kernel(Op::kLogSoftmaxBackward, DLCORE_F32, kFlags, backward<LogSoftmax, float>),
    make_kernel(Op::kLogSoftmaxBackward, DLCORE_F64, kFlags, backward<LogSoftmax, double>),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(softmax_backward)
}  // namespace dlcore::cpu
#endif
