// SPDX-License-Identifier: Apache-2.0
#include "dlcore/base.h"

#include <bit>
#include <climits>
#include <cstring>
#include <limits>

#include "core/tensor/dtype.h"

using namespace dlcore;

// What the library takes for granted: packed attributes and files are little-endian, sizes and
// addresses have 64 bits, floats are those of IEEE 754.
static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(void*) == 8 && sizeof(size_t) == 8);
static_assert(CHAR_BIT == 8 && std::numeric_limits<float>::is_iec559 &&
              std::numeric_limits<double>::is_iec559);

const char* dlcore_status_name(dlcore_status code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  return code >= 0 && code < 17 ? kNames[code] : "UNKNOWN";
}

const char* dlcore_dtype_name(dlcore_dtype dtype) {
  return is_dtype(dtype) ? info(dtype).name : nullptr;
}

dlcore_dtype dlcore_dtype_by_name(const char* name) {
  for (dlcore_dtype d = 1; name != nullptr && d < kDtypeCount; ++d) {
    if (std::strcmp(name, info(d).name) == 0) return d;
  }
  return DLCORE_DTYPE_NONE;
}

uint64_t dlcore_dtype_size(dlcore_dtype dtype) { return dtype_bytes(dtype); }

int32_t dlcore_version(void) { return DLCORE_VERSION; }

int32_t dlcore_require(int32_t minimum) {
  return minimum / 1000000 == DLCORE_VERSION_MAJOR && minimum <= DLCORE_VERSION ? 1 : 0;
}

const char* dlcore_build_info(void) {
  return "dlcore 0.1.0, "
#if defined(__clang__)
         "clang " __clang_version__
#elif defined(__GNUC__)
         "gcc " __VERSION__
#endif
#if DLCORE_HAVE_OPENBLAS
         ", blas openblas"
#else
         ", blas none"
#endif
#if DLCORE_NO_THREADS
         ", threads none"
#endif
#if DLCORE_NO_PLUGINS
         ", plugins none"
#endif
#if defined(HWY_COMPILE_ONLY_STATIC)
         ", instruction sets baseline"
#endif
#if defined(__SANITIZE_ADDRESS__)
         ", address sanitizer"
#endif
      ;
}
