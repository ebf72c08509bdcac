// SPDX-License-Identifier: Apache-2.0
// The layer Conv2d, vectorisation over kernels, and convolutions in captures. The op itself has its
// cases in tests/conformance.
#include <random>

#include "module_support.h"

namespace dlcore::test {
namespace {

constexpr int32_t kConv2d = 112;

class ConvolutionTest : public ModuleTest {
 protected:
  Doubles draw(int64_t n) {
    std::normal_distribution<double> normal;
    Doubles values(static_cast<size_t>(n));
    for (double& v : values) v = normal(random_);
    return values;
  }
  dlcore_tensor* random(const Shape& shape) {
    int64_t n = 1;
    for (const int64_t s : shape) n *= s;
    return f64(shape, draw(n));
  }
  dlcore_tensor* example(dlcore_tensor* x, int64_t i) {
    const int64_t start[] = {i}, stop[] = {i + 1}, axis[] = {0};
    return dlcore_squeeze(ctx_, dlcore_slice(ctx_, x, start, 1, stop, 1), axis, 1);
  }
  std::mt19937 random_{7};
};

TEST_F(ConvolutionTest, TheLayerIsTheOp) {
  // One channel of 1..9, a kernel that adds a square of four, and the bias.
  const Words plain = Words().i(1).i(1).ints({2});
  dlcore_module* m = layer("Conv2d", plain);
  set(m, "weight", {1, 1, 1, 1});
  set(m, "bias", {0.5});
  const Doubles image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(read(call(m, f32({1, 1, 3, 3}, image))), Doubles({12.5, 16.5, 24.5, 28.5}));
  EXPECT_EQ(shape_of(call(m, f32({0, 1, 3, 3}, {}))), Shape({0, 1, 2, 2}));
  EXPECT_EQ(call(m, f32({1, 2, 3, 3}, Doubles(18, 1))), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "conv2d: x has 2 channels, expected 1");

  const Words all = Words()
                        .i(2)
                        .i(4)
                        .ints({1, 2})
                        .i(1)
                        .ints({2, 1})
                        .i(1)
                        .ints({1, 0, 0, 1})
                        .i(1)
                        .ints({1, 2})
                        .i(2)
                        .i(0);
  dlcore_module* grouped = layer("Conv2d", all);
  EXPECT_EQ(paths(grouped), std::vector<std::string>({"weight"}));
  EXPECT_EQ(shape_of(dlcore_variable_read(ctx_, dlcore_module_variable(ctx_, grouped, 0))),
            Shape({4, 1, 1, 2}));
  EXPECT_EQ(shape_of(call(grouped, f32({3, 2, 4, 5}, Doubles(120, 1)))), Shape({3, 4, 3, 4}));

  dlcore_module* same = layer(
      "Conv2d", Words().i(1).i(2).ints({3}).i(1).ints({2}).i(0).i(0).i(1).i(1).text("same_lower"));
  EXPECT_EQ(shape_of(call(same, f32({1, 1, 5, 4}, Doubles(20, 1)))), Shape({1, 2, 3, 2}));
}

TEST_F(ConvolutionTest, TheLayerChecksItsAttributes) {
  const std::pair<Words, const char*> wrong[] = {
      {Words().i(-1).i(1).ints({2}), "conv2d_layer: in_channels is -1, expected 0 or more"},
      {Words().i(1).i(-2).ints({2}), "conv2d_layer: out_channels is -2"},
      {Words().i(1).i(1).ints({0}), "conv2d_layer: kernel is 0, expected 1 or more"},
      {Words().i(1).i(1).ints({1, 2, 3}), "conv2d_layer: kernel has 3 entries"},
      {Words().i(3).i(4).ints({2}).i(0).i(0).i(0).i(2),
       "conv2d_layer: in_channels is 3, expected a multiple of groups, which is 2"},
      {Words().i(4).i(3).ints({2}).i(0).i(0).i(0).i(2), "out_channels is 3"},
      {Words().i(4).i(4).ints({2}).i(0).i(0).i(0).i(0), "groups is 0, expected 1 or more"}};
  for (const auto& [words, message] : wrong) {
    EXPECT_EQ(layer("Conv2d", words), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, message);
  }
}

TEST_F(ConvolutionTest, InitialValuesCountTheKernelAsInputs) {
  // fan_in = 8 / 2 * 3 * 5 = 60.
  dlcore_module* m = layer("Conv2d", Words().i(8).i(64).ints({3, 5}).i(0).i(0).i(0).i(2));
  const double bound = 1 / std::sqrt(60.0);
  const std::vector<Doubles> all = values(m);
  ASSERT_EQ(all.size(), 2u);
  ASSERT_EQ(all[0].size(), 64u * 4 * 15);
  double largest = 0, squares = 0;
  for (const double v : all[0]) {
    largest = std::max(largest, std::abs(v));
    squares += v * v;
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.99 * bound);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(all[0].size())), bound / std::sqrt(3.0),
              0.03 * bound);
  for (const double v : all[1]) EXPECT_LE(std::abs(v), bound);
}

