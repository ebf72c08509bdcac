// SPDX-License-Identifier: Apache-2.0
#include "core/nn/initial.h"

#include <cmath>

#include "core/base/error.h"

namespace dlcore {
namespace {

using Kind = InitialValue::Kind;

struct Initializer {
  std::string_view name;
  Kind kind;
  double numerator;     // scale = sqrt(numerator / fan)
  bool counts_outputs;  // fan = fan_in + fan_out
};

constexpr Initializer kTable[] = {
    {"default", Kind::kUniform, 1, false},     {"he_uniform", Kind::kUniform, 6, false},
    {"he_normal", Kind::kNormal, 2, false},    {"xavier_uniform", Kind::kUniform, 6, true},
    {"xavier_normal", Kind::kNormal, 2, true}, {"zeros", Kind::kZeros, 0, false},
};

}  // namespace

InitialValue initial_weight(std::string_view name, int64_t fan_in, int64_t fan_out) {
  for (const Initializer& entry : kTable) {
    if (entry.name != name) continue;
    const double fan =
        static_cast<double>(fan_in) + (entry.counts_outputs ? static_cast<double>(fan_out) : 0.0);
    InitialValue initial;
    initial.kind = entry.kind;
    initial.scale = fan > 0 ? std::sqrt(entry.numerator / fan) : 0;  // without inputs: all zero
    return initial;
  }
  fail(DLCORE_INTERNAL, "no initializer is called '{}'", name);
}

InitialValue initial_bias(std::string_view name, int64_t fan_in) {
  return name == "default" ? initial_weight(name, fan_in, 0) : kInitialZeros;
}

}  // namespace dlcore
