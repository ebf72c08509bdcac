// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor as the host sees them, in row-major order: in place where they lie so,
// else copied.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace dlcore {

class HostElements {
 public:
  HostElements() = default;
  // Waits for the device. The tensor must have elements.
  HostElements(Context& ctx, TensorRef tensor);

  // Stays valid when the object is moved.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  TensorRef tensor_;  // keeps elements that are seen in place
  std::vector<std::byte> copy_;
  std::span<const std::byte> bytes_;
};

}  // namespace dlcore
