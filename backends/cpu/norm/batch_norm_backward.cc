// SPDX-License-Identifier: Apache-2.0
// batch_norm_backward(g, x, scale?, mean, variance). With rstd = 1 / sqrt(variance + epsilon), for
// each channel of n elements
//   dbias  = sum(g)
//   dscale = rstd sum(g (x - mean))
//   dx     = scale rstd (g - (dbias + (x - mean) rstd dscale) / n)    in training
//   dx     = scale rstd g                                              with statistics as given
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/batch_norm_backward.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include <cmath>

#include "backends/cpu/norm/channels.h"
#include "backends/cpu/norm/norm.h"
#include "backends/cpu/norm/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/norm/columns-inl.h"
#include "backends/cpu/reduce/block-inl.h"
#include "backends/cpu/reduce/codec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

struct Sums {
  double g = 0;
  double g_centered = 0;
};

// One channel of each operand.
template <class T>
struct Channel {
  const Rows<T>& gs;
  const std::byte* g;
  const Rows<T>& xs;
  const std::byte* x;
  const Rows<T>& dxs;
  std::byte* dx;
};

template <class T>
class Backward {
 public:
  explicit Backward(const dlcore_launch* launch)
      : launch_(launch),
        blocks_(launch->inputs[1]),
        training_(launch->attrs[0] != 0),
        epsilon_(attr_f64(launch->attrs[1])),
        g_(rows_of<T>(launch->inputs[0], all_but_channels(launch->inputs[1].rank))),
        x_(rows_of<T>(launch->inputs[1], all_but_channels(launch->inputs[1].rank))),
        mean_(launch->inputs[3], ~0u),
        variance_(launch->inputs[4], ~0u),
        dx_(rows_of<T>(launch->outputs[0], all_but_channels(launch->inputs[1].rank))),
        dscale_(rows_of<T>(launch->outputs[1], ~0u)),
        dbias_(rows_of<T>(launch->outputs[2], ~0u)) {}

  uint64_t workspace_bytes() const {
    const int64_t partial = blocks_.segments() > 1 ? blocks_.segments() : 1;
    return static_cast<uint64_t>(blocks_.channels() * partial) * sizeof(Sums);
  }

  void run(const Queue& queue) const {
    Sums* sums = static_cast<Sums*>(launch_->workspace);
    const int64_t segments = blocks_.segments();
    if (blocks_.flat() && has_columns(g_) && has_columns(x_) && has_columns(dx_)) {
      run_columns(queue, sums, segments);
    } else if (segments > 1) {
      run_segments(queue, sums, segments);
    } else {
      run_whole(queue, sums);
    }
    if (queue.stopped()) return;
    for (int64_t c = 0; c < blocks_.channels(); ++c) {
      const Sums& total = sums[c * segments];
      store(dscale_, c, static_cast<T>(total.g_centered * rstd(c)));
      store(dbias_, c, static_cast<T>(total.g));
    }
  }

 private:
  double rstd(int64_t c) const {
    return 1 / std::sqrt(static_cast<double>(variance_.at(variance_.row(0), c)) + epsilon_);
  }
  double scale(int64_t c) const {
    if (!has_input(launch_, 2)) return 1;
    const Rows<T> scale = rows_of<T>(launch_->inputs[2], ~0u);
    return static_cast<double>(scale.at(scale.row(0), c));
  }
  static void store(const Rows<T>& out, int64_t c, T value) {
    T* place = out.place(out.row(0), c, 1, &value);
    *place = value;
    out.write(out.row(0), c, 1, place);
  }

  void run_whole(const Queue& queue, Sums* sums) const {
    for_each_row_group(queue, blocks_.channels(), blocks_.length(), [&](int64_t first, int64_t n) {
      if (!blocks_.flat()) {
        for (int64_t c = first; c < first + n; ++c) {
          const Channel<T> channel = {g_, g_.row(c), x_, x_.row(c), dx_, dx_.row(c)};
          sums[c] = sums_of(channel, c, 0);
          write_dx(channel, c, sums[c], 0);
        }
        return;
      }
      alignas(64) T g_buffer[kPackedElements];
      alignas(64) T x_buffer[kPackedElements];
      alignas(64) T dx_buffer[kPackedElements];
      RowGroup<T> g(g_, first, n, g_buffer);
      RowGroup<T> x(x_, first, n, x_buffer);
      RowGroup<T> dx(dx_, first, n, dx_buffer);
      g.load();
      x.load();
      for (int64_t i = 0; i < n; ++i) {
        const Channel<T> channel = {g.rows(), g.row(i), x.rows(), x.row(i), dx.rows(), dx.row(i)};
        sums[first + i] = sums_of(channel, first + i, 0);
        write_dx(channel, first + i, sums[first + i], 0);
      }
      dx.store();
    });
  }

