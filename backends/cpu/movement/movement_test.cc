// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/movement/movement.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "backends/cpu/movement/fill.h"
#include "backends/cpu/movement/test_launch.h"

namespace dlcore::cpu {
namespace {

using test::dims_words;
using test::find_kernel;
using test::launch;
using test::Operand;
using test::Outcome;

constexpr dlcore_dtype kAll[] = {DLCORE_BOOL, DLCORE_U8,  DLCORE_I8,   DLCORE_I16, DLCORE_I32,
                                 DLCORE_I64,  DLCORE_F16, DLCORE_BF16, DLCORE_F32, DLCORE_F64};

// Elements with distinct bytes.
Operand numbered(dlcore_dtype dtype, std::vector<int64_t> shape, int first = 1) {
  Operand x = Operand::contiguous(dtype, std::move(shape));
  for (size_t i = 0; i < x.memory.size(); ++i) {
    x.memory[i] = static_cast<std::byte>(static_cast<size_t>(first) + i * 7);
  }
  return x;
}

// The same shape read through exchanged axes, or backwards along the last one.
Operand transposed(Operand x) {
  std::swap(x.shape[0], x.shape[1]);
  std::swap(x.strides[0], x.strides[1]);
  return x;
}

// One element as bytes, by the definition of strides.
std::vector<std::byte> element(const Operand& x, const std::vector<int64_t>& index) {
  const int64_t size = element_size(x.dtype);
  int64_t at = x.offset;
  for (size_t d = 0; d < index.size(); ++d) at += index[d] * x.strides[d];
  const auto begin = x.memory.begin() + at * size;
  return {begin, begin + size};
}

std::vector<int64_t> index_of(const std::vector<int64_t>& shape, int64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

void check_concat(std::vector<Operand> inputs, int64_t axis_attr) {
  const size_t rank = inputs[0].shape.size();
  const size_t axis = static_cast<size_t>(axis_attr < 0 ? axis_attr + int64_t(rank) : axis_attr);
  std::vector<int64_t> shape = inputs[0].shape;
  shape[axis] = 0;
  for (const Operand& x : inputs) shape[axis] += x.shape[axis];
  const dlcore_dtype dtype = inputs[0].dtype;
  const Outcome got = launch(find_kernel(concat_kernels, 0, Op::kConcat, dtype), inputs,
                             Operand::contiguous(dtype, shape), {axis_attr});
  ASSERT_EQ(got.status, DLCORE_OK) << got.message;
  for (int64_t i = 0; i < got.out.count(); ++i) {
    std::vector<int64_t> index = index_of(shape, i);
    const std::vector<std::byte> value = element(got.out, index);
    size_t s = 0;
    while (index[axis] >= inputs[s].shape[axis]) index[axis] -= inputs[s++].shape[axis];
    ASSERT_EQ(value, element(inputs[s], index)) << "element " << i;
  }
}

TEST(Concat, EveryDtypeAndAxis) {
  for (const dlcore_dtype dtype : kAll) {
    check_concat({numbered(dtype, {3}, 1), numbered(dtype, {0}), numbered(dtype, {5}, 2)}, 0);
    check_concat({numbered(dtype, {2, 3, 4}), numbered(dtype, {2, 1, 4}, 9)}, 1);
    check_concat({numbered(dtype, {2, 3, 4}), numbered(dtype, {2, 3, 7}, 9)}, -1);
    check_concat({transposed(numbered(dtype, {5, 4})), numbered(dtype, {3, 5}, 3)}, 0);
    check_concat({transposed(numbered(dtype, {5, 4})), numbered(dtype, {4, 2}, 3)}, 1);
  }
}

TEST(Concat, LongAndEmpty) {
  check_concat({numbered(DLCORE_F32, {300, 500}), transposed(numbered(DLCORE_F32, {77, 300}))}, 1);
  check_concat({numbered(DLCORE_F32, {100000, 1}), numbered(DLCORE_F32, {100000, 1}, 5)}, 1);
  check_concat({numbered(DLCORE_F32, {0, 3}), numbered(DLCORE_F32, {0, 4})}, 1);
}

void check_pad(const Operand& x, const std::vector<int64_t>& pads, double value) {
  const size_t rank = x.shape.size();
  std::vector<int64_t> shape = x.shape;
  for (size_t d = 0; d < rank; ++d) shape[d] += pads[d] + pads[rank + d];
  std::vector<int64_t> attrs{static_cast<int64_t>(pads.size())};
  attrs.insert(attrs.end(), pads.begin(), pads.end());
  attrs.push_back(std::bit_cast<int64_t>(value));
  const Outcome got = launch(find_kernel(place_kernels, 0, Op::kPad, x.dtype), {x},
                             Operand::contiguous(x.dtype, shape), attrs);
  ASSERT_EQ(got.status, DLCORE_OK) << got.message;
  const uint64_t bits = element_bits(x.dtype, value);
  for (int64_t i = 0; i < got.out.count(); ++i) {
    std::vector<int64_t> index = index_of(shape, i);
    const std::vector<std::byte> found = element(got.out, index);
    bool inside = true;
    for (size_t d = 0; d < rank; ++d) {
      index[d] -= pads[d];
      inside = inside && index[d] >= 0 && index[d] < x.shape[d];
    }
    std::vector<std::byte> expected(found.size());
    if (inside) {
      expected = element(x, index);
    } else {
      for (size_t b = 0; b < expected.size(); ++b) expected[b] = std::byte(bits >> (8 * b));
    }
    ASSERT_EQ(found, expected) << "element " << i;
  }
}

TEST(Pad, EveryDtype) {
  for (const dlcore_dtype dtype : kAll) {
    check_pad(numbered(dtype, {3, 4}), {1, 0, 2, 3}, 1.5);
    check_pad(transposed(numbered(dtype, {3, 4})), {0, 2, 0, 1}, -1);
    check_pad(numbered(dtype, {}), {}, 2);
    check_pad(numbered(dtype, {0, 2}), {1, 1, 1, 0}, 3);
  }
  check_pad(numbered(DLCORE_F32, {200, 700}), {3, 5, 7, 9}, INFINITY);
}

void check_slice_backward(const Operand& g, const std::vector<int64_t>& shape,
                          const std::vector<int64_t>& starts, const std::vector<int64_t>& steps) {
  std::vector<int64_t> attrs = dims_words(shape);
  for (const std::vector<int64_t>* list : {&starts, &steps}) {
    attrs.push_back(static_cast<int64_t>(list->size()));
    attrs.insert(attrs.end(), list->begin(), list->end());
  }
  const Outcome got = launch(find_kernel(place_kernels, 0, Op::kSliceBackward, g.dtype), {g},
                             Operand::contiguous(g.dtype, shape), attrs);
  ASSERT_EQ(got.status, DLCORE_OK) << got.message;
  Operand expected = Operand::contiguous(g.dtype, shape);
  const int64_t size = element_size(g.dtype);
  for (int64_t i = 0; i < g.count(); ++i) {
    const std::vector<int64_t> index = index_of(g.shape, i);
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      at += (starts[d] + steps[d] * index[d]) * expected.strides[d];
    }
    const std::vector<std::byte> value = element(g, index);
    std::copy(value.begin(), value.end(), expected.memory.begin() + at * size);
  }
  EXPECT_EQ(got.out.memory, expected.memory);
}

TEST(SliceBackward, EveryDtype) {
  for (const dlcore_dtype dtype : kAll) {
    check_slice_backward(numbered(dtype, {2, 3}), {5, 7}, {1, 0}, {2, 3});
    check_slice_backward(transposed(numbered(dtype, {2, 3})), {4, 2}, {1, 0}, {1, 1});
    check_slice_backward(numbered(dtype, {3, 2}), {4, 5}, {3, 4}, {-1, -2});
    check_slice_backward(numbered(dtype, {}), {}, {}, {});
    check_slice_backward(numbered(dtype, {0, 3}), {4, 3}, {0, 0}, {1, 1});
  }
  check_slice_backward(numbered(DLCORE_F64, {300, 400}), {301, 900}, {1, 2}, {1, 2});
}

template <class T>
void check_one_hot(dlcore_dtype dtype, const std::vector<T>& indices, dlcore_dtype out_dtype,
                   int64_t depth) {
  Operand x = Operand::of(dtype, indices);
  const int64_t n = static_cast<int64_t>(indices.size());
  const Outcome got = launch(find_kernel(one_hot_kernels, 0, Op::kOneHot, dtype), {x},
                             Operand::contiguous(out_dtype, {n, depth}), {depth, out_dtype});
  ASSERT_EQ(got.status, DLCORE_OK) << got.message;
  const uint64_t one = element_bits(out_dtype, 1);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < depth; ++j) {
      int64_t index = static_cast<int64_t>(indices[size_t(i)]);
      if (index < 0) index += depth;
      const std::vector<std::byte> found = element(got.out, {i, j});
      for (size_t b = 0; b < found.size(); ++b) {
        ASSERT_EQ(found[b], index == j ? std::byte(one >> (8 * b)) : std::byte{0});
      }
    }
  }
}

