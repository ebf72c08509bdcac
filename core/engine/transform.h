// SPDX-License-Identifier: Apache-2.0
// A level of a transform that is open on a context: forward mode, or vectorisation.
#pragma once

#include "core/base/handle.h"

namespace dlcore {

class Transform : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kTransform;
  enum class Kind { kJvp, kVmap };

  Transform(Kind kind, int32_t depth, int64_t size) : kind(kind), depth(depth), size(size) {}

  const Kind kind;
  const int32_t depth;  // 1 for the outermost level
  const int64_t size;   // of the examples axis
  bool open = true;
};

}  // namespace dlcore
