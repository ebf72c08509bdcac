// SPDX-License-Identifier: Apache-2.0
// Passes, as texts before and after.
#include "tests/graph/support.h"

namespace graph_test {
namespace {

class PassTest : public GraphTest {
 protected:
  void expect_after(const char* pass, const std::string& before, const std::string& after) {
    dlcore_graph* graph = s.parse(before);
    ASSERT_NE(graph, nullptr) << s.message();
    dlcore_graph* result = dlcore_graph_apply(s.ctx, graph, pass);
    ASSERT_NE(result, nullptr) << s.message();
    EXPECT_EQ(s.text(result), after);
    EXPECT_EQ(dlcore_graph_verify(s.ctx, result), DLCORE_OK) << s.message();
    EXPECT_EQ(s.text(graph), before);  // which stays as it is
    dlcore_graph* again = dlcore_graph_apply(s.ctx, result, pass);
    EXPECT_EQ(s.text(again), after);
  }
  Session s{engine};
};

TEST_F(PassTest, UnknownOnesAreListed) {
  EXPECT_EQ(dlcore_graph_apply(s.ctx, s.parse("graph.v1 \"g\" () {\n return\n}"), "fusion"),
            nullptr);
  s.expect_error(DLCORE_NOT_FOUND, {"'fusion'", "cse", "dce"});
}

TEST_F(PassTest, DceDropsNodesConstantsAndStateButNoInputs) {
  expect_after("dce",
               "graph.v1 \"g\" (%0 \"x\": f32[B, 2], %1 \"unused\": f32[B]) {\n"
               "  state %2 \"read\": f32[2]\n"
               "  state %3 \"unread\": f32[2]\n"
               "  state %4 \"written\": f32[2]\n"
               "  const %5: f32[2] = [0x1p+0, 0x1p+1]\n"
               "  const %6: f32[2] = [0x1p+1, 0x1p+1]\n"
               "  %7: f32[B, 2] = add.v1(%0, %2)\n"
               "  %8: f32[B, 2] = exp.v1(%7)\n"
               "  %9: f32[B, 2] = add.v1(%8, %6)\n"
               "  %10: f32[2] = add.v1(%2, %5)\n"
               "  %11: f32[B, 2] = negative.v1(%7)\n"
               "  update %4 = %10\n"
               "  return %11\n"
               "}\n",
               "graph.v1 \"g\" (%0 \"x\": f32[B, 2], %1 \"unused\": f32[B]) {\n"
               "  state %2 \"read\": f32[2]\n"
               "  state %3 \"written\": f32[2]\n"
               "  const %4: f32[2] = [0x1p+0, 0x1p+1]\n"
               "  %5: f32[B, 2] = add.v1(%0, %2)\n"
               "  %6: f32[2] = add.v1(%2, %4)\n"
               "  %7: f32[B, 2] = negative.v1(%5)\n"
               "  update %3 = %6\n"
               "  return %7\n"
               "}\n");
}

TEST_F(PassTest, DceKeepsAnOpForOneOfItsResults) {
  const std::string text =
      "graph.v1 \"g\" (%0 \"x\": f32[B, 2], %1 \"y\": i64[B]) {\n"
      "  %2: f32[], %3: f32[B] = cross_entropy.v1(%0, %1) {reduction = \"mean\", ignore_index = "
      "none, label_smoothing = 0x0p+0}\n"
      "  return %3\n"
      "}\n";
  expect_after("dce", text, text);
}

TEST_F(PassTest, CseSharesWhatIsExactlyEqual) {
  expect_after("cse",
               "graph.v1 \"g\" (%0 \"x\": f32[4], %1 \"key\": i64[3]) {\n"
               "  %2: f32[4] = exp.v1(%0)\n"
               "  %3: f32[4] = exp.v1(%0)\n"
               "  %4: f32[4] = negative.v1(%2)\n"
               "  %5: f32[4] = negative.v1(%3)\n"
               "  %6: f32[4] = softmax.v1(%4) {axis = 0}\n"
               "  %7: f32[4] = softmax.v1(%5) {axis = -1}\n"
               "  %8: f32[4] = subtract.v1(%4, %0)\n"
               "  %9: f32[4] = subtract.v1(%0, %4)\n"
               "  %10: f32[4] = random_uniform.v1(%1) {shape = [4], low = 0x0p+0, high = 0x1p+0, "
               "dtype = f32}\n"
               "  %11: f32[4] = random_uniform.v1(%1) {shape = [4], low = 0x0p+0, high = 0x1p+0, "
               "dtype = f32}\n"
               "  return %6, %7, %8, %9, %10, %11, %5\n"
               "}\n",
               "graph.v1 \"g\" (%0 \"x\": f32[4], %1 \"key\": i64[3]) {\n"
               "  %2: f32[4] = exp.v1(%0)\n"
               "  %3: f32[4] = negative.v1(%2)\n"
               "  %4: f32[4] = softmax.v1(%3) {axis = 0}\n"
               "  %5: f32[4] = softmax.v1(%3) {axis = -1}\n"
               "  %6: f32[4] = subtract.v1(%3, %0)\n"
               "  %7: f32[4] = subtract.v1(%0, %3)\n"
               "  %8: f32[4] = random_uniform.v1(%1) {shape = [4], low = 0x0p+0, high = 0x1p+0, "
               "dtype = f32}\n"
               "  return %4, %5, %6, %7, %8, %8, %3\n"
               "}\n");
}

}  // namespace
}  // namespace graph_test
