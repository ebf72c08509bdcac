// SPDX-License-Identifier: Apache-2.0
// cross_entropy of dense logits [N, C, ...] or [C] and its gradient, attributes [reduction;
// ignore_index or absent; label_smoothing e]. For a row x with label t
//   loss = logsumexp(x) - (1 - e) x[t] - e mean(x)        dx = (exp(x - logsumexp) - e / C - (1 -
//   e) [c = t]) g
// A label out of range is reported, and its row is left out like one to be ignored.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "kernels/element.h"
#include "kernels/kernels.h"
#include "kernels/log_sum.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

constexpr int64_t kLeftOut = -1;

struct Options {
  std::string reduction;
  std::optional<int64_t> ignored;
  double smoothing;

  explicit Options(Attributes attributes) : reduction(attributes.text()) {
    if (attributes.flag()) ignored = attributes.integer();
    smoothing = attributes.real();
  }
  double divisor(const std::vector<int64_t>& labels) const {
    if (reduction != "mean") return 1;
    const auto left_out = std::count(labels.begin(), labels.end(), kLeftOut);
    return std::max<double>(1, static_cast<double>(labels.size()) - static_cast<double>(left_out));
  }
};

Around classes_of(const Operand& logits) { return {logits.shape, logits.rank() == 1 ? 0 : 1}; }

std::vector<int64_t> read_labels(Call& call, const Operand& operand, int64_t classes,
                                 const std::optional<int64_t>& ignored) {
  std::vector<int64_t> labels;
  labels.reserve(static_cast<size_t>(operand.count));
  with_type(operand.dtype, [&]<class T>() {
    for (int64_t row = 0; row < operand.count; ++row) {
      const auto label = static_cast<int64_t>(operand.data<T>()[row]);
      const bool counts = label != ignored;
      const bool fits = label >= 0 && label < classes;
      if (counts && !fits) {
        call.fail(DLCORE_OUT_OF_RANGE, "label " + std::to_string(label) + " at row " +
                                           std::to_string(row) + " is out of bounds for " +
                                           std::to_string(classes) + " classes");
      }
      labels.push_back(counts && fits ? label : kLeftOut);
    }
  });
  return labels;
}

template <class T>
void cross_entropy(Call& call) {
  const Options options(call.attributes());
  const Around around = classes_of(call.in(0));
  const auto labels = read_labels(call, call.in(1), around.length, options.ignored);
  const T* const logits = call.in(0).data<T>();
  T* const losses = call.out(0).data<T>();
  T* const logsumexp = call.out(1).data<T>();
  const bool by_row = options.reduction == "none";
  double total = 0;
  size_t row = 0;
  around.lines([&](int64_t first) {
    const auto x = [&](int64_t c) { return static_cast<double>(logits[first + c * around.inner]); };
    const LogSum sum = log_sum(around.length, x);
    const int64_t label = labels[row];
    double loss = 0;
    if (label != kLeftOut) {
      loss = (1 - options.smoothing) * (std::log(sum.sum) - (x(label) - sum.shift));
      double centered = 0;
      for (int64_t c = 0; c < around.length && options.smoothing > 0; ++c)
        centered += x(c) - sum.shift;
      if (options.smoothing > 0) {
        loss +=
            options.smoothing * (std::log(sum.sum) - centered / static_cast<double>(around.length));
      }
    }
    logsumexp[row] = static_cast<T>(sum.log());
    if (by_row) losses[row] = static_cast<T>(loss);
    total += loss;
    ++row;
  });
  if (!by_row) *losses = static_cast<T>(total / options.divisor(labels));
}

// Inputs: g, logits, labels, logsumexp.
template <class T>
void cross_entropy_backward(Call& call) {
  const Options options(call.attributes());
  const Around around = classes_of(call.in(1));
  const auto labels = read_labels(call, call.in(2), around.length, options.ignored);
  const T *const g = call.in(0).data<T>(), *const logits = call.in(1).data<T>();
  const T* const logsumexp = call.in(3).data<T>();
  T* const out = call.out().data<T>();
  const double divisor = options.divisor(labels);
  const bool by_row = options.reduction == "none";
  size_t row = 0;
  around.lines([&](int64_t first) {
    const int64_t label = labels[row];
    const double scale = static_cast<double>(g[by_row ? row : 0]) / divisor;
    for (int64_t c = 0; c < around.length; ++c) {
      const int64_t i = first + c * around.inner;
      const double target = options.smoothing / static_cast<double>(around.length) +
                            (c == label ? 1 - options.smoothing : 0.0);
      const double p =
          std::exp(static_cast<double>(logits[i]) - static_cast<double>(logsumexp[row]));
      out[i] = label == kLeftOut ? T(0) : static_cast<T>((p - target) * scale);
    }
    ++row;
  });
}

}  // namespace

void add_loss(Kernels& kernels) {
  each_float([&]<class T>() {
    kernels.push_back({"cross_entropy", dtype_of<T>(), 0, launch<cross_entropy<T>>});
    kernels.push_back(
        {"cross_entropy_backward", dtype_of<T>(), 0, launch<cross_entropy_backward<T>>});
  });
}

}  // namespace host2
