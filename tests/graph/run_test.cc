// SPDX-License-Identifier: Apache-2.0
// Executables: binding, symbols, errors that change nothing, threads.
#include <thread>

#include "tests/graph/support.h"

namespace graph_test {
namespace {

class RunTest : public GraphTest {
 protected:
  dlcore_variable* variable(const char* name, dlcore_tensor* value) {
    return dlcore_variable_create(s.ctx, name, value, 0);
  }
  dlcore_executable* compile(const std::string& text,
                             std::initializer_list<dlcore_variable*> variables = {}) {
    dlcore_graph* graph = s.parse(text);
    EXPECT_NE(graph, nullptr) << s.message();
    return dlcore_graph_compile(s.ctx, graph, variables.begin(),
                                static_cast<int64_t>(variables.size()));
  }
  Session s{engine};
};

// w <- w + x; returns w * x
constexpr const char* kAccumulate =
    "graph.v1 \"accumulate\" (%0 \"x\": f32[2]) {\n"
    "  state %1 \"w\": f32[2]\n"
    "  %2: f32[2] = add.v1(%1, %0)\n"
    "  %3: f32[2] = multiply.v1(%1, %0)\n"
    "  update %1 = %2\n"
    "  return %3\n"
    "}\n";

TEST_F(RunTest, StateIsBoundByName) {
  EXPECT_EQ(compile(kAccumulate), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"graph_compile", "'w'"});
  dlcore_variable* other = variable("other", s.f32({2}, {1, 2}));
  EXPECT_EQ(compile(kAccumulate, {other}), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"no variable is given for state 'w'"});
  dlcore_variable* wrong = variable("w", s.f32({3}, {1, 2, 3}));
  EXPECT_EQ(compile(kAccumulate, {other, wrong}), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"'w' is f32 [3], expected f32 [2]"});
  dlcore_variable* w = variable("w", s.f32({2}, {1, 2}));
  EXPECT_EQ(compile(kAccumulate, {w, wrong}), nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"several variables", "'w'"});
  dlcore_executable* executable = compile(kAccumulate, {other, w});
  ASSERT_NE(executable, nullptr) << s.message();
  const auto outputs = s.run(executable, {s.f32({2}, {10, 20})}, 1);
  EXPECT_EQ(s.floats(outputs[0]), (std::vector<float>{10, 40}));
  EXPECT_EQ(s.floats(w), (std::vector<float>{11, 22}));
  s.expect_ok();
}

TEST_F(RunTest, InputsAreChecked) {
  dlcore_variable* w = variable("w", s.f32({2}, {1, 2}));
  dlcore_executable* executable = compile(kAccumulate, {w});
  s.run(executable, {}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"0 inputs were given, expected 1"});
  s.run(executable, {s.f32({3}, {1, 2, 3})}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"input 0 ('x') is f32 [3], expected f32 [2]"});
  s.run(executable, {s.f32({2, 1}, {1, 2})}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"f32 [2, 1]"});
  s.run(executable, {s.i64({2}, {1, 2})}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"i64 [2]"});
  s.run(executable, {nullptr}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"inputs"});
  s.run(executable, {s.f32({2}, {1, 2})}, 2);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"2 outputs", "has 1"});
  s.run(nullptr, {s.f32({2}, {1, 2})}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"executable"});
  EXPECT_EQ(s.floats(w), (std::vector<float>{1, 2}));
}

TEST_F(RunTest, SymbolsAreSolvedAndContradictionsTold) {
  dlcore_executable* executable = compile(
      "graph.v1 \"g\" (%0 \"x\": f32[2*B + 1, 3], %1 \"y\": f32[B]) {\n"
      "  %2: f32[6*B + 3] = reshape.v1(%0) {shape = [6*B + 3]}\n"
      "  %3: f32[7*B + 3] = concat.v1(%2, %1) {axis = 0}\n"
      "  return %3\n"
      "}\n");
  ASSERT_NE(executable, nullptr) << s.message();
  for (int64_t b : {1, 2, 5}) {
    const auto outputs = s.run(executable, {s.spread({2 * b + 1, 3}, 1), s.spread({b}, 2)}, 1);
    EXPECT_EQ(dlcore_tensor_count(outputs[0]), 7 * b + 3) << s.message();
  }
  s.run(executable, {s.spread({4, 3}, 1), s.spread({2}, 1)}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT,
                 {"input 0 ('x') is f32 [4, 3], expected f32 [2*B + 1, 3]"});
  s.run(executable, {s.spread({5, 3}, 1), s.spread({3}, 1)}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT,
                 {"input 1 ('y') is f32 [3], expected f32 [B] with B = 2"});
  s.run(executable, {s.spread({1, 3}, 1), s.spread({0}, 1)}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"B is 0", "at least 1"});
}

TEST_F(RunTest, SymbolsThatNoInputTellsAreRefusedAtOnce) {
  EXPECT_EQ(compile("graph.v1 \"g\" (%0 \"x\": f32[B*T]) {\n"
                    "  %1: f32[B, T] = reshape.v1(%0) {shape = [B, T]}\n"
                    "  return %1\n"
                    "}\n"),
            nullptr);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"graph_compile", "'B', 'T'"});
}

