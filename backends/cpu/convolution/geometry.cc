// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/convolution/geometry.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

namespace dlcore::cpu {
namespace {

// Reads packed attributes in schema order.
class Words {
 public:
  explicit Words(const int64_t* at) : at_(at) {}

  // An optional list of one number for both axes, or of two.
  std::array<int64_t, 2> pair(int64_t otherwise) {
    const int64_t* values = nullptr;
    const int64_t n = list(&values);
    if (n == 0) return {otherwise, otherwise};
    return {values[0], values[n == 1 ? 0 : 1]};
  }
  int64_t number() { return *at_++; }
  std::string_view text() {
    const int64_t bytes = *at_++;
    const std::string_view value(reinterpret_cast<const char*>(at_), static_cast<size_t>(bytes));
    at_ += (bytes + 7) / 8;
    return value;
  }

 private:
  int64_t list(const int64_t** values) {
    if (*at_++ == 0) return 0;
    const int64_t n = *at_++;
    *values = at_;
    at_ += n;
    return n;
  }
  const int64_t* at_;
};

// Zeros in front of axis `a` when the size of y follows from the stride alone.
int64_t same_padding(const Convolution& c, size_t a, bool upper) {
  if (c.out[a] == 0) return 0;
  const int64_t covered = (c.out[a] - 1) * c.stride[a] + (c.kernel[a] - 1) * c.dilation[a] + 1;
  const int64_t total = std::max<int64_t>(0, covered - c.in[a]);
  return upper ? total / 2 : total - total / 2;
}

}  // namespace

Convolution Convolution::of(const dlcore_launch& launch, const dlcore_operand& x,
                            const dlcore_operand& w, const dlcore_operand& y) {
  Convolution c;
  Words words(launch.attrs);
  c.stride = words.pair(1);
  c.before = words.pair(0);
  c.dilation = words.pair(1);
  c.groups = words.number();
  const std::string_view how = words.text();
  c.images = x.shape[0];
  c.inputs = w.shape[1];
  c.outputs = w.shape[0] / c.groups;
  for (size_t a = 0; a < 2; ++a) {
    c.in[a] = x.shape[2 + a];
    c.out[a] = y.shape[2 + a];
    c.kernel[a] = w.shape[2 + a];
  }
  for (size_t a = 0; a < 2 && how.starts_with("same"); ++a) {
    c.before[a] = same_padding(c, a, how == "same_upper");
  }
  return c;
}

TapAxis TapAxis::part(int64_t begin, int64_t end) const {
  TapAxis axis = *this;
  axis.out = end - begin;
  axis.first += begin * step;
  axis.out_first += begin * out_step;
  return axis;
}

int64_t TapAxis::period() const { return step / std::gcd(distance(), step); }
int64_t TapAxis::phases() const { return std::min(taps, period()); }
int64_t TapAxis::depth() const { return taps == 0 ? 0 : distance() * (taps - 1) / step; }

int64_t TapAxis::position(int64_t phase) const {
  const int64_t lowest = by < 0 ? first + by * (taps - 1) : first;
  return lowest + distance() * phase % step;
}

int64_t TapAxis::phase_of(int64_t tap) const { return rank(tap) % period(); }
int64_t TapAxis::offset_of(int64_t tap) const { return distance() * rank(tap) / step; }

Inside Inside::of(const TapAxis& axis, int64_t phase) {
  const int64_t at = axis.position(phase);
  const auto reach = [&axis](int64_t distance) {  // elements before that distance
    if (distance <= 0) return int64_t{0};
    return std::min(axis.length(), (distance - 1) / axis.step + 1);
  };
  const int64_t begin = reach(-at);
  return {begin, std::max(begin, reach(axis.source - at)), at + begin * axis.step};
}

TapAxis forward_axis(const Convolution& c, int axis) {
  const auto a = static_cast<size_t>(axis);
  return {c.kernel[a], 0, 1, c.in[a], c.out[a], -c.before[a], c.dilation[a], c.stride[a], 0, 1};
}

TapAxis backward_axis(const Convolution& c, int axis, int64_t start) {
  const auto a = static_cast<size_t>(axis);
  const int64_t stride = c.stride[a];
  const int64_t dilation = c.dilation[a];
  // x[start + u stride] meets y[v] at kernel element e when start + u stride + before =
  // v stride + e dilation: so e dilation has this remainder.
  const int64_t remainder = (start + c.before[a]) % stride;
  const int64_t common = std::gcd(stride, dilation);
  TapAxis result = {0,
                    0,
                    stride / common,
                    c.out[a],
                    (c.in[a] - start - 1) / stride + 1,
                    0,
                    -(dilation / common),
                    1,
                    start,
                    stride};
  const int64_t most = std::min(c.kernel[a], result.kernel_step);
  int64_t e = 0;
  while (e < most && e * dilation % stride != remainder) ++e;
  if (e == most) return result;
  result.taps = (c.kernel[a] - 1 - e) / result.kernel_step + 1;
  result.kernel_first = e;
  result.first = (start + c.before[a] - e * dilation) / stride;  // exact
  return result;
}

int64_t PlaneLayout::most_shared(const TapAxis& cols) {
  int64_t shared = cols.depth();
  for (int64_t q = 0; q < cols.phases(); ++q) {
    const Inside inside = Inside::of(cols, q);
    shared = std::min({shared, inside.begin, cols.length() - inside.end});
  }
  return shared;
}

PlaneLayout PlaneLayout::of(const TapAxis& rows, const TapAxis& cols, int64_t shared) {
  PlaneLayout l;
  l.pitch = cols.length() - shared;
  l.phase = rows.length() * l.pitch + shared;
  // An odd number of cache lines, so that channels do not fall on the same few sets of a cache.
  constexpr int64_t kLine = 16;
  const int64_t lines = (rows.phases() * cols.phases() * l.phase + kLine - 1) / kLine;
  l.plane = (lines | 1) * kLine;
  l.virtuals = (rows.out - 1) * l.pitch + cols.out;
  return l;
}

double PlaneLayout::size(const TapAxis& rows, const TapAxis& cols) {
  return static_cast<double>(rows.phases()) * static_cast<double>(cols.phases()) *
         static_cast<double>(rows.length()) * static_cast<double>(cols.length());
}

int64_t PlaneLayout::offset(const TapAxis& rows, const TapAxis& cols, int64_t i, int64_t j) const {
  const int64_t which = rows.phase_of(i) * cols.phases() + cols.phase_of(j);
  return which * phase + rows.offset_of(i) * pitch + cols.offset_of(j);
}

}  // namespace dlcore::cpu
