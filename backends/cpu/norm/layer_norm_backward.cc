// SPDX-License-Identifier: Apache-2.0
// layer_norm_backward(g, x, scale?, mean, rstd). With h = g * scale and xhat = (x - mean) rstd, for
// each row of n elements
//   dx     = rstd (h - (sum(h) + xhat sum(h xhat)) / n)
// and over all rows
//   dscale = sum(g xhat),  dbias = sum(g).
// Rows are cut into groups whose size follows from the shape. A group adds kSpan rows in turn, then
// the spans in turn; groups are added pairwise.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/layer_norm_backward.cc"
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

constexpr int64_t kSpan = 16;
constexpr int64_t kGroupElements = 128 * 1024;
constexpr int64_t kGroupRowsMax = 256;
constexpr int64_t kGroupRowsMin = 4;  // bounds the workspace
constexpr int64_t kTile = 1024;       // columns whose groups are added in one part

int64_t rows_per_group(int64_t length) {
  int64_t rows = kGroupRowsMax;
  while (rows > kGroupRowsMin && rows * length > kGroupElements) rows /= 2;
  return rows;
}

// Workspace of one group, in arrays of `length` elements. kG, kX and kDx hold copies of rows and
// exist only where rows are not dense.
enum Area { kDscale, kDbias, kSpanDscale, kSpanDbias, kG, kX, kDx };

template <class T>
struct RowSums {
  T h;
  T h_xhat;
};

template <class T>
RowSums<T> sums_of_row(const T* g, const T* x, const T* scale, int64_t length, T mean, T rstd) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean);
  const auto r = hn::Set(d, rstd);
  const auto same = [](auto v) HWY_ATTR { return v; };
  const auto product = [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); };
  const auto with_xhat = [m, r](auto h, auto v)
                             HWY_ATTR { return hn::Mul(h, hn::Mul(hn::Sub(v, m), r)); };
  PairwiseSum<T> h;
  PairwiseSum<T> h_xhat;
  for (int64_t at = 0; at < length; at += kBlock) {
    const int64_t n = std::min(kBlock, length - at);
    if (scale == nullptr) {
      h.push(fold_map<SumOp>(n, T(0), same, g + at));
      h_xhat.push(fold_map<SumOp>(n, T(0), with_xhat, g + at, x + at));
    } else {
      h.push(fold_map<SumOp>(n, T(0), product, g + at, scale + at));
      h_xhat.push(fold_map<SumOp>(
          n, T(0),
          [with_xhat](auto a, auto v, auto s) HWY_ATTR { return with_xhat(hn::Mul(a, s), v); },
          g + at, x + at, scale + at));
    }
  }
  return {h.total(), h_xhat.total()};
}

template <class T>
void write_dx(const T* g, const T* x, const T* scale, int64_t length, T mean, T rstd,
              RowSums<T> sums, T* dx) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean);
  const auto r = hn::Set(d, rstd);
  const auto h_mean = hn::Set(d, sums.h / static_cast<T>(length));
  const auto h_xhat_mean = hn::Set(d, sums.h_xhat / static_cast<T>(length));
  const auto gradient = [=](auto h, auto v) HWY_ATTR {
    const auto xhat = hn::Mul(hn::Sub(v, m), r);
    return hn::Mul(r, hn::Sub(h, hn::MulAdd(xhat, h_xhat_mean, h_mean)));
  };
  if (scale == nullptr) {
    map_block<T>(length, dx, gradient, g, x);
  } else {
    map_block<T>(
        length, dx,
        [gradient](auto a, auto v, auto s) HWY_ATTR { return gradient(hn::Mul(a, s), v); }, g, x,
        scale);
  }
}

template <class T>
void add_parameters(const T* g, const T* x, int64_t length, T mean, T rstd, T* dscale, T* dbias) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean);
  const auto r = hn::Set(d, rstd);
  map_block<T>(
      length, dscale,
      [m, r](auto sum, auto a, auto v)
          HWY_ATTR { return hn::MulAdd(a, hn::Mul(hn::Sub(v, m), r), sum); },
      static_cast<const T*>(dscale), g, x);
  map_block<T>(
      length, dbias, [](auto sum, auto a) HWY_ATTR { return hn::Add(sum, a); },
      static_cast<const T*>(dbias), g);
}

template <class T>
void add_to(T* to, const T* from, int64_t n) {
  map_block<T>(
      n, to, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); }, static_cast<const T*>(to),
      from);
}

