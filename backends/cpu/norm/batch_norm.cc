// SPDX-License-Identifier: Apache-2.0
// batch_norm: y = (x - mean) / sqrt(variance + epsilon) [* scale] [+ bias] for each channel, with
// the statistics of the batch in training (Ioffe and Szegedy 2015), else with those given.
// Statistics are taken in one pass over memory: sums and sums of squares around the mean of a
// block, blocks merged in f64 (Chan, Golub and LeVeque 1983, eq. 2.1).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/batch_norm.cc"
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

struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // around the mean

  void merge(const Moments& b) {
    const double total = count + b.count;
    if (total == 0) return;
    const double delta = b.mean - mean;
    mean += delta * (b.count / total);
    squares += b.squares + delta * delta * (count * b.count / total);
    count = total;
  }
};

template <class T>
Moments moments_of_block(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const T mean = fold_block<SumOp>(x, n) / static_cast<T>(n);
  const auto m = hn::Set(d, mean);
  const auto square = [m](auto v) HWY_ATTR {
    const auto centered = hn::Sub(v, m);
    return hn::Mul(centered, centered);
  };
  const T squares = fold_map<SumOp>(n, mean, square, x);
  return {static_cast<double>(n), static_cast<double>(mean), static_cast<double>(squares)};
}

template <class T>
class BatchNorm {
 public:
  explicit BatchNorm(const dlcore_launch* launch)
      : launch_(launch),
        blocks_(launch->inputs[0]),
        training_(launch->attrs[0] != 0),
        epsilon_(attr_f64(launch->attrs[1])),
        in_(rows_of<T>(launch->inputs[0], all_but_channels(launch->inputs[0].rank))),
        out_(rows_of<T>(launch->outputs[0], all_but_channels(launch->inputs[0].rank))),
        means_(static_cast<T*>(launch->outputs[1].data)),
        variances_(static_cast<T*>(launch->outputs[2].data)) {}

  bool in_segments() const { return blocks_.segments() > 1; }
  uint64_t workspace_bytes() const {
    const bool partial = training_ && in_segments();
    return partial
               ? static_cast<uint64_t>(blocks_.channels() * blocks_.segments()) * sizeof(Moments)
               : 0;
  }

  void run(const Queue& queue) const {
    if (!training_) {
      for (int64_t c = 0; c < blocks_.channels(); ++c) {
        means_[c] = channel_value(3, c, T(0));
        variances_[c] = channel_value(4, c, T(1));
      }
    }
    if (blocks_.flat() && has_columns(in_) && has_columns(out_)) return run_columns(queue);
    if (in_segments()) return run_segments(queue);
    for_each_row_group(queue, blocks_.channels(), blocks_.length(), [&](int64_t first, int64_t n) {
      if (!blocks_.flat()) {
        for (int64_t c = first; c < first + n; ++c) {
          run_channel(c, in_, in_.row(c), out_, out_.row(c));
        }
        return;
      }
      alignas(64) T x_buffer[kPackedElements];
      alignas(64) T y_buffer[kPackedElements];
      RowGroup<T> x(in_, first, n, x_buffer);
      RowGroup<T> y(out_, first, n, y_buffer);
      x.load();
      for (int64_t i = 0; i < n; ++i) {
        run_channel(first + i, x.rows(), x.row(i), y.rows(), y.row(i));
      }
      y.store();
    });
  }

 private:
  T channel_value(int32_t input, int64_t channel, T otherwise) const {
    if (!has_input(launch_, input)) return otherwise;
    const Rows<T> values = rows_of<T>(launch_->inputs[input], ~0u);
    return values.at(values.row(0), channel);
  }

  void run_channel(int64_t c, const Rows<T>& in, const std::byte* x, const Rows<T>& out,
                   std::byte* y) const {
    if (training_) set_statistics(c, moments(in, x, 0));
    normalize(c, in, x, out, y, 0);
  }

  void run_segments(const Queue& queue) const {
    const int64_t segments = blocks_.segments();
    if (training_) {
      Moments* partial = static_cast<Moments*>(launch_->workspace);
      blocks_.for_each_segment(queue, [&](int64_t c, int64_t segment) {
        partial[c * segments + segment] = moments(in_, in_.row(c), segment);
      });
      if (queue.stopped()) return;
      merge_segments(partial);
    }
    blocks_.for_each_segment(queue, [&](int64_t c, int64_t segment) {
      normalize(c, in_, in_.row(c), out_, out_.row(c), segment);
    });
  }

  // As above, on tiles of channels.
  void run_columns(const Queue& queue) const {
    const int64_t segments = blocks_.segments();
    Moments* partial = static_cast<Moments*>(launch_->workspace);
    const auto moments_at = [&](int64_t first, int64_t width, int64_t segment) {
      Moments totals[kTileChannels];
      column_moments(first, width, segment, totals);
      for (int64_t c = 0; c < width; ++c) {
        if (segments == 1) {
          set_statistics(first + c, totals[c]);
        } else {
          partial[(first + c) * segments + segment] = totals[c];
        }
      }
    };
    if (training_ && segments > 1) {
      blocks_.for_each_tile(queue, kTileChannels, moments_at);
      if (queue.stopped()) return;
      merge_segments(partial);
    }
    blocks_.for_each_tile(queue, kTileChannels, [&](int64_t first, int64_t width, int64_t segment) {
      if (training_ && segments == 1) moments_at(first, width, segment);
      normalize_columns(first, width, segment);
    });
  }