TEST(OneHot, EveryDtype) {
  for (const dlcore_dtype out : kAll) {
    check_one_hot<int64_t>(DLCORE_I64, {0, 4, -1, -5, 2}, out, 5);
    check_one_hot<int32_t>(DLCORE_I32, {1, -3, 2}, out, 3);
    check_one_hot<uint8_t>(DLCORE_U8, {1, 0, 9}, out, 10);
  }
  check_one_hot<int32_t>(DLCORE_I32, std::vector<int32_t>(30000, 7), DLCORE_F32, 10);
  check_one_hot<int64_t>(DLCORE_I64, {}, DLCORE_F32, 10);
}

TEST(OneHot, NamesTheFirstIndexOutOfRange) {
  std::vector<int32_t> indices(40000, 1);
  indices[30003] = 12;
  indices[39000] = -11;
  const Outcome got = launch(find_kernel(one_hot_kernels, 0, Op::kOneHot, DLCORE_I32),
                             {Operand::of(DLCORE_I32, indices)},
                             Operand::contiguous(DLCORE_F32, {40000, 10}), {10, DLCORE_F32});
  EXPECT_EQ(got.status, DLCORE_OUT_OF_RANGE);
  EXPECT_EQ(got.message, "index 12 at element 30003 is out of bounds for depth 10");
}

TEST(ElementBits, Converts) {
  EXPECT_EQ(element_bits(DLCORE_U8, 300), 255u);
  EXPECT_EQ(element_bits(DLCORE_U8, -3), 0u);
  EXPECT_EQ(static_cast<int8_t>(element_bits(DLCORE_I8, -200)), INT8_MIN);
  EXPECT_EQ(static_cast<int64_t>(element_bits(DLCORE_I64, 1e30)), INT64_MAX);
  EXPECT_EQ(static_cast<int64_t>(element_bits(DLCORE_I64, -0x1p63)), INT64_MIN);
  EXPECT_EQ(element_bits(DLCORE_I32, NAN), 0u);
  EXPECT_EQ(static_cast<int32_t>(element_bits(DLCORE_I32, -2.9)), -2);
  EXPECT_EQ(element_bits(DLCORE_BOOL, NAN), 1u);
  EXPECT_EQ(element_bits(DLCORE_F16, 1), 0x3c00u);
  EXPECT_EQ(element_bits(DLCORE_BF16, 1), 0x3f80u);
}

}  // namespace
}  // namespace dlcore::cpu
