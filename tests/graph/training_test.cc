// SPDX-License-Identifier: Apache-2.0
// A whole training step, captured once and run many times, against the same calls made eagerly:
// equal bits.
#include "tests/graph/support.h"

namespace graph_test {
namespace {

// An MLP with dropout, and Adam on clipped gradients. Two of them start equal.
class Mlp {
 public:
  explicit Mlp(dlcore_engine* engine) : s(engine, 42) {
    const auto parameter = [&](const char* name, std::initializer_list<int64_t> shape,
                               double scale) {
      parameters.push_back(dlcore_variable_create(
          s.ctx, name, s.spread(shape, scale, static_cast<int64_t>(parameters.size())),
          DLCORE_VARIABLE_TRAINABLE));
    };
    parameter("0.weight", {16, 12}, 0.4);
    parameter("0.bias", {16}, 0.1);
    parameter("1.weight", {5, 16}, 0.4);
    parameter("1.bias", {5}, 0.1);
    const int32_t adam = dlcore_catalogue_find(s.ctx, DLCORE_CATALOGUE_OPTIMIZERS, "Adam");
    const Words attrs = Words().real(0.01).real(0.9).real(0.99).real(1e-8).real(0.01);
    optimizer = dlcore_optimizer_create(s.ctx, adam, nullptr, 0, nullptr, 0);
    dlcore_optimizer_add_group(s.ctx, optimizer, parameters.data(),
                               static_cast<int64_t>(parameters.size()), attrs.get().data(),
                               static_cast<int64_t>(attrs.get().size()));
    s.expect_ok();
  }

  // Loss and norm of the gradients.
  std::vector<dlcore_tensor*> step(dlcore_tensor* x, dlcore_tensor* labels, dlcore_tensor* mask) {
    const auto read = [&](size_t i) { return dlcore_variable_read(s.ctx, parameters[i]); };
    dlcore_tensor* h = s.op("relu", {s.op("linear", {x, read(0), read(1)})});
    dlcore_tensor* noise = s.op("random_uniform", {}, Words().dims({16}));
    dlcore_tensor* keep = s.op("less", {noise, dlcore_tensor_weak_f64(s.ctx, 0.75)});
    h = s.op("where", {keep, s.op("divide", {h, dlcore_tensor_weak_f64(s.ctx, 0.75)}),
                       s.op("multiply", {h, dlcore_tensor_weak_i64(s.ctx, 0)})});
    h = s.op("multiply", {h, mask});
    dlcore_tensor* logits = s.op("linear", {s.op("tanh", {h}), read(2), read(3)});
    dlcore_tensor* loss =
        s.op("cross_entropy", {logits, labels}, Words().text("mean").number(0).real(0.1));
    dlcore_backward(s.ctx, loss);
    dlcore_tensor* norm = dlcore_optimizer_clip_gradients(s.ctx, optimizer, 0.5);
    dlcore_optimizer_step(s.ctx, optimizer);
    return {loss, norm};
  }

