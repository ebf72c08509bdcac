// SPDX-License-Identifier: Apache-2.0
// avg_pool2d and its derivative. A window is summed line by line, in f32 or, where windows are
// large or elements f64, in f64; the backward pass collects, line by line of x, from the windows
// that reach it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pooling/avg_pool.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/pooling/pooling.h"
#include "backends/cpu/pooling/window.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/pooling/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// What a part works in: a row by phases, and two rows of windows.
template <class Acc>
struct Scratch {
  int64_t* taps;
  Acc *line, *total, *share;

  static uint64_t line_length(const PoolWindows& w) {
    const PoolAxis& c = w.columns;
    const int64_t length = (c.count - 1) * c.stride + c.covered();
    // phases * pitch is less than a stride more than the padded row.
    return static_cast<uint64_t>(padded_count<Acc>(length + std::min(c.stride, length)));
  }
  static uint64_t bytes(const PoolWindows& w) {
    const auto count = static_cast<uint64_t>(padded_count<Acc>(w.columns.count));
    const uint64_t all = static_cast<uint64_t>(w.columns.kernel) * sizeof(int64_t) +
                         (line_length(w) + 2 * count) * sizeof(Acc);
    return (all + 63) / 64 * 64;
  }
  Scratch(char* memory, const PoolWindows& w) {
    taps = reinterpret_cast<int64_t*>(memory);
    line = reinterpret_cast<Acc*>(taps + w.columns.kernel);
    total = line + line_length(w);
    share = total + padded_count<Acc>(w.columns.count);
  }
};

template <class T, class Acc>
class Average {
  static constexpr bool kIsHalf = !std::is_same_v<T, float> && !std::is_same_v<T, double>;

 public:
  Average(const dlcore_launch* launch, bool backward)
      : w_(average_windows(launch, backward ? launch->outputs[0] : launch->inputs[0],
                           backward ? launch->inputs[0] : launch->outputs[0], backward)),
        in_(static_cast<const T*>(launch->inputs[0].data)),
        out_(static_cast<T*>(launch->outputs[0].data)),
        memory_(static_cast<char*>(launch->workspace)),
        backward_(backward) {}

  uint64_t workspace() const {
    if (is_global() || !w_.by_phases()) return 0;
    return Scratch<Acc>::bytes(w_) * static_cast<uint64_t>(parts().count);
  }

  void run(const Queue& queue) const {
    const PoolParts all = parts();
    queue.parallel_for(all.count, [&](int64_t part) {
      if (queue.stopped()) return;
      const int64_t begin = part * all.per_part, end = std::min(all.rows, begin + all.per_part);
      if (is_global()) {
        for (int64_t plane = begin; plane < end; ++plane)
          backward_ ? fill_plane(plane) : average_plane(plane);
        return;
      }
      if (!w_.by_phases()) {
        for (int64_t row = begin; row < end; ++row) backward_ ? spread_sparse(row) : sparse(row);
        return;
      }
      char* const memory = memory_ + static_cast<uint64_t>(part) * Scratch<Acc>::bytes(w_);
      if (backward_) {
        spread(memory, begin, end);
      } else {
        average(memory, begin, end);
      }
    });
  }

 private:
  // One window, which is the whole plane.
  bool is_global() const {
    const auto whole = [](const PoolAxis& a) {
      return a.count == 1 && a.kernel == a.size && a.before == 0;
    };
    return !kIsHalf && whole(w_.rows) && whole(w_.columns);
  }
  int64_t plane_size() const { return w_.rows.size * w_.columns.size; }

  void average_plane(int64_t plane) const {
    if constexpr (!kIsHalf) {
      const int64_t n = plane_size();
      out_[plane] = narrowed<T>(sum_of(in_ + plane * n, n) / static_cast<Acc>(n));
    }
  }
  void fill_plane(int64_t plane) const {
    const int64_t n = plane_size();
    const T share = narrowed<T>(widened(in_[plane]) / static_cast<Acc>(n));
    std::fill(out_ + plane * n, out_ + (plane + 1) * n, share);
  }

