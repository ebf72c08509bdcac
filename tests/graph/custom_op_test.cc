// SPDX-License-Identifier: Apache-2.0
// A program's own ops in graphs.
#include "tests/graph/support.h"

namespace graph_test {
namespace {

// Doubles its input; on the way it may run an executable.
struct Twice {
  dlcore_executable* run_inside = nullptr;
  int forwards = 0;
};

dlcore_status infer(void*, dlcore_context*, dlcore_op_call* call) {
  return dlcore_op_call_set_output_like(call, 0, dlcore_op_call_input(call, 0));
}

dlcore_status forward(void* user_data, dlcore_context* child, dlcore_op_call* call) {
  auto* twice = static_cast<Twice*>(user_data);
  ++twice->forwards;
  dlcore_tensor* x = dlcore_op_call_input(call, 0);
  if (twice->run_inside != nullptr) {
    dlcore_executable_run(child, twice->run_inside, nullptr, 0, nullptr, 0);
  }
  const int32_t add = dlcore_catalogue_find(child, DLCORE_CATALOGUE_OPS, "add");
  return dlcore_op_call_set_output(call, 0, dlcore_op_call2(child, add, x, x, nullptr, 0));
}

class CustomOpTest : public GraphTest {
 protected:
  dlcore_tensor* call(dlcore_tensor* x) { return dlcore_op_call1(s.ctx, number, x, nullptr, 0); }
  void add_op(const char* name) {
    ASSERT_EQ(
        dlcore_op_register(s.ctx, name, 1, 1, 0, infer, forward, nullptr, &twice, nullptr, &number),
        DLCORE_OK)
        << s.message();
  }
  Twice twice;
  int32_t number = -1;
  Session s{engine};
};

TEST_F(CustomOpTest, RunsWhenTheGraphDoes) {
  add_op("twice it");  // a name that the text has to quote
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "g"), DLCORE_OK);
  dlcore_graph* graph = s.end({call(call(s.input("x", DLCORE_F32, "[B]")))});
  ASSERT_NE(graph, nullptr) << s.message();
  EXPECT_EQ(twice.forwards, 0);
  const std::string text = s.text(graph);
  EXPECT_NE(text.find(" = \"twice it.v1\"(%0)\n"), std::string::npos) << text;
  s.expect_stable(text);
  // Passes leave it alone, since it may answer differently each time.
  EXPECT_EQ(dlcore_graph_node_count(dlcore_graph_apply(s.ctx, graph, "cse")), 2);
  dlcore_executable* executable = dlcore_graph_compile(s.ctx, s.parse(text), nullptr, 0);
  EXPECT_EQ(s.floats(s.run(executable, {s.f32({2}, {1, 2})}, 1)[0]), (std::vector<float>{4, 8}));
  EXPECT_EQ(twice.forwards, 2);
  s.expect_ok();
}

TEST_F(CustomOpTest, AnUpdatingRunInsideARunIsRefused) {
  add_op("twice");
  dlcore_variable* w = dlcore_variable_create(s.ctx, "w", s.f32({1}, {3}), 0);
  dlcore_graph* graph = s.parse(
      "graph.v1 \"g\" () {\n"
      "  state %0 \"w\": f32[1]\n"
      "  %1: f32[1] = twice.v1(%0)\n"
      "  update %0 = %1\n"
      "  return\n"
      "}\n");
  ASSERT_NE(graph, nullptr) << s.message();
  dlcore_executable* executable = dlcore_graph_compile(s.ctx, graph, &w, 1);
  s.run(executable, {}, 0);
  s.expect_ok();
  twice.run_inside = executable;
  s.run(executable, {}, 0);
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"twice", "inside another run"});
  EXPECT_EQ(s.floats(w), std::vector<float>{6});
}

}  // namespace
}  // namespace graph_test
