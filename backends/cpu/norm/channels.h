// SPDX-License-Identifier: Apache-2.0
// How batch normalisation walks a channel: axis 1 of [N, C, ...]. Its elements, N planes one after
// the other, are cut into blocks that do not cross planes where planes are large enough to be
// worth it, and blocks are gathered into segments that threads share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/queue.h"
#include "backends/cpu/reduce/axes.h"
#include "backends/cpu/reduce/tree.h"
#include "dlcore/plugin.h"

namespace dlcore::cpu {

// All axes but the channels.
inline uint32_t all_but_channels(int32_t rank) { return ((1u << rank) - 1) & ~2u; }

class ChannelBlocks {
 public:
  struct Block {
    int64_t start;
    int64_t n;
  };

  explicit ChannelBlocks(const dlcore_operand& x) : channels_(x.shape[1]) {
    planes_ = x.shape[0];
    for (int32_t a = 2; a < x.rank; ++a) plane_ *= x.shape[a];
    length_ = planes_ * plane_;
    flat_ = plane_ < kSmallPlane;
    if (flat_) {
      plane_ = length_;
      planes_ = 1;
    }
    per_plane_ = (plane_ + kBlock - 1) / kBlock;
    const int64_t block = std::clamp<int64_t>(plane_, 1, kBlock);
    while (per_segment_ * block < kSegmentElements) per_segment_ *= 2;
  }

  int64_t channels() const { return channels_; }
  int64_t length() const { return length_; }
  // Blocks cross planes: neighbouring elements of a channel are not neighbours in memory.
  bool flat() const { return flat_; }
  int64_t blocks() const { return planes_ * per_plane_; }
  int64_t segments() const {
    return std::max<int64_t>(1, (blocks() + per_segment_ - 1) / per_segment_);
  }
  int64_t first(int64_t segment) const { return segment * per_segment_; }
  int64_t last(int64_t segment) const { return std::min(blocks(), first(segment) + per_segment_); }

  Block block(int64_t index) const {
    const int64_t within = index % per_plane_ * kBlock;
    return {index / per_plane_ * plane_ + within, std::min(kBlock, plane_ - within)};
  }

  // Calls body(first, width, segment) for all segments of tiles of neighbouring channels.
  template <class Body>
  void for_each_tile(const Queue& queue, int64_t tile, const Body& body) const {
    const int64_t tiles = (channels_ + tile - 1) / tile;
    queue.parallel_for(tiles * segments(), [&](int64_t part) {
      const int64_t first = part / segments() * tile;
      if (!queue.stopped()) body(first, std::min(tile, channels_ - first), part % segments());
    });
  }

  // Calls body(channel, segment) for all segments of all channels.
  template <class Body>
  void for_each_segment(const Queue& queue, const Body& body) const {
    queue.parallel_for(channels_ * segments(), [&](int64_t part) {
      if (!queue.stopped()) body(part / segments(), part % segments());
    });
  }

 private:
  static constexpr int64_t kSmallPlane = 64;
  static constexpr int64_t kSegmentElements = 64 * 1024;

  int64_t channels_;
  int64_t planes_;
  int64_t plane_ = 1;
  int64_t length_;
  bool flat_;
  int64_t per_plane_;
  int64_t per_segment_ = 128;
};

}  // namespace dlcore::cpu
