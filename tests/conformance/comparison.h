// SPDX-License-Identifier: Apache-2.0
// When a result counts as right.
#pragma once

#include <string>

#include "corpus.h"

namespace dlcore::conformance {

// A float differs by at most `absolute` + `relative` * |expected| + `ulp` units in the last place
// of `expected`, or equals `expected` rounded to the dtype; NaN equals NaN. Integers are equal.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double ulp = 0;
  bool signed_zero = false;  // 0 and -0 differ

  static Tolerance from(const Json& json);
};

// Empty when they agree; else the first few elements that do not, and how many there are.
std::string difference(const Numbers& got, const Numbers& expected, dlcore_dtype dtype,
                       const Tolerance& tolerance);

}  // namespace dlcore::conformance
