// SPDX-License-Identifier: Apache-2.0
// max_pool2d: largest elements and where they lie. A row of windows is a row of vector lanes; the
// taps are met in row-major order, so that the first of equal elements stays.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pooling/max_pool.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include <limits>

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
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class Acc>
using Index = std::conditional_t<std::is_same_v<Acc, double>, int64_t, int32_t>;

// Whether x replaces the largest so far: the first NaN does, and nothing after it.
template <class D>
HWY_INLINE hn::Mask<D> wins(hn::Vec<D> x, hn::Vec<D> best) {
  return hn::And(hn::Not(hn::Le(x, best)), hn::Eq(best, best));
}
template <class T>
HWY_INLINE bool wins_scalar(T x, T best) {
  return !(x <= best) && best == best;
}

// What a part works in.
template <class Acc>
struct Scratch {
  int64_t* taps;
  Acc *line, *best;
  Index<Acc>* index;
  Index<Acc>* column;  // of tap 0 of each window, in the padding too
  Index<Acc>* first;   // first column inside x of each window

  static uint64_t bytes(const PoolWindows& w) {
    const auto count = static_cast<uint64_t>(padded_count<Acc>(w.columns.count));
    const auto kernel = static_cast<uint64_t>(w.columns.kernel);
    const uint64_t all =
        kernel * sizeof(int64_t) + line_length(w) * sizeof(Acc) + 4 * count * sizeof(Acc);
    return (all + 63) / 64 * 64;
  }
  static uint64_t line_length(const PoolWindows& w) {
    const PoolAxis& c = w.columns;
    // phases * pitch is less than a stride more than the padded row.
    const int64_t length = (c.count - 1) * c.stride + c.covered();
    return static_cast<uint64_t>(padded_count<Acc>(length + std::min(c.stride, length)));
  }
  Scratch(char* memory, const PoolWindows& w) {
    const int64_t count = padded_count<Acc>(w.columns.count);
    taps = reinterpret_cast<int64_t*>(memory);
    line = reinterpret_cast<Acc*>(taps + w.columns.kernel);
    best = line + line_length(w);
    index = reinterpret_cast<Index<Acc>*>(best + count);
    column = index + count;
    first = column + count;
    for (int64_t o = 0; o < w.columns.count; ++o) {
      const int64_t start = w.columns.start(o);
      column[o] = static_cast<Index<Acc>>(start);
      first[o] = static_cast<Index<Acc>>(start + w.columns.first_tap(o) * w.columns.dilation);
    }
  }
};

template <class T>
class MaxPool {
 public:
  using Acc = Wide<T>;
  using I = Index<Acc>;

  explicit MaxPool(const dlcore_launch* launch)
      : windows_(max_pool_windows(launch)),
        x_(static_cast<const T*>(launch->inputs[0].data)),
        y_(static_cast<T*>(launch->outputs[0].data)),
        indices_(static_cast<int32_t*>(launch->outputs[1].data)),
        memory_(static_cast<char*>(launch->workspace)) {
    const PoolAxis &r = windows_.rows, &c = windows_.columns;
    halves_ = std::is_same_v<T, float> && HWY_TARGET != HWY_SCALAR && r.kernel == 2 &&
              c.kernel == 2 && r.stride == 2 && c.stride == 2 && r.dilation == 1 &&
              c.dilation == 1 && r.before == 0 && c.before == 0 && 2 * r.count <= r.size &&
              2 * c.count <= c.size;
  }

  uint64_t workspace_bytes() const {
    if (halves_ || !windows_.by_phases()) return 0;
    return Scratch<Acc>::bytes(windows_) * static_cast<uint64_t>(parts().count);
  }

  void run(const Queue& queue) const {
    const PoolParts all = parts();
    queue.parallel_for(all.count, [&](int64_t part) {
      if (queue.stopped()) return;
      run_part(part, part * all.per_part, std::min(all.rows, (part + 1) * all.per_part));
    });
  }

