// SPDX-License-Identifier: Apache-2.0
// Models whose variables all hold one number, which steps raise.
#pragma once

#include "module_support.h"

namespace dlcore::test {

class CountingTest : public ModuleTest {
 protected:
  dlcore_optimizer* sgd(dlcore_module* m) { return dlcore_sgd(ctx_, m, /*lr=*/1); }
  // Every variable of a model at the same number.
  void fill(dlcore_module* m, double value) {
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      dlcore_variable* v = dlcore_module_variable(ctx_, m, i);
      const Shape shape = shape_of(dlcore_variable_read(ctx_, v));
      ASSERT_EQ(
          dlcore_variable_assign(
              ctx_, v, dlcore_full(ctx_, shape.data(), static_cast<int32_t>(shape.size()), value)),
          DLCORE_OK);
    }
  }
  // Adds `by` to every element of every variable, by one step of SGD.
  static void step_up(dlcore_context* ctx, dlcore_module* m, dlcore_optimizer* o, double by = 1) {
    dlcore_scope* scope = dlcore_scope_open(ctx);
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      dlcore_variable* v = dlcore_module_variable(ctx, m, i);
      const Shape shape = shape_of(dlcore_variable_read(ctx, v));
      dlcore_variable_set_gradient(
          ctx, v, dlcore_full(ctx, shape.data(), static_cast<int32_t>(shape.size()), -by));
    }
    EXPECT_EQ(dlcore_optimizer_step(ctx, o), DLCORE_OK) << dlcore_context_error_message(ctx);
    dlcore_scope_close(ctx, scope);
  }
  // The same as a graph.
  dlcore_executable* captured_step(dlcore_module* m, dlcore_optimizer* o, double by = 1) {
    EXPECT_EQ(dlcore_capture_begin(ctx_, "step"), DLCORE_OK);
    for (int64_t i = 0; i < dlcore_module_variable_count(m); ++i) {
      dlcore_variable* v = dlcore_module_variable(ctx_, m, i);
      const Shape shape = shape_of(dlcore_variable_read(ctx_, v));
      dlcore_variable_set_gradient(
          ctx_, v, dlcore_full(ctx_, shape.data(), static_cast<int32_t>(shape.size()), -by));
    }
    EXPECT_EQ(dlcore_optimizer_step(ctx_, o), DLCORE_OK);
    dlcore_graph* graph = dlcore_capture_end(ctx_, nullptr, 0);
    return dlcore_graph_compile(ctx_, graph, nullptr, 0);
  }
  static Doubles elements(dlcore_context* ctx, dlcore_tensor* t) {
    std::vector<float> values(static_cast<size_t>(dlcore_tensor_count(t)));
    dlcore_tensor_read_f32(ctx, t, values.data(), static_cast<int64_t>(values.size()));
    return {values.begin(), values.end()};
  }
};

}  // namespace dlcore::test
