// SPDX-License-Identifier: Apache-2.0
// global_norm: the square root of the sum of squares over a list of tensors, without overflow or
// underflow on the way. f32 and halves are squared and summed in f64, where nothing can overflow.
// f64 is summed as it is, and once more scaled by a power of two where that sum is out of range.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/optimizer/global_norm.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/optimizer/operands.h"
#include "backends/cpu/optimizer/optimizer.h"
#include "backends/cpu/queue.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/reduce/block-inl.h"
#include "backends/cpu/reduce/codec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// A block as f64: f32 is widened into `buffer`.
HWY_INLINE const double* as_f64(const double* x, int64_t, double*) { return x; }
HWY_INLINE const double* as_f64(const float* x, int64_t n, double* buffer) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  constexpr int64_t kWidth = hn::MaxLanes(hn::ScalableTag<double>());
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    hn::Store(hn::PromoteTo(d, hn::LoadU(half, x + i)), d, buffer + i);
  }
  for (; i < n; ++i) buffer[i] = static_cast<double>(x[i]);
  return buffer;
}

// Sums of squares of x * scale, and largest magnitudes.
struct SquareSum {
  double scale;
  double block(const double* x, int64_t n) const {
    const auto s = hn::Set(hn::ScalableTag<double>(), scale);
    const auto square = [s](auto v) HWY_ATTR {
      const auto scaled = hn::Mul(v, s);
      return hn::Mul(scaled, scaled);
    };
    return fold_map<SumOp>(n, 0.0, square, x);
  }
  static double merge(double a, double b) { return a + b; }
};

struct Largest {
  static double block(const double* x, int64_t n) {
    return fold_map<MaxOp>(
        n, 0.0, [](auto v) HWY_ATTR { return hn::Abs(v); }, x);
  }
  static double merge(double a, double b) { return combine_two<MaxOp>(a, b); }
};

// Reduces one chunk of one tensor, block after block.
template <class T, class Rule>
double reduce_chunk(const Rule& rule, const Rows<T>& all, int64_t start, int64_t n) {
  alignas(64) T buffer[kBlock];
  alignas(64) double wide[kBlock];
  double total = 0;
  for (const int64_t end = start + n; start < end; start += kBlock) {
    const int64_t count = std::min(kBlock, end - start);
    const T* x = all.read(all.row(0), start, count, buffer);
    total = rule.merge(total, rule.block(as_f64(x, count, wide), count));
  }
  return total;
}

int64_t chunks_of(const dlcore_operand& operand) { return (operand.count + kChunk - 1) / kChunk; }

// Reduces all tensors: chunks in parallel, then in order.
template <class T, class Rule>
double reduce_all(const Queue& queue, const dlcore_launch* launch, const Rule& rule) {
  double* partial = static_cast<double*>(launch->workspace);
  int64_t chunks = 0;
  for (int32_t t = 0; t < launch->n_inputs; ++t) chunks += chunks_of(launch->inputs[t]);
  queue.parallel_for(chunks, [&](int64_t chunk) {
    int64_t local = chunk;
    int32_t t = 0;
    while (local >= chunks_of(launch->inputs[t])) local -= chunks_of(launch->inputs[t++]);
    const dlcore_operand& operand = launch->inputs[t];
    const int64_t start = local * kChunk;
    partial[chunk] = reduce_chunk(rule, rows_of<T>(operand, ~0u), start,
                                  std::min(kChunk, operand.count - start));
  });
  double total = 0;
  for (int64_t c = 0; c < chunks; ++c) total = rule.merge(total, partial[c]);
  return total;
}

template <class T>
double norm_of(const Queue& queue, const dlcore_launch* launch) {
  const double sum = reduce_all<T>(queue, launch, SquareSum{1.0});
  constexpr double kTooSmall = 0x1p-900;  // squares of what matters may have been subnormal
  if (std::is_same_v<T, float> || std::isnan(sum) || (std::isfinite(sum) && sum >= kTooSmall)) {
    return std::sqrt(sum);
  }
  const double largest = reduce_all<T>(queue, launch, Largest());
  if (largest == 0 || !std::isfinite(largest)) return largest;
  const int exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  const double scaled = reduce_all<T>(queue, launch, SquareSum{std::ldexp(1.0, -exponent)});
  return std::ldexp(std::sqrt(scaled), exponent);
}

template <class T>
dlcore_status global_norm(void* queue, const dlcore_launch* launch) {
  const double norm = norm_of<T>(*static_cast<const Queue*>(queue), launch);
  *static_cast<T*>(launch->outputs[0].data) = static_cast<T>(norm);
  return DLCORE_OK;
}

uint64_t workspace(const dlcore_launch* launch) {
  uint64_t chunks = 0;
  for (int32_t t = 0; t < launch->n_inputs; ++t) {
    chunks += static_cast<uint64_t>(chunks_of(launch->inputs[t]));
  }
  return chunks * sizeof(double);
}

template <class T>
constexpr dlcore_kernel row(dlcore_dtype dtype) {
  return {static_cast<int32_t>(Op::kGlobalNorm),
          dtype,
          DLCORE_KERNEL_STRIDED,
          0,
          global_norm<T>,
          nullptr,
          workspace};
}

constexpr dlcore_kernel kKernels[] = {row<float>(DLCORE_F32), row<float>(DLCORE_F16),
                                      row<float>(DLCORE_BF16), row<double>(DLCORE_F64)};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(global_norm)
}  // namespace dlcore::cpu
#endif