 private:
  PoolParts parts() const {
    const PoolAxis &r = windows_.rows, &c = windows_.columns;
    const int64_t height = std::min(r.kernel, r.size), width = std::min(c.kernel, c.size);
    const int64_t taps = std::min<int64_t>(height * width, 1 << 16);
    return {windows_.planes * r.count, std::min<int64_t>(c.count, 1 << 16) * taps};
  }

  void run_part(int64_t part, int64_t begin, int64_t end) const {
    if (halves_) {
      for (int64_t row = begin; row < end; ++row) run_halves(row);
    } else if (windows_.by_phases()) {
      run_phases(memory_ + static_cast<uint64_t>(part) * Scratch<Acc>::bytes(windows_), begin, end);
    } else {
      for (int64_t row = begin; row < end; ++row) run_sparse(row);
    }
  }

  const T* plane_of(int64_t row) const {
    return x_ + row / windows_.rows.count * windows_.rows.size * windows_.columns.size;
  }

  // Windows of 2 x 2 side by side.
  void run_halves([[maybe_unused]] int64_t row) const {
#if HWY_TARGET != HWY_SCALAR
    if constexpr (std::is_same_v<T, float>) {
      const hn::ScalableTag<float> d;
      const hn::RebindToSigned<decltype(d)> di;
      const auto lanes = static_cast<int64_t>(hn::Lanes(d));
      const int64_t width = windows_.columns.size, count = windows_.columns.count;
      const int64_t from = row % windows_.rows.count * 2 * width;
      const float* const above = plane_of(row) + from;
      float* const y = y_ + row * count;
      int32_t* const indices = indices_ + row * count;
      const auto below = hn::Set(di, static_cast<int32_t>(width)), one = hn::Set(di, 1);
      auto base = hn::Add(hn::Add(hn::Iota(di, 0), hn::Iota(di, 0)),
                          hn::Set(di, static_cast<int32_t>(from)));
      const auto window = [&](auto a0, auto a1, auto b0, auto b1, auto& best, auto& index) {
        best = hn::ConcatEven(d, a1, a0);
        index = base;
        const auto meet = [&](auto x, auto at) {
          const auto won = wins<decltype(d)>(x, best);
          best = hn::IfThenElse(won, x, best);
          index = hn::IfThenElse(hn::RebindMask(di, won), at, index);
        };
        meet(hn::ConcatOdd(d, a1, a0), hn::Add(base, one));
        meet(hn::ConcatEven(d, b1, b0), hn::Add(base, below));
        meet(hn::ConcatOdd(d, b1, b0), hn::Add(hn::Add(base, below), one));
      };
      auto best = hn::Zero(d);
      auto index = hn::Zero(di);
      int64_t o = 0;
      for (; o + lanes <= count; o += lanes) {
        const float* const a = above + 2 * o;
        const float* const b = a + width;
        window(hn::LoadU(d, a), hn::LoadU(d, a + lanes), hn::LoadU(d, b), hn::LoadU(d, b + lanes),
               best, index);
        hn::StoreU(best, d, y + o);
        hn::StoreU(index, di, indices + o);
        base = hn::Add(base, hn::Set(di, static_cast<int32_t>(2 * lanes)));
      }
      if (o == count) return;
      const int64_t rest = 2 * (count - o);
      const auto low = static_cast<size_t>(std::min(rest, lanes));
      const auto high = static_cast<size_t>(std::max<int64_t>(0, rest - lanes));
      const float* const a = above + 2 * o;
      const float* const b = a + width;
      window(load_first(d, a, low), load_first(d, a + low, high), load_first(d, b, low),
             load_first(d, b + low, high), best, index);
      store_first(best, d, y + o, static_cast<size_t>(count - o));
      store_first(index, di, indices + o, static_cast<size_t>(count - o));
    }
#endif
  }

