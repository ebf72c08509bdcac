// SPDX-License-Identifier: Apache-2.0
// dlcore/autograd.h: reverse mode.
#include "support.h"

namespace dlcore::test {
namespace {

class AutogradTest : public ApiTest {
 protected:
  dlcore_tensor* leaf(const Shape& shape, const Doubles& values) {
    return dlcore_autograd_watch(ctx_, f64(shape, values));
  }
  std::vector<dlcore_tensor*> grads(dlcore_tensor* y, const std::vector<dlcore_tensor*>& wrt,
                                    bool create = false, bool retain = false, bool unused = false) {
    dlcore_grad_options o;
    dlcore_grad_options_init(&o, sizeof o);
    o.create_graph = create;
    o.retain_graph = retain;
    o.allow_unused = unused;
    std::vector<dlcore_tensor*> out(wrt.size(), nullptr);
    dlcore_autograd_grad(ctx_, &y, 1, wrt.data(), static_cast<int64_t>(wrt.size()), nullptr, &o,
                         out.data());
    return out;
  }
  dlcore_tensor* grad(dlcore_tensor* y, dlcore_tensor* x, bool create = false) {
    return grads(y, {x}, create)[0];
  }
  dlcore_variable* variable(const Shape& shape, const Doubles& values, bool trainable = true) {
    return dlcore_variable_create(ctx_, "v", f64(shape, values), trainable ? 1 : 0);
  }
  Doubles gradient(dlcore_variable* v) {
    dlcore_tensor* g = dlcore_variable_gradient(ctx_, v);
    return g == nullptr ? Doubles{} : read(g);
  }
};

TEST_F(AutogradTest, BackwardAccumulates) {
  dlcore_variable* v = variable({2}, {3, 4});
  EXPECT_EQ(dlcore_variable_gradient(ctx_, v), nullptr);
  expect_ok();
  for (double times = 1; times <= 3; ++times) {
    dlcore_tensor* x = dlcore_variable_read(ctx_, v);
    EXPECT_EQ(dlcore_backward(ctx_, dlcore_sum(ctx_, dlcore_square(ctx_, x))), DLCORE_OK);
    EXPECT_EQ(gradient(v), (Doubles{6 * times, 8 * times}));
  }
  EXPECT_EQ(dlcore_variable_set_gradient(ctx_, v, nullptr), DLCORE_OK);
  EXPECT_EQ(dlcore_variable_gradient(ctx_, v), nullptr);
}

TEST_F(AutogradTest, AVariableIsTheSameLeafUntilItChanges) {
  dlcore_variable* v = variable({}, {5});
  dlcore_tensor* a = dlcore_variable_read(ctx_, v);
  dlcore_tensor* b = dlcore_variable_read(ctx_, v);
  dlcore_tensor* y = dlcore_multiply(ctx_, a, b);
  EXPECT_EQ(read(grads(y, {a}, false, true)[0]), Doubles{10});
  EXPECT_EQ(read(grads(y, {b}, false, true)[0]), Doubles{10});
  EXPECT_EQ(dlcore_variable_assign(ctx_, v, f64({}, {7})), DLCORE_OK);
  dlcore_tensor* c = dlcore_variable_read(ctx_, v);
  dlcore_tensor* z = dlcore_multiply(ctx_, a, c);
  EXPECT_EQ(read(grads(z, {a}, false, true)[0]), Doubles{7});
  EXPECT_EQ(read(grads(z, {c}, false, true)[0]), Doubles{5});
  // Backward gives both to the one variable.
  EXPECT_EQ(dlcore_backward(ctx_, z), DLCORE_OK);
  EXPECT_EQ(gradient(v), Doubles{12});
}

TEST_F(AutogradTest, GradientsAreSummedOverBroadcastAxes) {
  dlcore_tensor* a = leaf({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  dlcore_tensor* b = leaf({1, 4}, {1, 2, 3, 4});
  Doubles labels = range(12);
  for (double& l : labels) l += 100;
  dlcore_tensor* label = f64({3, 4}, labels);
  dlcore_tensor* difference = dlcore_subtract(ctx_, dlcore_subtract(ctx_, label, a), b);
  dlcore_tensor* loss = dlcore_sum(ctx_, dlcore_square(ctx_, difference));
  const auto g = grads(loss, {a, b});
  EXPECT_EQ(shape_of(g[1]), (Shape{1, 4}));
  EXPECT_EQ(read(g[1]), (Doubles{-588, -582, -576, -570}));
  EXPECT_EQ(shape_of(g[0]), (Shape{3, 4}));
}

TEST_F(AutogradTest, AHistoryIsGoneAfterBackwardUnlessRetained) {
  dlcore_tensor* x = leaf({}, {3});
  dlcore_tensor* y = dlcore_multiply(ctx_, x, dlcore_exp(ctx_, x));
  EXPECT_NE(grads(y, {x}, false, true)[0], nullptr);
  EXPECT_NE(grads(y, {x})[0], nullptr);
  EXPECT_EQ(grads(y, {x})[0], nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "retain_graph");
  dlcore_variable* v = variable({}, {2});
  dlcore_tensor* z = dlcore_square(ctx_, dlcore_variable_read(ctx_, v));
  EXPECT_EQ(dlcore_backward(ctx_, z), DLCORE_OK);
  EXPECT_EQ(dlcore_backward(ctx_, z), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "freed");
  EXPECT_EQ(gradient(v), Doubles{4});
}

TEST_F(AutogradTest, DerivativesOfHigherOrder) {
  dlcore_tensor* x = leaf({}, {0.7});
  dlcore_tensor* y = dlcore_multiply(ctx_, dlcore_sin(ctx_, x), dlcore_exp(ctx_, x));
  dlcore_tensor* first = grad(y, x, true);
  dlcore_tensor* second = grad(first, x, true);
  dlcore_tensor* third = grad(second, x, true);
  dlcore_tensor* fourth = grad(third, x);
  const double s = std::sin(0.7), c = std::cos(0.7), e = std::exp(0.7);
  expect_close(read(first), {e * (s + c)}, 1e-12);
  expect_close(read(second), {2 * e * c}, 1e-12);
  expect_close(read(third), {2 * e * (c - s)}, 1e-12);
  expect_close(read(fourth), {-4 * e * s}, 1e-12);
  expect_ok();
}

TEST_F(AutogradTest, TensorsWithoutInfluence) {
  dlcore_tensor* x = leaf({}, {1});
  dlcore_tensor* idle = leaf({2}, {1, 2});
  dlcore_tensor* plain = f64({}, {1});
  dlcore_tensor* y = dlcore_square(ctx_, x);
  auto g = grads(y, {x, idle, plain}, false, true, true);
  EXPECT_EQ(read(g[0]), Doubles{2});
  EXPECT_EQ(g[1], nullptr);
  EXPECT_EQ(g[2], nullptr);
  expect_ok();
  g = grads(y, {x, idle}, false, true);
  EXPECT_EQ(g[0], nullptr);  // nothing is written on failure
  expect_error(DLCORE_FAILED_PRECONDITION, "allow_unused");
  grads(y, {plain}, false, true);
  expect_error(DLCORE_FAILED_PRECONDITION, "autograd_watch");
}

TEST_F(AutogradTest, StopGradientAndIntegersEndAHistory) {
  dlcore_tensor* x = leaf({2}, {1.5, 2.5});
  dlcore_tensor* y = dlcore_multiply(ctx_, x, dlcore_stop_gradient(ctx_, x));
  EXPECT_EQ(read(grad(dlcore_sum(ctx_, y), x)), (Doubles{1.5, 2.5}));
  dlcore_tensor* ints = dlcore_astype(ctx_, x, DLCORE_I64);
  EXPECT_EQ(dlcore_backward(ctx_, dlcore_sum(ctx_, ints)), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "i64");
  EXPECT_EQ(dlcore_autograd_watch(ctx_, ints), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "i64");
}

TEST_F(AutogradTest, OnlyOneElementCanBeALossWithoutASeed) {
  dlcore_tensor* x = leaf({2}, {1, 2});
  dlcore_tensor* y = dlcore_square(ctx_, x);
  EXPECT_EQ(dlcore_backward(ctx_, y), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "[2]");
  EXPECT_EQ(grad(y, x), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "seed");
  EXPECT_EQ(dlcore_backward(ctx_, f64({}, {1})), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "history");
}

TEST_F(AutogradTest, SeveralOutputsWithSeeds) {
  dlcore_tensor* x = leaf({2}, {1, 2});
  dlcore_tensor* outputs[] = {dlcore_square(ctx_, x), dlcore_sum(ctx_, x)};
  dlcore_tensor* seeds[] = {f64({2}, {10, 100}), nullptr};
  dlcore_tensor* g = nullptr;
  EXPECT_EQ(dlcore_autograd_grad(ctx_, outputs, 2, &x, 1, seeds, nullptr, &g), DLCORE_OK);
  EXPECT_EQ(read(g), (Doubles{21, 401}));
  seeds[0] = f64({1}, {1});
  EXPECT_EQ(dlcore_autograd_grad(ctx_, outputs, 2, &x, 1, seeds, nullptr, &g),
            DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "seed 0");
  for (int64_t n : {int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(dlcore_autograd_grad(ctx_, outputs, n, &x, 1, nullptr, nullptr, &g),
              DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "expected 0 or more");
    EXPECT_EQ(dlcore_autograd_grad(ctx_, outputs, 2, &x, n, nullptr, nullptr, &g),
              DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "expected 0 or more");
  }
}

TEST_F(AutogradTest, TensorsOnTheWayAndTheSameOneTwice) {
  dlcore_tensor* x = leaf({}, {2});
  dlcore_tensor* middle = dlcore_square(ctx_, x);
  dlcore_tensor* y = dlcore_multiply(ctx_, middle, x);
  const auto g = grads(y, {middle, x, x, y}, false, true);
  EXPECT_EQ(read(g[0]), Doubles{2});
  EXPECT_EQ(read(g[1]), Doubles{12});
  EXPECT_EQ(read(g[2]), Doubles{12});
  EXPECT_EQ(read(g[3]), Doubles{1});
}

TEST_F(AutogradTest, GradientsWithoutCreateGraphHaveNoHistory) {
  dlcore_tensor* x = leaf({}, {2});
  dlcore_tensor* g = grad(dlcore_square(ctx_, x), x);
  dlcore_tensor_description d;
  d.struct_size = sizeof d;
  EXPECT_EQ(dlcore_tensor_describe(ctx_, g, &d), DLCORE_OK);
  EXPECT_EQ(d.requires_grad, 0);
}

TEST_F(AutogradTest, TiesAreSharedAndNothingIsCountedTwice) {
  dlcore_tensor* x = leaf({3}, {0.6, 0.6, 0.3});
  EXPECT_EQ(read(grad(dlcore_max(ctx_, x), x)), (Doubles{0.5, 0.5, 0}));
  dlcore_tensor* a = leaf({}, {2});
  dlcore_tensor* b = leaf({}, {2});
  const auto g = grads(dlcore_maximum(ctx_, a, b), {a, b});
  EXPECT_EQ(read(g[0]), Doubles{0.5});
  EXPECT_EQ(read(g[1]), Doubles{0.5});
  EXPECT_EQ(read(grad(dlcore_maximum(ctx_, a, a), a)), Doubles{1});
}

TEST_F(AutogradTest, AVariableThatIsNotTrainableGetsNoGradient) {
  dlcore_variable* frozen = variable({}, {3}, false);
  dlcore_variable* free = variable({}, {4});
  dlcore_tensor* y =
      dlcore_multiply(ctx_, dlcore_variable_read(ctx_, frozen), dlcore_variable_read(ctx_, free));
  EXPECT_EQ(dlcore_backward(ctx_, y), DLCORE_OK);
  EXPECT_EQ(gradient(frozen), Doubles{});
  EXPECT_EQ(gradient(free), Doubles{3});
  EXPECT_EQ(dlcore_variable_set_trainable(ctx_, frozen, 1), DLCORE_OK);
  EXPECT_EQ(dlcore_backward(ctx_, dlcore_square(ctx_, dlcore_variable_read(ctx_, frozen))),
            DLCORE_OK);
  EXPECT_EQ(gradient(frozen), Doubles{6});
}

constexpr int kDeep = 200000;

TEST_F(AutogradTest, ADeepHistoryIsFreedWithoutRecursion) {
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_tensor* y = leaf({}, {0.5});
  for (int i = 0; i < kDeep; ++i) {
    dlcore_tensor* next = dlcore_sin(ctx_, y);
    dlcore_tensor_release(y);
    y = next;
  }
  ASSERT_NE(y, nullptr);
  dlcore_scope_close(ctx_, scope);
  EXPECT_EQ(statistics().live_tensors, 0);
}

TEST_F(AutogradTest, ADeepHistoryIsDifferentiatedWithoutRecursion) {
  dlcore_tensor* x = leaf({}, {0.5});
  dlcore_tensor* y = x;
  for (int i = 0; i < kDeep; ++i) {
    dlcore_tensor* next = dlcore_add_scalar(ctx_, y, 1e-9);
    if (y != x) dlcore_tensor_release(y);
    y = next;
  }
  dlcore_tensor* g = grad(dlcore_square(ctx_, y), x, true);
  expect_close(read(g), {2 * (0.5 + kDeep * 1e-9)}, 1e-9);
  expect_close(read(grad(g, x)), {2}, 1e-12);
}

TEST_F(AutogradTest, AWideHistoryIsCountedOnce) {
  dlcore_tensor* x = leaf({}, {1});
  dlcore_tensor* y = x;
  for (int i = 0; i < 60; ++i) y = dlcore_add(ctx_, y, y);  // 2^60 paths
  EXPECT_EQ(read(grad(y, x)), Doubles{std::ldexp(1.0, 60)});
}

TEST_F(AutogradTest, ABackwardThatFailsChangesNoGradient) {
  dlcore_variable* a = variable({100}, Doubles(100, 1.0));
  dlcore_variable* b = variable({100}, Doubles(100, 2.0));
  const auto loss = [&] {
    return dlcore_sum(ctx_, dlcore_multiply(ctx_, dlcore_exp(ctx_, dlcore_variable_read(ctx_, a)),
                                            dlcore_variable_read(ctx_, b)));
  };
  EXPECT_EQ(dlcore_backward(ctx_, loss()), DLCORE_OK);
  const Doubles before_a = gradient(a), before_b = gradient(b);
  int failures = 0;
  for (int64_t n = 1;; ++n) {
    dlcore_tensor* y = loss();
    dlcore_engine_fail_allocation(engine_, n);
    if (dlcore_backward(ctx_, y) == DLCORE_OK) break;
    expect_error(DLCORE_RESOURCE_EXHAUSTED, "cannot allocate");
    EXPECT_EQ(gradient(a), before_a);
    EXPECT_EQ(gradient(b), before_b);
    ++failures;
  }
  dlcore_engine_fail_allocation(engine_, 0);
  EXPECT_GT(failures, 3);
  EXPECT_EQ(gradient(b)[0], 2 * before_b[0]);
}

dlcore_status cube(void*, dlcore_context* ctx, dlcore_tensor* const* inputs, int64_t,
                   dlcore_tensor** output) {
  *output = dlcore_sum(ctx, dlcore_multiply(ctx, inputs[0], dlcore_square(ctx, inputs[0])));
  return DLCORE_OK;
}

TEST_F(AutogradTest, GradcheckAcceptsWhatIsRight) {
  dlcore_tensor* x = f64({2, 2}, {0.3, -1.2, 2.0, 0.9});
  EXPECT_EQ(dlcore_gradcheck(ctx_, cube, nullptr, &x, 1, 1, 0), DLCORE_OK);
  EXPECT_EQ(dlcore_gradcheck(ctx_, cube, nullptr, &x, 1, 2, 0), DLCORE_OK);
  expect_ok();
  EXPECT_EQ(dlcore_gradcheck(ctx_, cube, nullptr, &x, 1, 3, 0), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "order");
  dlcore_tensor* single = f32({}, {1});
  EXPECT_EQ(dlcore_gradcheck(ctx_, cube, nullptr, &single, 1, 1, 0), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "f64");
  EXPECT_EQ(dlcore_gradcheck(ctx_, nullptr, nullptr, &x, 1, 1, 0), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "function is NULL");
}

// Linear, layer norm, GELU, softmax and both kinds of loss.
dlcore_status model(void*, dlcore_context* ctx, dlcore_tensor* const* in, int64_t,
                    dlcore_tensor** output) {
  const int64_t labels[] = {2, 0}, shape[] = {2};
  dlcore_tensor* y = dlcore_tensor_i64(ctx, shape, 1, labels, 2);
  dlcore_tensor* hidden = dlcore_gelu(ctx, dlcore_linear(ctx, in[0], in[1], in[2]));
  dlcore_tensor* normal = dlcore_layer_norm(ctx, hidden, in[2], in[2]);
  dlcore_tensor* loss = dlcore_cross_entropy(ctx, normal, y);
  dlcore_tensor* p = dlcore_softmax(ctx, dlcore_matmul(ctx, normal, in[1]), -1);
  *output = dlcore_add(ctx, loss, dlcore_mse_loss(ctx, p, dlcore_tanh(ctx, in[0])));
  return DLCORE_OK;
}

TEST_F(AutogradTest, AModelHasTheRightSecondDerivatives) {
  dlcore_tensor* in[] = {f64({2, 3}, {0.3, -0.2, 0.8, 0.5, 0.1, -0.7}),
                         f64({3, 3}, {0.2, -0.5, 0.4, 0.9, 0.3, -0.1, -0.6, 0.7, 0.25}),
                         f64({3}, {0.4, -0.3, 0.6})};
  EXPECT_EQ(dlcore_gradcheck(ctx_, model, nullptr, in, 3, 2, 0), DLCORE_OK);
  expect_ok();
}

TEST_F(AutogradTest, GradcheckFunctionsMayFail) {
  dlcore_tensor* x = f64({}, {1});
  const auto fails = [](void*, dlcore_context* ctx, dlcore_tensor* const* inputs, int64_t,
                        dlcore_tensor** output) {
    *output = dlcore_matmul(ctx, inputs[0], inputs[0]);
    return dlcore_status{DLCORE_OK};
  };
  EXPECT_EQ(dlcore_gradcheck(ctx_, fails, nullptr, &x, 1, 1, 0), DLCORE_INVALID_ARGUMENT);
  dlcore_error* error = dlcore_context_take_error(ctx_);
  ASSERT_NE(dlcore_error_cause(error), nullptr);
  EXPECT_STREQ(dlcore_error_op(dlcore_error_cause(error)), "matmul");
  dlcore_error_release(error);
  const auto nothing = [](void*, dlcore_context*, dlcore_tensor* const*, int64_t, dlcore_tensor**) {
    return dlcore_status{DLCORE_OK};
  };
  EXPECT_NE(dlcore_gradcheck(ctx_, nothing, nullptr, &x, 1, 1, 0), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "made no tensor");
  const auto code = [](void*, dlcore_context*, dlcore_tensor* const*, int64_t, dlcore_tensor**) {
    return dlcore_status{DLCORE_ABORTED};
  };
  EXPECT_EQ(dlcore_gradcheck(ctx_, code, nullptr, &x, 1, 1, 0), DLCORE_ABORTED);
  expect_error(DLCORE_ABORTED, "gradcheck");
  const auto same = [](void*, dlcore_context*, dlcore_tensor* const* inputs, int64_t,
                       dlcore_tensor** output) {
    *output = inputs[0];
    return dlcore_status{DLCORE_OK};
  };
  EXPECT_EQ(dlcore_gradcheck(ctx_, same, nullptr, &x, 1, 2, 0), DLCORE_OK);
}

}  // namespace
}  // namespace dlcore::test
