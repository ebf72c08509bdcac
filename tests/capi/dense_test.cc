// SPDX-License-Identifier: Apache-2.0
// dense and the layer Linear with an activation: the bits of linear followed by the activation,
// whichever way the product is computed. Single results are in tests/conformance.
#include <random>

#include "module_support.h"

namespace dlcore::test {
namespace {

constexpr const char* kActivations[] = {"none", "relu", "sigmoid", "tanh", "silu", "gelu"};

class DenseTest : public ModuleTest {
 protected:
  dlcore_tensor* random(dlcore_dtype dtype, const Shape& shape) {
    std::normal_distribution<double> normal;
    int64_t n = 1;
    for (const int64_t s : shape) n *= s;
    Doubles values(static_cast<size_t>(n));
    for (double& v : values) v = normal(random_);
    return tensor(dtype, shape, values);
  }
  dlcore_tensor* activated(dlcore_tensor* x, const std::string& name) {
    if (name == "none") return x;
    return op1(dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPS, name.c_str()), x);
  }
  dlcore_tensor* dense(dlcore_tensor* x, dlcore_tensor* w, dlcore_tensor* b, int32_t activation) {
    dlcore_dense_options options;
    dlcore_dense_options_init(&options, sizeof options);
    options.activation = activation;
    return dlcore_dense_ex(ctx_, x, w, b, &options);
  }

  std::mt19937 random_{11};
};

TEST_F(DenseTest, HasTheBitsOfBothOps) {
  // x [m, k] and w [n, k]: few rows, few columns, both ways round, several blocks and pieces.
  const Shape sizes[] = {{1, 256, 784},  {3, 40, 64},    {5, 3, 2000},  {200, 9, 31},
                         {9, 200, 31},   {64, 256, 784}, {90, 64, 700}, {33, 65, 17},
                         {20, 2100, 40}, {2100, 20, 40}, {2, 2, 0},     {0, 4, 4}};
  for (const dlcore_dtype dtype : {DLCORE_F32, DLCORE_F64, DLCORE_F16, DLCORE_BF16}) {
    for (const Shape& size : sizes) {
      dlcore_scope* scope = dlcore_scope_open(ctx_);
      dlcore_tensor* x = random(dtype, {size[0], size[2]});
      dlcore_tensor* w = random(dtype, {size[1], size[2]});
      for (dlcore_tensor* b : {random(dtype, {size[1]}), dlcore_tensor_none()}) {
        dlcore_tensor* y = dlcore_linear(ctx_, x, w, b);
        for (int32_t a = 0; a < 6; ++a) {
          EXPECT_EQ(read(dense(x, w, b, a)), read(activated(y, kActivations[a])))
              << kActivations[a] << " of [" << size[0] << ", " << size[1] << ", " << size[2] << "]";
        }
      }
      dlcore_scope_close(ctx_, scope);
    }
  }
}

TEST_F(DenseTest, DerivativesAreThoseOfBothOps) {
  const Doubles values = {0.5, -1, 2, 1.5, -0.25, 0.75};
  for (int32_t a = 0; a < 6; ++a) {
    std::vector<Doubles> gradients[2];
    for (std::vector<Doubles>& found : gradients) {
      dlcore_tensor* leaves[] = {
          dlcore_autograd_watch(ctx_, f64({2, 3}, values)),
          dlcore_autograd_watch(ctx_, f64({2, 3}, {1, 0.5, -1, 0.25, 2, -0.5})),
          dlcore_autograd_watch(ctx_, f64({2}, {0.1, -0.2}))};
      const bool fused = &found == gradients;
      dlcore_tensor* y =
          fused ? dense(leaves[0], leaves[1], leaves[2], a)
                : activated(dlcore_linear(ctx_, leaves[0], leaves[1], leaves[2]), kActivations[a]);
      dlcore_tensor* total = sum(multiply(y, y));
      dlcore_tensor* results[3] = {};
      ASSERT_EQ(dlcore_autograd_grad(ctx_, &total, 1, leaves, 3, nullptr, nullptr, results),
                DLCORE_OK)
          << dlcore_context_error_message(ctx_);
      for (dlcore_tensor* result : results) found.push_back(read(result));
    }
    EXPECT_EQ(gradients[0], gradients[1]) << kActivations[a];
  }
}

TEST_F(DenseTest, TheLayerAppliesItsActivation) {
  dlcore_linear_layer_options options;
  dlcore_linear_layer_options_init(&options, sizeof options);
  options.activation = DLCORE_LINEAR_LAYER_ACTIVATION_RELU;
  dlcore_module* m = dlcore_linear_layer_ex(ctx_, 2, 2, &options);
  set(m, "weight", {1, 2, 3, -4});
  set(m, "bias", {0.5, -0.5});
  EXPECT_EQ(read(call(m, f32({1, 2}, {1, 1}))), Doubles({3.5, 0}));
  options.activation = 6;
  EXPECT_EQ(dlcore_linear_layer_ex(ctx_, 2, 2, &options), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "activation");
  EXPECT_EQ(layer("Linear", Words().i(2).i(2).i(1).i(5).i(0)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "init");
}

}  // namespace
}  // namespace dlcore::test
