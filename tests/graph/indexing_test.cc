// SPDX-License-Identifier: Apache-2.0
// Pooling and indexing in graphs: sizes that are symbols, and their derivatives, with the bits of
// the same calls made eagerly.
#include "tests/graph/support.h"

namespace graph_test {
namespace {

class IndexingGraphTest : public GraphTest {
 protected:
  // Values, and their gradients with respect to the scale and the table.
  std::vector<dlcore_tensor*> calls(dlcore_tensor* x, dlcore_tensor* indices) {
    dlcore_tensor* leaves[] = {dlcore_variable_read(s.ctx, scale),
                               dlcore_variable_read(s.ctx, table)};
    dlcore_tensor* h = s.op("multiply", {x, leaves[0]});
    const Words three = Words().list({3}).number(1).list({2}).number(1).list({1});
    dlcore_tensor* largest = s.op("max_pool2d", {h}, three);
    dlcore_tensor* mean = s.op("avg_pool2d", {h}, Words(three).number(1).number(0));
    dlcore_tensor* halves = s.op("max_pool2d", {h}, Words().list({2}));
    dlcore_tensor* rows = s.op("embedding", {leaves[1], indices}, Words().number(1).number(1));
    dlcore_tensor* taken = s.op("take", {h, indices}, Words().number(3));
    dlcore_tensor* loss = nullptr;
    for (dlcore_tensor* part : {largest, mean, halves, rows, taken}) {
      dlcore_tensor* total = s.op("sum", {s.op("square", {part})});
      loss = loss == nullptr ? total : s.op("add", {loss, total});
    }
    dlcore_tensor* gradients[2] = {};
    dlcore_autograd_grad(s.ctx, &loss, 1, leaves, 2, nullptr, nullptr, gradients);
    return {largest, mean, halves, rows, taken, gradients[0], gradients[1]};
  }

  Session s{engine};
  dlcore_variable* scale = dlcore_variable_create(s.ctx, "scale", s.spread({5, 6}, 1, 3), 1);
  dlcore_variable* table = dlcore_variable_create(s.ctx, "table", s.spread({6, 4}, 1, 9), 1);
};

TEST_F(IndexingGraphTest, RunsForAnyNumberOfExamples) {
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "pooled"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[B, 2, 5, 6]");
  const auto results = calls(x, s.input("indices", DLCORE_I64, "[N]"));
  dlcore_graph* graph =
      dlcore_capture_end(s.ctx, results.data(), static_cast<int64_t>(results.size()));
  ASSERT_NE(graph, nullptr) << s.message();
  s.expect_stable(s.text(graph));
  dlcore_variable* variables[] = {scale, table};
  dlcore_executable* executable = dlcore_graph_compile(s.ctx, graph, variables, 2);
  ASSERT_NE(executable, nullptr) << s.message();
  for (const int64_t n : {1, 3}) {
    dlcore_tensor* images = s.spread({n, 2, 5, 6}, 2);
    dlcore_tensor* indices = n == 1 ? s.i64({2}, {1, -6}) : s.i64({3}, {5, 1, 5});
    const auto captured = s.run(executable, {images, indices}, results.size());
    const auto eager = calls(images, indices);
    s.expect_ok();
    for (size_t i = 0; i < results.size(); ++i) {
      expect_same_bits(s.floats(captured[i]), s.floats(eager[i]), "result " + std::to_string(i));
    }
  }
}

TEST_F(IndexingGraphTest, PoolsPlanesOfAnySize) {
  ASSERT_EQ(dlcore_capture_begin(s.ctx, "planes"), DLCORE_OK);
  dlcore_tensor* x = s.input("x", DLCORE_F32, "[2, H, W]");
  dlcore_tensor* largest = s.op("max_pool2d", {x}, Words().list({3, 2}).number(1).list({2}));
  dlcore_tensor* same =
      s.op("avg_pool2d", {x},
           Words().list({3}).number(1).list({2}).number(0).number(0).number(0).text("same_upper"));
  EXPECT_EQ(s.op("max_pool2d", {x}, Words().list({2}).number(0).number(0).number(0).number(1)),
            nullptr);
  s.expect_error(DLCORE_UNIMPLEMENTED, {"max_pool2d: ceil_mode with a symbolic number of rows"});
  dlcore_graph* graph = s.end({largest, same});
  ASSERT_NE(graph, nullptr) << s.message();
  dlcore_executable* executable = dlcore_graph_compile(s.ctx, graph, nullptr, 0);
  ASSERT_NE(executable, nullptr) << s.message();
  for (const int64_t size : {3, 8}) {
    const auto outputs = s.run(executable, {s.spread({2, size, size + 1}, 1)}, 2);
    ASSERT_NE(outputs[1], nullptr) << s.message();
    EXPECT_EQ(dlcore_tensor_dim(outputs[0], 1), (size - 3) / 2 + 1);
    EXPECT_EQ(dlcore_tensor_dim(outputs[0], 2), (size - 1) / 2 + 1);
    EXPECT_EQ(dlcore_tensor_dim(outputs[1], 1), (size + 1) / 2);
  }
  s.run(executable, {s.spread({2, 2, 4}, 1)}, 2);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"the kernel covers 3 rows, but x has 2"});
}

}  // namespace
}  // namespace graph_test
