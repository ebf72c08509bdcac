// SPDX-License-Identifier: Apache-2.0
// full, eye and arange.
#include "backends/cpu/movement/fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "backends/cpu/create/create.h"
#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/movement/all_dtypes.h"

namespace dlcore::cpu {
namespace plain {
namespace {

// [shape: dims; value; dtype]
dlcore_status full(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& out = launch->outputs[0];
  const double value = std::bit_cast<double>(launch->attrs[1 + 2 * launch->attrs[0]]);
  fill_elements(*static_cast<const Queue*>(queue), out.data, element_bits(out.dtype, value),
                element_size(out.dtype), out.count);
  return DLCORE_OK;
}

dlcore_status eye(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& out = launch->outputs[0];
  const int64_t size = element_size(out.dtype);
  const uint64_t one = element_bits(out.dtype, 1);
  fill_elements(*static_cast<const Queue*>(queue), out.data, 0, size, out.count);
  const int64_t columns = out.shape[1];
  for (int64_t i = 0; i < std::min(out.shape[0], columns); ++i) {
    fill_elements(static_cast<char*>(out.data) + i * (columns + 1) * size, one, size, 1);
  }
  return DLCORE_OK;
}

bool is_integer(double x) { return x == std::floor(x) && std::abs(x) < 0x1p63; }

// [start, stop, step, dtype]: start + i * step, exactly where the result is an integer.
template <class T>
dlcore_status arange(void* queue, const dlcore_launch* launch) {
  const dlcore_operand& out = launch->outputs[0];
  const double start = std::bit_cast<double>(launch->attrs[0]);
  const double step = std::bit_cast<double>(launch->attrs[2]);
  const bool exact = std::is_integral_v<T> && is_integer(start) && is_integer(step);
  const uint64_t whole_start = exact ? static_cast<uint64_t>(static_cast<int64_t>(start)) : 0;
  const uint64_t whole_step = exact ? static_cast<uint64_t>(static_cast<int64_t>(step)) : 0;
  T* const data = static_cast<T*>(out.data);
  constexpr int64_t kPart = int64_t{1} << 15;
  static_cast<const Queue*>(queue)->parallel_for(
      (out.count + kPart - 1) / kPart, [&](int64_t part) {
        const int64_t end = std::min(out.count, (part + 1) * kPart);
        for (int64_t i = part * kPart; i < end; ++i) {
          const double value = start + static_cast<double>(i) * step;
          if constexpr (std::is_integral_v<T>) {
            data[i] = static_cast<T>(exact ? whole_start + static_cast<uint64_t>(i) * whole_step
                                           : element_bits(out.dtype, value));
          } else if constexpr (std::is_same_v<T, Half>) {
            data[i] = half_from(value);
          } else if constexpr (std::is_same_v<T, BFloat16>) {
            data[i] = bfloat16_from(value);
          } else {
            data[i] = static_cast<T>(value);
          }
        }
      });
  return DLCORE_OK;
}

template <class... T>
constexpr std::array<dlcore_kernel, sizeof...(T)> arange_of() {
  return {make_kernel(Op::kArange, dtype_of<T>(), 0, arange<T>)...};
}

constexpr auto kKernels =
    join(for_all_dtypes(Op::kFull, 0, full), for_all_dtypes(Op::kEye, 0, eye),
         arange_of<uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>());

}  // namespace
}  // namespace plain

DLCORE_CPU_PLAIN_KERNEL_FILE(fill)

}  // namespace dlcore::cpu
