// SPDX-License-Identifier: Apache-2.0
// Conversions between any two dtypes, one element at a time.
#pragma once

#include "backends/cpu/elementwise/driver.h"

namespace dlcore::cpu {

// The loop that converts `from` to `to`: floats to integers truncate towards zero and saturate, NaN
// becomes 0; anything but 0 (NaN too) becomes true; integers wrap; floats are rounded once, to
// nearest.
Loop astype_loop(dlcore_dtype from, dlcore_dtype to);

}  // namespace dlcore::cpu