  void column_moments(int64_t first, int64_t width, int64_t segment, Moments* totals) const {
    const Columns<T> x = columns_of(in_, first);
    for (int64_t b = blocks_.first(segment); b < blocks_.last(segment); ++b) {
      const auto [start, n] = blocks_.block(b);
      const T* from = x.x + start * x.stride;
      const int64_t stride = x.stride;
      alignas(64) T means[kTileChannels], squares[kTileChannels];
      sum_columns<T>(
          n, width,
          [from, stride](auto d, int64_t i, int64_t c)
              HWY_ATTR { return hn::LoadU(d, from + i * stride + c); },
          means);
      for (int64_t c = 0; c < width; ++c) means[c] /= static_cast<T>(n);
      const T* mean = means;
      sum_columns<T>(
          n, width,
          [from, stride, mean](auto d, int64_t i, int64_t c) HWY_ATTR {
            const auto centered =
                hn::Sub(hn::LoadU(d, from + i * stride + c), hn::LoadU(d, mean + c));
            return hn::Mul(centered, centered);
          },
          squares);
      for (int64_t c = 0; c < width; ++c) {
        totals[c].merge({static_cast<double>(n), static_cast<double>(means[c]),
                         static_cast<double>(squares[c])});
      }
    }
  }

  void normalize_columns(int64_t first, int64_t width, int64_t segment) const {
    alignas(64) T slopes[kTileChannels], biases[kTileChannels];
    for (int64_t c = 0; c < width; ++c) {
      slopes[c] = slope(first + c);
      biases[c] = channel_value(2, first + c, T(0));
    }
    const T* means = means_ + first;
    const Columns<T> x = columns_of(in_, first), y = columns_of(out_, first);
    for (int64_t b = blocks_.first(segment); b < blocks_.last(segment); ++b) {
      const auto [start, n] = blocks_.block(b);
      for (int64_t i = start; i < start + n; ++i) {
        const T* from = x.x + i * x.stride;
        T* to = y.x + i * y.stride;
        for_each_vector<T>(width, [&](auto d, int64_t c) HWY_ATTR {
          const auto centered = hn::Sub(hn::LoadU(d, from + c), hn::LoadU(d, means + c));
          hn::StoreU(hn::MulAdd(centered, hn::LoadU(d, slopes + c), hn::LoadU(d, biases + c)), d,
                     to + c);
        });
      }
    }
  }

  void merge_segments(const Moments* partial) const {
    const int64_t segments = blocks_.segments();
    for (int64_t c = 0; c < blocks_.channels(); ++c) {
      Moments total;
      for (int64_t s = 0; s < segments; ++s) total.merge(partial[c * segments + s]);
      set_statistics(c, total);
    }
  }

  T slope(int64_t c) const {
    const double rstd = 1 / std::sqrt(static_cast<double>(variances_[c]) + epsilon_);
    return static_cast<T>(rstd * static_cast<double>(channel_value(1, c, T(1))));
  }

  void set_statistics(int64_t c, const Moments& total) const {
    means_[c] = static_cast<T>(total.mean);
    variances_[c] = static_cast<T>(total.squares / total.count);
  }

  Moments moments(const Rows<T>& in, const std::byte* row, int64_t segment) const {
    alignas(64) T buffer[kBlock];
    Moments total;
    for (int64_t b = blocks_.first(segment); b < blocks_.last(segment); ++b) {
      const auto [start, n] = blocks_.block(b);
      total.merge(moments_of_block(in.read(row, start, n, buffer), n));
    }
    return total;
  }

  void normalize(int64_t c, const Rows<T>& in, const std::byte* from, const Rows<T>& out,
                 std::byte* to, int64_t segment) const {
    const hn::ScalableTag<T> d;
    alignas(64) T in_buffer[kBlock];
    alignas(64) T out_buffer[kBlock];
    const auto m = hn::Set(d, means_[c]);
    const auto a = hn::Set(d, slope(c));
    const auto bias = hn::Set(d, channel_value(2, c, T(0)));
    for (int64_t b = blocks_.first(segment); b < blocks_.last(segment); ++b) {
      const auto [start, n] = blocks_.block(b);
      const T* x = in.read(from, start, n, in_buffer);
      T* y = out.place(to, start, n, out_buffer);
      map_block<T>(
          n, y, [m, a, bias](auto v) HWY_ATTR { return hn::MulAdd(hn::Sub(v, m), a, bias); }, x);
      out.write(to, start, n, y);
    }
  }

  const dlcore_launch* launch_;
  ChannelBlocks blocks_;
  bool training_;
  double epsilon_;
  Rows<T> in_;
  Rows<T> out_;
  T* means_;
  T* variances_;
};

constexpr uint32_t kFlags = DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE;
constexpr dlcore_kernel kKernels[] = {
    make_kernel<BatchNorm<float>>(Op::kBatchNorm, DLCORE_F32, kFlags),
    make_kernel<BatchNorm<float>>(Op::kBatchNorm, DLCORE_F16, kFlags),
    make_kernel<BatchNorm<float>>(Op::kBatchNorm, DLCORE_BF16, kFlags),
    make_kernel<BatchNorm<double>>(Op::kBatchNorm, DLCORE_F64, kFlags),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(batch_norm)
}  // namespace dlcore::cpu
#endif
