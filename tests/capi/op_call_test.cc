// SPDX-License-Identifier: Apache-2.0
// dlcore/op.h: the forms of a call, and packed attributes.
#include "support.h"

namespace dlcore::test {
namespace {

class OpCallTest : public ApiTest {
 protected:
  enum { kAdd = 1, kSubtract = 2, kLess = 12, kClip = 48, kWhere = 49, kAstype = 50, kSum = 80 };
  enum { kLayerNorm = 95, kCrossEntropy = 100, kReshape = 120, kConcat = 127, kFull = 140 };

  dlcore_status invoke(int32_t op, const std::vector<dlcore_tensor*>& in,
                       std::vector<dlcore_tensor*>& out, const Words& attrs = {},
                       uint64_t flags = 0) {
    return dlcore_op_invoke(ctx_, op, in.data(), static_cast<int32_t>(in.size()), attrs.data(),
                            attrs.size(), out.data(), static_cast<int32_t>(out.size()), flags);
  }
  dlcore_tensor* scalar(int32_t op, dlcore_tensor* x, double value, int32_t side) {
    return dlcore_op_call_scalar(ctx_, op, x, DLCORE_SCALAR_F64, std::bit_cast<int64_t>(value),
                                 side);
  }
};

TEST_F(OpCallTest, EveryFormGivesTheSame) {
  dlcore_tensor* a = f32({2}, {1, 2});
  dlcore_tensor* b = f32({2}, {10, 20});
  std::vector<dlcore_tensor*> out(1);
  EXPECT_EQ(invoke(kAdd, {a, b}, out), DLCORE_OK);
  EXPECT_EQ(read(out[0]), (Doubles{11, 22}));
  EXPECT_EQ(read(op2(kAdd, a, b)), (Doubles{11, 22}));
  dlcore_tensor* condition = tensor(DLCORE_BOOL, {2}, {1, 0});
  EXPECT_EQ(read(dlcore_op_call3(ctx_, kWhere, condition, a, b, nullptr, 0)), (Doubles{1, 20}));
  const Words full = Words().i(1).i(0).i(3).f(2.5);
  EXPECT_EQ(read(dlcore_op_call0(ctx_, kFull, full.data(), full.size())), Doubles(3, 2.5));
}

TEST_F(OpCallTest, FewerOutputsMayBeAskedFor) {
  dlcore_tensor* x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  for (size_t n = 0; n <= 3; ++n) {
    std::vector<dlcore_tensor*> out(n, nullptr);
    EXPECT_EQ(invoke(kLayerNorm, {x}, out), DLCORE_OK);
    for (dlcore_tensor* t : out) EXPECT_NE(t, nullptr);
  }
  std::vector<dlcore_tensor*> out(4, nullptr);
  EXPECT_EQ(invoke(kLayerNorm, {x}, out), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "4 outputs are asked for, but it has 3");
  for (dlcore_tensor* t : out) EXPECT_EQ(t, nullptr);
}

TEST_F(OpCallTest, OptionalInputsAreNoneOrLeftOutAtTheEnd) {
  dlcore_tensor* x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  dlcore_tensor* bias = f32({3}, {1, 1, 1});
  dlcore_tensor* none = dlcore_tensor_none();
  std::vector<dlcore_tensor*> out(1);
  EXPECT_EQ(invoke(kLayerNorm, {x}, out), DLCORE_OK);
  const Doubles plain = read(out[0]);
  EXPECT_EQ(invoke(kLayerNorm, {x, none, none}, out), DLCORE_OK);
  EXPECT_EQ(read(out[0]), plain);
  EXPECT_EQ(invoke(kLayerNorm, {x, none, bias}, out), DLCORE_OK);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(read(out[0])[i], plain[i] + 1, 1e-6);
  EXPECT_EQ(invoke(kLayerNorm, {x, nullptr, bias}, out), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "input 1 is NULL");
}

TEST_F(OpCallTest, VariadicInputs) {
  dlcore_tensor* x = f32({1, 2}, {1, 2});
  std::vector<dlcore_tensor*> out(1);
  for (size_t n : {size_t{1}, size_t{2}, size_t{64}}) {
    EXPECT_EQ(invoke(kConcat, std::vector<dlcore_tensor*>(n, x), out), DLCORE_OK);
    EXPECT_EQ(shape_of(out[0]), (Shape{static_cast<int64_t>(n), 2}));
  }
  EXPECT_NE(invoke(kConcat, std::vector<dlcore_tensor*>(65, x), out), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "at most 64");
  EXPECT_NE(invoke(kConcat, {}, out), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "at least one");
  EXPECT_NE(invoke(kConcat, {x, dlcore_tensor_none()}, out), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "missing");
}

TEST_F(OpCallTest, ScalarsOnEitherSide) {
  dlcore_tensor* x = f32({2}, {1, 2});
  EXPECT_EQ(read(scalar(kSubtract, x, 10, 0)), (Doubles{-9, -8}));
  EXPECT_EQ(read(scalar(kSubtract, x, 10, 1)), (Doubles{9, 8}));
  EXPECT_EQ(read(scalar(kLess, x, 1.5, 1)), (Doubles{0, 1}));
  dlcore_tensor* n = tensor(DLCORE_I32, {2}, {5, 7});
  dlcore_tensor* y = dlcore_op_call_scalar(ctx_, kSubtract, n, DLCORE_SCALAR_I64, 6, 1);
  EXPECT_EQ(dlcore_tensor_dtype(y), DLCORE_I32);
  EXPECT_EQ(read(y), (Doubles{1, -1}));
  EXPECT_EQ(scalar(kAdd, n, 0.5, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "astype");
  for (int32_t side : {-1, 2}) {
    EXPECT_EQ(scalar(kAdd, x, 1, side), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, "side");
  }
  EXPECT_EQ(dlcore_op_call_scalar(ctx_, kAdd, x, 3, 1, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "scalar kind");
  EXPECT_EQ(dlcore_op_call_scalar(ctx_, kAdd, x, DLCORE_SCALAR_BOOL, 2, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "word 2");
  EXPECT_EQ(scalar(35, x, 1, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "two inputs");
  EXPECT_EQ(scalar(kConcat, x, 1, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "two inputs");
  EXPECT_EQ(scalar(kAdd, nullptr, 1, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "NULL");
}

TEST_F(OpCallTest, GradientsFlowThroughScalars) {
  dlcore_tensor* x = dlcore_autograd_watch(ctx_, f32({}, {4}));
  dlcore_tensor* y = scalar(kSubtract, x, 10, 1);
  dlcore_tensor* g = nullptr;
  EXPECT_EQ(dlcore_autograd_grad(ctx_, &y, 1, &x, 1, nullptr, nullptr, &g), DLCORE_OK);
  EXPECT_EQ(dlcore_tensor_dtype(g), DLCORE_F32);
  EXPECT_EQ(read(g), Doubles{-1});
}

TEST_F(OpCallTest, ArgumentsOfInvokeAreChecked) {
  dlcore_tensor* x = f32({2}, {1, 2});
  std::vector<dlcore_tensor*> out(1);
  for (int32_t op : {-1, 0, 19, 1023, 1024, (1 << 20), INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(invoke(op, {x}, out), DLCORE_INVALID_ARGUMENT);
    expect_error(DLCORE_INVALID_ARGUMENT, "no op has number");
  }
  EXPECT_EQ(invoke(kAdd, {x, x}, out, {}, 1), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "flags");
  EXPECT_EQ(invoke(kAdd, {x}, out), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "missing");
  EXPECT_EQ(invoke(kAdd, {x, x, x}, out), DLCORE_INVALID_ARGUMENT);
  expect_error(DLCORE_INVALID_ARGUMENT, "3 inputs");
  for (int32_t n : {-1, INT32_MIN}) {
    EXPECT_NE(dlcore_op_invoke(ctx_, kAdd, &x, n, nullptr, 0, out.data(), 1, 0), DLCORE_OK);
    expect_error(DLCORE_INVALID_ARGUMENT, "number of inputs");
    EXPECT_NE(dlcore_op_invoke(ctx_, 35, &x, 1, nullptr, 0, out.data(), n, 0), DLCORE_OK);
    expect_error(DLCORE_INVALID_ARGUMENT, "number of outputs");
    EXPECT_NE(dlcore_op_invoke(ctx_, 35, &x, 1, nullptr, n, out.data(), 1, 0), DLCORE_OK);
    expect_error(DLCORE_INVALID_ARGUMENT, "attribute words");
  }
  EXPECT_NE(dlcore_op_invoke(ctx_, 35, nullptr, 1, nullptr, 0, out.data(), 1, 0), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "inputs is NULL");
  EXPECT_NE(dlcore_op_invoke(ctx_, 35, &x, 1, nullptr, 0, nullptr, 1, 0), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "outputs is NULL");
  EXPECT_NE(dlcore_op_invoke(ctx_, 35, &x, 1, nullptr, 2, out.data(), 1, 0), DLCORE_OK);
  expect_error(DLCORE_INVALID_ARGUMENT, "attribute words is NULL");
}

TEST_F(OpCallTest, WordsThatEndEarlyLeaveTheRestAtDefaults) {
  dlcore_tensor* x = f32({2, 3}, range(6));
  EXPECT_EQ(read(op1(kSum, x)), Doubles{15});
  EXPECT_EQ(read(op1(kSum, x, Words().i(1).ints({1}))), (Doubles{3, 12}));
  EXPECT_EQ(shape_of(op1(kSum, x, Words().i(1).ints({1}).i(1))), (Shape{2, 1}));
  EXPECT_EQ(shape_of(op1(kSum, x, Words().i(0).i(1))), (Shape{1, 1}));
  EXPECT_EQ(read(op1(kSum, x, Words().i(1).ints({}))), range(6));
}

TEST_F(OpCallTest, MalformedWordsAreRefused) {
  dlcore_tensor* x = f32({2, 3}, range(6));
  const auto refused = [&](int32_t op, const Words& words, const char* part) {
    EXPECT_EQ(op1(op, x, words), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, part);
  };
  refused(kSum, Words().i(2), "presence word");
  refused(kSum, Words().i(1), "end inside axes");
  refused(kSum, Words().i(1).i(3).i(0), "end inside axes");
  refused(kSum, Words().i(1).i(-1), "length");
  refused(kSum, Words().i(1).i(INT64_MAX), "length");
  refused(kSum, Words().i(0).i(2), "keepdims");
  refused(kSum, Words().i(0).i(1).i(0), "words of packed attributes");
  refused(kSum, Words().i(1).ints({0, 0}), "axes");
  refused(kSum, Words().i(1).ints({2}), "axes");
  refused(kSum, Words().i(1).ints({INT64_MIN}), "axes");
  refused(kAstype, Words().i(0), "dtype");
  refused(kAstype, Words().i(99), "dtype");
  refused(kAstype, {}, "missing");
  refused(36, Words().text("fast"), "'fast'");
  refused(36, Words().i(5000), "length");
  refused(36, Words().i(9).i(0), "end inside");
  refused(kReshape, Words().i(1).i(2).i(6), "dim kind");
  refused(kReshape, Words().i(1).i(1).i(0), "size expression");
  refused(kReshape, Words().i(1).i(0).i(-2), "expected 0 or more");
  refused(kReshape, Words().i(17), "length");
  refused(kReshape, Words().i(1).i(0), "end inside");
}

TEST_F(OpCallTest, FailuresWriteNoOutput) {
  std::vector<dlcore_tensor*> out = {reinterpret_cast<dlcore_tensor*>(this)};
  dlcore_tensor* before = out[0];
  EXPECT_NE(invoke(kAdd, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}, out), DLCORE_OK);
  EXPECT_EQ(out[0], before);
  expect_error(DLCORE_INVALID_ARGUMENT, "[3]");
}

TEST_F(OpCallTest, IntegerHazardsAreErrorsOrWrap) {
  const int32_t smallest[] = {INT32_MIN}, minus_one[] = {-1}, pair[] = {1, 0};
  const int64_t one[] = {1}, two[] = {2};
  dlcore_tensor* p = dlcore_tensor_i32(ctx_, two, 1, pair, 2);
  EXPECT_EQ(dlcore_remainder(ctx_, p, p), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "zero");
  EXPECT_EQ(dlcore_floor_divide(ctx_, p, p), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "zero");
  dlcore_tensor* a = dlcore_tensor_i32(ctx_, one, 1, smallest, 1);
  dlcore_tensor* b = dlcore_tensor_i32(ctx_, one, 1, minus_one, 1);
  EXPECT_EQ(read(dlcore_floor_divide(ctx_, a, b)), Doubles{INT32_MIN});
  EXPECT_EQ(read(dlcore_remainder(ctx_, a, b)), Doubles{0});
  EXPECT_EQ(read(dlcore_abs(ctx_, a)), Doubles{INT32_MIN});
  EXPECT_EQ(read(dlcore_negative(ctx_, a)), Doubles{INT32_MIN});
}

TEST_F(OpCallTest, KernelsAreAnnounced) {
  EXPECT_EQ(dlcore_op_has_kernel(ctx_, kAdd, DLCORE_F32), 1);
  EXPECT_EQ(dlcore_op_has_kernel(ctx_, kAdd, DLCORE_BF16), 1);
  EXPECT_EQ(dlcore_op_has_kernel(ctx_, kAdd, DLCORE_BOOL), 0);
  EXPECT_EQ(dlcore_op_has_kernel(ctx_, kAdd, 77), 0);
  expect_ok();
  EXPECT_EQ(dlcore_op_has_kernel(ctx_, -5, DLCORE_F32), 0);
  expect_error(DLCORE_INVALID_ARGUMENT, "number -5");
  EXPECT_EQ(dlcore_op_name(ctx_, 19), nullptr);
  EXPECT_EQ(dlcore_op_name(nullptr, 1), nullptr);
}

TEST_F(OpCallTest, OptionsMustHaveBeenInitialised) {
  dlcore_sum_options options = {};
  EXPECT_EQ(dlcore_sum_ex(ctx_, f32({2}, {1, 2}), &options), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "_init");
  EXPECT_EQ(read(dlcore_sum_ex(ctx_, f32({2}, {1, 2}), nullptr)), Doubles{3});
}

}  // namespace
}  // namespace dlcore::test