// Per example: its own kernel, its own image, or both; the same bits are not asked for.
TEST_F(ConvolutionTest, VmapOverImagesKernelsAndBiases) {
  constexpr int64_t kExamples = 3;
  const Words attrs = Words().i(1).ints({2, 1}).i(1).ints({1}).i(1).ints({1, 2}).i(2);
  for (int which = 1; which < 8; ++which) {
    const bool own_x = which & 1, own_w = which & 2, own_b = which & 4;
    dlcore_tensor* x = random(own_x ? Shape{kExamples, 2, 4, 5, 6} : Shape{2, 4, 5, 6});
    dlcore_tensor* w = random(own_w ? Shape{kExamples, 6, 2, 3, 2} : Shape{6, 2, 3, 2});
    dlcore_tensor* b = random(own_b ? Shape{kExamples, 6} : Shape{6});
    const auto conv = [&](dlcore_tensor* xs, dlcore_tensor* ws, dlcore_tensor* bs) {
      return dlcore_op_call3(ctx_, kConv2d, xs, ws, bs, attrs.data(), attrs.size());
    };
    dlcore_transform* level = dlcore_vmap_open(ctx_, kExamples);
    const auto lifted = [&](dlcore_tensor* t, bool own) {
      return own ? dlcore_vmap_lift(ctx_, level, t, 0) : t;
    };
    dlcore_tensor* together = dlcore_vmap_lower(
        ctx_, level, conv(lifted(x, own_x), lifted(w, own_w), lifted(b, own_b)), 0);
    const Doubles all = read(together);
    dlcore_transform_close(ctx_, level);
    Doubles apart;
    for (int64_t i = 0; i < kExamples; ++i) {
      const Doubles one = read(
          conv(own_x ? example(x, i) : x, own_w ? example(w, i) : w, own_b ? example(b, i) : b));
      apart.insert(apart.end(), one.begin(), one.end());
    }
    expect_close(all, apart, 1e-13);
  }
}

// The gradient of each example with respect to a kernel that all share, and to one of its own.
TEST_F(ConvolutionTest, VmapOfGradients) {
  constexpr int64_t kExamples = 3;
  dlcore_tensor* xs = random({kExamples, 2, 2, 5, 4});
  dlcore_tensor* ws = random({kExamples, 3, 2, 2, 2});
  const auto gradients = [&](dlcore_tensor* x, dlcore_tensor* w) {
    dlcore_tensor* wrt[] = {leaf(x), leaf(w)};
    dlcore_tensor* y = op2(kConv2d, wrt[0], wrt[1]);
    dlcore_tensor* loss = sum(multiply(y, y));
    std::array<dlcore_tensor*, 2> found{};
    EXPECT_EQ(dlcore_autograd_grad(ctx_, &loss, 1, wrt, 2, nullptr, nullptr, found.data()),
              DLCORE_OK);
    return found;
  };
  for (const bool own_w : {true, false}) {
    dlcore_tensor* shared = example(ws, 0);
    dlcore_transform* level = dlcore_vmap_open(ctx_, kExamples);
    const auto together = gradients(dlcore_vmap_lift(ctx_, level, xs, 0),
                                    own_w ? dlcore_vmap_lift(ctx_, level, ws, 0) : shared);
    const Doubles dx = read(dlcore_vmap_lower(ctx_, level, together[0], 0));
    dlcore_tensor* lowered = dlcore_vmap_lower(ctx_, level, together[1], 0);
    const Doubles dw = read(lowered);
    dlcore_transform_close(ctx_, level);
    Doubles dx_apart, dw_apart;
    for (int64_t i = 0; i < kExamples; ++i) {
      const auto one = gradients(example(xs, i), own_w ? example(ws, i) : shared);
      const Doubles a = read(one[0]), b = read(one[1]);
      dx_apart.insert(dx_apart.end(), a.begin(), a.end());
      dw_apart.insert(dw_apart.end(), b.begin(), b.end());
    }
    expect_close(dx, dx_apart, 1e-12);
    expect_close(dw, dw_apart, 1e-12);
  }
}