  void run_segments(const Queue& queue, Sums* sums, int64_t segments) const {
    const auto channel = [&](int64_t c) {
      return Channel<T>{g_, g_.row(c), x_, x_.row(c), dx_, dx_.row(c)};
    };
    blocks_.for_each_segment(queue, [&](int64_t c, int64_t segment) {
      sums[c * segments + segment] = sums_of(channel(c), c, segment);
    });
    if (queue.stopped()) return;
    merge_segments(sums, segments);
    blocks_.for_each_segment(queue, [&](int64_t c, int64_t segment) {
      write_dx(channel(c), c, sums[c * segments], segment);
    });
  }

  void merge_segments(Sums* sums, int64_t segments) const {
    for (int64_t c = 0; c < blocks_.channels(); ++c) {
      Sums& total = sums[c * segments];
      for (int64_t s = 1; s < segments; ++s) {
        total.g += sums[c * segments + s].g;
        total.g_centered += sums[c * segments + s].g_centered;
      }
    }
  }

  // As above, on tiles of channels.
  void run_columns(const Queue& queue, Sums* sums, int64_t segments) const {
    const auto sums_at = [&](int64_t first, int64_t width, int64_t segment) {
      column_sums(first, width, segment, sums + first * segments + segment, segments);
    };
    if (segments > 1) {
      blocks_.for_each_tile(queue, kTileChannels, sums_at);
      if (queue.stopped()) return;
      merge_segments(sums, segments);
    }
    blocks_.for_each_tile(queue, kTileChannels, [&](int64_t first, int64_t width, int64_t segment) {
      if (segments == 1) sums_at(first, width, segment);
      write_columns(first, width, sums + first * segments, segments, segment);
    });
  }

  // The sums of channel first + c go to sums[c * step].
  void column_sums(int64_t first, int64_t width, int64_t segment, Sums* sums, int64_t step) const {
    const Columns<T> g = columns_of(g_, first), x = columns_of(x_, first);
    alignas(64) T means[kTileChannels], part[kTileChannels];
    for (int64_t c = 0; c < width; ++c) {
      means[c] = mean_.at(mean_.row(0), first + c);
      sums[c * step] = {};
    }
    for (int64_t b = blocks_.first(segment); b < blocks_.last(segment); ++b) {
      const auto [start, n] = blocks_.block(b);
      const T* g_from = g.x + start * g.stride;
      const T* x_from = x.x + start * x.stride;
      const int64_t g_step = g.stride, x_step = x.stride;
      const T* mean = means;
      sum_columns<T>(
          n, width,
          [g_from, g_step](auto d, int64_t i, int64_t c)
              HWY_ATTR { return hn::LoadU(d, g_from + i * g_step + c); },
          part);
      for (int64_t c = 0; c < width; ++c) sums[c * step].g += static_cast<double>(part[c]);
      sum_columns<T>(
          n, width,
          [=](auto d, int64_t i, int64_t c) HWY_ATTR {
            const auto centered =
                hn::Sub(hn::LoadU(d, x_from + i * x_step + c), hn::LoadU(d, mean + c));
            return hn::Mul(hn::LoadU(d, g_from + i * g_step + c), centered);
          },
          part);
      for (int64_t c = 0; c < width; ++c) {
        sums[c * step].g_centered += static_cast<double>(part[c]);
      }
    }
  }

  void write_columns(int64_t first, int64_t width, const Sums* sums, int64_t step,
                     int64_t segment) const {
    alignas(64) T means[kTileChannels], a[kTileChannels], k[kTileChannels], k_x[kTileChannels];
    for (int64_t c = 0; c < width; ++c) {
      const Factors f = factors(first + c, sums[c * step]);
      means[c] = mean_.at(mean_.row(0), first + c);
      a[c] = f.a;
      k[c] = f.shift;
      k_x[c] = f.slope;
    }
    const Columns<T> g = columns_of(g_, first), x = columns_of(x_, first),
                     dx = columns_of(dx_, first);
    for (int64_t b = blocks_.first(segment); b < blocks_.last(segment); ++b) {
      const auto [start, n] = blocks_.block(b);
      for (int64_t i = start; i < start + n; ++i) {
        const T* g_row = g.x + i * g.stride;
        const T* x_row = x.x + i * x.stride;
        T* to = dx.x + i * dx.stride;
        for_each_vector<T>(width, [&](auto d, int64_t c) HWY_ATTR {
          auto v = hn::LoadU(d, g_row + c);
          if (training_) {
            const auto centered = hn::Sub(hn::LoadU(d, x_row + c), hn::LoadU(d, means + c));
            v = hn::NegMulAdd(centered, hn::LoadU(d, k_x + c), hn::Sub(v, hn::LoadU(d, k + c)));
          }
          hn::StoreU(hn::Mul(hn::LoadU(d, a + c), v), d, to + c);
        });
      }
    }
  }