  Session s;
  std::vector<dlcore_variable*> parameters;
  dlcore_optimizer* optimizer = nullptr;
};

class TrainingTest : public GraphTest {
 protected:
  static dlcore_tensor* classes(Session& s, int64_t n, int64_t start) {
    std::vector<int64_t> data;
    for (int64_t i = 0; i < n; ++i) data.push_back((i * 3 + start) % 5);
    return s.i64({n}, data);
  }
  // The state of both, everything included.
  static void expect_same_state(Mlp& a, Mlp& b, const std::string& when) {
    for (size_t i = 0; i < a.parameters.size(); ++i) {
      expect_same_bits(a.s.floats(a.parameters[i]), b.s.floats(b.parameters[i]),
                       when + ": parameter " + std::to_string(i));
    }
    EXPECT_EQ(a.s.integers(dlcore_context_generator(a.s.ctx)),
              b.s.integers(dlcore_context_generator(b.s.ctx)))
        << when;
    const int64_t n = dlcore_optimizer_variable_count(a.optimizer);
    ASSERT_EQ(n, dlcore_optimizer_variable_count(b.optimizer));
    for (int64_t i = 0; i < n; ++i) {
      dlcore_tensor* ours =
          dlcore_variable_read(a.s.ctx, dlcore_optimizer_variable(a.s.ctx, a.optimizer, i));
      dlcore_tensor* theirs =
          dlcore_variable_read(b.s.ctx, dlcore_optimizer_variable(b.s.ctx, b.optimizer, i));
      const dlcore_dtype dtype = dlcore_tensor_dtype(ours);
      ASSERT_EQ(dtype, dlcore_tensor_dtype(theirs)) << when;
      const uint64_t bytes =
          static_cast<uint64_t>(dlcore_tensor_count(ours)) * dlcore_dtype_size(dtype);
      std::vector<std::byte> x(bytes), y(bytes);
      dlcore_tensor_read(a.s.ctx, ours, dtype, x.data(), bytes);
      dlcore_tensor_read(b.s.ctx, theirs, dtype, y.data(), bytes);
      EXPECT_EQ(x, y) << when << ": state " << i << " of the optimizer";
    }
  }
  dlcore_graph* capture(Mlp& m, const char* x_shape, const char* label_shape,
                        const char* mask_shape) {
    EXPECT_EQ(dlcore_capture_begin(m.s.ctx, "step"), DLCORE_OK);
    dlcore_tensor* x = m.s.input("x", DLCORE_F32, x_shape);
    dlcore_tensor* labels = m.s.input("labels", DLCORE_I64, label_shape);
    dlcore_tensor* mask = m.s.input("mask", DLCORE_F32, mask_shape);
    const auto results = m.step(x, labels, mask);
    dlcore_graph* graph = dlcore_capture_end(m.s.ctx, results.data(), 2);
    EXPECT_NE(graph, nullptr) << m.s.message();
    return graph;
  }
  // 64, 64, 64, 64, and a last batch that is smaller.
  void train(Mlp& eager, Mlp& captured, dlcore_executable* executable, int steps, int64_t last) {
    for (int i = 0; i < steps; ++i) {
      const int64_t n = i % 5 == 4 ? last : 64;
      const auto batch = [&](Session& s) {
        return std::vector<dlcore_tensor*>{s.spread({n, 12}, 1, i * 31), classes(s, n, i),
                                           s.spread({n, 16}, 1.5, i)};
      };
      dlcore_scope* scope = dlcore_scope_open(eager.s.ctx);
      dlcore_scope* other = dlcore_scope_open(captured.s.ctx);
      const auto inputs = batch(eager.s);
      const auto expected = eager.step(inputs[0], inputs[1], inputs[2]);
      const auto given = batch(captured.s);
      const auto got = captured.s.run(executable, {given[0], given[1], given[2]}, 2);
      eager.s.expect_ok();
      captured.s.expect_ok();
      for (size_t k = 0; k < 2; ++k) {
        expect_same_bits(eager.s.floats(expected[k]), captured.s.floats(got[k]),
                         "step " + std::to_string(i));
      }
      if (i % 10 == 0) expect_same_state(eager, captured, "step " + std::to_string(i));
      dlcore_scope_close(captured.s.ctx, other);
      dlcore_scope_close(eager.s.ctx, scope);
      if (HasFatalFailure()) return;
    }
    expect_same_state(eager, captured, "the end");
  }
};

TEST_F(TrainingTest, FixedSizes) {
  Mlp eager(engine), captured(engine);
  dlcore_graph* graph = capture(captured, "[64, 12]", "[64]", "[64, 16]");
  ASSERT_NE(graph, nullptr);
  captured.s.expect_stable(captured.s.text(graph));
  train(eager, captured, dlcore_graph_compile(captured.s.ctx, graph, nullptr, 0), 60, 64);
}

TEST_F(TrainingTest, SymbolicBatchWithAPartialLastOne) {
  Mlp eager(engine), captured(engine);
  dlcore_graph* graph = capture(captured, "[B, 12]", "[B]", "[B, 16]");
  ASSERT_NE(graph, nullptr);
  captured.s.expect_stable(captured.s.text(graph));
  train(eager, captured, dlcore_graph_compile(captured.s.ctx, graph, nullptr, 0), 60, 17);
}

TEST_F(TrainingTest, FromTextAfterPasses) {
  Mlp eager(engine), captured(engine);
  Session& s = captured.s;
  dlcore_graph* graph = s.parse(s.text(capture(captured, "[B, 12]", "[B]", "[B, 16]")));
  for (const char* pass : {"cse", "dce"}) graph = dlcore_graph_apply(s.ctx, graph, pass);
  ASSERT_NE(graph, nullptr) << s.message();
  std::vector<dlcore_variable*> variables = captured.parameters;
  variables.push_back(dlcore_context_generator(s.ctx));
  for (int64_t i = 0; i < dlcore_optimizer_variable_count(captured.optimizer); ++i) {
    variables.push_back(dlcore_optimizer_variable(s.ctx, captured.optimizer, i));
  }
  dlcore_executable* executable =
      dlcore_graph_compile(s.ctx, graph, variables.data(), static_cast<int64_t>(variables.size()));
  ASSERT_NE(executable, nullptr) << s.message();
  train(eager, captured, executable, 20, 9);
}

TEST_F(TrainingTest, EagerAndCapturedStepsMayAlternate) {
  Mlp eager(engine), mixed(engine);
  dlcore_executable* executable =
      dlcore_graph_compile(mixed.s.ctx, capture(mixed, "[B, 12]", "[B]", "[B, 16]"), nullptr, 0);
  for (int i = 0; i < 10; ++i) {
    const auto batch = [&](Session& s) {
      return std::vector<dlcore_tensor*>{s.spread({8, 12}, 1, i), classes(s, 8, i),
                                         s.spread({8, 16}, 1, i)};
    };
    const auto a = batch(eager.s), b = batch(mixed.s);
    eager.step(a[0], a[1], a[2]);
    if (i % 2 == 0) {
      mixed.step(b[0], b[1], b[2]);
    } else {
      mixed.s.run(executable, {b[0], b[1], b[2]}, 2);
    }
    expect_same_state(eager, mixed, "step " + std::to_string(i));
  }
  eager.s.expect_ok();
  mixed.s.expect_ok();
}

TEST_F(TrainingTest, InferenceModeIsCapturedAsItIs) {
  Mlp m(engine);
  dlcore_context_set_recording(m.s.ctx, 0);
  ASSERT_EQ(dlcore_capture_begin(m.s.ctx, "predict"), DLCORE_OK);
  dlcore_tensor* x = m.s.input("x", DLCORE_F32, "[B, 12]");
  const auto layer = [&](dlcore_tensor* in, size_t i) {
    return m.s.op("linear", {in, dlcore_variable_read(m.s.ctx, m.parameters[i]),
                             dlcore_variable_read(m.s.ctx, m.parameters[i + 1])});
  };
  const auto predict = [&](dlcore_tensor* in) {
    return m.s.op("softmax", {layer(m.s.op("gelu", {layer(in, 0)}), 2)});
  };
  dlcore_graph* graph = m.s.end({predict(x)});
  ASSERT_NE(graph, nullptr) << m.s.message();
  EXPECT_EQ(dlcore_graph_node_count(graph), 4);
  dlcore_executable* executable = dlcore_graph_compile(m.s.ctx, graph, nullptr, 0);
  for (int64_t n : {1, 3, 100}) {
    dlcore_tensor* in = m.s.spread({n, 12}, 2);
    expect_same_bits(m.s.floats(m.s.run(executable, {in}, 1)[0]), m.s.floats(predict(in)),
                     "predict");
  }
  m.s.expect_ok();
}

// Running statistics are state of the graph: each run updates them, with the bits of eager calls.
TEST_F(TrainingTest, BatchNormUpdatesItsStatistics) {
  Session eager(engine, 1), captured(engine, 1);
  const auto make = [](Session& s) {
    const int32_t number = dlcore_catalogue_find(s.ctx, DLCORE_CATALOGUE_LAYERS, "BatchNorm");
    const Words attrs = Words().number(3);
    return dlcore_module_create(s.ctx, number, nullptr, 0, attrs.get().data(),
                                static_cast<int64_t>(attrs.get().size()));
  };
  dlcore_module* a = make(eager);
  dlcore_module* b = make(captured);
  ASSERT_EQ(dlcore_capture_begin(captured.ctx, "forward"), DLCORE_OK);
  dlcore_tensor* x = captured.input("x", DLCORE_F32, "[B, 3]");
  dlcore_graph* graph = captured.end({dlcore_module_call(captured.ctx, b, x)});
  ASSERT_NE(graph, nullptr) << captured.message();
  dlcore_executable* executable = dlcore_graph_compile(captured.ctx, graph, nullptr, 0);
  for (int64_t n : {4, 7, 2}) {
    const std::vector<float> y =
        eager.floats(dlcore_module_call(eager.ctx, a, eager.spread({n, 3}, 2, n)));
    expect_same_bits(
        captured.floats(captured.run(executable, {captured.spread({n, 3}, 2, n)}, 1)[0]), y,
        "y of " + std::to_string(n));
    for (const char* name : {"running_mean", "running_variance"}) {
      expect_same_bits(captured.floats(dlcore_module_find(captured.ctx, b, name)),
                       eager.floats(dlcore_module_find(eager.ctx, a, name)), name);
    }
  }
  EXPECT_NE(captured.floats(dlcore_module_find(captured.ctx, b, "running_mean"))[0], 0.0f);
  eager.expect_ok();
  captured.expect_ok();
  // A batch that the op refuses changes nothing.
  const std::vector<float> before =
      captured.floats(dlcore_module_find(captured.ctx, b, "running_mean"));
  captured.run(executable, {captured.spread({1, 3}, 2)}, 1);
  captured.expect_error(DLCORE_INVALID_ARGUMENT, {"batch_norm"});
  expect_same_bits(captured.floats(dlcore_module_find(captured.ctx, b, "running_mean")), before,
                   "after a failure");
}

}  // namespace
}  // namespace graph_test
