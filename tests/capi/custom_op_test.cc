// SPDX-License-Identifier: Apache-2.0
// dlcore/op.h: ops that a program defines.
#include <set>

#include "support.h"

namespace dlcore::test {
namespace {

// y = scale * x^2, with scale an attribute.
struct Square {
  int infers = 0, forwards = 0, backwards = 0, destroyed = 0;
  dlcore_status status = DLCORE_OK;  // of every callback
  bool wrong_gradient = false;
  int needed = -1;
};

dlcore_status square_infer(void* data, dlcore_context*, dlcore_op_call* call) {
  auto* s = static_cast<Square*>(data);
  ++s->infers;
  dlcore_op_call_set_output_like(call, 0, dlcore_op_call_input(call, 0));
  return s->status;
}
dlcore_status square_forward(void* data, dlcore_context* ctx, dlcore_op_call* call) {
  auto* s = static_cast<Square*>(data);
  ++s->forwards;
  dlcore_tensor* x = dlcore_op_call_input(call, 0);
  const auto scale = static_cast<double>(dlcore_op_call_attr(call, 0));
  dlcore_op_call_set_output(call, 0,
                            dlcore_multiply_scalar(ctx, dlcore_multiply(ctx, x, x), scale));
  return s->status;
}
dlcore_status square_backward(void* data, dlcore_context* ctx, dlcore_op_call* call) {
  auto* s = static_cast<Square*>(data);
  ++s->backwards;
  s->needed = dlcore_op_call_needs_gradient(call, 0);
  const auto scale = static_cast<double>(dlcore_op_call_attr(call, 0));
  dlcore_tensor* slope = dlcore_multiply_scalar(ctx, dlcore_op_call_input(call, 0),
                                                (s->wrong_gradient ? 3 : 2) * scale);
  dlcore_op_call_set_input_gradient(call, 0,
                                    dlcore_multiply(ctx, slope, dlcore_op_call_gradient(call, 0)));
  return s->status;
}
void square_destroy(void* data) { ++static_cast<Square*>(data)->destroyed; }

class CustomOpTest : public ApiTest {
 protected:
  ~CustomOpTest() override { EXPECT_EQ(square_.destroyed, 0); }
  int32_t add(const char* name = "scaled_square", bool differentiable = true) {
    int32_t op = -1;
    EXPECT_EQ(
        dlcore_op_register(ctx_, name, 1, 1, 1, square_infer, square_forward,
                           differentiable ? square_backward : nullptr, &square_, nullptr, &op),
        DLCORE_OK);
    return op;
  }
  dlcore_tensor* call(int32_t op, dlcore_tensor* x, int64_t scale = 1) {
    return op1(op, x, Words().i(scale));
  }
  dlcore_tensor* grad(dlcore_tensor* y, dlcore_tensor* x, bool create = false) {
    dlcore_grad_options o;
    dlcore_grad_options_init(&o, sizeof o);
    o.create_graph = create;
    dlcore_tensor* g = nullptr;
    dlcore_autograd_grad(ctx_, &y, 1, &x, 1, nullptr, &o, &g);
    return g;
  }
  // One input, one output, of the input's type.
  int32_t with_forward(dlcore_op_callback forward, dlcore_op_callback infer = square_infer) {
    int32_t op = -1;
    EXPECT_EQ(dlcore_op_register(ctx_, ("op" + std::to_string(count_++)).c_str(), 1, 1, 1, infer,
                                 forward, nullptr, &square_, nullptr, &op),
              DLCORE_OK);
    return op;
  }

