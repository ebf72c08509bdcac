// SPDX-License-Identifier: Apache-2.0
// What the random ops share.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "backends/cpu/queue.h"
#include "core/base/philox.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// The key tensor: i64 [3], (seed, generator, call).
inline RandomCall random_call(const dlcore_operand& key) {
  const int64_t* const words = static_cast<const int64_t*>(key.data);
  const int64_t stride = key.strides[0];
  return {static_cast<uint64_t>(words[0]), static_cast<uint64_t>(words[stride]),
          static_cast<uint64_t>(words[2 * stride])};
}

// The attributes behind `shape`, the first one of every random op.
inline const int64_t* attrs_after_shape(const dlcore_launch* launch) {
  return launch->attrs + 1 + 2 * launch->attrs[0];
}

inline double attr_double(int64_t word) { return std::bit_cast<double>(word); }

// Calls body(begin, end) for parts of [0, count) that hold whole blocks of draws.
template <class Body>
void for_each_draw(const Queue& queue, int64_t count, const Body& body) {
  constexpr int64_t kPart = 8192;
  queue.parallel_for((count + kPart - 1) / kPart, [&](int64_t part) {
    if (queue.stopped()) return;
    body(part * kPart, std::min(count, (part + 1) * kPart));
  });
}

}  // namespace dlcore::cpu
