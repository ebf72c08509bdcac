// SPDX-License-Identifier: Apache-2.0
// dlcore/module.h: layers, models and their variables.
#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "module_support.h"

namespace dlcore::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class Module : public ModuleTest {};

TEST_F(Module, LinearIsXTimesTheTransposedWeightPlusBias) {
  dlcore_module* m = linear(3, 2);
  set(m, "weight", {1, 2, 3, -1, 0.5, 0});
  set(m, "bias", {10, 20});
  EXPECT_EQ(read(call(m, f32({2, 3}, {1, 1, 1, 0, 2, 4}))), Doubles({16, 19.5, 26, 21}));
  dlcore_tensor* y = call(m, f32({2, 1, 3}, {1, 1, 1, 0, 2, 4}));
  EXPECT_EQ(shape_of(y), Shape({2, 1, 2}));
  EXPECT_EQ(shape_of(call(m, f32({0, 3}, {}))), Shape({0, 2}));

  dlcore_module* bare = layer("Linear", Words().i(3).i(2).i(0));
  EXPECT_EQ(paths(bare), std::vector<std::string>({"weight"}));
  set(bare, "weight", {1, 2, 3, -1, 0.5, 0});
  EXPECT_EQ(read(call(bare, f32({3}, {1, 1, 1}))), Doubles({6, -0.5}));

  EXPECT_EQ(call(m, f32({2, 4}, Doubles(8, 1))), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "linear");
}

TEST_F(Module, ActivationsAreWhatTheirNamesSay) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::vector<std::tuple<const char*, Words, std::function<double(double)>>> cases = {
      {"ReLU", {}, [](double x) { return std::max(x, 0.0); }},
      {"GELU", {}, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
      {"GELU", Words().text("tanh"),
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {"SiLU", {}, [&](double x) { return x * sigmoid(x); }},
      {"Sigmoid", {}, sigmoid},
      {"Tanh", {}, [](double x) { return std::tanh(x); }},
      {"LeakyReLU", {}, [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"LeakyReLU", Words().f(0.25), [](double x) { return x > 0 ? x : 0.25 * x; }},
      {"Identity", {}, [](double x) { return x; }},
  };
  const Doubles xs = {-3, -1, -0.1, 0, 0.1, 1, 3, 20};
  for (const auto& [name, attrs, function] : cases) {
    Doubles expected;
    for (double x : xs) expected.push_back(function(x));
    expect_close(read(call(layer(name, attrs), tensor(DLCORE_F64, {8}, xs))), expected, 1e-13);
    expect_close(read(call(layer(name, attrs), f32({2, 4}, xs))), expected, 1e-6);
  }
}

TEST_F(Module, SoftmaxTakesItsAxis) {
  // case 1 of what users reported: no overflow
  expect_close(read(call(layer("Softmax"), f32({3}, {1000, 1001, -1000}))),
               {0.26894142, 0.73105858, 0}, 1e-7);
  dlcore_tensor* x = tensor(DLCORE_F64, {2, 2}, {0, std::log(3.0), 0, 0});
  expect_close(read(call(layer("Softmax"), x)), {0.25, 0.75, 0.5, 0.5}, 1e-15);
  expect_close(read(call(layer("Softmax", Words().i(0)), x)), {0.5, 0.75, 0.5, 0.25}, 1e-15);
  expect_close(read(call(layer("LogSoftmax", Words().i(0)), x)),
               {std::log(0.5), std::log(0.75), std::log(0.5), std::log(0.25)}, 1e-15);
}

TEST_F(Module, LayerNormNormalisesTheLastAxis) {
  dlcore_module* m = layer("LayerNorm", Words().i(4).f(1e-3));
  set(m, "weight", {1, 2, 3, 4});
  set(m, "bias", {0, 0, 1, -1});
  const Doubles x = {1, 2, 3, 6, -1, 0, 0, 5};
  Doubles expected;
  for (size_t row = 0; row < 2; ++row) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < 4; ++i) mean += x[4 * row + i] / 4;
    for (size_t i = 0; i < 4; ++i)
      variance += (x[4 * row + i] - mean) * (x[4 * row + i] - mean) / 4;
    for (size_t i = 0; i < 4; ++i) {
      const double shift[] = {0, 0, 1, -1};
      expected.push_back((x[4 * row + i] - mean) / std::sqrt(variance + 1e-3) *
                             static_cast<double>(i + 1) +
                         shift[i]);
    }
  }
  expect_close(read(call(m, f32({2, 4}, x))), expected, 1e-6);
  EXPECT_EQ(read(dlcore_module_find(ctx_, layer("LayerNorm", Words().i(3)), "weight")),
            Doubles(3, 1));
  EXPECT_EQ(call(m, f32({2, 3}, Doubles(6, 1))), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "layer_norm");
}