  // Elements of x as a vector of sums.
  template <class D>
  static HWY_INLINE hn::Vec<D> load_wide(D d, const T* x) {
    if constexpr (std::is_same_v<T, Acc>) {
      return hn::LoadU(d, x);
    } else {
      return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), x));
    }
  }

  // Four vectors of sums, so that one addition need not wait for the other.
  static Acc sum_of(const T* x, int64_t n) {
    const hn::ScalableTag<Acc> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto a = hn::Zero(d), b = a, c = a, e = a;
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      a = hn::Add(a, load_wide(d, x + i));
      b = hn::Add(b, load_wide(d, x + i + lanes));
      c = hn::Add(c, load_wide(d, x + i + 2 * lanes));
      e = hn::Add(e, load_wide(d, x + i + 3 * lanes));
    }
    for (; i + lanes <= n; i += lanes) a = hn::Add(a, load_wide(d, x + i));
    Acc sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
    for (; i < n; ++i) sum += static_cast<Acc>(x[i]);
    return sum;
  }

  PoolParts parts() const {
    const PoolAxis &r = w_.rows, &c = w_.columns;
    if (is_global()) return {w_.planes, plane_size()};
    const int64_t height = std::min(r.kernel, r.size), width = std::min(c.kernel, c.size);
    const int64_t taps = std::min<int64_t>(height * width, 1 << 16);
    return {
        w_.planes * (backward_ ? r.size : r.count),
        std::max(std::min<int64_t>(c.count, 1 << 16) * taps, std::min<int64_t>(c.size, 1 << 16))};
  }

  Acc divisor(int64_t row, int64_t column) const {
    return static_cast<Acc>(w_.rows.divisor(row, w_.counts_padding)) *
           static_cast<Acc>(w_.columns.divisor(column, w_.counts_padding));
  }

  void average(char* memory, int64_t begin, int64_t end) const {
    const Scratch<Acc> s(memory, w_);
    const Phases phases(w_.columns, s.taps);
    const PoolAxis &r = w_.rows, &c = w_.columns;
    const hn::ScalableTag<Acc> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t o = 0; o < c.count; ++o)
      s.share[o] = static_cast<Acc>(c.divisor(o, w_.counts_padding));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t window = row % r.count;
      const T* const plane = in_ + row / r.count * r.size * c.size;
      std::fill(s.total, s.total + c.count, Acc{0});
      for (int64_t i = r.first_tap(window); i < r.end_tap(window); ++i) {
        phases.split(plane + (r.start(window) + i) * c.size, Acc{0}, s.line);
        for (int64_t o = 0; o < c.count; o += lanes) {
          auto sum = hn::LoadU(d, s.line + phases.tap(0) + o);
          for (int64_t j = 1; j < c.kernel; ++j)
            sum = hn::Add(sum, hn::LoadU(d, s.line + phases.tap(j) + o));
          hn::StoreU(hn::Add(hn::LoadU(d, s.total + o), sum), d, s.total + o);
        }
      }
      const auto lines = static_cast<Acc>(r.divisor(window, w_.counts_padding));
      T* const y = out_ + row * c.count;
      for (int64_t o = 0; o < c.count; ++o) y[o] = narrowed<T>(s.total[o] / (lines * s.share[o]));
    }
  }

  // The windows along an axis whose taps reach an element: [first, past).
  static int64_t first_window(const PoolAxis& a, int64_t element) {
    const int64_t over = element + a.before - (a.kernel - 1);
    return over <= 0 ? 0 : 1 + (over - 1) / a.stride;
  }
  static int64_t past_window(const PoolAxis& a, int64_t element) {
    return std::min(a.count, (element + a.before) / a.stride + 1);
  }

  void spread(char* memory, int64_t begin, int64_t end) const {
    const Scratch<Acc> s(memory, w_);
    const Phases phases(w_.columns, s.taps);
    const PoolAxis &r = w_.rows, &c = w_.columns;
    const hn::ScalableTag<Acc> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    // Lanes behind the last window carry 0 into whatever lies there.
    std::fill(s.share, s.share + padded_count<Acc>(c.count), Acc{0});
    for (int64_t o = 0; o < c.count; ++o)
      s.total[o] = static_cast<Acc>(c.divisor(o, w_.counts_padding));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t line = row % r.size;
      const T* const plane = in_ + row / r.size * r.count * c.count;
      std::fill(s.line, s.line + phases.length(), Acc{0});
      for (int64_t window = first_window(r, line); window < past_window(r, line); ++window) {
        const auto lines = static_cast<Acc>(r.divisor(window, w_.counts_padding));
        const T* const g = plane + window * c.count;
        for (int64_t o = 0; o < c.count; ++o) s.share[o] = widened(g[o]) / (lines * s.total[o]);
        for (int64_t j = 0; j < c.kernel; ++j) {
          Acc* const to = s.line + phases.tap(j);
          for (int64_t o = 0; o < c.count; o += lanes)
            hn::StoreU(hn::Add(hn::LoadU(d, to + o), hn::LoadU(d, s.share + o)), d, to + o);
        }
      }
      phases.join(s.line, out_ + row * c.size);
    }
  }

  // Windows most of whose taps lie outside of x: only those inside are met.
  void sparse(int64_t row) const {
    const PoolAxis &r = w_.rows, &c = w_.columns;
    const T* const plane = in_ + row / r.count * r.size * c.size;
    const int64_t window = row % r.count;
    for (int64_t o = 0; o < c.count; ++o) {
      Acc total = 0;
      for (int64_t i = r.first_tap(window); i < r.end_tap(window); ++i) {
        const T* const line = plane + (r.start(window) + i) * c.size + c.start(o);
        Acc sum = 0;
        for (int64_t j = c.first_tap(o); j < c.end_tap(o); ++j) sum += widened(line[j]);
        total += sum;
      }
      out_[row * c.count + o] = narrowed<T>(total / divisor(window, o));
    }
  }

  void spread_sparse(int64_t row) const {
    const PoolAxis &r = w_.rows, &c = w_.columns;
    const T* const plane = in_ + row / r.size * r.count * c.count;
    const int64_t line = row % r.size;
    for (int64_t column = 0; column < c.size; ++column) {
      Acc sum = 0;
      for (int64_t i = first_window(r, line); i < past_window(r, line); ++i) {
        for (int64_t o = first_window(c, column); o < past_window(c, column); ++o)
          sum += widened(plane[i * c.count + o]) / divisor(i, o);
      }
      out_[row * c.size + column] = narrowed<T>(sum);
    }
  }

  AverageWindows w_;
  const T* in_;
  T* out_;
  char* memory_;
  bool backward_;
};

