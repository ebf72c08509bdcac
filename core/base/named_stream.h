// SPDX-License-Identifier: Apache-2.0
// Streams of random numbers that a name selects: initial values by the path of a parameter, orders
// of samples by the name of a loader. Streams of different names, numbers or seeds are independent.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/philox.h"

namespace dlcore {

// FNV-1a, 64 bits (Fowler, Noll, Vo).
constexpr uint64_t text_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// The hash of the name and the number are encrypted under the seed; the result is the key of the
// stream.
constexpr RandomCall named_stream(uint64_t seed, uint64_t hash, uint64_t number) {
  const PhiloxBlock words =
      philox({static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32),
              static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)},
             static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  RandomCall call;
  call.seed = words[0] | uint64_t{words[1]} << 32;
  call.generator = words[2];
  return call;
}
constexpr RandomCall named_stream(uint64_t seed, std::string_view name, uint64_t number) {
  return named_stream(seed, text_hash(name), number);
}

}  // namespace dlcore
