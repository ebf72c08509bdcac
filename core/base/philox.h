// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, the counter-based random generator of Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3" (SC 2011), and how dlcore counts: any draw can be computed on
// its own, so results depend neither on threads nor on the device.
#pragma once

#include <array>
#include <cstdint>

namespace dlcore {

using PhiloxBlock = std::array<uint32_t, 4>;

inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9;
inline constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

// The four random words of a counter under a key.
constexpr PhiloxBlock philox(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = uint64_t{kPhiloxMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kPhiloxMultiplier1} * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return counter;
}

// One random call of one generator. The key is the seed, the counter is (block, call, generator).
struct RandomCall {
  uint64_t seed = 0;
  uint64_t generator = 0;
  uint64_t call = 0;

  constexpr uint32_t key0() const { return static_cast<uint32_t>(seed); }
  constexpr uint32_t key1() const { return static_cast<uint32_t>(seed >> 32); }
  // Counter words 2 and 3, the same for every block.
  constexpr uint32_t counter2() const { return static_cast<uint32_t>(call); }
  constexpr uint32_t counter3() const {
    return static_cast<uint32_t>(generator) ^ (static_cast<uint32_t>(call >> 32) << 16);
  }

  constexpr PhiloxBlock block(uint64_t index) const {
    return philox(
        {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), counter2(), counter3()},
        key0(), key1());
  }
  // Draw number `index` of 32 bits, four to a block, or of 64 bits, two to a block.
  constexpr uint32_t draw32(uint64_t index) const { return block(index / 4)[index % 4]; }
  constexpr uint64_t draw64(uint64_t index) const {
    const PhiloxBlock words = block(index / 2);
    const uint64_t at = 2 * (index % 2);
    return words[at] | uint64_t{words[at + 1]} << 32;
  }
};

}  // namespace dlcore
