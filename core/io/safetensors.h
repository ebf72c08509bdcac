// SPDX-License-Identifier: Apache-2.0
// The safetensors format: an 8-byte little-endian length, that many bytes of JSON naming each
// tensor's dtype, shape and place, then the tensors' bytes without gaps
// (https://github.com/huggingface/safetensors, "Format").
//
// Reading checks everything, so that what comes out can be used without further thought. A file
// that is damaged is DATA_LOSS; one that is sound but asks for what this library has not (a dtype,
// a rank) is INVALID_ARGUMENT. Never more memory is taken than the bytes that are really there call
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/stream.h"
#include "dlcore/base.h"

namespace dlcore {

struct SafetensorsTensor {
  std::string name;
  dlcore_dtype dtype = DLCORE_DTYPE_NONE;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // row-major, little-endian, at any alignment
};

using SafetensorsMetadata = std::map<std::string, std::string>;

// What a file holds. `data` of the tensors points into `storage`, or into the caller's memory when
// parsed from there; moving the whole keeps it valid.
struct Safetensors {
  Safetensors() = default;
  Safetensors(Safetensors&&) = default;
  Safetensors& operator=(Safetensors&&) = default;

  std::vector<SafetensorsTensor> tensors;  // sorted by name
  SafetensorsMetadata metadata;
  std::vector<std::byte> storage;

  const SafetensorsTensor* find(std::string_view name) const;  // nullptr when there is none
};

Safetensors parse_safetensors(std::span<const std::byte> bytes);  // refers to `bytes`
Safetensors read_safetensors(const ReadFunction& read);           // up to the end of the stream
Safetensors read_safetensors_file(const std::string& path);

// Writing the same tensors gives the same bytes, whatever their order. Names are sorted in the
// header; data is laid out by descending element size, then name, so that all of it is aligned.
// Wrong input (names twice, data that does not match the shape) is INVALID_ARGUMENT, before
// anything is written.
void write_safetensors(const WriteFunction& write, std::span<const SafetensorsTensor> tensors,
                       const SafetensorsMetadata& metadata);
std::vector<std::byte> write_safetensors(std::span<const SafetensorsTensor> tensors,
                                         const SafetensorsMetadata& metadata);
// Atomic: the file is replaced as a whole or not at all.
void write_safetensors_file(const std::string& path, std::span<const SafetensorsTensor> tensors,
                            const SafetensorsMetadata& metadata);

}  // namespace dlcore