// The mean and the biased variance of the two channels of [3, 2].
constexpr double kBatchMean[] = {4, -2}, kBatchVariance[] = {14.0 / 3, 8.0 / 3};
const Doubles kBatch = {1, -4, 5, -2, 6, 0};

TEST_F(Module, BatchNormNormalisesByTheBatchInTrainingAndByRunningStatisticsElse) {
  dlcore_module* m = layer("BatchNorm", Words().i(2).f(0.25).f(1e-3));
  EXPECT_EQ(paths(m),
            std::vector<std::string>({"weight", "bias", "running_mean", "running_variance"}));
  set(m, "weight", {2, -1});
  set(m, "bias", {0.5, 3});
  const auto expected = [&](const double* mean, const double* variance) {
    Doubles y;
    for (size_t i = 0; i < 6; ++i) {
      const size_t c = i % 2;
      const double weight[] = {2, -1}, bias[] = {0.5, 3};
      y.push_back((kBatch[i] - mean[c]) / std::sqrt(variance[c] + 1e-3) * weight[c] + bias[c]);
    }
    return y;
  };
  const double start_mean[] = {0, 0}, start_variance[] = {1, 1};
  dlcore_module_set_training(ctx_, m, 0);
  expect_close(read(call(m, f32({3, 2}, kBatch))), expected(start_mean, start_variance), 1e-6);
  dlcore_module_set_training(ctx_, m, 1);
  expect_close(read(call(m, f32({3, 2}, kBatch))), expected(kBatchMean, kBatchVariance), 1e-6);
  // The running variance is the unbiased one: 3 / 2 times the biased one.
  const double mean[] = {0.25 * 4, 0.25 * -2};
  const double variance[] = {0.75 + 0.25 * 7, 0.75 + 0.25 * 4};
  expect_close(read(dlcore_module_find(ctx_, m, "running_mean")), {mean[0], mean[1]}, 1e-6);
  expect_close(read(dlcore_module_find(ctx_, m, "running_variance")), {variance[0], variance[1]},
               1e-6);
  dlcore_module_set_training(ctx_, m, 0);
  expect_close(read(call(m, f32({3, 2}, kBatch))), expected(mean, variance), 1e-6);
  expect_close(read(call(m, tensor(DLCORE_F64, {3, 2}, kBatch))), expected(mean, variance), 1e-6);
}

TEST_F(Module, BatchNormTakesChannelsOfAnyRankAndNoParameters) {
  dlcore_module* m = layer("BatchNorm", Words().i(2).f(0.1).f(0).i(0));
  EXPECT_EQ(paths(m), std::vector<std::string>({"running_mean", "running_variance"}));
  // The same numbers, one channel after the other.
  dlcore_tensor* x = f32({1, 2, 3, 1}, {1, 5, 6, -4, -2, 0});
  Doubles expected;
  for (size_t c = 0; c < 2; ++c) {
    for (size_t i = 0; i < 3; ++i)
      expected.push_back((kBatch[2 * i + c] - kBatchMean[c]) / std::sqrt(kBatchVariance[c]));
  }
  expect_close(read(call(m, x)), expected, 1e-6);
  expect_close(read(dlcore_module_find(ctx_, m, "running_variance")), {0.9 + 0.7, 0.9 + 0.4}, 1e-6);
}

