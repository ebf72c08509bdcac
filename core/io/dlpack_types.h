// SPDX-License-Identifier: Apache-2.0
// The structs of DLPack 1.0, https://dmlc.github.io/dlpack/latest/c_api.html, and of the versions
// before it.
#pragma once

#include <cstdint>

namespace dlcore::dlpack {

struct DeviceId {
  int32_t type;
  int32_t index;
};
constexpr int32_t kCpu = 1;

struct ElementType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Array {
  void* data;
  DeviceId device;
  int32_t rank;
  ElementType type;
  int64_t* shape;
  int64_t* strides;  // in elements; nullptr: row-major without gaps
  uint64_t byte_offset;
};

// DLManagedTensor
struct Unversioned {
  Array array;
  void* manager;
  void (*deleter)(Unversioned* self);
};

// DLManagedTensorVersioned
struct Versioned {
  struct {
    uint32_t major, minor;
  } version;
  void* manager;
  void (*deleter)(Versioned* self);
  uint64_t flags;
  Array array;
};
constexpr uint64_t kReadOnly = 1, kIsCopied = 2;

}  // namespace dlcore::dlpack
