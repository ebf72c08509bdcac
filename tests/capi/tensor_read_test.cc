// SPDX-License-Identifier: Apache-2.0
// dlcore/tensor.h: elements come back in row-major order, with the dtype and in the number asked
// for.
#include "support.h"

namespace dlcore::test {
namespace {

constexpr dlcore_dtype kAll[] = {DLCORE_BOOL, DLCORE_U8,  DLCORE_I8,   DLCORE_I16, DLCORE_I32,
                                 DLCORE_I64,  DLCORE_F16, DLCORE_BF16, DLCORE_F32, DLCORE_F64};

class TensorReadTest : public ApiTest {
 protected:
  dlcore_tensor* slice(dlcore_tensor* x, const Shape& starts, const Shape& stops, const Shape& axes,
                       const Shape& steps = {}) {
    dlcore_slice_options o;
    dlcore_slice_options_init(&o, sizeof o);
    o.has_axes = 1;
    o.n_axes = static_cast<int32_t>(axes.size());
    std::copy(axes.begin(), axes.end(), o.axes);
    o.has_steps = steps.empty() ? 0 : 1;
    o.n_steps = static_cast<int32_t>(steps.size());
    std::copy(steps.begin(), steps.end(), o.steps);
    return dlcore_slice_ex(ctx_, x, starts.data(), static_cast<int32_t>(starts.size()),
                           stops.data(), static_cast<int32_t>(stops.size()), &o);
  }
  dlcore_tensor* permute(dlcore_tensor* x, const Shape& axes) {
    return dlcore_permute_dims(ctx_, x, axes.data(), static_cast<int32_t>(axes.size()));
  }
  // 0, 1, 2, ... as far as the dtype has different values.
  static Doubles values(dlcore_dtype d, int64_t n) {
    Doubles v = range(n);
    if (d == DLCORE_BOOL) {
      for (double& x : v) x = static_cast<int>(x) % 3 == 0 ? 1 : 0;
    }
    return v;
  }
};

TEST_F(TensorReadTest, ViewsAreReadInRowMajorOrder) {
  for (dlcore_dtype d : kAll) {
    const Doubles v = values(d, 12);
    dlcore_tensor* x = tensor(d, {3, 4}, v);
    EXPECT_EQ(read(slice(x, {1}, {3}, {1})), (Doubles{v[1], v[2], v[5], v[6], v[9], v[10]}));
    EXPECT_EQ(read(permute(x, {1, 0})),
              (Doubles{v[0], v[4], v[8], v[1], v[5], v[9], v[2], v[6], v[10], v[3], v[7], v[11]}));
    EXPECT_EQ(read(slice(x, {0, 1}, {3, 4}, {0, 1}, {2, 2})), (Doubles{v[1], v[3], v[9], v[11]}));
    dlcore_tensor* corner = slice(permute(x, {1, 0}), {1, 1}, {3, 3}, {0, 1});
    EXPECT_EQ(read(corner), (Doubles{v[5], v[9], v[6], v[10]}));
    // An op over a view sees the same elements.
    EXPECT_EQ(read(dlcore_copy(ctx_, corner)), read(corner));
    const int64_t flat[] = {4};
    EXPECT_EQ(read(dlcore_reshape(ctx_, corner, flat, 1)), read(corner));
  }
  expect_ok();
}

TEST_F(TensorReadTest, BroadcastViewsRepeat) {
  for (dlcore_dtype d : kAll) {
    const Doubles v = values(d, 4);
    dlcore_tensor* x = tensor(d, {1, 4}, v);
    const int64_t shape[] = {2, 3, 4};
    Doubles expected;
    for (int i = 0; i < 6; ++i) expected.insert(expected.end(), v.begin(), v.end());
    EXPECT_EQ(read(dlcore_broadcast_to(ctx_, x, shape, 3)), expected);
  }
}

TEST_F(TensorReadTest, LargeViewsOfEveryRank) {
  Shape shape;
  int64_t count = 1;
  for (int rank = 1; rank <= 9; ++rank) {
    shape.push_back(rank % 3 + 2);
    count *= shape.back();
    dlcore_tensor* x = f64(shape, range(count));
    Shape axes;
    for (int i = rank; i-- > 0;) axes.push_back(i);
    const Doubles back = read(permute(x, axes));
    // Element (i_0, ..., i_r) of the reversed view is element (i_r, ..., i_0) of the original.
    for (int64_t flat = 0; flat < count; flat += 7) {
      int64_t rest = flat, at = 0;
      for (int axis = rank; axis-- > 0;) {  // the view's axis 0 is the original's last
        int64_t below = 1;
        for (int k = 0; k < axis; ++k) below *= shape[static_cast<size_t>(k)];
        const int64_t index = rest / below;
        rest %= below;
        int64_t step = 1;
        for (int k = axis + 1; k < rank; ++k) step *= shape[static_cast<size_t>(k)];
        at += index * step;
      }
      ASSERT_EQ(back[static_cast<size_t>(flat)], static_cast<double>(at)) << "rank " << rank;
    }
  }
}

TEST_F(TensorReadTest, AnotherDtypeIsAnErrorNotAReinterpretation) {
  std::vector<char> room(80);
  for (dlcore_dtype held : kAll) {
    dlcore_tensor* x = tensor(held, {10}, values(held, 10));
    for (dlcore_dtype asked : kAll) {
      const uint64_t bytes = 10 * dlcore_dtype_size(asked);
      const dlcore_status status = dlcore_tensor_read(ctx_, x, asked, room.data(), bytes);
      if (held == asked) {
        EXPECT_EQ(status, DLCORE_OK);
      } else {
        EXPECT_EQ(status, DLCORE_INVALID_ARGUMENT);
        expect_error(DLCORE_INVALID_ARGUMENT, std::string("the tensor is ") +
                                                  dlcore_dtype_name(held) + ", not " +
                                                  dlcore_dtype_name(asked));
      }
    }
  }
  int32_t ints[10] = {-1};
  EXPECT_EQ(dlcore_tensor_read_i32(ctx_, i64({10}, range(10)), ints, 10), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "the tensor is i64, not i32");
  EXPECT_EQ(ints[0], -1);
}

TEST_F(TensorReadTest, TheCountMustBeTheTensors) {
  dlcore_tensor* x = f32({2, 3}, range(6));
  float out[8] = {-1};
  for (int64_t count : {int64_t{0}, int64_t{5}, int64_t{7}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(dlcore_tensor_read_f32(ctx_, x, out, count), DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "but the tensor has 6");
  }
  for (uint64_t bytes : {uint64_t{0}, uint64_t{23}, uint64_t{25}, UINT64_MAX}) {
    EXPECT_EQ(dlcore_tensor_read(ctx_, x, DLCORE_F32, out, bytes), DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "but the tensor has 24");
  }
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(dlcore_tensor_read_f32(ctx_, x, nullptr, 6), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "data is NULL");
  uint8_t flags[2];
  EXPECT_EQ(dlcore_tensor_read_bool(ctx_, tensor(DLCORE_BOOL, {2}, {1, 0}), flags, 2), DLCORE_OK);
  EXPECT_EQ(flags[0], 1);
  EXPECT_EQ(flags[1], 0);
}

TEST_F(TensorReadTest, TensorsAreImmutable) {
  float data[] = {1, 2, 3};
  const int64_t shape[] = {3};
  dlcore_tensor* x = dlcore_tensor_f32(ctx_, shape, 1, data, 3);
  data[0] = 9;
  EXPECT_EQ(read(x), (Doubles{1, 2, 3}));
  dlcore_tensor* view = slice(x, {1}, {3}, {0});
  dlcore_tensor_release(x);
  for (int i = 0; i < 200; ++i) f32({3}, {7, 7, 7});
  EXPECT_EQ(read(view), (Doubles{2, 3}));
}

TEST_F(TensorReadTest, NoneIsNoTensorToRead) {
  float out = 0;
  EXPECT_EQ(dlcore_tensor_read_f32(ctx_, dlcore_tensor_none(), &out, 1), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "tensor_none()");
  EXPECT_EQ(dlcore_relu(ctx_, dlcore_tensor_none()), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "missing");
}

TEST_F(TensorReadTest, TheDeviceItIsOnAlreadyIsFine) {
  dlcore_tensor* x = f32({2}, {1, 2});
  EXPECT_EQ(read(dlcore_tensor_to_device(ctx_, x, "cpu")), (Doubles{1, 2}));
  EXPECT_EQ(dlcore_tensor_to_device(ctx_, x, "tpu"), nullptr);
  expect_error(DLCORE_NOT_FOUND, "cpu");
  EXPECT_EQ(dlcore_tensor_to_device(ctx_, x, nullptr), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "device is NULL");
}

}  // namespace
}  // namespace dlcore::test