TEST_F(Module, BatchNormKeepsItsStatisticsWhenItFails) {
  dlcore_module* m = layer("BatchNorm", Words().i(2));
  for (const Shape& shape : {Shape{1, 2}, Shape{1, 2, 1, 1}, Shape{0, 2}, Shape{3, 3}, Shape{2}}) {
    int64_t count = 1;
    for (int64_t n : shape) count *= n;
    EXPECT_EQ(call(m, f32(shape, Doubles(static_cast<size_t>(count), 5))), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "batch_norm: ");
  }
  EXPECT_EQ(read(dlcore_module_find(ctx_, m, "running_mean")), Doubles({0, 0}));
  EXPECT_EQ(read(dlcore_module_find(ctx_, m, "running_variance")), Doubles({1, 1}));
  for (const Words& attrs : {Words().i(-1), Words().i(2).f(1.5), Words().i(2).f(0.1).f(-1)}) {
    EXPECT_EQ(layer("BatchNorm", attrs), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "batch_norm_layer: ");
  }
}

TEST_F(Module, FlattenJoinsAxes) {
  dlcore_tensor* x = f32({2, 3, 4}, Doubles(24, 1));
  EXPECT_EQ(shape_of(call(layer("Flatten"), x)), Shape({2, 12}));
  EXPECT_EQ(shape_of(call(layer("Flatten", Words().i(0)), x)), Shape({24}));
  EXPECT_EQ(shape_of(call(layer("Flatten", Words().i(-1)), x)), Shape({2, 3, 4}));
  EXPECT_EQ(shape_of(call(layer("Flatten"), f32({0, 3, 4}, {}))), Shape({0, 12}));
  EXPECT_EQ(call(layer("Flatten"), f32({5}, Doubles(5, 1))), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "start_axis");
}

TEST_F(Module, UnflattenSplitsAnAxis) {
  const auto unflatten = [&](int64_t axis, const Shape& sizes) {
    return layer("Unflatten", Words().i(axis).ints(sizes));
  };
  dlcore_tensor* x = f32({2, 12}, Doubles(24, 1));
  EXPECT_EQ(shape_of(call(unflatten(1, {1, 3, 4}), x)), Shape({2, 1, 3, 4}));
  EXPECT_EQ(shape_of(call(unflatten(-2, {2, 1}), x)), Shape({2, 1, 12}));
  EXPECT_EQ(shape_of(call(unflatten(0, {0, 3}), f32({0, 5}, {}))), Shape({0, 3, 5}));
  EXPECT_EQ(shape_of(call(unflatten(0, {}), f32({1, 2}, {1, 2}))), Shape({2}));
  EXPECT_EQ(call(unflatten(1, {3, 5}), x), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "axis 1 of x is 12, expected 15");
  EXPECT_EQ(call(unflatten(2, {3, 4}), x), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "axis is 2");
  EXPECT_EQ(unflatten(1, {-1, 4}), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "sizes has -1");
  EXPECT_EQ(call(unflatten(1, {INT64_MAX, INT64_MAX}), x), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "overflows");
}

TEST_F(Module, DropoutActsInTrainingOnly) {
  const int64_t n = 20000;
  dlcore_tensor* x = f32({n}, Doubles(static_cast<size_t>(n), 3));
  dlcore_module* drop = layer("Dropout", Words().f(0.25));
  const Doubles y = read(call(drop, x));
  const auto zeros = std::count(y.begin(), y.end(), 0.0);
  EXPECT_EQ(std::count(y.begin(), y.end(), 4.0), n - zeros);
  EXPECT_NEAR(static_cast<double>(zeros), 0.25 * n, 5 * std::sqrt(n * 0.25 * 0.75));
  EXPECT_NE(read(call(drop, x)), y) << "each call draws anew";

  dlcore_context_set_training(ctx_, 0);
  EXPECT_EQ(read(call(drop, x)), Doubles(static_cast<size_t>(n), 3));
  dlcore_context_set_training(ctx_, 1);
  dlcore_module* model = sequential({drop});
  EXPECT_EQ(dlcore_module_set_training(ctx_, model, 0), 1);
  EXPECT_EQ(read(call(model, x)), Doubles(static_cast<size_t>(n), 3))
      << "a parent's mode reaches inside";
  EXPECT_EQ(dlcore_module_set_training(ctx_, drop, 1), 0);
  EXPECT_NE(read(call(model, x)), Doubles(static_cast<size_t>(n), 3));
}

