// SPDX-License-Identifier: Apache-2.0
// Tensors whose elements the host cannot address: creating, reading, views, moving.
#include "plugin_support.h"

namespace dlcore::test {
namespace {

constexpr dlcore_dtype kDtypes[] = {DLCORE_BOOL, DLCORE_U8,  DLCORE_I8,   DLCORE_I16, DLCORE_I32,
                                    DLCORE_I64,  DLCORE_F16, DLCORE_BF16, DLCORE_F32, DLCORE_F64};

class DeviceTensorTest : public PluginTest {
 protected:
  dlcore_tensor* matrix() { return f32({3, 4}, range(12)); }
  dlcore_tensor* columns(dlcore_tensor* x, int64_t start, int64_t stop, int64_t step = 1) {
    dlcore_slice_options o;
    dlcore_slice_options_init(&o, sizeof o);
    o.has_axes = o.has_steps = 1;
    o.n_axes = o.n_steps = 1;
    o.axes[0] = 1;
    o.steps[0] = step;
    return dlcore_slice_ex(ctx_, x, &start, 1, &stop, 1, &o);
  }
  dlcore_tensor* transposed(dlcore_tensor* x) {
    const int64_t axes[] = {1, 0};
    return dlcore_permute_dims(ctx_, x, axes, 2);
  }
};

TEST_F(DeviceTensorTest, EveryDtypeComesBack) {
  for (dlcore_dtype dtype : kDtypes) {
    dlcore_tensor* x = tensor(dtype, {2, 2}, {0, 1, 1, 0});
    EXPECT_EQ(device_of(ctx_, x), kDevice);
    EXPECT_EQ(read(x), (Doubles{0, 1, 1, 0})) << dlcore_dtype_name(dtype);
  }
}

TEST_F(DeviceTensorTest, ScalarsAndEmptyOnes) {
  EXPECT_EQ(read(f32({}, {2.5})), Doubles{2.5});
  EXPECT_EQ(read(f32({0}, {})), Doubles{});
  dlcore_tensor* empty = f32({0, 3}, {});
  EXPECT_EQ(shape_of(dlcore_add(ctx_, empty, empty)), (Shape{0, 3}));
  EXPECT_EQ(read(dlcore_sum(ctx_, empty)), Doubles{0});
}

TEST_F(DeviceTensorTest, MuchMemory) {
  const int64_t n = 1 << 20;
  dlcore_tensor* x = f32({n}, range(n));
  EXPECT_EQ(read(dlcore_add(ctx_, x, x)).at(n - 1), 2.0 * (n - 1));
}

TEST_F(DeviceTensorTest, ViewsAreReadByTheirStrides) {
  EXPECT_EQ(read(columns(matrix(), 1, 3)), (Doubles{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(read(columns(matrix(), 0, 4, 3)), (Doubles{0, 3, 4, 7, 8, 11}));
  EXPECT_EQ(read(transposed(matrix())), (Doubles{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  const int64_t shape[] = {2, 3};
  EXPECT_EQ(read(dlcore_broadcast_to(ctx_, f32({3}, {1, 2, 3}), shape, 2)),
            (Doubles{1, 2, 3, 1, 2, 3}));
}

TEST_F(DeviceTensorTest, ViewsReachKernelsThatTakeStrides) {
  EXPECT_EQ(read(dlcore_negative(ctx_, columns(matrix(), 1, 3))),
            (Doubles{-1, -2, -5, -6, -9, -10}));
  EXPECT_EQ(read(dlcore_matmul(ctx_, transposed(matrix()), matrix())).at(5), 1 + 25 + 81);
}

TEST_F(DeviceTensorTest, OthersGetContiguousCopies) {
  const Doubles here = read(dlcore_softmax(ctx_, transposed(matrix()), 0));
  const Doubles there = on_cpu([&] { return read(dlcore_softmax(ctx_, transposed(matrix()), 0)); });
  expect_close(here, there, 1e-6);
  EXPECT_EQ(read(dlcore_argmax(ctx_, columns(matrix(), 0, 4, 3), 1)), (Doubles{1, 1, 1}));
}

TEST_F(DeviceTensorTest, ReshapesThatAreNoViewsCopy) {
  const int64_t shape[] = {12};
  EXPECT_EQ(read(dlcore_reshape(ctx_, transposed(matrix()), shape, 1)),
            (Doubles{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST_F(DeviceTensorTest, MoveBothWays) {
  for (dlcore_dtype dtype : kDtypes) {
    dlcore_tensor* here = tensor(dtype, {2, 2}, {0, 1, 1, 0});
    dlcore_tensor* there = dlcore_tensor_to_device(ctx_, here, "cpu");
    EXPECT_EQ(device_of(ctx_, there), "cpu");
    EXPECT_EQ(read(there), (Doubles{0, 1, 1, 0}));
    dlcore_tensor* back = dlcore_tensor_to_device(ctx_, there, kDevice);
    EXPECT_EQ(device_of(ctx_, back), kDevice);
    EXPECT_EQ(read(back), (Doubles{0, 1, 1, 0}));
  }
}

TEST_F(DeviceTensorTest, MovingAViewMovesWhatItShows) {
  dlcore_tensor* there = dlcore_tensor_to_device(ctx_, columns(matrix(), 1, 3), "cpu");
  EXPECT_EQ(shape_of(there), (Shape{3, 2}));
  EXPECT_EQ(read(there), (Doubles{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(read(dlcore_tensor_to_device(ctx_, transposed(there), kDevice)),
            (Doubles{1, 5, 9, 2, 6, 10}));
}

TEST_F(DeviceTensorTest, MovingToWhereItIsAndToNowhere) {
  dlcore_tensor* x = matrix();
  EXPECT_EQ(read(dlcore_tensor_to_device(ctx_, x, kDevice)), range(12));
  EXPECT_EQ(dlcore_tensor_to_device(ctx_, x, "gpu"), nullptr);
  expect_error(DLCORE_NOT_FOUND, "no device 'gpu'");
}

TEST_F(DeviceTensorTest, WeakScalarsMeetTensorsOfAnyDevice) {
  dlcore_tensor* x = f32({2}, {1, 2});
  EXPECT_EQ(dlcore_tensor_dtype(dlcore_multiply_scalar(ctx_, x, 3)), DLCORE_F32);
  EXPECT_EQ(read(dlcore_multiply_scalar(ctx_, x, 3)), (Doubles{3, 6}));
  EXPECT_EQ(read(dlcore_add(ctx_, dlcore_tensor_weak_i64(ctx_, 5), x)), (Doubles{6, 7}));
  dlcore_tensor* moved = dlcore_tensor_to_device(ctx_, dlcore_tensor_weak_f64(ctx_, 2), kDevice);
  dlcore_tensor* there = on_cpu([&] { return f32({2}, {1, 2}); });
  EXPECT_EQ(read(dlcore_multiply(ctx_, there, moved)), (Doubles{2, 4}));
  EXPECT_EQ(read(dlcore_multiply(ctx_, x, moved)), (Doubles{2, 4}));
}

TEST_F(DeviceTensorTest, GradientsOfViews) {
  dlcore_tensor* x = dlcore_autograd_watch(ctx_, matrix());
  dlcore_tensor* y = dlcore_sum(ctx_, dlcore_square(ctx_, columns(x, 1, 3)));
  dlcore_tensor* g = nullptr;
  ASSERT_EQ(dlcore_autograd_grad(ctx_, &y, 1, &x, 1, nullptr, nullptr, &g), DLCORE_OK);
  EXPECT_EQ(read(g), (Doubles{0, 2, 4, 0, 0, 10, 12, 0, 0, 18, 20, 0}));
}

TEST_F(DeviceTensorTest, RandomNumbersNeedAnOpThatItLacks) {
  const int64_t shape[] = {4};
  EXPECT_EQ(dlcore_random_uniform(ctx_, shape, 1), nullptr);
  expect_error(DLCORE_UNIMPLEMENTED, "random_uniform: device 'host2' has no kernel");
}

TEST_F(DeviceTensorTest, AGeneratorMayComeFromTheDevice) {
  dlcore_variable* generator = dlcore_context_generator(ctx_);
  ASSERT_EQ(dlcore_variable_assign(ctx_, generator, i64({3}, {42, 0, 9})), DLCORE_OK);
  const int64_t shape[] = {4};
  dlcore_random_uniform(ctx_, shape, 1);  // takes its key, then lacks the kernel
  expect_error(DLCORE_UNIMPLEMENTED, "random_uniform");
  EXPECT_EQ(read(generator), (Doubles{42, 0, 10}));
}

TEST_F(DeviceTensorTest, CpuContextsMayUseItsTensors) {
  dlcore_tensor* x = matrix();
  const Doubles doubled = on_cpu([&] {
    dlcore_tensor* y = dlcore_add(ctx_, x, x);
    EXPECT_EQ(device_of(ctx_, y), kDevice);
    return read(y);
  });
  EXPECT_EQ(doubled.at(11), 22);
}

TEST_F(DeviceTensorTest, IsDescribedInWords) {
  char text[256];
  ASSERT_GT(dlcore_tensor_to_string(ctx_, f32({2}, {1, 2}), text, sizeof text), 0);
  EXPECT_NE(std::string(text).find("on host2"), std::string::npos) << text;
  EXPECT_NE(std::string(text).find("[1, 2]"), std::string::npos) << text;
}

}  // namespace
}  // namespace dlcore::test
