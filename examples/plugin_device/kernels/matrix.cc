// SPDX-License-Identifier: Apache-2.0
// Matrix products. Sums of floats are taken in f64, those of integers wrap.
#include <algorithm>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

template <class T>
struct Matrix {
  const T* data;
  int64_t row_stride;
  int64_t column_stride;
  T at(int64_t row, int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
};

struct Extents {
  int64_t rows, inner, columns;
};

// y = a b + bias, y dense; `bias` has one element a column, or is null.
template <class T>
void product(const Extents& e, const Matrix<T>& a, const Matrix<T>& b, const T* bias,
             int64_t bias_stride, T* y) {
  std::vector<Sum<T>> sums(static_cast<size_t>(e.columns));
  for (int64_t i = 0; i < e.rows; ++i) {
    std::fill(sums.begin(), sums.end(), Sum<T>(0));
    for (int64_t k = 0; k < e.inner; ++k) {
      const auto factor = static_cast<Sum<T>>(a.at(i, k));
      for (int64_t j = 0; j < e.columns; ++j) {
        sums[static_cast<size_t>(j)] += factor * static_cast<Sum<T>>(b.at(k, j));
      }
    }
    for (int64_t j = 0; j < e.columns; ++j) {
      const Sum<T> sum = sums[static_cast<size_t>(j)];
      *y++ =
          static_cast<T>(bias == nullptr ? sum : sum + static_cast<Sum<T>>(bias[j * bias_stride]));
    }
  }
}

// The last two axes as a matrix.
template <class T>
Matrix<T> matrix_of(const Operand& o, bool transposed) {
  const size_t rank = o.shape.size();
  const int64_t row = o.strides[rank - 2], column = o.strides[rank - 1];
  return {o.data<T>(), transposed ? column : row, transposed ? row : column};
}

// [transpose_a; transpose_b]; axes before the last two are batches, the same for both.
template <class T>
void matmul(Call& call) {
  Attributes attributes = call.attributes();
  const bool transpose_a = attributes.flag(), transpose_b = attributes.flag();
  const Operand &a = call.in(0), &b = call.in(1), &y = call.out();
  const size_t batches = y.shape.size() - 2;
  const Extents e = {y.shape[batches], a.shape[batches + (transpose_a ? 0 : 1)],
                     y.shape[batches + 1]};
  Matrix<T> left = matrix_of<T>(a, transpose_a), right = matrix_of<T>(b, transpose_b);
  T* to = y.data<T>();
  const T *const first_a = left.data, *const first_b = right.data;
  walk<2>(y.shape.first(batches), {a.strides.first(batches), b.strides.first(batches)},
          [&](const auto& at) {
            left.data = first_a + at[0];
            right.data = first_b + at[1];
            product<T>(e, left, right, nullptr, 0, to);
            to += e.rows * e.columns;
          });
}

// x [..., in] (dense), weight [out, in], bias [out] or absent.
template <class T>
void linear(Call& call) {
  const Operand &x = call.in(0), &weight = call.in(1);
  const int64_t inner = weight.shape[1], columns = weight.shape[0];
  const int64_t rows = count_of(x.shape.first(x.shape.size() - 1));
  const bool biased = call.has(2);
  product<T>({rows, inner, columns}, {x.data<T>(), inner, 1}, matrix_of<T>(weight, true),
             biased ? call.in(2).data<T>() : nullptr, biased ? call.in(2).strides[0] : 0,
             call.out().data<T>());
}

}  // namespace

void add_matrix(Kernels& kernels) {
  each<int32_t, int64_t, float, double>([&]<class T>() {
    kernels.push_back({"matmul", dtype_of<T>(), DLCORE_KERNEL_STRIDED, launch<matmul<T>>});
  });
  each_float([&]<class T>() {
    kernels.push_back({"linear", dtype_of<T>(), 0, launch<linear<T>>});
  });
}

}  // namespace host2