  void run_phases(char* memory, int64_t begin, int64_t end) const {
    const Scratch<Acc> s(memory, windows_);
    const Phases phases(windows_.columns, s.taps);
    const PoolAxis& r = windows_.rows;
    const int64_t width = windows_.columns.size, count = windows_.columns.count;
    for (int64_t row = begin; row < end; ++row) {
      const T* const plane = plane_of(row);
      const int64_t window = row % r.count;
      const int64_t first = r.first_tap(window), past = r.end_tap(window);
      for (int64_t i = first; i < past; ++i) {
        const int64_t line = r.start(window) + i * r.dilation;
        phases.split(plane + line * width, -std::numeric_limits<Acc>::infinity(), s.line);
        meet_line(s, phases, line * width, i == first);
      }
      finish(s, y_ + row * count, indices_ + row * count);
    }
  }

  // The taps of one line of x, for a row of windows. `start` is the index of its first element.
  void meet_line(const Scratch<Acc>& s, const Phases& phases, int64_t start, bool first) const {
    const hn::ScalableTag<Acc> d;
    const hn::ScalableTag<I> di;
    const PoolAxis& c = windows_.columns;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto line = hn::Set(di, static_cast<I>(start));
    for (int64_t o = 0; o < c.count; o += lanes) {
      // A window of nothing but -inf names its first element.
      auto best =
          first ? hn::Set(d, -std::numeric_limits<Acc>::infinity()) : hn::LoadU(d, s.best + o);
      auto index = first ? hn::Add(hn::LoadU(di, s.first + o), line) : hn::LoadU(di, s.index + o);
      const auto column = hn::Add(hn::LoadU(di, s.column + o), line);
      for (int64_t j = 0; j < c.kernel; ++j) {
        const auto x = hn::LoadU(d, s.line + phases.tap(j) + o);
        const auto won = wins<decltype(d)>(x, best);
        best = hn::IfThenElse(won, x, best);
        const auto at = hn::Add(column, hn::Set(di, static_cast<I>(j * c.dilation)));
        index = hn::IfThenElse(hn::RebindMask(di, won), at, index);
      }
      hn::StoreU(best, d, s.best + o);
      hn::StoreU(index, di, s.index + o);
    }
  }

  void finish(const Scratch<Acc>& s, T* y, int32_t* indices) const {
    const int64_t count = windows_.columns.count;
    for (int64_t o = 0; o < count; ++o) y[o] = narrowed<T>(s.best[o]);
    for (int64_t o = 0; o < count; ++o) indices[o] = static_cast<int32_t>(s.index[o]);
  }

  // Windows most of whose taps lie outside of x: only those inside are met.
  void run_sparse(int64_t row) const {
    const PoolAxis &r = windows_.rows, &c = windows_.columns;
    const T* const plane = plane_of(row);
    const int64_t window = row % r.count;
    for (int64_t o = 0; o < c.count; ++o) {
      Acc best = -std::numeric_limits<Acc>::infinity();
      int64_t index = -1;
      for (int64_t i = r.first_tap(window); i < r.end_tap(window); ++i) {
        const int64_t line = (r.start(window) + i * r.dilation) * c.size;
        for (int64_t j = c.first_tap(o); j < c.end_tap(o); ++j) {
          const int64_t at = line + c.start(o) + j * c.dilation;
          const Acc x = widened(plane[at]);
          if (index >= 0 && !wins_scalar(x, best)) continue;
          best = x;
          index = at;
        }
      }
      y_[row * c.count + o] = narrowed<T>(best);
      indices_[row * c.count + o] = static_cast<int32_t>(index);
    }
  }

  PoolWindows windows_;
  const T* x_;
  T* y_;
  int32_t* indices_;
  char* memory_;
  bool halves_;
};

template <class T>
constexpr dlcore_kernel row() {
  return make_kernel<MaxPool<T>>(Op::kMaxPool2d, dtype_of<T>(), 0);
}

constexpr dlcore_kernel kKernels[] = {row<float>(), row<double>(), row<Half>(), row<BFloat16>()};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(max_pool)
}
#endif