TEST_F(Module, DropoutAtItsLimits) {
  dlcore_tensor* x = leaf(f32({3}, {1, kInf, -2}));
  EXPECT_EQ(read(call(layer("Dropout", Words().f(0)), x)), Doubles({1, kInf, -2}));
  dlcore_tensor* y = call(layer("Dropout", Words().f(1)), x);
  EXPECT_EQ(read(y), Doubles({0, 0, 0}));
  dlcore_tensor* gradient = nullptr;
  dlcore_tensor* total = sum(y);
  ASSERT_EQ(dlcore_autograd_grad(ctx_, &total, 1, &x, 1, nullptr, nullptr, &gradient), DLCORE_OK);
  EXPECT_EQ(read(gradient), Doubles({0, 0, 0}));
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    EXPECT_EQ(layer("Dropout", Words().f(p)), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "dropout_layer: p is");
  }
}

TEST_F(Module, VariablesAreListedByPath) {
  dlcore_module* inner = sequential({layer("LayerNorm", Words().i(4)), layer("Tanh")});
  dlcore_module* model = sequential({linear(4, 4), layer("ReLU"), inner});
  EXPECT_EQ(dlcore_module_variable_count(model), 4);
  EXPECT_EQ(paths(model),
            std::vector<std::string>({"0.weight", "0.bias", "2.0.weight", "2.0.bias"}));
  EXPECT_EQ(paths(inner), std::vector<std::string>({"0.weight", "0.bias"}));
  EXPECT_EQ(dlcore_module_find(ctx_, model, "2.0.bias"), dlcore_module_variable(ctx_, inner, 1));
  EXPECT_STREQ(dlcore_variable_name(dlcore_module_variable(ctx_, inner, 1)), "2.0.bias");
  EXPECT_STREQ(dlcore_module_kind(model), "Sequential");
  EXPECT_EQ(dlcore_module_child_count(model), 3);
  EXPECT_EQ(dlcore_module_child(model, 2), inner);
  EXPECT_EQ(dlcore_module_child(model, 3), nullptr);
  EXPECT_EQ(dlcore_module_child(model, -1), nullptr);
  EXPECT_EQ(dlcore_module_find(ctx_, model, "0.wieght"), nullptr);
  expect_error(DLCORE_NOT_FOUND, "'0.wieght'; there are 0.weight, 0.bias, 2.0.weight, 2.0.bias");
  EXPECT_EQ(dlcore_module_variable(ctx_, model, 4), nullptr);
  expect_error(DLCORE_OUT_OF_RANGE, "index is 4");
  EXPECT_EQ(dlcore_module_variable_path(ctx_, model, -1, nullptr, 0), -1);
  expect_error(DLCORE_OUT_OF_RANGE, "index is -1");
}

TEST_F(Module, InitialValuesFollowFromSeedNumberAndPath) {
  const auto first_model = [&](uint64_t seed, bool last_first) {
    dlcore_context* previous = std::exchange(ctx_, open(seed));
    dlcore_module* first = nullptr;
    if (!last_first) first = linear(6, 5);
    dlcore_module* last = linear(5, 5);
    if (last_first) first = linear(6, 5);
    const std::vector<Doubles> all = values(sequential({first, last}));
    dlcore_context_close(std::exchange(ctx_, previous));
    return all;
  };
  const std::vector<Doubles> a = first_model(7, false);
  EXPECT_EQ(a, first_model(7, false));
  EXPECT_EQ(a, first_model(7, true)) << "the order in which layers are made does not matter";
  EXPECT_NE(a, first_model(8, false));
  EXPECT_NE(a[1], a[3]) << "each path has a stream of its own";
  EXPECT_NE(values(classifier()), values(classifier())) << "and each model";
}