TEST_F(ConvolutionTest, VmapOverNoExamples) {
  dlcore_transform* level = dlcore_vmap_open(ctx_, 0);
  dlcore_tensor* x = dlcore_vmap_lift(ctx_, level, f32({0, 2, 3, 4, 4}, {}), 0);
  dlcore_tensor* w = dlcore_vmap_lift(ctx_, level, f32({0, 5, 3, 3, 3}, {}), 0);
  EXPECT_EQ(shape_of(dlcore_vmap_lower(ctx_, level, op2(kConv2d, x, w), 0)),
            Shape({0, 2, 5, 2, 2}));
  dlcore_transform_close(ctx_, level);
}

// Training a small model captured with a symbolic batch gives what training it eagerly gives.
TEST_F(ConvolutionTest, CapturedWithASymbolicBatch) {
  dlcore_module* model =
      sequential({layer("Conv2d", Words().i(1).i(3).ints({3}).i(0).i(1).ints({1})), layer("ReLU"),
                  layer("Conv2d", Words().i(3).i(2).ints({2}).i(1).ints({2}))});
  ASSERT_EQ(dlcore_capture_begin(ctx_, "cnn"), DLCORE_OK);
  dlcore_tensor* input = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[B, 1, 6, 6]");
  dlcore_tensor* y = call(model, input);
  dlcore_tensor* gradient = nullptr;
  dlcore_variable* weight = dlcore_module_find(ctx_, model, "0.weight");
  dlcore_tensor* wrt = dlcore_variable_read(ctx_, weight);
  dlcore_tensor* loss = sum(multiply(y, y));
  dlcore_autograd_grad(ctx_, &loss, 1, &wrt, 1, nullptr, nullptr, &gradient);
  dlcore_tensor* outputs[] = {y, gradient};
  dlcore_graph* graph = dlcore_capture_end(ctx_, outputs, 2);
  ASSERT_NE(graph, nullptr) << dlcore_context_error_message(ctx_);
  std::vector<dlcore_variable*> variables;
  for (int64_t i = 0; i < dlcore_module_variable_count(model); ++i)
    variables.push_back(dlcore_module_variable(ctx_, model, i));
  dlcore_executable* executable =
      dlcore_graph_compile(ctx_, graph, variables.data(), static_cast<int64_t>(variables.size()));
  for (const int64_t batch : {1, 5}) {
    dlcore_tensor* x = f32({batch, 1, 6, 6}, draw(36 * batch));
    dlcore_tensor* found[2] = {};
    ASSERT_EQ(dlcore_executable_run(ctx_, executable, &x, 1, found, 2), DLCORE_OK)
        << dlcore_context_error_message(ctx_);
    dlcore_tensor* eager = call(model, x);
    EXPECT_EQ(read(found[0]), read(eager));
    dlcore_tensor* eager_loss = sum(multiply(eager, eager));
    dlcore_tensor* eager_wrt = dlcore_variable_read(ctx_, weight);
    dlcore_tensor* eager_gradient = nullptr;
    ASSERT_EQ(dlcore_autograd_grad(ctx_, &eager_loss, 1, &eager_wrt, 1, nullptr, nullptr,
                                   &eager_gradient),
              DLCORE_OK);
    EXPECT_EQ(read(found[1]), read(eager_gradient));
  }
}

}  // namespace
}  // namespace dlcore::test
