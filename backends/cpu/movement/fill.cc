// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/movement/fill.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "core/base/half.h"

namespace dlcore::cpu {
namespace {

template <class T>
uint64_t integer_bits(double value) {
  // 2^(bits - 1) and 2^bits are exact in a double, the largest values of 64 bits are not.
  const double end = 2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<T>::digits - 1));
  T result = 0;
  if (value >= end) {
    result = std::numeric_limits<T>::max();
  } else if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    result = std::numeric_limits<T>::min();
  } else if (value == value) {
    result = static_cast<T>(value);
  }
  return static_cast<uint64_t>(result);
}

template <int64_t kSize>
void copy_as(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, kSize);
}

}  // namespace

uint64_t element_bits(dlcore_dtype dtype, double value) {
  switch (dtype) {
    case DLCORE_BOOL:
      return value != 0 ? 1 : 0;
    case DLCORE_U8:
      return integer_bits<uint8_t>(value);
    case DLCORE_I8:
      return integer_bits<int8_t>(value);
    case DLCORE_I16:
      return integer_bits<int16_t>(value);
    case DLCORE_I32:
      return integer_bits<int32_t>(value);
    case DLCORE_I64:
      return integer_bits<int64_t>(value);
    case DLCORE_F16:
      return half_from(value).bits;
    case DLCORE_BF16:
      return bfloat16_from(value).bits;
    case DLCORE_F32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<uint64_t>(value);
  }
}

void fill_elements(void* to, uint64_t bits, int64_t size, int64_t n) {
  char* const out = static_cast<char*>(to);
  const int64_t bytes = n * size;
  const int64_t seed = std::min<int64_t>(bytes, 64);
  for (int64_t i = 0; i < seed; ++i) out[i] = static_cast<char>(bits >> (8 * (i % size)));
  // Doubles what is there, up to the size of a page.
  for (int64_t done = seed; done < bytes;) {
    const int64_t step = std::min({done, bytes - done, int64_t{4096}});
    std::memcpy(out + done, out, static_cast<size_t>(step));
    done += step;
  }
}

void fill_elements(const Queue& queue, void* to, uint64_t bits, int64_t size, int64_t n) {
  constexpr int64_t kPart = int64_t{1} << 17;
  queue.parallel_for((n + kPart - 1) / kPart, [&](int64_t part) {
    const int64_t begin = part * kPart;
    fill_elements(static_cast<char*>(to) + begin * size, bits, size, std::min(kPart, n - begin));
  });
}

void copy_elements(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t size,
                   int64_t n) {
  if (n == 0) return;
  char* const out = static_cast<char*>(to);
  const char* const in = static_cast<const char*>(from);
  const int64_t to_step = to_stride * size;
  const int64_t from_step = from_stride * size;
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(n * size));
  } else if (size == 1) {
    copy_as<1>(out, to_step, in, from_step, n);
  } else if (size == 2) {
    copy_as<2>(out, to_step, in, from_step, n);
  } else if (size == 4) {
    copy_as<4>(out, to_step, in, from_step, n);
  } else {
    copy_as<8>(out, to_step, in, from_step, n);
  }
}

}  // namespace dlcore::cpu
