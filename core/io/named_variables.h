// SPDX-License-Identifier: Apache-2.0
// Variables under the names that they have in a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/engine/context.h"
#include "core/io/safetensors.h"
#include "core/tensor/variable.h"

namespace dlcore {

struct NamedVariable {
  std::string name;
  Variable* variable = nullptr;
};

// Their values, all of one moment: drawn if need be, without history, shared and not copied.
std::vector<TensorRef> values_of(Context& ctx, std::span<const NamedVariable> variables);

// A tensor that a file must hold to be loaded.
struct ExpectedTensor {
  std::string name;
  Dtype dtype = DLCORE_DTYPE_NONE;
  Dims shape;
};
ExpectedTensor expected_by(const NamedVariable& variable);

// Throws INVALID_ARGUMENT, naming what is wrong with each tensor, unless `file` holds exactly these
// tensors. `source` is what the file is called, and `reader` what it is loaded into ("the model").
void need_fit(const char* call, const std::string& source, const char* reader,
              std::span<const ExpectedTensor> expected, const Safetensors& file);

}  // namespace dlcore