  Square square_;
  int count_ = 0;
};

TEST_F(CustomOpTest, IsCalledLikeAnyOther) {
  const int32_t op = add();
  EXPECT_GE(op, 1 << 20);
  EXPECT_STREQ(dlcore_op_name(ctx_, op), "scaled_square");
  EXPECT_EQ(dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPS, "scaled_square"), op);
  EXPECT_EQ(read(call(op, f64({2}, {3, 4}), 10)), (Doubles{90, 160}));
  EXPECT_EQ(square_.infers, 1);
  EXPECT_EQ(square_.forwards, 1);
  EXPECT_EQ(shape_of(call(op, f64({0, 2}, {}))), (Shape{0, 2}));
  EXPECT_EQ(op1(op, f64({1}, {3}), Words().i(1).i(2)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "scaled_square");
  EXPECT_EQ(dlcore_op_call2(ctx_, op, f64({}, {1}), f64({}, {1}), nullptr, 0), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "inputs");
}

TEST_F(CustomOpTest, DifferentiatesToAnyOrder) {
  const int32_t op = add();
  dlcore_tensor* x = dlcore_autograd_watch(ctx_, f64({}, {3}));
  dlcore_tensor* y = call(op, call(op, x, 2), 5);  // 20 x^4
  dlcore_tensor* first = grad(y, x, true);
  dlcore_tensor* second = grad(first, x, true);
  EXPECT_EQ(read(first), Doubles{80 * 27});
  EXPECT_EQ(read(second), Doubles{240 * 9});
  EXPECT_EQ(read(grad(second, x)), Doubles{480 * 3});
  EXPECT_EQ(square_.needed, 1);
  expect_ok();
}

TEST_F(CustomOpTest, WithoutBackwardItEndsAHistory) {
  const int32_t op = add("one_way", false);
  dlcore_tensor* x = dlcore_autograd_watch(ctx_, f64({}, {3}));
  dlcore_tensor* y = call(op, x);
  EXPECT_EQ(read(y), Doubles{9});
  EXPECT_EQ(dlcore_backward(ctx_, y), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "history");
}

struct Checked {
  int32_t op;
  int64_t scale;
};
dlcore_status checked(void* data, dlcore_context* ctx, dlcore_tensor* const* inputs, int64_t,
                      dlcore_tensor** output) {
  const auto* c = static_cast<const Checked*>(data);
  *output = dlcore_op_call1(ctx, c->op, inputs[0], &c->scale, 1);
  return DLCORE_OK;
}

TEST_F(CustomOpTest, GradcheckFindsAWrongGradient) {
  Checked data = {add(), 2};
  dlcore_tensor* x = f64({2}, {0.5, -1.5});
  EXPECT_EQ(dlcore_gradcheck(ctx_, checked, &data, &x, 1, 2, 0), DLCORE_OK);
  square_.wrong_gradient = true;
  EXPECT_EQ(dlcore_gradcheck(ctx_, checked, &data, &x, 1, 1, 0), DLCORE_FAILED_PRECONDITION);
  expect_error(DLCORE_FAILED_PRECONDITION, "input 0 element 0");
}

TEST_F(CustomOpTest, WorksInsideTransforms) {
  const int32_t op = add();
  dlcore_transform* level = dlcore_vmap_open(ctx_, 3);
  dlcore_tensor* x = dlcore_vmap_lift(ctx_, level, f64({3, 2}, {1, 2, 3, 4, 5, 6}), 0);
  dlcore_tensor* y = dlcore_vmap_lower(ctx_, level, call(op, x, 10), 0);
  EXPECT_EQ(dlcore_transform_close(ctx_, level), DLCORE_OK);
  EXPECT_EQ(read(y), (Doubles{10, 40, 90, 160, 250, 360}));
  level = dlcore_jvp_open(ctx_);
  dlcore_tensor* moved = call(op, dlcore_jvp_lift(ctx_, level, f64({}, {3}), f64({}, {1})), 10);
  EXPECT_EQ(read(dlcore_jvp_tangent(ctx_, level, moved)), Doubles{60});
  EXPECT_EQ(dlcore_transform_close(ctx_, level), DLCORE_OK);
  expect_ok();
}

TEST_F(CustomOpTest, IsCaptured) {
  const int32_t op = add();
  EXPECT_EQ(dlcore_capture_begin(ctx_, "g"), DLCORE_OK);
  dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F64, "[N]");
  dlcore_tensor* y = call(op, x, 3);
  EXPECT_EQ(square_.forwards, 0);
  dlcore_graph* graph = dlcore_capture_end(ctx_, &y, 1);
  dlcore_executable* run = dlcore_graph_compile(ctx_, graph, nullptr, 0);
  expect_ok();
  for (int n : {1, 4}) {
    dlcore_tensor* in = f64({n}, Doubles(static_cast<size_t>(n), 2.0));
    dlcore_tensor* out = nullptr;
    EXPECT_EQ(dlcore_executable_run(ctx_, run, &in, 1, &out, 1), DLCORE_OK);
    EXPECT_EQ(read(out), Doubles(static_cast<size_t>(n), 12.0));
  }
}

// What infer sees may be kept, but it has a dtype and a shape and nothing else.
TEST_F(CustomOpTest, NobodyReadsElementsOfWhatInferSees) {
  static dlcore_tensor* kept;
  const int32_t op = with_forward(
      [](void*, dlcore_context*, dlcore_op_call* c) {
        return dlcore_op_call_set_output(c, 0, dlcore_op_call_input(c, 0));
      },
      [](void*, dlcore_context*, dlcore_op_call* c) {
        kept = dlcore_op_call_input(c, 0);
        dlcore_tensor_retain(kept);
        return dlcore_op_call_set_output_like(c, 0, kept);
      });
  ASSERT_NE(op1(op, f32({2}, {1, 2})), nullptr);
  dlcore_variable* v =
      dlcore_variable_create(ctx_, "v", f32({2}, {1, 2}), DLCORE_VARIABLE_TRAINABLE);
  const auto refused = [&](const char* what) {
    const dlcore_status status = dlcore_context_status(ctx_);
    EXPECT_TRUE(status == DLCORE_INVALID_ARGUMENT || status == DLCORE_FAILED_PRECONDITION)
        << what << ": " << dlcore_context_error_message(ctx_);
    EXPECT_NE(std::string(dlcore_context_error_message(ctx_)).find("infer callback"),
              std::string::npos)
        << what << ": " << dlcore_context_error_message(ctx_);
    dlcore_context_clear_error(ctx_);
  };
  float value[2];
  dlcore_tensor_read_f32(ctx_, kept, value, 2);
  refused("read");
  dlcore_tensor_to_device(ctx_, kept, "cpu");
  refused("to_device");
  dlcore_add(ctx_, kept, kept);
  refused("op");
  dlcore_variable_create(ctx_, "w", kept, 0);
  refused("variable_create");
  dlcore_variable_assign(ctx_, v, kept);
  refused("variable_assign");
  dlcore_variable_accumulate(ctx_, v, kept);
  refused("variable_accumulate");
  dlcore_variable_set_gradient(ctx_, v, kept);
  refused("variable_set_gradient");
  const char* name = "x";
  dlcore_archive_save(ctx_, file("x").c_str(), &name, &kept, 1);
  refused("archive_save");
  dlcore_loader_from_tensors(ctx_, kept, kept, 1, 0);
  refused("loader_from_tensors");
  dlcore_capture_begin(ctx_, "g");
  dlcore_capture_constant(ctx_, kept);
  refused("capture_constant");
  dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[2]");
  dlcore_graph* graph = dlcore_capture_end(ctx_, &x, 1);
  dlcore_executable* e = dlcore_graph_compile(ctx_, graph, nullptr, 0);
  dlcore_executable_run(ctx_, e, &kept, 1, &x, 1);
  refused("executable_run");
  EXPECT_EQ(read(v), Doubles({1, 2}));
  dlcore_tensor_release(kept);
}

TEST_F(CustomOpTest, CallbacksMayFail) {
  const int32_t op = add();
  square_.status = DLCORE_ABORTED;
  EXPECT_EQ(call(op, f64({}, {1})), nullptr);
  expect_error(DLCORE_ABORTED, "infer callback");
  square_.status = DLCORE_OK;
  const int32_t torn = with_forward([](void*, dlcore_context* ctx, dlcore_op_call* c) {
    dlcore_op_call_set_output(c, 0, dlcore_matmul(ctx, dlcore_op_call_input(c, 0), nullptr));
    return dlcore_status{DLCORE_OK};
  });
  EXPECT_EQ(call(torn, f64({}, {1})), nullptr);
  dlcore_error* error = dlcore_context_take_error(ctx_);
  EXPECT_EQ(dlcore_error_code(error), DLCORE_INVALID_ARGUMENT);
  const dlcore_error* cause = dlcore_error_cause(error);
  ASSERT_NE(cause, nullptr);
  EXPECT_EQ(dlcore_error_code(cause), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_error_cause(cause), nullptr);
  dlcore_error_release(const_cast<dlcore_error*>(cause));  // is only lent
  EXPECT_EQ(dlcore_error_code(cause), DLCORE_INVALID_ARGUMENT);
  dlcore_error_release(error);
  const int32_t own = with_forward([](void*, dlcore_context* ctx, dlcore_op_call*) {
    return dlcore_context_set_error(ctx, DLCORE_DATA_LOSS, "mine");
  });
  EXPECT_EQ(call(own, f64({}, {1})), nullptr);
  expect_error(DLCORE_DATA_LOSS, "mine");
}

TEST_F(CustomOpTest, BackwardMayFail) {
  const int32_t op = add();
  dlcore_variable* v = dlcore_variable_create(ctx_, "v", f64({}, {2}), 1);
  dlcore_tensor* y = call(op, dlcore_variable_read(ctx_, v));
  square_.status = DLCORE_UNAVAILABLE;
  EXPECT_EQ(dlcore_backward(ctx_, y), DLCORE_UNAVAILABLE);
  expect_error(DLCORE_UNAVAILABLE, "backward callback");
  EXPECT_EQ(dlcore_variable_gradient(ctx_, v), nullptr);
}

TEST_F(CustomOpTest, WhatCallbacksLeaveOutOrGetWrongIsAnError) {
  const auto nothing = [](void*, dlcore_context*, dlcore_op_call*) {
    return dlcore_status{DLCORE_OK};
  };
  EXPECT_EQ(call(with_forward(nothing), f64({}, {1})), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "no output 0");
  EXPECT_EQ(call(with_forward(square_forward, nothing), f64({}, {1})), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "no type for output 0");
  const int32_t other = with_forward([](void*, dlcore_context* ctx, dlcore_op_call* c) {
    return dlcore_op_call_set_output(c, 0, dlcore_tensor_scalar_f32(ctx, 1));
  });
  EXPECT_EQ(call(other, f64({2}, {1, 2})), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "f32");
  const int32_t late = with_forward([](void*, dlcore_context*, dlcore_op_call* c) {
    return dlcore_op_call_set_output_type(c, 0, DLCORE_F64, nullptr, 0);
  });
  EXPECT_EQ(call(late, f64({2}, {1, 2})), nullptr);
  expect_error(DLCORE_FAILED_PRECONDITION, "only infer");
  const int32_t out = with_forward([](void*, dlcore_context*, dlcore_op_call* c) {
    EXPECT_EQ(dlcore_op_call_input(c, 1), nullptr);
    EXPECT_EQ(dlcore_op_call_input(c, -1), nullptr);
    EXPECT_EQ(dlcore_op_call_output(c, 0), nullptr);
    EXPECT_EQ(dlcore_op_call_gradient(c, 0), nullptr);
    EXPECT_EQ(dlcore_op_call_attr(c, 9), 0);
    EXPECT_EQ(dlcore_op_call_input_count(c), 1);
    return dlcore_op_call_set_output(c, 5, dlcore_op_call_input(c, 0));
  });
  EXPECT_EQ(call(out, f64({2}, {1, 2})), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "index is 5");
}

TEST_F(CustomOpTest, InferSeesNoElements) {
  const auto reads = [](void*, dlcore_context* ctx, dlcore_op_call* c) -> dlcore_status {
    dlcore_tensor* x = dlcore_op_call_input(c, 0);
    EXPECT_EQ(dlcore_tensor_dim(x, 0), 2);
    double out[2];
    EXPECT_EQ(dlcore_tensor_read_f64(ctx, x, out, 2), DLCORE_FAILED_PRECONDITION);
    dlcore_context_clear_error(ctx);
    EXPECT_GT(dlcore_tensor_to_string(ctx, x, nullptr, 0), 1);
    EXPECT_EQ(dlcore_relu(ctx, x), nullptr);
    dlcore_context_clear_error(ctx);
    EXPECT_EQ(dlcore_variable_create(ctx, "v", x, 0), nullptr);
    dlcore_context_clear_error(ctx);
    return dlcore_op_call_set_output_like(c, 0, x);
  };
  EXPECT_EQ(read(call(with_forward(square_forward, reads), f64({2}, {1, 2}))), (Doubles{1, 4}));
}

TEST_F(CustomOpTest, ACallIsOverWhenItsCallbackReturns) {
  static dlcore_op_call* kept_call;
  static dlcore_context* kept_context;
  static dlcore_tensor* kept_tensor;
  const int32_t op = with_forward([](void*, dlcore_context* ctx, dlcore_op_call* c) {
    kept_call = c;
    kept_context = ctx;
    kept_tensor = dlcore_relu(ctx, dlcore_op_call_input(c, 0));
    return dlcore_op_call_set_output(c, 0, kept_tensor);
  });
  EXPECT_EQ(read(call(op, f64({2}, {1, 2}))), (Doubles{1, 2}));
  EXPECT_EQ(dlcore_op_call_input(kept_call, 0), nullptr);
  EXPECT_EQ(dlcore_op_call_input_count(kept_call), 0);
  EXPECT_NE(dlcore_op_call_set_output(kept_call, 0, kept_tensor), DLCORE_OK);
  EXPECT_EQ(dlcore_context_status(kept_context), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_tensor_rank(kept_tensor), -1);
  EXPECT_EQ(dlcore_op_call_input_count(nullptr), 0);
  EXPECT_EQ(dlcore_op_call_input(nullptr, 0), nullptr);
}

TEST_F(CustomOpTest, CallsGiveTheirHandlesBack) {
  static std::set<void*> calls, contexts;
  calls.clear();
  contexts.clear();
  const int32_t op = with_forward([](void*, dlcore_context* ctx, dlcore_op_call* c) {
    calls.insert(c);
    contexts.insert(ctx);
    return dlcore_op_call_set_output(c, 0, dlcore_op_call_input(c, 0));
  });
  for (int i = 0; i < 3000; ++i) dlcore_tensor_release(call(op, f64({}, {1})));
  EXPECT_LT(calls.size(), 300u);
  EXPECT_LT(contexts.size(), 300u);
}

TEST_F(CustomOpTest, TheChildInheritsModesAndRandomNumbers) {
  const int32_t noisy = with_forward([](void*, dlcore_context* ctx, dlcore_op_call* c) {
    const int64_t shape[] = {2};
    EXPECT_EQ(dlcore_context_is_training(ctx), 0);
    dlcore_tensor* noise = dlcore_random_uniform(ctx, shape, 1);
    return dlcore_op_call_set_output(c, 0, dlcore_astype(ctx, noise, DLCORE_F64));
  });
  dlcore_context_set_training(ctx_, 0);
  dlcore_tensor* x = f64({2}, {1, 2});
  const Doubles first = read(call(noisy, x)), second = read(call(noisy, x));
  EXPECT_NE(first, second);
  EXPECT_EQ(dlcore_context_set_seed(ctx_, 42), DLCORE_OK);
  EXPECT_EQ(read(call(noisy, x)), first);
  EXPECT_EQ(read(call(noisy, x)), second);
  dlcore_context_set_training(ctx_, 1);
}

TEST_F(CustomOpTest, ACallbackCannotCloseItsCallersLevels) {
  static dlcore_transform* level;
  level = dlcore_vmap_open(ctx_, 2);
  const int32_t op = with_forward([](void*, dlcore_context* ctx, dlcore_op_call* c) {
    EXPECT_NE(dlcore_transform_close(ctx, level), DLCORE_OK);
    dlcore_context_clear_error(ctx);
    dlcore_context_close(ctx);  // nor end the call by closing its context
    return dlcore_op_call_set_output(c, 0, dlcore_op_call_input(c, 0));
  });
  call(op, f64({2}, {1, 2}));
  dlcore_context_clear_error(ctx_);
  EXPECT_EQ(dlcore_transform_close(ctx_, level), DLCORE_OK);
  EXPECT_NE(call(add(), f64({2}, {1, 2})), nullptr);
}

class CustomOpLifeTest : public ApiTest {};

TEST_F(CustomOpLifeTest, DestroyRunsOnceWhenTheEngineEnds) {
  Square s;
  dlcore_engine* engine = open_engine();
  dlcore_context* ctx = dlcore_context_open(engine, "cpu", 0, 0, nullptr);
  int32_t op = -1;
  EXPECT_EQ(dlcore_op_register(ctx, "s", 1, 1, 1, square_infer, square_forward, square_backward, &s,
                               square_destroy, &op),
            DLCORE_OK);
  dlcore_context_close(ctx);
  EXPECT_EQ(s.destroyed, 0);
  dlcore_engine_close(engine);
  EXPECT_EQ(s.destroyed, 1);
}

TEST_F(CustomOpLifeTest, DestroyRunsBeforeAFailedRegistrationReturns) {
  int32_t op = -1;
  const auto refused = [&](dlcore_context* ctx, const char* name, int32_t in, int32_t out,
                           int32_t attrs, dlcore_op_callback infer, int32_t* number) {
    Square s;
    EXPECT_NE(dlcore_op_register(ctx, name, in, out, attrs, infer, square_forward, square_backward,
                                 &s, square_destroy, number),
              DLCORE_OK);
    EXPECT_EQ(s.destroyed, 1);
    if (ctx != nullptr) {
      EXPECT_EQ(dlcore_ok(ctx), 0);
      dlcore_context_clear_error(ctx);
    }
  };
  refused(ctx_, nullptr, 1, 1, 1, square_infer, &op);
  refused(ctx_, "", 1, 1, 1, square_infer, &op);
  refused(ctx_, "x", 0, 1, 1, square_infer, &op);
  refused(ctx_, "x", 7, 1, 1, square_infer, &op);
  refused(ctx_, "x", 1, 0, 1, square_infer, &op);
  refused(ctx_, "x", 1, 4, 1, square_infer, &op);
  refused(ctx_, "x", 1, 1, -1, square_infer, &op);
  refused(ctx_, "x", 1, 1, 7, square_infer, &op);
  refused(ctx_, "x", 1, 1, 1, nullptr, &op);
  refused(ctx_, "x", 1, 1, 1, square_infer, nullptr);
  refused(ctx_, "relu", 1, 1, 1, square_infer, &op);
  refused(nullptr, "x", 1, 1, 1, square_infer, &op);
  EXPECT_EQ(op, -1);
  dlcore_context_set_error(ctx_, DLCORE_ABORTED, "stuck");
  refused(ctx_, "x", 1, 1, 1, square_infer, &op);
  Square s;
  EXPECT_EQ(dlcore_op_register(ctx_, "x", 1, 1, 1, square_infer, square_forward, nullptr, &s,
                               nullptr, &op),
            DLCORE_OK);
  refused(ctx_, "x", 1, 1, 1, square_infer, &op);
}

TEST_F(CustomOpLifeTest, NumbersAreOfOneEngine) {
  Square s;
  int32_t op = -1;
  dlcore_op_register(ctx_, "x", 1, 1, 1, square_infer, square_forward, nullptr, &s, nullptr, &op);
  dlcore_engine* other = open_engine();
  dlcore_context* there = dlcore_context_open(other, "cpu", 0, 0, nullptr);
  EXPECT_EQ(dlcore_op_name(there, op), nullptr);
  const int64_t word = 1;
  EXPECT_EQ(dlcore_op_call1(there, op, dlcore_tensor_scalar_f32(there, 1), &word, 1), nullptr);
  EXPECT_EQ(dlcore_context_status(there), DLCORE_INVALID_ARGUMENT);
  dlcore_context_close(there);
  dlcore_engine_close(other);
}

}  // namespace
}  // namespace dlcore::test
