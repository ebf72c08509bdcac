// SPDX-License-Identifier: Apache-2.0
// dlcore/autograd.h: forward mode, vectorisation, and how they nest with reverse mode.
#include "support.h"

namespace dlcore::test {
namespace {

class TransformTest : public ApiTest {
 protected:
  dlcore_tensor* watch(dlcore_tensor* x) { return dlcore_autograd_watch(ctx_, x); }
  dlcore_tensor* grad(dlcore_tensor* y, dlcore_tensor* x, bool create = false) {
    dlcore_grad_options o;
    dlcore_grad_options_init(&o, sizeof o);
    o.create_graph = create;
    dlcore_tensor* g = nullptr;
    dlcore_autograd_grad(ctx_, &y, 1, &x, 1, nullptr, &o, &g);
    return g;
  }
  dlcore_transform* jvp() { return dlcore_jvp_open(ctx_); }
  dlcore_tensor* lift(dlcore_transform* level, dlcore_tensor* x, dlcore_tensor* t) {
    return dlcore_jvp_lift(ctx_, level, x, t);
  }
  dlcore_tensor* tangent(dlcore_transform* level, dlcore_tensor* y) {
    return dlcore_jvp_tangent(ctx_, level, y);
  }
  void close(dlcore_transform* level) { EXPECT_EQ(dlcore_transform_close(ctx_, level), DLCORE_OK); }
  dlcore_tensor* one() { return f64({}, {1}); }
  dlcore_tensor* mul(dlcore_tensor* a, dlcore_tensor* b) { return dlcore_multiply(ctx_, a, b); }
  dlcore_tensor* add(dlcore_tensor* a, dlcore_tensor* b) { return dlcore_add(ctx_, a, b); }
  // sin(x) exp(x), its derivatives at x
  dlcore_tensor* f(dlcore_tensor* x) { return mul(dlcore_sin(ctx_, x), dlcore_exp(ctx_, x)); }
  static double f1(double x) { return std::exp(x) * (std::sin(x) + std::cos(x)); }
  static double f2(double x) { return 2 * std::exp(x) * std::cos(x); }
};

TEST_F(TransformTest, ForwardMode) {
  dlcore_transform* level = jvp();
  dlcore_tensor* x = lift(level, f64({2}, {0.3, 0.7}), f64({2}, {1, 10}));
  dlcore_tensor* y = f(x);
  expect_close(read(tangent(level, y)), {f1(0.3), 10 * f1(0.7)}, 1e-12);
  expect_close(read(dlcore_jvp_primal(ctx_, level, y)),
               {std::sin(0.3) * std::exp(0.3), std::sin(0.7) * std::exp(0.7)}, 1e-12);
  dlcore_tensor* plain = f64({2}, {1, 2});
  EXPECT_EQ(read(tangent(level, plain)), (Doubles{0, 0}));
  EXPECT_EQ(read(dlcore_jvp_primal(ctx_, level, plain)), (Doubles{1, 2}));
  close(level);
}

TEST_F(TransformTest, ForwardOverReverse) {
  dlcore_transform* level = jvp();
  dlcore_tensor* x = watch(lift(level, f64({}, {0.7}), one()));
  dlcore_tensor* g = grad(f(x), x);
  expect_close(read(dlcore_jvp_primal(ctx_, level, g)), {f1(0.7)}, 1e-12);
  expect_close(read(tangent(level, g)), {f2(0.7)}, 1e-12);
  close(level);
}

TEST_F(TransformTest, ReverseOverForward) {
  dlcore_tensor* x = watch(f64({}, {0.7}));
  dlcore_transform* level = jvp();
  dlcore_tensor* t = tangent(level, f(lift(level, x, one())));
  close(level);
  expect_close(read(t), {f1(0.7)}, 1e-12);
  expect_close(read(grad(t, x)), {f2(0.7)}, 1e-12);
}

TEST_F(TransformTest, ForwardOverForward) {
  dlcore_transform* outer = jvp();
  dlcore_tensor* x = lift(outer, f64({}, {0.7}), one());
  dlcore_transform* inner = jvp();
  dlcore_tensor* first = tangent(inner, f(lift(inner, x, one())));
  close(inner);
  expect_close(read(tangent(outer, first)), {f2(0.7)}, 1e-12);
  close(outer);
}

TEST_F(TransformTest, PerturbationsAreNotConfused) {
  // d/dx (x * d/dy (x + y)) = 1 at x = 1, and not 2
  dlcore_transform* outer = jvp();
  dlcore_tensor* x = lift(outer, one(), one());
  dlcore_transform* inner = jvp();
  dlcore_tensor* y = lift(inner, one(), one());
  dlcore_tensor* d = tangent(inner, add(x, y));
  close(inner);
  EXPECT_EQ(read(tangent(outer, mul(x, d))), Doubles{1});
  close(outer);
  // The same with reverse mode inside, and outside.
  outer = jvp();
  x = lift(outer, one(), one());
  y = watch(one());
  EXPECT_EQ(read(tangent(outer, mul(x, grad(add(x, y), y)))), Doubles{1});
  close(outer);
  x = watch(one());
  inner = jvp();
  y = lift(inner, one(), one());
  d = tangent(inner, add(x, y));
  close(inner);
  EXPECT_EQ(read(grad(mul(x, d), x)), Doubles{1});
  x = watch(one());
  y = watch(one());
  EXPECT_EQ(read(grad(mul(x, grad(add(x, y), y, true)), x)), Doubles{1});
}

TEST_F(TransformTest, VmapIsALoop) {
  dlcore_tensor* a = f64({3, 2}, range(6));
  dlcore_tensor* b = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  dlcore_transform* level = dlcore_vmap_open(ctx_, 3);
  dlcore_tensor* ai = dlcore_vmap_lift(ctx_, level, a, 0);
  dlcore_tensor* bi = dlcore_vmap_lift(ctx_, level, b, -1);
  EXPECT_EQ(shape_of(ai), Shape{2});
  EXPECT_EQ(shape_of(bi), Shape{2});
  dlcore_tensor* y = mul(ai, bi);
  EXPECT_EQ(read(dlcore_vmap_lower(ctx_, level, y, 0)), (Doubles{0, 4, 4, 15, 12, 30}));
  EXPECT_EQ(read(dlcore_vmap_lower(ctx_, level, y, 1)), (Doubles{0, 4, 12, 4, 15, 30}));
  dlcore_tensor* constant = f64({1}, {9});
  EXPECT_EQ(read(dlcore_vmap_lower(ctx_, level, constant, 0)), Doubles(3, 9.0));
  EXPECT_EQ(shape_of(dlcore_vmap_lower(ctx_, level, constant, 0)), (Shape{3, 1}));
  close(level);
}

TEST_F(TransformTest, VmapOfGradGivesTheGradientOfEachExample) {
  const Doubles xs = {0.1, -0.4, 0.9, 0.3, 0.7, -1.1}, ws = {0.5, -0.2, 0.8};
  const auto loss = [&](dlcore_tensor* w, dlcore_tensor* x) {
    return dlcore_sum(ctx_, dlcore_tanh(ctx_, mul(w, x)));
  };
  dlcore_tensor* batch = f64({2, 3}, xs);
  dlcore_transform* level = dlcore_vmap_open(ctx_, 2);
  dlcore_tensor* w = dlcore_vmap_lower(ctx_, level, f64({3}, ws), 0);
  dlcore_tensor* wi = watch(dlcore_vmap_lift(ctx_, level, w, 0));
  dlcore_tensor* shared = watch(f64({3}, ws));
  dlcore_tensor* xi = dlcore_vmap_lift(ctx_, level, batch, 0);
  // With respect to a copy for each example, and to one tensor that all of them share.
  const Doubles copies = read(dlcore_vmap_lower(ctx_, level, grad(loss(wi, xi), wi), 0));
  const Doubles each = read(dlcore_vmap_lower(ctx_, level, grad(loss(shared, xi), shared), 0));
  close(level);
  Doubles expected;
  for (size_t e = 0; e < 2; ++e) {
    dlcore_tensor* alone = watch(f64({3}, ws));
    const Doubles g =
        read(grad(loss(alone, f64({3}, {xs[3 * e], xs[3 * e + 1], xs[3 * e + 2]})), alone));
    expected.insert(expected.end(), g.begin(), g.end());
  }
  expect_close(copies, expected, 1e-14);
  expect_close(each, expected, 1e-14);
}

TEST_F(TransformTest, GradOfVmap) {
  dlcore_tensor* x = watch(f64({2, 3}, {0.1, -0.4, 0.9, 0.3, 0.7, -1.1}));
  dlcore_transform* level = dlcore_vmap_open(ctx_, 2);
  dlcore_tensor* xi = dlcore_vmap_lift(ctx_, level, x, 0);
  dlcore_tensor* y = dlcore_vmap_lower(ctx_, level, dlcore_prod(ctx_, xi), 0);
  close(level);
  dlcore_tensor* g = grad(dlcore_sum(ctx_, y), x);
  expect_close(read(g), {-0.36, 0.09, -0.04, -0.77, -0.33, 0.21}, 1e-12);
}

TEST_F(TransformTest, VmapOfVmapIsAnOuterProduct) {
  dlcore_tensor* a = f64({2}, {2, 3});
  dlcore_tensor* b = f64({3}, {1, 10, 100});
  dlcore_transform* outer = dlcore_vmap_open(ctx_, 2);
  dlcore_tensor* ai = dlcore_vmap_lift(ctx_, outer, a, 0);
  dlcore_transform* inner = dlcore_vmap_open(ctx_, 3);
  dlcore_tensor* bi = dlcore_vmap_lift(ctx_, inner, b, 0);
  dlcore_tensor* rows = dlcore_vmap_lower(ctx_, inner, mul(ai, bi), 0);
  close(inner);
  dlcore_tensor* all = dlcore_vmap_lower(ctx_, outer, rows, 0);
  close(outer);
  EXPECT_EQ(shape_of(all), (Shape{2, 3}));
  EXPECT_EQ(read(all), (Doubles{2, 20, 200, 3, 30, 300}));
}

TEST_F(TransformTest, AJacobianByVmapOverForwardMode) {
  dlcore_tensor* basis = dlcore_astype(ctx_, dlcore_eye(ctx_, 3), DLCORE_F64);
  dlcore_tensor* x = f64({3}, {0.2, 0.5, 0.8});
  dlcore_transform* batch = dlcore_vmap_open(ctx_, 3);
  dlcore_tensor* e = dlcore_vmap_lift(ctx_, batch, basis, 0);
  dlcore_transform* level = jvp();
  dlcore_tensor* y = f(lift(level, x, e));
  dlcore_tensor* t = tangent(level, y);
  close(level);
  dlcore_tensor* jacobian = dlcore_vmap_lower(ctx_, batch, t, 0);
  close(batch);
  expect_close(read(jacobian), {f1(0.2), 0, 0, 0, f1(0.5), 0, 0, 0, f1(0.8)}, 1e-12);
}

TEST_F(TransformTest, AHessianByForwardOverReverseInsideVmap) {
  // sum(x)^3 has the second derivative 6 sum(x) everywhere
  dlcore_tensor* basis = dlcore_astype(ctx_, dlcore_eye(ctx_, 2), DLCORE_F64);
  dlcore_transform* batch = dlcore_vmap_open(ctx_, 2);
  dlcore_tensor* e = dlcore_vmap_lift(ctx_, batch, basis, 0);
  dlcore_transform* level = jvp();
  dlcore_tensor* x = watch(lift(level, f64({2}, {1, 2}), e));
  dlcore_tensor* s = dlcore_sum(ctx_, x);
  dlcore_tensor* t = tangent(level, grad(mul(s, dlcore_square(ctx_, s)), x));
  close(level);
  EXPECT_EQ(read(dlcore_vmap_lower(ctx_, batch, t, 0)), Doubles(4, 18.0));
  close(batch);
}

TEST_F(TransformTest, RandomOpsInVmapDrawForEachExample) {
  const int64_t shape[] = {4};
  dlcore_transform* level = dlcore_vmap_open(ctx_, 3);
  dlcore_tensor* x = dlcore_random_uniform(ctx_, shape, 1);
  EXPECT_EQ(shape_of(x), Shape{4});
  dlcore_tensor* all = dlcore_vmap_lower(ctx_, level, x, 0);
  close(level);
  const Doubles v = read(all);
  ASSERT_EQ(v.size(), 12u);
  EXPECT_NE(Doubles(v.begin(), v.begin() + 4), Doubles(v.begin() + 4, v.begin() + 8));
}

TEST_F(TransformTest, TensorsOfALevelHaveNoElementsToRead) {
  dlcore_transform* level = dlcore_vmap_open(ctx_, 2);
  dlcore_tensor* x = dlcore_vmap_lift(ctx_, level, f64({2, 3}, range(6)), 0);
  double out[3];
  EXPECT_EQ(dlcore_tensor_read_f64(ctx_, x, out, 3), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "transform level");
  EXPECT_GT(dlcore_tensor_to_string(ctx_, x, nullptr, 0), 1);
  EXPECT_EQ(dlcore_tensor_to_device(ctx_, x, "cpu"), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "transform level");
  close(level);
}

TEST_F(TransformTest, VariablesDoNotTakeTensorsOfALevel) {
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", f64({3}, {1, 2, 3}), 1);
  dlcore_transform* level = dlcore_vmap_open(ctx_, 2);
  dlcore_tensor* x = dlcore_vmap_lift(ctx_, level, f64({2, 3}, range(6)), 0);
  EXPECT_EQ(dlcore_variable_create(ctx_, "w", x, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "level");
  EXPECT_NE(dlcore_variable_assign(ctx_, v, x), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "level");
  EXPECT_NE(dlcore_variable_accumulate(ctx_, v, x), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "level");
  EXPECT_NE(dlcore_variable_set_gradient(ctx_, v, x), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "level");
  dlcore_tensor* loss = dlcore_sum(ctx_, mul(dlcore_variable_read(ctx_, v), x));
  EXPECT_NE(dlcore_backward(ctx_, loss), DLCORE_OK);
  expect_error(DLCORE_FAILED_PRECONDITION, "autograd_grad");
  close(level);
  EXPECT_EQ(dlcore_variable_gradient(ctx_, v), nullptr);
  EXPECT_EQ(read(v), (Doubles{1, 2, 3}));
}

TEST_F(TransformTest, LevelsCloseFromTheInside) {
  dlcore_transform* outer = jvp();
  dlcore_transform* inner = dlcore_vmap_open(ctx_, 2);
  EXPECT_EQ(dlcore_transform_close(ctx_, outer), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "innermost");
  close(inner);
  close(outer);
  EXPECT_NE(dlcore_transform_close(ctx_, nullptr), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "NULL");
}

TEST_F(TransformTest, AClosedLevelsTensorsCanOnlyBeReleased) {
  dlcore_transform* level = jvp();
  dlcore_tensor* x = lift(level, one(), one());
  dlcore_tensor* y = mul(x, x);
  close(level);
  EXPECT_EQ(mul(y, y), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "closed");
  EXPECT_EQ(tangent(level, y), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "closed");
  EXPECT_EQ(lift(level, one(), one()), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "closed");
  dlcore_tensor_release(y);
  dlcore_transform* again = jvp();
  EXPECT_EQ(mul(x, x), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "closed");
  close(again);
}

TEST_F(TransformTest, ALevelBelongsToItsContext) {
  dlcore_context* other = open(1);
  dlcore_transform* here = dlcore_vmap_open(ctx_, 2);
  EXPECT_NE(dlcore_jvp_open(other), nullptr);
  dlcore_tensor* x = dlcore_vmap_lift(ctx_, here, f64({2, 3}, range(6)), 0);
  EXPECT_EQ(dlcore_multiply(other, x, x), nullptr);
  EXPECT_EQ(dlcore_context_status(other), DLCORE_FAILED_PRECONDITION);
  EXPECT_NE(std::string(dlcore_context_error_message(other)).find("another context"),
            std::string::npos);
  dlcore_context_clear_error(other);
  EXPECT_EQ(dlcore_vmap_lower(other, here, x, 0), nullptr);
  dlcore_context_clear_error(other);
  EXPECT_EQ(dlcore_transform_close(other, here), DLCORE_FAILED_PRECONDITION);
  dlcore_context_clear_error(other);
  dlcore_context_close(other);  // with its level open
  close(here);
}

TEST_F(TransformTest, WhatIsLiftedIsChecked) {
  dlcore_transform* level = jvp();
  EXPECT_EQ(lift(level, one(), f32({}, {1})), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "tangent is f32");
  EXPECT_EQ(lift(level, one(), f64({1}, {1})), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "[1]");
  EXPECT_EQ(lift(level, i64({}, {1}), i64({}, {1})), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "floating");
  dlcore_tensor* x = lift(level, one(), one());
  EXPECT_EQ(lift(level, x, one()), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "already");
  EXPECT_EQ(dlcore_vmap_lift(ctx_, level, one(), 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "jvp");
  close(level);
  EXPECT_EQ(dlcore_vmap_open(ctx_, -1), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "size");
  level = dlcore_vmap_open(ctx_, 2);
  EXPECT_EQ(dlcore_vmap_lift(ctx_, level, one(), 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "axis");
  EXPECT_EQ(dlcore_vmap_lift(ctx_, level, f64({3}, {1, 2, 3}), 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "examples");
  for (int64_t axis : {int64_t{2}, int64_t{-3}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(dlcore_vmap_lower(ctx_, level, f64({2}, {1, 2}), axis), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "axis");
  }
  close(level);
}

TEST_F(TransformTest, NoExamplesAtAll) {
  dlcore_transform* level = dlcore_vmap_open(ctx_, 0);
  dlcore_tensor* x = dlcore_vmap_lift(ctx_, level, f64({0, 3}, {}), 0);
  EXPECT_EQ(shape_of(dlcore_vmap_lower(ctx_, level, mul(x, x), 0)), (Shape{0, 3}));
  close(level);
}

TEST_F(TransformTest, ContextsCloseWithLevelsOpen) {
  dlcore_context* other = open(1);
  dlcore_transform* level = dlcore_jvp_open(other);
  dlcore_tensor* x = dlcore_jvp_lift(other, level, one(), one());
  dlcore_tensor_retain(x);
  dlcore_context_close(other);
  EXPECT_EQ(mul(x, x), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "level");
  dlcore_transform* mine = dlcore_vmap_open(ctx_, 5);
  EXPECT_EQ(mul(x, x), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "level");
  close(mine);
  dlcore_tensor_release(x);
}

}  // namespace
}  // namespace dlcore::test
