// SPDX-License-Identifier: Apache-2.0
// copy: brings a tensor of any strides into contiguous memory.
#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "backends/cpu/elementwise/strided_view.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu::plain {
namespace {

constexpr int64_t kPart = 65536;    // bytes of one part of the work
constexpr int64_t kBlock = 16;      // edge of the squares in which a transposition goes
constexpr int64_t kBlockRows = 64;  // rows of the output that one unit of a transposition fills

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The dimension in which a transposed operand is contiguous, or -1 when squares would not pay.
int contiguous_dimension(const MergedShape& shape) {
  const int last = shape.rank - 1;
  if (shape.strides[0][last] == 0 || shape.strides[0][last] == 1 || shape.sizes[last] < kBlock) {
    return -1;
  }
  for (int dim = 0; dim < last; ++dim) {
    if (shape.strides[0][dim] == 1 && shape.sizes[dim] >= kBlock) return dim;
  }
  return -1;
}

// rows x columns elements; neighbours in a column of the input are adjacent, in a row of the
// output.
template <size_t kSize>
void transpose(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
               int64_t rows, int64_t columns) {
  constexpr int64_t kBytes = kSize;
  for (int64_t column = 0; column < columns; column += kBlock) {
    const int64_t column_end = std::min(columns, column + kBlock);
    for (int64_t row = 0; row < rows; row += kBlock) {
      const int64_t row_end = std::min(rows, row + kBlock);
      for (int64_t r = row; r < row_end; ++r) {
        for (int64_t c = column; c < column_end; ++c) {
          std::memcpy(to + (r * to_stride + c) * kBytes, from + (c * from_stride + r) * kBytes,
                      kSize);
        }
      }
    }
  }
}

using Transpose = void (*)(std::byte*, int64_t, const std::byte*, int64_t, int64_t, int64_t);

Transpose transpose_of_size(int64_t size) {
  if (size == 1) return transpose<1>;
  if (size == 2) return transpose<2>;
  return size == 4 ? transpose<4> : transpose<8>;
}

// Copies by squares in the plane of dimension `row_dim` and the last one, plane by plane.
void copy_transposed(const Queue& queue, const MergedShape& shape, int row_dim, std::byte* to,
                     const std::byte* from, int64_t size) {
  const int last = shape.rank - 1;
  int64_t to_strides[DLCORE_MAX_RANK];
  int64_t count = 1;
  int64_t planes = 1;
  for (int dim = last; dim >= 0; --dim) {
    to_strides[dim] = count;
    count *= shape.sizes[dim];
    if (dim != row_dim && dim != last) planes *= shape.sizes[dim];
  }
  const int64_t rows = shape.sizes[row_dim];
  const int64_t columns = shape.sizes[last];
  const int64_t bands = divide_up(rows, kBlockRows);
  const int64_t units = planes * bands;
  const int64_t units_per_part =
      std::max<int64_t>(1, kPart / (std::min(rows, kBlockRows) * columns * size));
  const Transpose run = transpose_of_size(size);
  queue.parallel_for(divide_up(units, units_per_part), [&](int64_t part) {
    if (queue.stopped()) return;
    const int64_t end = std::min(units, (part + 1) * units_per_part);
    for (int64_t unit = part * units_per_part; unit < end; ++unit) {
      const int64_t row = unit % bands * kBlockRows;
      int64_t plane = unit / bands;
      int64_t to_offset = row * to_strides[row_dim];
      int64_t from_offset = row;
      for (int dim = last - 1; dim >= 0; --dim) {
        if (dim == row_dim) continue;
        const int64_t position = plane % shape.sizes[dim];
        plane /= shape.sizes[dim];
        to_offset += position * to_strides[dim];
        from_offset += position * shape.strides[0][dim];
      }
      run(to + to_offset * size, to_strides[row_dim], from + from_offset * size,
          shape.strides[0][last], std::min(kBlockRows, rows - row), columns);
    }
  });
}

dlcore_status launch_copy(void* queue_pointer, const dlcore_launch* launch) {
  const Queue& queue = *static_cast<const Queue*>(queue_pointer);
  const dlcore_operand& input = launch->inputs[0];
  const int64_t count = input.count;
  if (count == 0) return DLCORE_OK;
  const int64_t size = element_size(input.dtype);
  std::byte* to = static_cast<std::byte*>(launch->outputs[0].data);
  const std::byte* from = static_cast<const std::byte*>(input.data);
  const bool contiguous = is_contiguous(input);
  if (contiguous && count * size <= kPart) {
    std::memcpy(to, from, static_cast<size_t>(count * size));
    return DLCORE_OK;
  }
  const MergedShape shape(&input, 1);
  if (const int row_dim = contiguous_dimension(shape); row_dim >= 0) {
    copy_transposed(queue, shape, row_dim, to, from, size);
    return DLCORE_OK;
  }
  const int64_t elements = kPart / size;
  queue.parallel_for(divide_up(count, elements), [&](int64_t part) {
    if (queue.stopped()) return;
    const int64_t first = part * elements;
    pack(to + first * size, shape, 0, from, first, std::min(elements, count - first), size);
  });
  return DLCORE_OK;
}

constexpr dlcore_kernel row(dlcore_dtype dtype) {
  return make_kernel(Op::kCopy, dtype, DLCORE_KERNEL_STRIDED, launch_copy);
}

constexpr dlcore_kernel kKernels[] = {
    row(DLCORE_BOOL), row(DLCORE_U8),  row(DLCORE_I8),   row(DLCORE_I16), row(DLCORE_I32),
    row(DLCORE_I64),  row(DLCORE_F16), row(DLCORE_BF16), row(DLCORE_F32), row(DLCORE_F64),
};

}  // namespace
}  // namespace dlcore::cpu::plain

namespace dlcore::cpu {
DLCORE_CPU_PLAIN_KERNEL_FILE(copy)
}  // namespace dlcore::cpu
