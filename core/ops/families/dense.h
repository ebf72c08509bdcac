// SPDX-License-Identifier: Apache-2.0
// What the op dense and layers that end with it share.
#pragma once

namespace dlcore {

// The ops that may be applied to the result.
inline constexpr const char* kActivations = "none|relu|sigmoid|tanh|silu|gelu";

}  // namespace dlcore
