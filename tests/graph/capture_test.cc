// SPDX-License-Identifier: Apache-2.0
// Capturing: what may meet a capture, what it leaves behind, how errors name things.
#include "tests/graph/support.h"

namespace graph_test {
namespace {

class CaptureTest : public GraphTest {
 protected:
  dlcore_variable* variable(const char* name, dlcore_tensor* value) {
    return dlcore_variable_create(s.ctx, name, value, DLCORE_VARIABLE_TRAINABLE);
  }
  Session s{engine};
};

TEST_F(CaptureTest, OnlyOneAtATimeAndOutsideOfLevels) {
  EXPECT_EQ(dlcore_capture_begin(s.ctx, nullptr), DLCORE_INVALID_ARGUMENT);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"name"});
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "a"), DLCORE_OK);
  EXPECT_EQ(dlcore_capture_begin(s.ctx, "b"), DLCORE_FAILED_PRECONDITION);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"capture_begin"});
  EXPECT_EQ(dlcore_capture_abort(s.ctx), DLCORE_OK);
  dlcore_transform* level = dlcore_vmap_open(s.ctx, 3);
  EXPECT_EQ(dlcore_capture_begin(s.ctx, "c"), DLCORE_FAILED_PRECONDITION);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"levels"});
  dlcore_transform_close(s.ctx, level);
  EXPECT_EQ(dlcore_capture_begin(s.ctx, "d"), DLCORE_OK);
}

TEST_F(CaptureTest, CallsOutsideOfOne) {
  EXPECT_EQ(s.input("x", DLCORE_F32, "[2]"), nullptr);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"capture_input", "no capture"});
  EXPECT_EQ(dlcore_capture_constant(s.ctx, s.f32({1}, {1})), nullptr);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"capture_constant"});
  EXPECT_EQ(s.end({}), nullptr);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"capture_end"});
  EXPECT_EQ(dlcore_capture_abort(s.ctx), DLCORE_OK);
}

TEST_F(CaptureTest, InputsAreChecked) {
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  s.input("x", DLCORE_F32, "[2]");
  EXPECT_EQ(s.input("x", DLCORE_F32, "[2]"), nullptr);
  s.expect_error(DLCORE_ALREADY_EXISTS, {"'x'"});
  EXPECT_EQ(s.input("y", 99, "[2]"), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"dtype"});
  for (const char* shape : {"", "2", "[2", "[-2]", "[B +]", "[2,,3]", "[99999999999999999999]"}) {
    EXPECT_EQ(s.input("y", DLCORE_F32, shape), nullptr) << shape;
    s.expect_error(DLCORE_INVALID_ARGUMENT, {});
  }
}

TEST_F(CaptureTest, ConcreteTensorsAreRefused) {
  dlcore_tensor* concrete = s.f32({2}, {1, 2});
  dlcore_tensor* scalar = dlcore_tensor_scalar_f32(s.ctx, 2);
  dlcore_variable* v = variable("v", s.f32({2}, {0, 0}));
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[2]");
  for (dlcore_tensor* t : {concrete, scalar}) {
    EXPECT_EQ(s.op("add", {x, t}), nullptr);
    s.expect_error(DLCORE_INVALID_ARGUMENT,
                   {"add: b is a concrete tensor in a capture", "capture_constant"});
  }
  EXPECT_NE(dlcore_variable_assign(s.ctx, v, concrete), DLCORE_OK);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"'v'", "concrete"});
  EXPECT_EQ(s.end({x, concrete}), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"output 1"});
  // The capture is still open, and a second attempt starts over.
  dlcore_graph* graph = s.end({s.op("add", {x, dlcore_capture_constant(s.ctx, concrete)})});
  ASSERT_NE(graph, nullptr) << s.message();
  EXPECT_NE(s.text(graph).find("return %2\n"), std::string::npos) << s.text(graph);
}

TEST_F(CaptureTest, WeakScalarsAndEqualConstantsAreWrittenOnce) {
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[2]");
  for (int i = 0; i < 3; ++i) x = s.op("multiply", {x, dlcore_tensor_weak_f64(s.ctx, 2.5)});
  dlcore_tensor* a = dlcore_capture_constant(s.ctx, s.f32({2}, {1, 2}));
  dlcore_tensor* b = dlcore_capture_constant(s.ctx, s.f32({2}, {1, 2}));
  const std::string text = s.text(s.end({s.op("add", {s.op("add", {x, a}), b})}));
  size_t constants = 0;
  for (size_t at = text.find("const "); at != std::string::npos; at = text.find("const ", at + 1))
    ++constants;
  EXPECT_EQ(constants, 2u) << text;
}

TEST_F(CaptureTest, ReadingASymbolicValueNamesWhatMadeIt) {
  dlcore_variable* v = variable("v", s.f32({2}, {1, 2}));
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[2]");
  float data[2];
  const auto read = [&](dlcore_tensor* t) { return dlcore_tensor_read_f32(s.ctx, t, data, 2); };
  EXPECT_NE(read(s.op("exp", {x})), DLCORE_OK);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"op 'exp'"});
  EXPECT_NE(read(x), DLCORE_OK);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"input 'x'"});
  EXPECT_NE(read(dlcore_variable_read(s.ctx, v)), DLCORE_OK);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"variable 'v'"});
  EXPECT_NE(read(dlcore_capture_constant(s.ctx, s.f32({2}, {1, 2}))), DLCORE_OK);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"constant"});
  dlcore_capture_abort(s.ctx);
  EXPECT_NE(read(x), DLCORE_OK);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"ended"});
}