TEST_F(RunTest, NothingIsAssignedWhenSomethingFails) {
  dlcore_variable* w = variable("w", s.f32({2}, {1, 2}));
  dlcore_executable* executable = compile(
      "graph.v1 \"g\" (%0 \"x\": f32[2], %1 \"i\": i64[2]) {\n"
      "  state %2 \"w\": f32[2]\n"
      "  %3: f32[2] = add.v1(%2, %0)\n"
      "  %4: i64[2] = floor_divide.v1(%1, %1)\n"
      "  update %2 = %3\n"
      "  return %4\n"
      "}\n",
      {w});
  s.run(executable, {s.f32({2}, {1, 1}), s.i64({2}, {3, 0})}, 1);
  s.expect_error(DLCORE_INVALID_ARGUMENT, {"floor_divide", "zero"});
  EXPECT_EQ(s.floats(w), (std::vector<float>{1, 2}));
  for (int64_t n = 1; n < 40; ++n) {  // nor when memory runs out, wherever that is
    dlcore_engine_fail_allocation(engine, n);
    s.run(executable, {s.f32({2}, {1, 1}), s.i64({2}, {3, 1})}, 1);
    dlcore_engine_fail_allocation(engine, 0);
    const bool failed = dlcore_ok(s.ctx) == 0;
    dlcore_context_clear_error(s.ctx);
    const float before = s.floats(w)[0];
    if (failed) continue;
    EXPECT_EQ(before, 2);
    break;
  }
  EXPECT_EQ(s.floats(w), (std::vector<float>{2, 3}));
}

TEST_F(RunTest, UpdatesHappenTogether) {
  // Each takes the other's value.
  dlcore_variable* a = variable("a", s.f32({1}, {1}));
  dlcore_variable* b = variable("b", s.f32({1}, {2}));
  dlcore_executable* executable = compile(
      "graph.v1 \"swap\" () {\n"
      "  state %0 \"a\": f32[1]\n"
      "  state %1 \"b\": f32[1]\n"
      "  update %0 = %1\n"
      "  update %1 = %0\n"
      "  return %0, %0\n"
      "}\n",
      {a, b});
  const auto outputs = s.run(executable, {}, 2);
  EXPECT_EQ(s.floats(a), std::vector<float>{2});
  EXPECT_EQ(s.floats(b), std::vector<float>{1});
  EXPECT_EQ(s.floats(outputs[0]), std::vector<float>{1});
  EXPECT_EQ(s.floats(outputs[1]), std::vector<float>{1});
  EXPECT_NE(outputs[0], outputs[1]);
  s.run(executable, {}, 2);
  EXPECT_EQ(s.floats(a), std::vector<float>{1});
}

TEST_F(RunTest, ManyContextsAtOnce) {
  constexpr int kThreads = 4, kRuns = 200;
  dlcore_variable* w = variable("w", s.f32({64}, std::vector<float>(64, 0)));
  dlcore_executable* executable = compile(
      "graph.v1 \"count\" (%0 \"x\": f32[64]) {\n"
      "  state %1 \"w\": f32[64]\n"
      "  %2: f32[64] = add.v1(%1, %0)\n"
      "  %3: f32[] = max.v1(%2) {axes = none, keepdims = false}\n"
      "  %4: f32[] = min.v1(%2) {axes = none, keepdims = false}\n"
      "  update %1 = %2\n"
      "  return %3, %4\n"
      "}\n",
      {w});
  ASSERT_NE(executable, nullptr) << s.message();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Session mine(engine);
      dlcore_tensor* ones = mine.f32({64}, std::vector<float>(64, 1));
      for (int i = 0; i < kRuns; ++i) {
        const auto outputs = mine.run(executable, {ones}, 2);
        EXPECT_EQ(mine.floats(outputs[0]), mine.floats(outputs[1]));  // one snapshot
      }
      mine.expect_ok();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(s.floats(w)[0], kThreads * kRuns);  // no run was lost
}

TEST_F(RunTest, ExecutablesOutliveTheirGraphAndItsContext) {
  dlcore_executable* executable = nullptr;
  {
    Session other(engine);
    dlcore_capture_begin(other.ctx, "g");
    dlcore_tensor* x = other.input("x", DLCORE_F32, "[B]");
    dlcore_tensor* w = dlcore_capture_constant(other.ctx, other.spread({100}, 1));
    dlcore_graph* graph = other.end({other.op("multiply", {x, other.op("sum", {w})})});
    executable = dlcore_graph_compile(other.ctx, graph, nullptr, 0);
    ASSERT_NE(executable, nullptr) << other.message();
    dlcore_executable_retain(executable);
    dlcore_graph_release(graph);
  }
  const auto outputs = s.run(executable, {s.f32({2}, {0, 1})}, 1);
  EXPECT_EQ(s.floats(outputs[0]),
            (std::vector<float>{0, s.floats(s.op("sum", {s.spread({100}, 1)}))[0]}));
  dlcore_executable_release(executable);
  s.run(executable, {s.f32({2}, {0, 1})}, 1);  // closed
  s.expect_error(DLCORE_FAILED_PRECONDITION, {"executable"});
}

}  // namespace
}  // namespace graph_test
