// SPDX-License-Identifier: Apache-2.0
// Tensors that other libraries see, and theirs.
#pragma once

#include "core/io/dlpack_types.h"
#include "core/tensor/tensor.h"

namespace dlcore::dlpack {

struct ExportOptions {
  bool copy = false;
  bool contiguous = false;
};
// A new Versioned or Unversioned.
void* give_versioned(Context& ctx, Tensor& tensor, ExportOptions options);
void* give_unversioned(Context& ctx, Tensor& tensor, ExportOptions options);

// Takes them over, but not on failure.
TensorRef take(Context& ctx, Versioned& managed, bool borrow);
TensorRef take(Context& ctx, Unversioned& managed, bool borrow);

}  // namespace dlcore::dlpack
