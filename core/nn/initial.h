// SPDX-License-Identifier: Apache-2.0
// How weights start, by the names that layers take.
#pragma once

#include <string_view>

#include "core/tensor/variable.h"

namespace dlcore {

// The names, as the choices of an attribute.
//   default         uniform in +-1/sqrt(fan_in), as PyTorch starts its linear layers
//   he_uniform      uniform in +-sqrt(6/fan_in)               He et al. 2015 (arXiv:1502.01852)
//   he_normal       normal, deviation sqrt(2/fan_in)
//   xavier_uniform  uniform in +-sqrt(6/(fan_in + fan_out))   Glorot and Bengio 2010
//   xavier_normal   normal, deviation sqrt(2/(fan_in + fan_out))
//   zeros
inline constexpr const char* kInitializers =
    "default|he_uniform|he_normal|xavier_uniform|xavier_normal|zeros";

InitialValue initial_weight(std::string_view name, int64_t fan_in, int64_t fan_out);
// A bias starts at zero, except beside a weight that starts as by default: then as that.
InitialValue initial_bias(std::string_view name, int64_t fan_in);

constexpr InitialValue kInitialZeros = {.kind = InitialValue::Kind::kZeros};
constexpr InitialValue kInitialOnes = {.kind = InitialValue::Kind::kOnes};

}  // namespace dlcore
