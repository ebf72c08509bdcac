// SPDX-License-Identifier: Apache-2.0
// cross_entropy(logits, labels): for a row x of C classes with label t, m = max(x) and
// s = sum of exp(x - m)
//   loss = (1 - e) (log(s) - (x[t] - m)) + e (log(s) - sum(x - m) / C)      e = label_smoothing
//   logsumexp = m + log(s)
// and for its gradient with p = exp(x - logsumexp)
//   dx = (p - e / C - (1 - e) [c = t]) g         g divided by the number of counted rows for "mean"
// Ignored rows have loss and gradient 0 and are not counted.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/cross_entropy.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/norm/labels.h"
#include "backends/cpu/norm/norm.h"
#include "backends/cpu/norm/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/reduce/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

uint32_t class_axis(const dlcore_operand& logits) {
  return axis_mask(logits.rank, logits.rank >= 2 ? 1 : 0);
}

template <class T>
struct RowLoss {
  T loss;
  T logsumexp;
};

template <class T>
RowLoss<T> loss_of_row(const Rows<T>& rows, const std::byte* row, int64_t label, T smoothing) {
  const hn::ScalableTag<T> d;
  alignas(64) T buffer[kBlock];
  const int64_t classes = rows.length();
  const T shift = finite_shift(max_of_row(rows, row, 0, classes, buffer));
  const auto s = hn::Set(d, shift);
  PairwiseSum<T> exp_sum;
  PairwiseSum<T> centered_sum;
  for (int64_t start = 0; start < classes; start += kBlock) {
    const int64_t n = std::min(kBlock, classes - start);
    const T* x = rows.read(row, start, n, buffer);
    exp_sum.push(fold_map<SumOp>(
        n, MaxOp::kIdentity<T>, [d, s](auto v) HWY_ATTR { return exp_scaled(d, hn::Sub(v, s)); },
        x));
    if (smoothing != T(0)) {
      centered_sum.push(fold_map<SumOp>(
          n, shift, [s](auto v) HWY_ATTR { return hn::Sub(v, s); }, x));
    }
  }
  const T log_sum = log_scalar(exp_sum.total());
  if (label == kIgnoredLabel) return {T(0), shift + log_sum};
  T loss = log_sum - (rows.at(row, label) - shift);
  if (smoothing != T(0)) {
    const T mean = log_sum - centered_sum.total() / static_cast<T>(classes);
    loss = (T(1) - smoothing) * loss + smoothing * mean;
  }
  return {loss, shift + log_sum};
}

template <class T>
T sum_of(const T* x, int64_t n) {
  PairwiseSum<T> sum;
  for (int64_t start = 0; start < n; start += kBlock) {
    sum.push(fold_block<SumOp>(x + start, std::min(kBlock, n - start)));
  }
  return sum.total();
}

template <class T>
void store(const Rows<T>& out, int64_t count, const T* values) {
  if (out.narrow()) return out.write(out.row(0), 0, count, values);
  std::copy_n(values, count, reinterpret_cast<T*>(out.row(0)));
}

template <class T>
dlcore_status cross_entropy(void* queue, const dlcore_launch* launch) {
  const Queue& q = *static_cast<const Queue*>(queue);
  const CrossEntropyAttrs attrs(launch);
  const Rows<T> rows = rows_of<T>(launch->inputs[0], class_axis(launch->inputs[0]));
  const int64_t count = launch->inputs[1].count;
  int64_t* labels = static_cast<int64_t*>(launch->workspace);
  int64_t counted = 0;
  const dlcore_status status = read_labels(launch->inputs[1], attrs.ignore_index, rows.length(),
                                           labels, &counted, launch->failure);
  if (status != DLCORE_OK) return status;

  const Rows<T> loss = rows_of<T>(launch->outputs[0], ~0u);
  T* logsumexp = static_cast<T*>(launch->outputs[1].data);
  T* losses = reinterpret_cast<T*>(labels + count);
  const T smoothing = static_cast<T>(attrs.label_smoothing);
  for_each_row_group(q, count, rows.length(), [&](int64_t first, int64_t n) {
    alignas(64) T buffer[kPackedElements];
    RowGroup<T> x(rows, first, n, buffer);
    x.load();
    for (int64_t r = first; r < first + n; ++r) {
      const RowLoss<T> result = loss_of_row(x.rows(), x.row(r - first), labels[r], smoothing);
      losses[r] = result.loss;
      logsumexp[r] = result.logsumexp;
    }
  });
  if (attrs.reduction == LossReduction::kNone) {
    store(loss, count, losses);
    return DLCORE_OK;
  }
  const bool mean = attrs.reduction == LossReduction::kMean;
  const T divisor = mean ? static_cast<T>(std::max<int64_t>(1, counted)) : T(1);
  const T total = sum_of(losses, count) / divisor;
  store(loss, 1, &total);
  return DLCORE_OK;
}

