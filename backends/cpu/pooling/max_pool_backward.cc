// SPDX-License-Identifier: Apache-2.0
// max_pool2d_backward: the elements of g added at their indices, plane by plane.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pooling/max_pool_backward.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/indexing/index_list.h"
#include "backends/cpu/pooling/pooling.h"
#include "backends/cpu/pooling/window.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/pooling/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

template <class T>
class Backward {
 public:
  using Acc = std::conditional_t<std::is_same_v<T, double>, double, float>;

  explicit Backward(const dlcore_launch* launch)
      : g_(static_cast<const T*>(launch->inputs[0].data)),
        indices_(static_cast<const int32_t*>(launch->inputs[1].data)),
        x_(static_cast<T*>(launch->outputs[0].data)),
        memory_(static_cast<Acc*>(launch->workspace)),
        failure_(launch->failure) {
    const dlcore_operand &g = launch->inputs[0], &x = launch->outputs[0];
    rows_ = g.shape[g.rank - 2];
    columns_ = g.shape[g.rank - 1];
    height_ = x.shape[x.rank - 2];
    width_ = x.shape[x.rank - 1];
    planes_ = 1;
    for (int32_t d = 0; d + 2 < x.rank; ++d) planes_ *= x.shape[d];
    // Planes of windows of 2 x 2 side by side, if the indices say so, too.
    halves_ = std::is_same_v<T, float> && HWY_TARGET != HWY_SCALAR &&
              height_ * width_ <= INT32_MAX && rows_ == height_ / 2 && columns_ == width_ / 2;
    const int64_t work = std::max(height_ * width_, rows_ * columns_);
    per_part_ = std::max<int64_t>(1, (int64_t{1} << 15) / std::max<int64_t>(1, work));
  }

  uint64_t workspace_bytes() const {
    if (std::is_same_v<T, Acc>) return 0;
    return static_cast<uint64_t>(parts() * height_ * width_) * sizeof(Acc);
  }

  dlcore_status run(const Queue& queue) const {
    FirstBad bad(planes_ * rows_ * columns_);
    queue.parallel_for(parts(), [&](int64_t part) {
      const int64_t end = std::min(planes_, (part + 1) * per_part_);
      for (int64_t plane = part * per_part_; plane < end && !queue.stopped(); ++plane) {
        if (halves_ && run_halves(plane)) continue;
        if (!run_plane(part, plane, bad)) return;
      }
    });
    if (bad.position() < 0) return DLCORE_OK;
    return refuse_index(indices_[bad.position()], bad.position(), height_ * width_, failure_);
  }

 private:
  int64_t parts() const { return (planes_ + per_part_ - 1) / per_part_; }

  bool run_plane(int64_t part, int64_t plane, FirstBad& bad) const {
    const int64_t size = height_ * width_, count = rows_ * columns_;
    T* const x = x_ + plane * size;
    Acc* sums;
    if constexpr (std::is_same_v<T, Acc>) {
      sums = x;
    } else {
      sums = memory_ + part * size;
    }
    std::fill(sums, sums + size, Acc{0});
    for (int64_t i = plane * count; i < (plane + 1) * count; ++i) {
      const int64_t at = indices_[i];
      if (at < 0 || at >= size) {
        bad.note(i);
        return false;
      }
      sums[at] += widened(g_[i]);
    }
    if constexpr (!std::is_same_v<T, Acc>) {
      for (int64_t i = 0; i < size; ++i) x[i] = narrowed<T>(sums[i]);
    }
    return true;
  }

  // False, with the plane to be done again, when an index lies outside of its window of 2 x 2.
  bool run_halves([[maybe_unused]] int64_t plane) const {
#if HWY_TARGET != HWY_SCALAR
    if constexpr (std::is_same_v<T, float>) {
      float* const x = x_ + plane * height_ * width_;
      const int64_t row = plane * rows_;
      for (int64_t o = 0; o < rows_; ++o) {
        if (!run_pair(2 * o * width_, indices_ + (row + o) * columns_, g_ + (row + o) * columns_,
                      x + 2 * o * width_)) {
          return false;
        }
      }
      std::fill(x + 2 * rows_ * width_, x + height_ * width_, 0.0f);  // an odd line
      return true;
    }
#endif
    return false;
  }

#if HWY_TARGET != HWY_SCALAR
  // Two lines of x from a line of windows; `start` is the index of their first element.
  bool run_pair(int64_t start, const int32_t* indices, const float* g, float* above) const {
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> di;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    float* const below = above + width_;
    HWY_ALIGN float buffer[2 * hn::MaxLanes(d)];
    auto base = hn::Add(hn::Add(hn::Iota(di, 0), hn::Iota(di, 0)),
                        hn::Set(di, static_cast<int32_t>(start)));
    const auto one = hn::Set(di, 1), line = hn::Set(di, static_cast<int32_t>(width_));
    const auto step = hn::Set(di, static_cast<int32_t>(2 * lanes));
    for (int64_t o = 0; o < columns_; o += lanes, base = hn::Add(base, step)) {
      const int64_t n = std::min(lanes, columns_ - o);
      const auto count = static_cast<size_t>(n);
      const bool whole = n == lanes;
      const auto v = whole ? hn::LoadU(d, g + o) : load_first(d, g + o, count);
      const auto at =
          whole ? hn::LoadU(di, indices + o)
                : hn::IfThenElse(hn::FirstN(di, count), load_first(di, indices + o, count), base);
      const auto first = hn::Eq(at, base), second = hn::Eq(at, hn::Add(base, one));
      const auto low = hn::Add(base, line);
      const auto third = hn::Eq(at, low), fourth = hn::Eq(at, hn::Add(low, one));
      if (!hn::AllTrue(di, hn::Or(hn::Or(first, second), hn::Or(third, fourth)))) return false;
      const auto put = [&](auto even, auto odd, float* to) {
        const auto evens = hn::IfThenElseZero(hn::RebindMask(d, even), v);
        const auto odds = hn::IfThenElseZero(hn::RebindMask(d, odd), v);
        if (whole) return hn::StoreInterleaved2(evens, odds, d, to);
        hn::StoreInterleaved2(evens, odds, d, buffer);
        const size_t head = std::min(2 * count, hn::Lanes(d));
        store_first(hn::Load(d, buffer), d, to, head);
        store_first(hn::Load(d, buffer + lanes), d, to + lanes, 2 * count - head);
      };
      put(first, second, above + 2 * o);
      put(third, fourth, below + 2 * o);
    }
    if (width_ > 2 * columns_) above[width_ - 1] = below[width_ - 1] = 0;
    return true;
  }
#endif

  const T* g_;
  const int32_t* indices_;
  T* x_;
  Acc* memory_;
  dlcore_failure* failure_;
  int64_t planes_, rows_, columns_, height_, width_, per_part_;
  bool halves_;
};

template <class T>
constexpr dlcore_kernel row() {
  return make_kernel<Backward<T>>(Op::kMaxPool2dBackward, dtype_of<T>(), 0);
}

constexpr dlcore_kernel kKernels[] = {row<float>(), row<double>(), row<Half>(), row<BFloat16>()};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(max_pool_backward)
}
#endif
