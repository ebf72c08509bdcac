// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pooling/window.h"

#include <string_view>

namespace dlcore::cpu {
namespace {

// Attributes one after the other.
class Words {
 public:
  explicit Words(const int64_t* word) : word_(word) {}

  int64_t number() { return *word_++; }
  // A list of one or two entries for two axes.
  void pair(int64_t to[2]) {
    const int64_t n = *word_++;
    to[0] = word_[0];
    to[1] = word_[n - 1];
    word_ += n;
  }
  void padding(PoolAxis axes[2]) {
    const int64_t n = *word_++;
    for (int64_t i = 0; i < 2; ++i) {
      axes[i].before = word_[n == 1 ? 0 : i];
      axes[i].after = n == 4 ? word_[i + 2] : axes[i].before;
    }
    word_ += n;
  }
  std::string_view text() {
    const auto bytes = static_cast<size_t>(*word_);
    return {reinterpret_cast<const char*>(word_ + 1), bytes};
  }

 private:
  const int64_t* word_;
};

void read_axes(Words& words, bool has_dilation, const dlcore_operand& x, const dlcore_operand& y,
               PoolAxis axes[2]) {
  int64_t kernel[2], stride[2], dilation[2] = {1, 1};
  words.pair(kernel);
  std::copy(kernel, kernel + 2, stride);
  if (words.number() != 0) words.pair(stride);
  for (int i = 0; i < 2; ++i) axes[i].before = axes[i].after = 0;
  if (words.number() != 0) words.padding(axes);
  if (has_dilation && words.number() != 0) words.pair(dilation);
  for (int i = 0; i < 2; ++i) {
    PoolAxis& axis = axes[i];
    axis.size = x.shape[x.rank - 2 + i];
    axis.count = y.shape[y.rank - 2 + i];
    axis.kernel = kernel[i];
    axis.stride = stride[i];
    axis.dilation = dilation[i];
  }
}

// Padding that is chosen so that there are size / stride windows, rounded up.
void pad_same(PoolAxis& axis, bool upper) {
  const int64_t needed = (axis.count - 1) * axis.stride + axis.covered();
  const int64_t total = std::max<int64_t>(0, needed - axis.size);
  axis.before = upper ? total / 2 : total - total / 2;
  axis.after = total - axis.before;
}

void read_auto_pad(Words& words, PoolAxis axes[2]) {
  const std::string_view name = words.text();
  if (name != "same_upper" && name != "same_lower") return;
  for (int i = 0; i < 2; ++i) pad_same(axes[i], name == "same_upper");
}

int64_t planes(const dlcore_operand& x) {
  int64_t count = 1;
  for (int32_t d = 0; d + 2 < x.rank; ++d) count *= x.shape[d];
  return count;
}

}  // namespace

// [kernel; stride?; padding?; dilation?; ceil_mode; auto_pad]
PoolWindows max_pool_windows(const dlcore_launch* launch) {
  const dlcore_operand& x = launch->inputs[0];
  Words words(launch->attrs);
  PoolAxis axes[2];
  read_axes(words, true, x, launch->outputs[0], axes);
  words.number();
  read_auto_pad(words, axes);
  return {planes(x), axes[0], axes[1]};
}

// [kernel; stride?; padding?; ceil_mode; count_include_pad; auto_pad, or size]
AverageWindows average_windows(const dlcore_launch* launch, const dlcore_operand& x,
                               const dlcore_operand& y, bool backward) {
  Words words(launch->attrs);
  PoolAxis axes[2];
  read_axes(words, false, x, y, axes);
  words.number();
  const bool counts_padding = words.number() != 0;
  if (!backward) read_auto_pad(words, axes);
  return {{planes(x), axes[0], axes[1]}, counts_padding};
}

}  // namespace dlcore::cpu
