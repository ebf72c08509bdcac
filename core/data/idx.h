// SPDX-License-Identifier: Apache-2.0
// The IDX format of the MNIST family: two zero bytes, the element type, the rank, a big-endian
// 32-bit length per dimension, then the elements, big-endian too
// (http://yann.lecun.com/exdb/mnist).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dlcore/base.h"

namespace dlcore {

struct IdxArray {
  dlcore_dtype dtype = DLCORE_DTYPE_NONE;  // u8, i8, i16, i32, f32 or f64
  std::vector<int64_t> shape;              // 1 to 4 dimensions
  std::vector<std::byte> data;             // row-major, in the host's byte order
};

// Reads a file, plain or gzip; where there is no `path`, `path`.gz. Errors name the path and
// values: NOT_FOUND, DATA_LOSS for a damaged file (one that holds more than its header says is not
// read beyond that), INVALID_ARGUMENT for a rank that is not supported.
IdxArray read_idx(const std::string& path);

// Whether read_idx would find a file.
bool idx_exists(const std::string& path);

}  // namespace dlcore