TEST_F(CaptureTest, ValuesEndWithTheirCapture) {
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "a"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[2]");
  dlcore_graph* graph = s.end({x});
  EXPECT_EQ(s.op("exp", {x}), nullptr);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"exp"});
  dlcore_executable* executable = dlcore_graph_compile(s.ctx, graph, nullptr, 0);
  s.run(executable, {x}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"executable_run", "'x'", "capture"});
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "b"), DLCORE_OK);
  EXPECT_EQ(s.op("exp", {x}), nullptr);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"exp"});
  EXPECT_EQ(s.end({x}), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"output 0"});
  s.run(executable, {s.f32({2}, {1, 2})}, 1);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"executable_run", "capture is open"});
}

TEST_F(CaptureTest, GradientsThatNobodyAppliedAreAnError) {
  dlcore_variable* w = variable("w", s.f32({2}, {1, 2}));
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[2]");
  dlcore_tensor* loss = s.op("sum", {s.op("multiply", {x, dlcore_variable_read(s.ctx, w)})});
  EXPECT_EQ(dlcore_backward(s.ctx, loss), DLCORE_OK);
  EXPECT_EQ(s.end({loss}), nullptr);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"capture_end", "gradients", "optimizer_step"});
  EXPECT_EQ(dlcore_variable_set_gradient(s.ctx, w, nullptr), DLCORE_OK);
  EXPECT_NE(s.end({loss}), nullptr) << s.message();
}

TEST_F(CaptureTest, AbortLeavesNoTrace) {
  dlcore_variable* w = variable("w", s.f32({2}, {1, 2}));
  dlcore_variable* generator = dlcore_context_generator(s.ctx);
  const std::vector<int64_t> state = s.integers(generator);
  dlcore_tensor* gradient = s.f32({2}, {5, 6});
  ASSERT_EQ(dlcore_variable_set_gradient(s.ctx, w, gradient), DLCORE_OK);
  dlcore_engine_statistics before{};
  before.struct_size = sizeof before;
  dlcore_engine_get_statistics(engine, &before);

  dlcore_scope* scope = dlcore_scope_open(s.ctx);
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[2]");
  dlcore_tensor* noise = s.op("random_uniform", {}, Words().dims({2}));
  dlcore_tensor* y = s.op("multiply", {s.op("add", {x, noise}), dlcore_variable_read(s.ctx, w)});
  EXPECT_EQ(dlcore_backward(s.ctx, s.op("sum", {y})), DLCORE_OK) << s.message();
  EXPECT_EQ(dlcore_variable_assign(s.ctx, w, y), DLCORE_OK);
  s.op("no_such_op", {x});  // with an error that sticks
  EXPECT_EQ(dlcore_capture_abort(s.ctx), DLCORE_OK);
  EXPECT_FALSE(dlcore_ok(s.ctx));
  dlcore_context_clear_error(s.ctx);
  dlcore_scope_close(s.ctx, scope);

  dlcore_engine_statistics after{};
  after.struct_size = sizeof after;
  dlcore_engine_get_statistics(engine, &after);
  EXPECT_EQ(after.live_graphs, before.live_graphs);
  EXPECT_EQ(after.live_tensors, before.live_tensors);
  EXPECT_EQ(s.floats(w), (std::vector<float>{1, 2}));
  EXPECT_EQ(s.floats(dlcore_variable_gradient(s.ctx, w)), (std::vector<float>{5, 6}));
  EXPECT_EQ(s.integers(generator), state);
  EXPECT_EQ(s.floats(s.op("exp", {s.f32({1}, {0})})), std::vector<float>{1});  // eager again
  s.expect_ok();
}

TEST_F(CaptureTest, CapturingChangesNoVariable) {
  dlcore_variable* w = variable("w", s.f32({2}, {1, 2}));
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[2]");
  EXPECT_EQ(dlcore_variable_assign(s.ctx, w, s.op("add", {dlcore_variable_read(s.ctx, w), x})),
            DLCORE_OK);
  EXPECT_EQ(dlcore_variable_accumulate(s.ctx, w, x), DLCORE_OK);
  dlcore_tensor* y = dlcore_variable_read(s.ctx, w);  // what has been assigned so far
  dlcore_graph* graph = s.end({y});
  EXPECT_EQ(s.floats(w), (std::vector<float>{1, 2}));
  EXPECT_EQ(s.text(graph),
            "graph.v1 \"g\" (%0 \"x\": f32[2]) {\n"
            "  state %1 \"w\": f32[2]\n"
            "  %2: f32[2] = add.v1(%1, %0)\n"
            "  %3: f32[2] = add.v1(%2, %0)\n"
            "  update %1 = %3\n"
            "  return %3\n"
            "}\n");
  const auto outputs =
      s.run(dlcore_graph_compile(s.ctx, graph, nullptr, 0), {s.f32({2}, {10, 20})}, 1);
  EXPECT_EQ(s.floats(outputs[0]), (std::vector<float>{21, 42}));
  EXPECT_EQ(s.floats(w), (std::vector<float>{21, 42}));
}

TEST_F(CaptureTest, VariablesOfOneNameGetNamesOfTheirOwn) {
  dlcore_variable* a = variable("w", s.f32({1}, {1}));
  dlcore_variable* b = variable("w", s.f32({1}, {2}));
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_tensor* y =
      s.op("subtract", {dlcore_variable_read(s.ctx, a), dlcore_variable_read(s.ctx, b)});
  dlcore_graph* graph = s.end({y});
  EXPECT_NE(s.text(graph).find("\"w.2\""), std::string::npos) << s.text(graph);
  s.expect_stable(s.text(graph));
  EXPECT_EQ(s.floats(s.run(dlcore_graph_compile(s.ctx, graph, nullptr, 0), {}, 1)[0]),
            std::vector<float>{-1});
}

}  // namespace
}  // namespace graph_test
