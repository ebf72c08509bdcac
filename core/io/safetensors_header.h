// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file, and the checks that need no data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/safetensors.h"

namespace dlcore {

constexpr uint64_t kLargestSafetensorsHeader = 100'000'000;  // as in the reference implementation

constexpr std::string_view kSafetensorsMetadataKey = "__metadata__";

struct SafetensorsEntry {
  std::string name;
  dlcore_dtype dtype = DLCORE_DTYPE_NONE;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the data
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  SafetensorsMetadata metadata;
  uint64_t data_bytes = 0;  // all entries together; they follow each other without gap or overlap
};

SafetensorsHeader parse_safetensors_header(std::string_view json);
std::string format_safetensors_header(const SafetensorsHeader& header);

// Bytes of a tensor; INVALID_ARGUMENT naming it when the dtype is none, the rank too large, a
// dimension negative or the size beyond int64_t.
uint64_t safetensors_bytes(const std::string& name, dlcore_dtype dtype,
                           const std::vector<int64_t>& shape);

}  // namespace dlcore
