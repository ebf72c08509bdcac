// SPDX-License-Identifier: Apache-2.0
// layer_norm: y = (x - mean) rstd [* scale] [+ bias] over the axes from `axis` on, with
// rstd = 1 / sqrt(variance + epsilon) and the biased variance taken around the mean in a second
// pass (Ba et al. 2016; ONNX LayerNormalization). Outputs y, mean and rstd.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/layer_norm.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/norm/norm.h"
#include "backends/cpu/norm/rows.h"
#include "backends/cpu/reduce/axes.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/reduce/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct Affine {
  const T* scale;  // NULL for none
  const T* bias;
};

template <class T>
T mean_of(const T* x, int64_t length) {
  PairwiseSum<T> sum;
  for (int64_t start = 0; start < length; start += kBlock) {
    sum.push(fold_block<SumOp>(x + start, std::min(kBlock, length - start)));
  }
  return sum.total() / static_cast<T>(length);
}

template <class T>
T variance_of(const T* x, int64_t length, T mean) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean);
  PairwiseSum<T> sum;
  for (int64_t start = 0; start < length; start += kBlock) {
    const int64_t n = std::min(kBlock, length - start);
    const auto square = [m](auto v) HWY_ATTR {
      const auto centered = hn::Sub(v, m);
      return hn::Mul(centered, centered);
    };
    sum.push(fold_map<SumOp>(n, mean, square, x + start));
  }
  return sum.total() / static_cast<T>(length);
}

template <class T>
void normalize(const T* x, int64_t length, T mean, T rstd, const Affine<T>& affine, T* y) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean);
  const auto r = hn::Set(d, rstd);
  const auto hat = [m, r](auto v) HWY_ATTR { return hn::Mul(hn::Sub(v, m), r); };
  if (affine.scale != nullptr && affine.bias != nullptr) {
    map_block<T>(
        length, y, [hat](auto v, auto s, auto b) HWY_ATTR { return hn::MulAdd(hat(v), s, b); }, x,
        affine.scale, affine.bias);
  } else if (affine.scale != nullptr) {
    map_block<T>(
        length, y, [hat](auto v, auto s) HWY_ATTR { return hn::Mul(hat(v), s); }, x, affine.scale);
  } else if (affine.bias != nullptr) {
    map_block<T>(
        length, y, [hat](auto v, auto b) HWY_ATTR { return hn::Add(hat(v), b); }, x, affine.bias);
  } else {
    map_block<T>(length, y, hat, x);
  }
}

template <class T>
dlcore_status layer_norm(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& input = launch->inputs[0];
  const uint32_t mask = trailing_mask(input.rank, launch->attrs[0]);
  const T epsilon = static_cast<T>(attr_f64(launch->attrs[1]));
  const Rows<T> in(input, mask);
  const int64_t length = in.length();
  T* workspace = static_cast<T*>(launch->workspace);
  T* second = workspace == nullptr ? nullptr : workspace + length;  // none where both are dense
  const Affine<T> affine = {dense_operand(launch, 1, workspace), dense_operand(launch, 2, second)};
  T* y = static_cast<T*>(launch->outputs[0].data);
  T* means = static_cast<T*>(launch->outputs[1].data);
  T* rstds = static_cast<T*>(launch->outputs[2].data);
  for_each_row(*static_cast<const Queue*>(queue), in.count(), length, [&](int64_t r) HWY_ATTR {
    T* to = y + r * length;
    const T* x = in.row(r);
    if (!in.dense()) {
      in.read(x, 0, length, to);
      x = to;
    }
    const T mean = mean_of(x, length);
    const T rstd = T(1) / std::sqrt(variance_of(x, length, mean) + epsilon);
    normalize(x, length, mean, rstd, affine, to);
    means[r] = mean;
    rstds[r] = rstd;
  });
  return DLCORE_OK;
}

// Room for a dense copy of scale and of bias.
template <class T>
uint64_t workspace(const dlcore_launch* launch) {
  const Rows<T> in(launch->inputs[0], trailing_mask(launch->inputs[0].rank, launch->attrs[0]));
  const bool dense = operand_is_dense(launch, 1) && operand_is_dense(launch, 2);
  return dense ? 0 : static_cast<uint64_t>(in.length()) * 2 * sizeof(T);
}

template <class T>
constexpr dlcore_kernel row() {
  return {static_cast<int32_t>(Op::kLayerNorm),
          dtype_of<T>(),
          DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE,
          0,
          layer_norm<T>,
          nullptr,
          workspace<T>};
}

constexpr dlcore_kernel kKernels[] = {row<float>(), row<double>()};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(layer_norm)
}  // namespace dlcore::cpu
#endif
