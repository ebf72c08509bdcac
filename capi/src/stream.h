// SPDX-License-Identifier: Apache-2.0
// Functions of the program as the streams that the core reads and writes.
#pragma once

#include <span>

#include "capi/src/call.h"
#include "core/io/safetensors.h"

namespace dlcore::api {

inline bool is_error(int64_t code) { return code > DLCORE_OK && code <= DLCORE_UNAUTHENTICATED; }

inline WriteFunction writer(dlcore_write_fn write, void* user_data, const char* call) {
  if (write == nullptr) invalid("{}: write is NULL", call);
  return [=](std::span<const std::byte> bytes) {
    const dlcore_status status = write(user_data, bytes.data(), bytes.size());
    if (status == DLCORE_OK) return;
    fail(is_error(status) ? status : DLCORE_UNKNOWN, "{}: the write function returned {}", call,
         status);
  };
}

inline ReadFunction reader(dlcore_read_fn read, void* user_data, const char* call) {
  if (read == nullptr) invalid("{}: read is NULL", call);
  return [=](std::span<std::byte> into) -> size_t {
    const int64_t n = read(user_data, into.data(), into.size());
    if (n >= 0) return static_cast<size_t>(n);
    const int64_t code = n == INT64_MIN ? int64_t{DLCORE_UNKNOWN} : -n;
    fail(is_error(code) ? static_cast<dlcore_status>(code) : DLCORE_UNKNOWN,
         "{}: the read function returned {}", call, n);
  };
}

inline Safetensors parse_buffer(const void* data, uint64_t size, const char* call) {
  if (size > 0) need_pointer(data, call, "data");
  return parse_safetensors({static_cast<const std::byte*>(data), size});
}

}  // namespace dlcore::api
