// SPDX-License-Identifier: Apache-2.0
#include "core/base/philox.h"

#include <gtest/gtest.h>

namespace dlcore {
namespace {

// The known answers that the authors publish with Random123 (kat_vectors, philox4x32 10).
static_assert(philox({0, 0, 0, 0}, 0, 0) ==
              PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff) ==
              PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
              PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

TEST(Philox, CountsBlocksCallsAndGenerators) {
  const RandomCall call{0x299f31d0a4093822, 0x03707344, 0x13198a2e};
  EXPECT_EQ(call.block(0x85a308d3243f6a88),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(call.draw32(9), call.block(2)[1]);
  EXPECT_EQ(call.draw64(5), call.block(2)[2] | uint64_t{call.block(2)[3]} << 32);
  const RandomCall late{0x299f31d0a4093822, 0x03707344, 0x1'13198a2e};
  EXPECT_EQ(late.counter3(), 0x03707344u ^ 0x10000u);
}

}  // namespace
}  // namespace dlcore
