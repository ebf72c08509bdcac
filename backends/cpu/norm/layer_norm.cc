// SPDX-License-Identifier: Apache-2.0
// layer_norm: y = (x - mean) rstd [* scale] [+ bias] over the axes from `axis` on, with
// rstd = 1 / sqrt(variance + epsilon) and the biased variance taken around the mean in a second
// pass (Ba et al. 2016; ONNX LayerNormalization). Outputs y, and mean and rstd in f32 for half
// precision.
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
#include "backends/cpu/reduce/codec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct Affine {
  const T* scale;  // NULL for none
  const T* bias;
};

// One row: what is not dense is read block by block, as often as it is needed.
template <class T>
struct Row {
  const Rows<T>& rows;
  const std::byte* at;
  int64_t length;
};

// The sum of map(x) over n elements: four sums that do not wait for each other. map(fill) is 0.
template <class T, class Map>
HWY_INLINE T sum_map(int64_t n, T fill, const Map& map, const T* x) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<T>());
  auto a = hn::Zero(d), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    a = hn::Add(a, map(hn::LoadU(d, x + i)));
    b = hn::Add(b, map(hn::LoadU(d, x + i + kWidth)));
    c = hn::Add(c, map(hn::LoadU(d, x + i + 2 * kWidth)));
    e = hn::Add(e, map(hn::LoadU(d, x + i + 3 * kWidth)));
  }
  for (; i + kWidth <= n; i += kWidth) a = hn::Add(a, map(hn::LoadU(d, x + i)));
  if (i < n) b = hn::Add(b, map(load_first(d, x + i, n - i, fill)));
  return fold_vector<SumOp>(d, hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

template <class T>
T mean_of(const Row<T>& x) {
  alignas(64) T buffer[kBlock];
  PairwiseSum<T> sum;
  for (int64_t start = 0; start < x.length; start += kBlock) {
    const int64_t n = std::min(kBlock, x.length - start);
    sum.push(sum_map(
        n, T(0), [](auto v) HWY_ATTR { return v; }, x.rows.read(x.at, start, n, buffer)));
  }
  return sum.total() / static_cast<T>(x.length);
}

template <class T>
T variance_of(const Row<T>& x, T mean) {
  const hn::ScalableTag<T> d;
  alignas(64) T buffer[kBlock];
  const auto m = hn::Set(d, mean);
  const auto square = [m](auto v) HWY_ATTR {
    const auto centered = hn::Sub(v, m);
    return hn::Mul(centered, centered);
  };
  PairwiseSum<T> sum;
  for (int64_t start = 0; start < x.length; start += kBlock) {
    const int64_t n = std::min(kBlock, x.length - start);
    sum.push(sum_map(n, mean, square, x.rows.read(x.at, start, n, buffer)));
  }
  return sum.total() / static_cast<T>(x.length);
}

template <class T>
HWY_INLINE void normalize_block(const T* x, int64_t n, T mean, T rstd, const Affine<T>& affine,
                                T* y) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean);
  const auto r = hn::Set(d, rstd);
  const auto hat = [m, r](auto v) HWY_ATTR { return hn::Mul(hn::Sub(v, m), r); };
  if (affine.scale != nullptr && affine.bias != nullptr) {
    map_block<T>(
        n, y, [hat](auto v, auto s, auto b) HWY_ATTR { return hn::MulAdd(hat(v), s, b); }, x,
        affine.scale, affine.bias);
  } else if (affine.scale != nullptr) {
    map_block<T>(
        n, y, [hat](auto v, auto s) HWY_ATTR { return hn::Mul(hat(v), s); }, x, affine.scale);
  } else if (affine.bias != nullptr) {
    map_block<T>(
        n, y, [hat](auto v, auto b) HWY_ATTR { return hn::Add(hat(v), b); }, x, affine.bias);
  } else {
    map_block<T>(n, y, hat, x);
  }
}

template <class T>
void normalize(const Row<T>& x, T mean, T rstd, const Affine<T>& affine, const Row<T>& y) {
  alignas(64) T in_buffer[kBlock];
  alignas(64) T out_buffer[kBlock];
  for (int64_t start = 0; start < x.length; start += kBlock) {
    const int64_t n = std::min(kBlock, x.length - start);
    const Affine<T> part = {affine.scale == nullptr ? nullptr : affine.scale + start,
                            affine.bias == nullptr ? nullptr : affine.bias + start};
    const T* from = x.rows.read(x.at, start, n, in_buffer);
    std::byte* row = const_cast<std::byte*>(y.at);
    T* to = y.rows.place(row, start, n, out_buffer);
    normalize_block(from, n, mean, rstd, part, to);
    y.rows.write(row, start, n, to);
  }
}

template <class T>
dlcore_status layer_norm(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& input = launch->inputs[0];
  const uint32_t mask = trailing_mask(input.rank, launch->attrs[0]);
  const T epsilon = static_cast<T>(attr_f64(launch->attrs[1]));
  const Rows<T> in = rows_of<T>(input, mask);
  const Rows<T> out = rows_of<T>(launch->outputs[0], mask);
  const int64_t length = in.length();
  T* workspace = static_cast<T*>(launch->workspace);
  T* second = workspace == nullptr ? nullptr : workspace + length;  // none where both are dense
  const Affine<T> affine = {dense_operand(launch, 1, codec_of, workspace),
                            dense_operand(launch, 2, codec_of, second)};
  T* means = static_cast<T*>(launch->outputs[1].data);
  T* rstds = static_cast<T*>(launch->outputs[2].data);
  const auto run_group = [&](int64_t first, int64_t count) {
    alignas(64) T x_buffer[kPackedElements];
    RowGroup<T> x(in, first, count, x_buffer);
    x.load();
    for (int64_t r = 0; r < count; ++r) {
      const Row<T> row = {x.rows(), x.row(r), length};
      const T mean = mean_of(row);
      const T rstd = T(1) / std::sqrt(variance_of(row, mean) + epsilon);
      normalize(row, mean, rstd, affine, {out, out.row(first + r), length});
      means[first + r] = mean;
      rstds[first + r] = rstd;
    }
  };
  for_each_row_group(*static_cast<const Queue*>(queue), in.count(), length, run_group);
  return DLCORE_OK;
}

// Room for a dense copy of scale and of bias.
template <class T>
uint64_t workspace(const dlcore_launch* launch) {
  const Rows<T> in(launch->inputs[0], trailing_mask(launch->inputs[0].rank, launch->attrs[0]));
  const bool dense = operand_is_dense<T>(launch, 1) && operand_is_dense<T>(launch, 2);
  return dense ? 0 : static_cast<uint64_t>(in.length()) * 2 * sizeof(T);
}

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel(Op::kLayerNorm, DLCORE_F32, kFlags, layer_norm<float>, workspace<float>),
    make_kernel(Op::kLayerNorm, DLCORE_F16, kFlags, layer_norm<float>, workspace<float>),
    make_kernel(Op::kLayerNorm, DLCORE_BF16, kFlags, layer_norm<float>, workspace<float>),
    make_kernel(Op::kLayerNorm, DLCORE_F64, kFlags, layer_norm<double>, workspace<double>),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(layer_norm)
}  // namespace dlcore::cpu
#endif
