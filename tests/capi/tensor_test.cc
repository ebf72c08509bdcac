// SPDX-License-Identifier: Apache-2.0
// dlcore/tensor.h: making tensors, and what is refused.
#include <limits>

#include "support.h"

namespace dlcore::test {
namespace {

constexpr dlcore_dtype kAll[] = {DLCORE_BOOL, DLCORE_U8,  DLCORE_I8,   DLCORE_I16, DLCORE_I32,
                                 DLCORE_I64,  DLCORE_F16, DLCORE_BF16, DLCORE_F32, DLCORE_F64};

class TensorTest : public ApiTest {
 protected:
  dlcore_tensor* create(dlcore_dtype dtype, const Shape& shape, uint64_t bytes) {
    const std::vector<char> data(bytes);
    return dlcore_tensor_create(ctx_, dtype, shape.data(), static_cast<int32_t>(shape.size()),
                                data.data(), bytes);
  }
  dlcore_tensor* strided(const Shape& shape, const Shape& strides, int64_t offset,
                         uint64_t elements = 12) {
    std::vector<float> data;
    for (int i = 0; i < 12; ++i) data.push_back(static_cast<float>(i));
    return dlcore_tensor_create_strided(ctx_, DLCORE_F32, shape.data(), strides.data(),
                                        static_cast<int32_t>(shape.size()), data.data(), elements,
                                        offset);
  }
  dlcore_tensor_description describe(dlcore_tensor* t) {
    dlcore_tensor_description d;
    d.struct_size = sizeof d;
    EXPECT_EQ(dlcore_tensor_describe(ctx_, t, &d), DLCORE_OK);
    return d;
  }
  std::string text(dlcore_tensor* t) {
    const int64_t size = dlcore_tensor_to_string(ctx_, t, nullptr, 0);
    if (size < 0) return "";
    std::string s(static_cast<size_t>(size), '?');
    EXPECT_EQ(dlcore_tensor_to_string(ctx_, t, s.data(), size), size);
    EXPECT_EQ(s.back(), '\0');
    s.pop_back();
    return s;
  }
};

TEST_F(TensorTest, EveryDtypeGoesInAndComesOut) {
  for (dlcore_dtype d : kAll) {
    const Doubles values = d == DLCORE_BOOL ? Doubles{0, 1, 1, 0, 1, 0} : Doubles{0, 1, 2, 3, 4, 5};
    dlcore_tensor* t = tensor(d, {2, 3}, values);
    EXPECT_EQ(dlcore_tensor_dtype(t), d);
    EXPECT_EQ(read(t), values);
    EXPECT_EQ(describe(t).bytes, 6 * dlcore_dtype_size(d));
  }
}

TEST_F(TensorTest, TheNumberOfBytesMustBeExact) {
  for (dlcore_dtype d : kAll) {
    const uint64_t width = dlcore_dtype_size(d);
    for (uint64_t bytes : {uint64_t{0}, 5 * width, 6 * width - 1, 6 * width + 1, 7 * width}) {
      if (bytes == 6 * width) continue;
      EXPECT_EQ(create(d, {2, 3}, bytes), nullptr);
      expect_error(DLCORE_INVALID_ARGUMENT, "tensor_create: bytes is");
    }
  }
}

TEST_F(TensorTest, DtypesRanksAndDimensionsAreChecked) {
  for (dlcore_dtype d : {-1, 0, 11, 1 << 20, INT32_MIN}) {
    EXPECT_EQ(create(d, {1}, 4), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "dtype is");
  }
  for (int32_t rank : {-1, 17, INT32_MAX, INT32_MIN}) {
    const Shape shape(20, 1);
    float value = 0;
    EXPECT_EQ(dlcore_tensor_create(ctx_, DLCORE_F32, shape.data(), rank, &value, 4), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "rank is");
  }
  EXPECT_NE(create(DLCORE_F32, Shape(16, 1), 4), nullptr);
  for (const Shape& shape : {Shape{-1}, Shape{2, -3}, Shape{0, -1}, Shape{INT64_MIN}}) {
    EXPECT_EQ(create(DLCORE_F32, shape, 4), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "expected 0 or more");
  }
  float value = 0;
  EXPECT_EQ(dlcore_tensor_create(ctx_, DLCORE_F32, nullptr, 1, &value, 4), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "shape is NULL");
  const int64_t one = 1;
  EXPECT_EQ(dlcore_tensor_create(ctx_, DLCORE_F32, &one, 1, nullptr, 4), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "data is NULL");
}

TEST_F(TensorTest, ProductsThatOverflowAreErrors) {
  const int64_t big = int64_t{1} << 61;
  for (const Shape& shape :
       {Shape{2, 2, 1, big}, Shape{big, 4}, Shape{INT64_MAX, INT64_MAX}, Shape{INT64_MAX},
        Shape{0, big, 8}, Shape(16, 1 << 8), Shape{int64_t{1} << 32, int64_t{1} << 32}}) {
    EXPECT_EQ(create(DLCORE_F32, shape, 4), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "overflows");
    EXPECT_EQ(create(DLCORE_F32, shape, 0), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "overflows");
  }
  const float x = 0;
  const int64_t shape[] = {2, 2, 1, big};
  EXPECT_EQ(dlcore_tensor_f32(ctx_, shape, 4, &x, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "tensor_f32");
  const int64_t huge[] = {int64_t{1} << 50};
  EXPECT_EQ(dlcore_full(ctx_, huge, 1, 1.0), nullptr);
  expect_error(DLCORE_RESOURCE_EXHAUSTED, "full");
}

TEST_F(TensorTest, BoolsAreZeroOrOne) {
  const uint8_t bytes[] = {0, 1, 2};
  const int64_t three[] = {3}, two[] = {2};
  EXPECT_EQ(dlcore_tensor_create(ctx_, DLCORE_BOOL, three, 1, bytes, 3), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "byte 2 of a bool tensor is 2");
  EXPECT_NE(dlcore_tensor_create(ctx_, DLCORE_BOOL, two, 1, bytes, 2), nullptr);
}

TEST_F(TensorTest, ShortFormsCountElements) {
  const int64_t shape[] = {2, 2};
  const float f[] = {1, 2, 3, 4};
  const double d[] = {1, 2, 3, 4};
  const int64_t l[] = {1, 2, 3, 4};
  const int32_t i[] = {1, 2, 3, 4};
  const Doubles expected = {1, 2, 3, 4};
  EXPECT_EQ(read(dlcore_tensor_f32(ctx_, shape, 2, f, 4)), expected);
  EXPECT_EQ(read(dlcore_tensor_f64(ctx_, shape, 2, d, 4)), expected);
  EXPECT_EQ(read(dlcore_tensor_i64(ctx_, shape, 2, l, 4)), expected);
  EXPECT_EQ(read(dlcore_tensor_i32(ctx_, shape, 2, i, 4)), expected);
  for (int64_t count : {int64_t{-1}, int64_t{3}, int64_t{5}, INT64_MAX}) {
    EXPECT_EQ(dlcore_tensor_f32(ctx_, shape, 2, f, count), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "count is");
  }
}

TEST_F(TensorTest, StridedDataIsReadWhereTheStridesSay) {
  EXPECT_EQ(read(strided({3, 2}, {4, 1}, 1)), (Doubles{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(read(strided({4, 3}, {1, 4}, 0)), (Doubles{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(read(strided({3}, {-4}, 11)), (Doubles{11, 7, 3}));
  EXPECT_EQ(read(strided({2, 3}, {0, 0}, 7)), Doubles(6, 7.0));
  EXPECT_EQ(read(strided({}, {}, 5)), Doubles{5});
  EXPECT_EQ(shape_of(strided({0, 5}, {100, 100}, 99)), (Shape{0, 5}));
  expect_ok();
}

TEST_F(TensorTest, StridedReadsOutsideOfTheDataAreRefused) {
  struct Case {
    Shape shape, strides;
    int64_t offset;
  };
  const Case cases[] = {{{3, 4}, {4, 1}, 1},
                        {{3, 4}, {4, 1}, -1},
                        {{3}, {-4}, 7},
                        {{}, {}, 12},
                        {{}, {}, -1},
                        {{2}, {INT64_MAX}, 0},
                        {{2}, {INT64_MIN}, 0},
                        {{3}, {INT64_MAX}, 0},
                        {{2, 2}, {INT64_MAX, INT64_MAX}, 0},
                        {{2, 2}, {INT64_MIN, INT64_MIN}, 0},
                        {{2}, {1}, INT64_MAX},
                        {{2}, {-1}, INT64_MIN}};
  for (const Case& c : cases) {
    EXPECT_EQ(strided(c.shape, c.strides, c.offset), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "");
  }
  EXPECT_EQ(strided({3, 4}, {4, 1}, 0, 11), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "elements 0 to 11 are read, but data has 11");
}

TEST_F(TensorTest, RankZeroAndEmptyAreShapesLikeAnyOther) {
  dlcore_tensor* scalar = dlcore_tensor_scalar_f32(ctx_, 2.5f);
  EXPECT_EQ(dlcore_tensor_rank(scalar), 0);
  EXPECT_EQ(dlcore_tensor_count(scalar), 1);
  EXPECT_EQ(read(dlcore_exp(ctx_, dlcore_tensor_scalar_f32(ctx_, 0))), Doubles{1});
  dlcore_tensor* empty = create(DLCORE_F32, {0}, 0);
  EXPECT_EQ(dlcore_tensor_count(empty), 0);
  EXPECT_EQ(read(empty), Doubles{});
  EXPECT_EQ(shape_of(dlcore_relu(ctx_, empty)), Shape{0});
  EXPECT_EQ(read(dlcore_sum(ctx_, empty)), Doubles{0});
  dlcore_tensor* rows = f32({0, 4}, {});
  dlcore_tensor* weight = f32({16, 4}, Doubles(64, 1.0));
  dlcore_tensor* y = dlcore_linear(ctx_, rows, weight, dlcore_tensor_none());
  EXPECT_EQ(shape_of(y), (Shape{0, 16}));
  EXPECT_EQ(dlcore_tensor_read_f32(ctx_, y, nullptr, 0), DLCORE_OK);
  // A product over an empty axis is zero, not uninitialised.
  EXPECT_EQ(read(dlcore_matmul(ctx_, f32({2, 0}, {}), f32({0, 2}, {}))), Doubles(4, 0.0));
  expect_ok();
}

TEST_F(TensorTest, ScalarsOfEachKind) {
  EXPECT_EQ(read(dlcore_tensor_scalar_f64(ctx_, 0.1)), Doubles{0.1});
  EXPECT_EQ(read(dlcore_tensor_scalar_i64(ctx_, -7)), Doubles{-7});
  EXPECT_EQ(read(dlcore_tensor_scalar_bool(ctx_, 200)), Doubles{1});
  EXPECT_EQ(describe(dlcore_tensor_weak_f64(ctx_, 1)).is_weak, 1);
  EXPECT_EQ(describe(dlcore_tensor_scalar_f64(ctx_, 1)).is_weak, 0);
}

TEST_F(TensorTest, WeakScalarsTakeTheDtypeTheyMeet) {
  for (dlcore_dtype d :
       {DLCORE_U8, DLCORE_I8, DLCORE_I16, DLCORE_I32, DLCORE_I64, DLCORE_F32, DLCORE_F64}) {
    dlcore_tensor* x = tensor(d, {2}, {1, 2});
    for (bool left : {false, true}) {
      dlcore_tensor* two = dlcore_tensor_weak_i64(ctx_, 2);
      dlcore_tensor* y = left ? dlcore_multiply(ctx_, two, x) : dlcore_multiply(ctx_, x, two);
      EXPECT_EQ(dlcore_tensor_dtype(y), d);
      EXPECT_EQ(read(y), (Doubles{2, 4}));
      EXPECT_EQ(describe(y).is_weak, 0);
    }
  }
  dlcore_tensor* ints = tensor(DLCORE_I32, {2}, {1, 2});
  EXPECT_EQ(dlcore_multiply(ctx_, ints, dlcore_tensor_weak_f64(ctx_, 0.5)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "astype");
  dlcore_tensor* bytes = tensor(DLCORE_U8, {2}, {1, 2});
  for (int64_t value : {int64_t{256}, int64_t{-1}, INT64_MAX}) {
    EXPECT_EQ(dlcore_add(ctx_, bytes, dlcore_tensor_weak_i64(ctx_, value)), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "does not fit u8");
  }
  dlcore_tensor* both =
      dlcore_add(ctx_, dlcore_tensor_weak_i64(ctx_, 1), dlcore_tensor_weak_f64(ctx_, 0.5));
  EXPECT_EQ(dlcore_tensor_dtype(both), DLCORE_F64);
  EXPECT_EQ(describe(both).is_weak, 1);
}

TEST_F(TensorTest, DescribeTellsEverything) {
  const int64_t axes[] = {1, 0};
  dlcore_tensor* x = f32({3, 4}, range(12));
  dlcore_tensor_description d = describe(dlcore_permute_dims(ctx_, x, axes, 2));
  EXPECT_EQ(d.rank, 2);
  EXPECT_EQ(d.shape[0], 4);
  EXPECT_EQ(d.strides[0], 1);
  EXPECT_EQ(d.strides[1], 4);
  EXPECT_EQ(d.is_contiguous, 0);
  EXPECT_EQ(d.requires_grad, 0);
  EXPECT_EQ(d.is_symbolic, 0);
  EXPECT_STREQ(d.device, "cpu");
  EXPECT_EQ(describe(dlcore_autograd_watch(ctx_, x)).requires_grad, 1);
}

TEST_F(TensorTest, DescribeFillsWhatFits) {
  dlcore_tensor* x = f32({3, 4}, range(12));
  struct {
    dlcore_tensor_description d;
    char guard[64];
  } room;
  std::memset(&room, 0x5a, sizeof room);
  room.d.struct_size = offsetof(dlcore_tensor_description, layout);
  EXPECT_EQ(dlcore_tensor_describe(ctx_, x, &room.d), DLCORE_OK);
  EXPECT_EQ(room.d.rank, 2);
  EXPECT_EQ(room.d.layout, 0x5a5a5a5a);
  room.d.struct_size = sizeof room;
  EXPECT_EQ(dlcore_tensor_describe(ctx_, x, &room.d), DLCORE_OK);
  EXPECT_EQ(room.guard[0], 0x5a);
  room.d.struct_size = 0;
  EXPECT_EQ(dlcore_tensor_describe(ctx_, x, &room.d), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "struct_size");
  EXPECT_EQ(dlcore_tensor_describe(ctx_, x, nullptr), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "NULL");
}

TEST_F(TensorTest, AccessorsAnswerNeutrallyOnWhatIsNoTensor) {
  dlcore_tensor* released = f32({2}, {1, 2});
  dlcore_tensor_release(released);
  for (dlcore_tensor* t : {static_cast<dlcore_tensor*>(nullptr), released, dlcore_tensor_none(),
                           reinterpret_cast<dlcore_tensor*>(ctx_)}) {
    EXPECT_EQ(dlcore_tensor_dtype(t), DLCORE_DTYPE_NONE);
    EXPECT_EQ(dlcore_tensor_rank(t), -1);
    EXPECT_EQ(dlcore_tensor_count(t), -1);
    EXPECT_EQ(dlcore_tensor_dim(t, 0), -1);
    dlcore_tensor_retain(t);
    dlcore_tensor_release(t);
    EXPECT_EQ(dlcore_tensor_to_string(ctx_, t, nullptr, 0), -1);
    EXPECT_NE(dlcore_ok(ctx_), 1);
    dlcore_context_clear_error(ctx_);
  }
  dlcore_tensor* x = f32({2, 5}, range(10));
  EXPECT_EQ(dlcore_tensor_dim(x, -1), 5);
  EXPECT_EQ(dlcore_tensor_dim(x, -2), 2);
  for (int32_t axis : {-3, 2, INT32_MAX, INT32_MIN}) EXPECT_EQ(dlcore_tensor_dim(x, axis), -1);
}

TEST_F(TensorTest, StaleHandlesAreRecognisedUntilTheirSlotIsUsedAgain) {
  dlcore_tensor* x = f32({2}, {1, 2});
  dlcore_tensor_release(x);
  EXPECT_EQ(dlcore_relu(ctx_, x), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "released or closed already");
  float out[2];
  EXPECT_EQ(dlcore_tensor_read_f32(ctx_, x, out, 2), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "tensor_read_f32");
}

TEST_F(TensorTest, ManyAreReleasedInOneCall) {
  std::vector<dlcore_tensor*> many;
  for (int i = 0; i < 10; ++i) many.push_back(f32({32}, Doubles(32)));
  many.insert(many.begin() + 3, nullptr);
  many.push_back(many[0]);  // twice
  dlcore_tensor_release_many(many.data(), static_cast<int64_t>(many.size()));
  for (dlcore_tensor* t : many) EXPECT_EQ(dlcore_tensor_rank(t), -1);
  dlcore_tensor_release_many(nullptr, 5);
  dlcore_tensor_release_many(many.data(), -1);
}

TEST_F(TensorTest, TextShowsDtypeShapeAndElements) {
  EXPECT_EQ(text(f32({2, 2}, {1, 2.5, -3, 4})), "tensor f32 [2, 2] on cpu\n[[1, 2.5],\n [-3, 4]]");
  EXPECT_EQ(text(dlcore_tensor_scalar_bool(ctx_, 1)), "tensor bool [] on cpu\ntrue");
  EXPECT_EQ(text(f32({0, 3}, {})), "tensor f32 [0, 3] on cpu\n[]");
  const int64_t axes[] = {1, 0};
  dlcore_tensor* turned = dlcore_permute_dims(ctx_, i64({2, 2}, {1, 2, 3, 4}), axes, 2);
  EXPECT_EQ(text(turned), "tensor i64 [2, 2] on cpu\n[[1, 3],\n [2, 4]]");
  char buffer[8];
  std::memset(buffer, '#', sizeof buffer);
  EXPECT_EQ(dlcore_tensor_to_string(ctx_, turned, buffer, 5),
            static_cast<int64_t>(text(turned).size()) + 1);
  EXPECT_STREQ(buffer, "tens");
  EXPECT_EQ(buffer[5], '#');
}

TEST_F(TensorTest, TextOfAHugeTensorIsShort) {
  EXPECT_LT(text(f32({100000}, Doubles(100000, 1.0))).size(), 200u);
  const int64_t shapes[][4] = {{int64_t{1} << 45, 1, 1, 1}, {1 << 20, 1 << 20, 4, 4}};
  for (const auto& shape : shapes) {
    EXPECT_LT(text(dlcore_broadcast_to(ctx_, f32({}, {1}), shape, 4)).size(), 20000u);
  }
  const Shape deep(16, 7);
  EXPECT_LT(text(dlcore_broadcast_to(ctx_, f32({}, {1}), deep.data(), 16)).size(), 200000u);
  const int64_t hollow[] = {int64_t{1} << 50, 0};
  EXPECT_LT(text(dlcore_full(ctx_, hollow, 2, 0)).size(), 200u);
  expect_ok();
}

}  // namespace
}  // namespace dlcore::test
