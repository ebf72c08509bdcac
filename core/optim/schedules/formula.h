// SPDX-License-Identifier: Apache-2.0
// What the formulas of schedules share.
#pragma once

#include <numbers>

#include "core/optim/schedules/definition.h"

namespace dlcore {

inline Value constant(const Value& like, double value) { return weak(like.context(), value); }

// From 0 to 1 while t goes from 0 to `total`; 1 from there on.
inline Value progress(const Value& t, int64_t total) {
  const Value end = constant(t, static_cast<double>(total));
  return minimum(t, end) / end;
}

// `from` where share is 0, `to` where it is 1: exactly so, which from + (to - from) share is not.
inline Value blend(const Value& from, const Value& to, const Value& share) {
  return from * (1 - share) + to * share;
}

// From 0 to 1, flat at both ends, while p goes from 0 to 1.
inline Value cosine_share(const Value& p) { return (1 - cos(p * std::numbers::pi)) * 0.5; }

}  // namespace dlcore