template <class T>
class Backward {
 public:
  explicit Backward(const dlcore_launch* launch)
      : launch_(launch),
        mask_(trailing_mask(launch->inputs[1].rank, launch->attrs[0])),
        g_(rows_of<T>(launch->inputs[0], mask_)),
        x_(rows_of<T>(launch->inputs[1], mask_)),
        mean_(launch->inputs[3], 0),
        rstd_(launch->inputs[4], 0),
        dx_(rows_of<T>(launch->outputs[0], mask_)),
        rows_(x_.count()),
        length_(x_.length()),
        group_rows_(rows_per_group(length_)),
        areas_(g_.dense() && x_.dense() && dx_.dense() ? kG : kDx + 1),
        workspace_(static_cast<T*>(launch->workspace)) {}

  int64_t groups() const { return (rows_ + group_rows_ - 1) / group_rows_; }
  uint64_t workspace_bytes() const {
    return static_cast<uint64_t>((groups() * areas_ + 1) * length_) * sizeof(T);
  }

  void run(const Queue& queue) const {
    const T* scale = dense_operand(launch_, 2, codec_of, workspace_ + groups() * areas_ * length_);
    queue.parallel_for(groups(), [&](int64_t group) {
      if (!queue.stopped()) run_group(group, scale);
    });
    const int64_t tiles = (length_ + kTile - 1) / kTile;
    queue.parallel_for(tiles, [&](int64_t tile) {
      const int64_t at = tile * kTile;
      const int64_t n = std::min(kTile, length_ - at);
      merge(launch_->outputs[1], kDscale, at, n);
      merge(launch_->outputs[2], kDbias, at, n);
    });
  }

 private:
  T* area(int64_t group, Area which) const {
    return workspace_ + (group * areas_ + which) * length_;
  }

  void run_group(int64_t group, const T* scale) const {
    std::fill_n(area(group, kDscale), 4 * length_, T(0));
    const int64_t last = std::min(rows_, (group + 1) * group_rows_);
    for (int64_t first = group * group_rows_; first < last; first += kSpan) {
      for (int64_t r = first; r < std::min(last, first + kSpan); ++r) run_row(group, r, scale);
      add_to(area(group, kDscale), area(group, kSpanDscale), 2 * length_);
      std::fill_n(area(group, kSpanDscale), 2 * length_, T(0));
    }
  }

  void run_row(int64_t group, int64_t r, const T* scale) const {
    const bool copies = areas_ > kG;
    const T* g = g_.read(g_.row(r), 0, length_, copies ? area(group, kG) : nullptr);
    const T* x = x_.read(x_.row(r), 0, length_, copies ? area(group, kX) : nullptr);
    const T mean = mean_.at(mean_.row(r), 0);
    const T rstd = rstd_.at(rstd_.row(r), 0);
    const RowSums<T> sums = sums_of_row(g, x, scale, length_, mean, rstd);
    add_parameters(g, x, length_, mean, rstd, area(group, kSpanDscale), area(group, kSpanDbias));
    T* dx = dx_.place(dx_.row(r), 0, length_, copies ? area(group, kDx) : nullptr);
    write_dx(g, x, scale, length_, mean, rstd, sums, dx);
    dx_.write(dx_.row(r), 0, length_, dx);
  }

  // Adds columns [at, at + n) of one area over all groups.
  void merge(const dlcore_operand& output, Area which, int64_t at, int64_t n) const {
    alignas(64) T zeros[kTile] = {};
    for (int64_t half = 1; half < groups(); half *= 2) {
      for (int64_t a = 0; a + half < groups(); a += 2 * half) {
        add_to(area(a, which) + at, area(a + half, which) + at, n);
      }
    }
    store(rows_of<T>(output, ~0u), at, n, groups() == 0 ? zeros : area(0, which) + at);
  }

  static void store(const Rows<T>& out, int64_t at, int64_t n, const T* sums) {
    alignas(64) T buffer[kTile];
    T* place = out.place(out.row(0), at, n, buffer);
    std::copy_n(sums, n, place);
    out.write(out.row(0), at, n, place);
  }

  const dlcore_launch* launch_;
  uint32_t mask_;
  Rows<T> g_;
  Rows<T> x_;
  Rows<T> mean_;
  Rows<T> rstd_;
  Rows<T> dx_;
  int64_t rows_;
  int64_t length_;
  int64_t group_rows_;
  int64_t areas_;
  T* workspace_;
};

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel<Backward<float>>(Op::kLayerNormBackward, DLCORE_F32, kFlags),
    make_kernel<Backward<float>>(Op::kLayerNormBackward, DLCORE_F16, kFlags),
    make_kernel<Backward<float>>(Op::kLayerNormBackward, DLCORE_BF16, kFlags),
    make_kernel<Backward<double>>(Op::kLayerNormBackward, DLCORE_F64, kFlags),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(layer_norm_backward)
}  // namespace dlcore::cpu
#endif