template <class T>
struct RowGradient {
  int64_t label;
  T logsumexp;
  T uniform;  // smoothing / classes
  T hot;      // 1 - smoothing
  T scale;
};

template <class T>
void write_gradient(const Rows<T>& in, const std::byte* x, const Rows<T>& out, std::byte* dx,
                    const RowGradient<T>& g) {
  const hn::ScalableTag<T> d;
  alignas(64) T in_buffer[kBlock];
  alignas(64) T out_buffer[kBlock];
  const bool ignored = g.label == kIgnoredLabel;
  // Read before dx, which may be x, is written.
  const T hot =
      ignored ? T(0) : (exp_scalar(in.at(x, g.label) - g.logsumexp) - g.uniform - g.hot) * g.scale;
  const auto lse = hn::Set(d, g.logsumexp);
  const auto uniform = hn::Set(d, g.uniform);
  const auto scale = hn::Set(d, g.scale);
  for (int64_t start = 0; start < in.length(); start += kBlock) {
    const int64_t n = std::min(kBlock, in.length() - start);
    T* to = out.place(dx, start, n, out_buffer);
    if (ignored) {
      std::fill_n(to, n, T(0));
    } else {
      map_block<T>(
          n, to,
          [d, lse, uniform, scale](auto v)
              HWY_ATTR { return hn::Mul(hn::Sub(exp_scaled(d, hn::Sub(v, lse)), uniform), scale); },
          in.read(x, start, n, in_buffer));
      if (g.label >= start && g.label < start + n) to[g.label - start] = hot;
    }
    out.write(dx, start, n, to);
  }
}

template <class T>
dlcore_status cross_entropy_backward(void* queue, const dlcore_launch* launch) {
  const Queue& q = *static_cast<const Queue*>(queue);
  const CrossEntropyAttrs attrs(launch);
  const uint32_t mask = class_axis(launch->inputs[1]);
  const Rows<T> gs = rows_of<T>(launch->inputs[0], 0);
  const Rows<T> in = rows_of<T>(launch->inputs[1], mask);
  const Rows<T> logsumexps(launch->inputs[3], 0);
  const Rows<T> out = rows_of<T>(launch->outputs[0], mask);
  const int64_t classes = in.length();
  int64_t* labels = static_cast<int64_t*>(launch->workspace);
  int64_t counted = 0;
  const dlcore_status status = read_labels(launch->inputs[2], attrs.ignore_index, classes, labels,
                                           &counted, launch->failure);
  if (status != DLCORE_OK) return status;

  const T smoothing = static_cast<T>(attrs.label_smoothing);
  const bool by_row = attrs.reduction == LossReduction::kNone;
  const T divisor = attrs.reduction == LossReduction::kMean
                        ? static_cast<T>(std::max<int64_t>(1, counted))
                        : T(1);
  for_each_row_group(q, launch->inputs[2].count, classes, [&](int64_t first, int64_t n) {
    alignas(64) T x_buffer[kPackedElements];
    alignas(64) T dx_buffer[kPackedElements];
    RowGroup<T> x(in, first, n, x_buffer);
    RowGroup<T> dx(out, first, n, dx_buffer);
    x.load();
    for (int64_t r = first; r < first + n; ++r) {
      const RowGradient<T> g = {labels[r], logsumexps.at(logsumexps.row(r), 0),
                                smoothing / static_cast<T>(classes), T(1) - smoothing,
                                gs.at(gs.row(by_row ? r : 0), 0) / divisor};
      write_gradient(x.rows(), x.row(r - first), dx.rows(), dx.row(r - first), g);
    }
    dx.store();
  });
  return DLCORE_OK;
}

template <class T>
uint64_t workspace(const dlcore_launch* launch) {
  const bool forward = launch->op == static_cast<int32_t>(Op::kCrossEntropy);
  const int64_t labels = launch->inputs[forward ? 1 : 2].count;
  return static_cast<uint64_t>(labels) * (sizeof(int64_t) + (forward ? sizeof(T) : 0));
}

template <class T>
constexpr dlcore_kernel forward(dlcore_dtype dtype) {
  return {static_cast<int32_t>(Op::kCrossEntropy),
          dtype,
          DLCORE_KERNEL_STRIDED,
          0,
          cross_entropy<T>,
          nullptr,
          workspace<T>};
}

template <class T>
constexpr dlcore_kernel backward(dlcore_dtype dtype) {
  return {static_cast<int32_t>(Op::kCrossEntropyBackward),
          dtype,
          DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE,
          0,
          cross_entropy_backward<T>,
          nullptr,
          workspace<T>};
}

constexpr dlcore_kernel kKernels[] = {
    forward<float>(DLCORE_F32),   forward<float>(DLCORE_F16),   forward<float>(DLCORE_BF16),
    forward<double>(DLCORE_F64),  backward<float>(DLCORE_F32),  backward<float>(DLCORE_F16),
    backward<float>(DLCORE_BF16), backward<double>(DLCORE_F64),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(cross_entropy)
}  // namespace dlcore::cpu
#endif