TEST_F(Module, InitialValuesDoNotTouchTheGenerator) {
  const Doubles before = read(dlcore_context_generator(ctx_));
  values(classifier());
  EXPECT_EQ(read(dlcore_context_generator(ctx_)), before);
}

TEST_F(Module, InitializersHaveTheirSpread) {
  constexpr int64_t kIn = 300, kOut = 200;
  struct Case {
    const char* name;
    double deviation;
    double bound;
  };
  const auto uniform = [](const char* name, double bound) {
    return Case{name, bound / std::sqrt(3.0), bound};
  };
  const Case cases[] = {uniform("default", 1 / std::sqrt(kIn)),
                        uniform("he_uniform", std::sqrt(6.0 / kIn)),
                        {"he_normal", std::sqrt(2.0 / kIn), kInf},
                        uniform("xavier_uniform", std::sqrt(6.0 / (kIn + kOut))),
                        {"xavier_normal", std::sqrt(2.0 / (kIn + kOut)), kInf},
                        {"zeros", 0, 0}};
  for (const Case& c : cases) {
    dlcore_module* m = layer("Linear", Words().i(kIn).i(kOut).i(1).text(c.name));
    double sum = 0, squares = 0, largest = 0;
    for (double w : read(dlcore_module_find(ctx_, m, "weight"))) {
      sum += w;
      squares += w * w;
      largest = std::max(largest, std::abs(w));
    }
    constexpr double n = kIn * kOut;
    EXPECT_NEAR(sum / n, 0, 5 * c.deviation / std::sqrt(n)) << c.name;
    EXPECT_NEAR(std::sqrt(squares / n), c.deviation, 0.02 * c.deviation) << c.name;
    EXPECT_LE(largest, c.bound * (1 + 1e-6)) << c.name;
    const Doubles bias = read(dlcore_module_find(ctx_, m, "bias"));
    if (std::string(c.name) == "default") {
      EXPECT_GT(std::set<double>(bias.begin(), bias.end()).size(), 100u);
      for (double b : bias) EXPECT_LE(std::abs(b), c.bound * (1 + 1e-6));
    } else {
      EXPECT_EQ(bias, Doubles(kOut, 0)) << c.name;
    }
  }
  EXPECT_EQ(layer("Linear", Words().i(2).i(2).i(1).text("lecun")), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "init is 'lecun'");
}

TEST_F(Module, HasOneParentAtMost) {
  dlcore_module* child = linear(2, 2);
  dlcore_module* parent = sequential({child});
  EXPECT_EQ(sequential({child}), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT,
               "sequential: child 0, a Linear, is inside a Sequential already");
  dlcore_module* twice = linear(2, 2);
  EXPECT_EQ(sequential({twice, twice}), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "children 0 and 1 are the same module");
  EXPECT_NE(sequential({twice}), nullptr) << "the refused call has adopted nothing";
  call(parent, f32({2}, {1, 2}));
  EXPECT_EQ(sequential({parent}), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "build the whole model first");
  EXPECT_EQ(layer("ReLU", {}, {linear(1, 1)}), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "relu_layer: 1 children were given, expected none");
}

TEST_F(Module, AParentThatGoesFreesItsChildren) {
  dlcore_module* child = linear(2, 2);
  dlcore_module_release(sequential({child}));
  expect_ok();
  EXPECT_NE(sequential({child}), nullptr);
}

TEST_F(Module, NestsAsDeepAsTheStackAllows) {
  dlcore_module* m = linear(1, 1);
  for (int i = 0; i < 255; ++i) m = sequential({m});
  EXPECT_EQ(read(call(m, f32({1}, {1}))).size(), 1u);
  dlcore_module* deeper = linear(1, 1);
  for (int i = 0; i < 255; ++i) deeper = sequential({deeper});
  EXPECT_EQ(sequential({deeper}), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "nested 257 deep");
}

