// SPDX-License-Identifier: Apache-2.0
// The sum of exponentials, shifted by the largest element.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace host2 {

struct LogSum {
  double shift;  // finite
  double sum;    // of exp(x - shift)
  double log() const { return shift + std::log(sum); }
};

template <class Element>
LogSum log_sum(int64_t n, Element&& x) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, x(i));
  LogSum result = {std::isfinite(largest) ? largest : 0.0, 0.0};
  for (int64_t i = 0; i < n; ++i) result.sum += std::exp(x(i) - result.shift);
  return result;
}

}  // namespace host2
