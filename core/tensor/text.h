// SPDX-License-Identifier: Apache-2.0
// A tensor as people read it.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace dlcore {

// dtype, shape, device and the elements; long axes are shortened in the middle.
std::string tensor_text(Context& ctx, Tensor& tensor);

}  // namespace dlcore
