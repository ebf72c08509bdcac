// SPDX-License-Identifier: Apache-2.0
// The one order in which a sequence of floats is summed, whatever its strides, its kernel and the
// number of threads. Elements are numbered 0..n-1 in row-major order of the reduced axes.
//
//   1. The sequence is cut into blocks of kBlock elements.
//   2. In a block, lane l of kLanes adds elements l, l + kLanes, l + 2 kLanes ... in turn, starting
//      from zero. Lanes are then folded in halves: (l, l + 8), (l, l + 4), (l, l + 2), (l, l + 1).
//   3. Blocks are added pairwise: block sums go into a binary counter in which equal-sized
//      neighbours merge; what is left at the end is added from the right (PairwiseStack).
//
// Step 2 vectorises along the sequence (lanes are parts of vectors) and across neighbouring outputs
// (a lane is a row of vectors) with equal bits. A run of kChunk elements that starts at a multiple
// of kChunk is a whole subtree of step 3, so chunks may be reduced by different threads. The error
// grows as kBlock / kLanes + log2(n), not as n.
#pragma once

#include <cstdint>

namespace dlcore::cpu {

inline constexpr int64_t kLanes = 16;
inline constexpr int64_t kBlock = 512;
inline constexpr int64_t kChunk = 64 * kBlock;

// Step 3 for one sequence of block sums.
template <class T>
class PairwiseSum {
 public:
  void push(T value) {
    for (uint64_t c = count_++; (c & 1) != 0; c >>= 1) value = levels_[--depth_] + value;
    levels_[depth_++] = value;
  }
  T total() const {
    if (depth_ == 0) return T(0);
    T value = levels_[depth_ - 1];
    for (int i = depth_ - 2; i >= 0; --i) value = levels_[i] + value;
    return value;
  }

 private:
  uint64_t count_ = 0;
  int depth_ = 0;
  T levels_[56];
};

}  // namespace dlcore::cpu