TEST_F(Module, ChecksAttributes) {
  EXPECT_EQ(layer("Linear", Words().i(-1).i(2)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "linear_layer: in_features is -1, expected 0 or more");
  EXPECT_EQ(layer("Linear", Words().i(3)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "linear_layer: attribute out_features is missing");
  EXPECT_EQ(linear(int64_t{1} << 31, int64_t{1} << 31), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "overflows");
  EXPECT_EQ(layer("ReLU", Words().i(1)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "relu_layer");
  EXPECT_EQ(dlcore_module_create(ctx_, 9999, nullptr, 0, nullptr, 0), nullptr);
  expect_error(DLCORE_NOT_FOUND, "9999");
  EXPECT_EQ(dlcore_module_create(ctx_, 2, nullptr, 1, nullptr, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "children");
  EXPECT_EQ(call(nullptr, f32({1}, {1})), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "module_call: module is NULL");
  EXPECT_EQ(dlcore_module_kind(nullptr), nullptr);
  EXPECT_EQ(dlcore_module_child_count(nullptr), -1);
  EXPECT_EQ(dlcore_module_variable_count(nullptr), -1);
}

TEST_F(Module, KeepsItsHandlesApart) {
  const int64_t before = statistics().live_modules;
  dlcore_context* manual = open(1, DLCORE_CONTEXT_MANUAL);
  dlcore_context* scoped = std::exchange(ctx_, manual);
  dlcore_module* child = linear(2, 2);
  dlcore_module* parent = sequential({child});
  dlcore_module_release(child);
  EXPECT_EQ(dlcore_module_child(parent, 0), child)
      << "children outlive the program's own reference";
  EXPECT_STREQ(dlcore_module_kind(dlcore_module_child(parent, 0)), "Linear");
  dlcore_variable* weight = dlcore_module_find(ctx_, parent, "0.weight");
  dlcore_variable_retain(weight);
  dlcore_variable* bias = dlcore_module_find(ctx_, parent, "0.bias");
  dlcore_module_release(parent);
  EXPECT_EQ(dlcore_module_kind(parent), nullptr);
  EXPECT_EQ(dlcore_module_kind(child), nullptr);
  EXPECT_STREQ(dlcore_variable_name(weight), "0.weight") << "retained";
  EXPECT_EQ(dlcore_variable_read(ctx_, bias), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "variable");
  dlcore_variable_release(weight);
  dlcore_module_release(child);
  dlcore_module_release(parent);
  dlcore_context_close(std::exchange(ctx_, scoped));
  EXPECT_EQ(statistics().live_modules, before);
  EXPECT_EQ(statistics().live_variables, 0);
}

TEST_F(Module, EarlyReleasesInAnyOrderLeaveNothingBehind) {
  for (int order = 0; order < 6; ++order) {
    dlcore_context* outer = std::exchange(ctx_, open(1));
    dlcore_module* child = linear(2, 2);
    dlcore_module* parent = sequential({child});
    if (order == 1) dlcore_module_release(child);
    if (order == 2) dlcore_module_release(parent);
    if (order == 3) dlcore_module_release(child), dlcore_module_release(parent);
    if (order == 4) dlcore_module_release(parent), dlcore_module_release(child);
    if (order == 5) dlcore_module_release(child), dlcore_module_release(child);
    linear(3, 3);  // would take over a slot that was given back too early
    dlcore_context_close(std::exchange(ctx_, outer));
    EXPECT_EQ(statistics().live_modules, 0) << order;
  }
}

TEST_F(Module, LearnsThroughItsVariables) {
  dlcore_module* m = linear(2, 1);
  set(m, "weight", {3, 4});
  ASSERT_EQ(dlcore_backward(ctx_, sum(call(m, f32({2, 2}, {1, 2, 10, 20})))), DLCORE_OK);
  EXPECT_EQ(read(dlcore_variable_gradient(ctx_, dlcore_module_find(ctx_, m, "weight"))),
            Doubles({11, 22}));
  EXPECT_EQ(read(dlcore_variable_gradient(ctx_, dlcore_module_find(ctx_, m, "bias"))),
            Doubles({2}));
}

}  // namespace
}  // namespace dlcore::test