// Calls body with the class for the launch: a sum of more than 256 elements is one of doubles.
template <class T, class Body>
auto with_average(const dlcore_launch* launch, bool backward, const Body& body) {
  const dlcore_operand& x = backward ? launch->outputs[0] : launch->inputs[0];
  const AverageWindows w =
      average_windows(launch, x, backward ? launch->inputs[0] : launch->outputs[0], backward);
  const int64_t lines = std::min(w.rows.kernel, w.rows.size);
  [[maybe_unused]] const bool large = lines * std::min(w.columns.kernel, w.columns.size) > 256;
  if constexpr (!std::is_same_v<T, double>) {
    if (!large) return body(Average<T, float>(launch, backward));
  }
  return body(Average<T, double>(launch, backward));
}

template <class T, bool kBackward>
dlcore_status pool(void* queue, const dlcore_launch* launch) {
  with_average<T>(launch, kBackward,
                  [&](const auto& average) { average.run(*static_cast<const Queue*>(queue)); });
  return DLCORE_OK;
}

template <class T, bool kBackward>
uint64_t workspace(const dlcore_launch* launch) {
  return with_average<T>(launch, kBackward,
                         [](const auto& average) { return average.workspace(); });
}

template <class T, bool kBackward>
constexpr dlcore_kernel kernel() {
  return make_kernel(kBackward ? Op::kAvgPool2dBackward : Op::kAvgPool2d, dtype_of<T>(), 0,
                     pool<T, kBackward>, workspace<T, kBackward>);
}

constexpr dlcore_kernel kKernels[] = {
    kernel<float, false>(),    kernel<double, false>(),  kernel<Half, false>(),
    kernel<BFloat16, false>(), kernel<float, true>(),    kernel<double, true>(),
    kernel<Half, true>(),      kernel<BFloat16, true>(),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(avg_pool)
}
#endif
