// SPDX-License-Identifier: Apache-2.0
// What the callbacks of a custom op see of one call.
#pragma once

#include <vector>

#include "core/autograd/node.h"
#include "core/tensor/tensor.h"

namespace dlcore {

class OpCall : public Handle {
 public:
  static constexpr Tag kTag = Tag::kOpCall;
  enum class Phase { kClosed, kInfer, kForward, kBackward };

  Phase phase = Phase::kClosed;
  Context* child = nullptr;
  std::vector<TensorRef> inputs, outputs, gradients, input_gradients;
  std::vector<TensorType> output_types;
  std::vector<int64_t> attrs;
  std::vector<bool> needs;

  // Lets go of everything: the program may keep no part of it.
  void close() {
    phase = Phase::kClosed;
    for (auto* list : {&inputs, &outputs, &gradients, &input_gradients}) list->clear();
  }
};

}  // namespace dlcore