  // dx = a (g - shift - (x - mean) slope)
  struct Factors {
    T a;
    T shift;
    T slope;
  };
  Factors factors(int64_t c, const Sums& sums) const {
    const double r = rstd(c), n = static_cast<double>(blocks_.length());
    return {static_cast<T>(scale(c) * r), static_cast<T>(training_ ? sums.g / n : 0),
            static_cast<T>(training_ ? sums.g_centered / n * r * r : 0)};
  }

  Sums sums_of(const Channel<T>& channel, int64_t c, int64_t segment) const {
    const hn::ScalableTag<T> d;
    alignas(64) T g_buffer[kBlock];
    alignas(64) T x_buffer[kBlock];
    const auto m = hn::Set(d, mean_.at(mean_.row(0), c));
    const auto product = [m](auto g, auto x) HWY_ATTR { return hn::Mul(g, hn::Sub(x, m)); };
    Sums total;
    for (int64_t b = blocks_.first(segment); b < blocks_.last(segment); ++b) {
      const auto [start, n] = blocks_.block(b);
      const T* g = channel.gs.read(channel.g, start, n, g_buffer);
      const T* x = channel.xs.read(channel.x, start, n, x_buffer);
      total.g += static_cast<double>(fold_block<SumOp>(g, n));
      total.g_centered += static_cast<double>(fold_map<SumOp>(n, T(0), product, g, x));
    }
    return total;
  }

  void write_dx(const Channel<T>& channel, int64_t c, const Sums& sums, int64_t segment) const {
    const hn::ScalableTag<T> d;
    alignas(64) T g_buffer[kBlock];
    alignas(64) T x_buffer[kBlock];
    alignas(64) T dx_buffer[kBlock];
    const Factors f = factors(c, sums);
    const auto m = hn::Set(d, mean_.at(mean_.row(0), c));
    const auto a = hn::Set(d, f.a);
    const auto k = hn::Set(d, f.shift);
    const auto k_x = hn::Set(d, f.slope);
    const auto gradient = [m, a, k, k_x](auto g, auto x) HWY_ATTR {
      return hn::Mul(a, hn::NegMulAdd(hn::Sub(x, m), k_x, hn::Sub(g, k)));
    };
    for (int64_t b = blocks_.first(segment); b < blocks_.last(segment); ++b) {
      const auto [start, n] = blocks_.block(b);
      const T* g = channel.gs.read(channel.g, start, n, g_buffer);
      T* dx = channel.dxs.place(channel.dx, start, n, dx_buffer);
      if (training_) {
        const T* x = channel.xs.read(channel.x, start, n, x_buffer);
        map_block<T>(n, dx, gradient, g, x);
      } else {  // no 0 times an infinite x
        map_block<T>(
            n, dx, [a](auto v) HWY_ATTR { return hn::Mul(a, v); }, g);
      }
      channel.dxs.write(channel.dx, start, n, dx);
    }
  }

  const dlcore_launch* launch_;
  ChannelBlocks blocks_;
  bool training_;
  double epsilon_;
  Rows<T> g_;
  Rows<T> x_;
  Rows<T> mean_;
  Rows<T> variance_;
  Rows<T> dx_;
  Rows<T> dscale_;
  Rows<T> dbias_;
};

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel<Backward<float>>(Op::kBatchNormBackward, DLCORE_F32, kFlags),
    make_kernel<Backward<float>>(Op::kBatchNormBackward, DLCORE_F16, kFlags),
    make_kernel<Backward<float>>(Op::kBatchNormBackward, DLCORE_BF16, kFlags),
    make_kernel<Backward<double>>(Op::kBatchNormBackward, DLCORE_F64, kFlags),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(batch_norm_backward)
}  // namespace dlcore::cpu
#endif
