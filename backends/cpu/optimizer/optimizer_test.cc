// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/optimizer/optimizer.h"

#include <limits>

#include "backends/cpu/reduce/kernel_testing.h"

namespace dlcore::cpu::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const dlcore_dtype kFloats[] = {DLCORE_F32, DLCORE_F64};
const int64_t kSizes[] = {0, 1, 7, 64, 1000, 40000};

Tensor scalar(dlcore_dtype dtype, double value) { return Tensor::of(dtype, {}, {value}); }

// Runs on every instruction set, dense and in other layouts, and in place; all bits must agree.
std::vector<std::vector<Tensor>> update(Op op, const Words& attrs,
                                        const std::vector<Tensor>& inputs,
                                        const std::vector<int>& reused) {
  static ThreadPool pool(4);
  std::vector<std::vector<Tensor>> results;
  for (const TargetKernels& table : usable_tables(update_kernels)) {
    Call call{op, inputs[0].dtype(), attrs, ""};
    std::vector<Tensor> first;
    for (int i : reused) first.emplace_back(inputs[0].dtype(), inputs[i].shape());
    EXPECT_EQ(run(table, call, inputs, first), DLCORE_OK);
    for (const Layout layout : kLayouts) {
      std::vector<Tensor> copies;
      for (const Tensor& t : inputs) copies.push_back(t.copied(layout));
      std::vector<Tensor> again = first;
      EXPECT_EQ(run(table, call, copies, again, &pool), DLCORE_OK);
      for (size_t o = 0; o < first.size(); ++o) EXPECT_EQ(again[o].memory(), first[o].memory());
    }
    EXPECT_EQ(first.size(), reused.size());
    results.push_back(first);
  }
  return results;
}

// The kernel sees the same memory as input and output.
void expect_in_place(Op op, const Words& attrs, const std::vector<Tensor>& inputs,
                     const std::vector<int>& reused) {
  for (const TargetKernels& table : usable_tables(update_kernels)) {
    std::vector<Tensor> expected;
    for (int i : reused) expected.emplace_back(inputs[0].dtype(), inputs[i].shape());
    Call call{op, inputs[0].dtype(), attrs, ""};
    ASSERT_EQ(run(table, call, inputs, expected), DLCORE_OK);

    std::vector<Tensor> memory = inputs;
    std::vector<dlcore_operand> in, out;
    for (const Tensor& t : memory) in.push_back(t.operand());
    for (int i : reused) out.push_back(memory[i].operand());
    dlcore_launch launch = {};
    launch.op = static_cast<int32_t>(op);
    launch.inputs = in.data();
    launch.n_inputs = static_cast<int32_t>(in.size());
    launch.outputs = out.data();
    launch.n_outputs = static_cast<int32_t>(out.size());
    launch.attrs = attrs.data();
    Queue queue;
    for (const dlcore_kernel& k : table.kernels) {
      if (k.op == launch.op && k.dtype == call.key) k.launch(&queue, &launch);
    }
    for (size_t o = 0; o < reused.size(); ++o) {
      EXPECT_EQ(memory[reused[o]].memory(), expected[o].memory());
    }
  }
}

TEST(Sgd, MatchesTheDefinition) {
  constexpr double kLr = 0.125, kMomentum = 0.75, kDampening = 0.25, kDecay = 0.0625;
  for (const dlcore_dtype dtype : kFloats) {
    const double eps = epsilon_of(dtype);
    for (const int64_t n : kSizes) {
      const Tensor p = Tensor::of(dtype, {n}, normal_values(n, 1));
      const Tensor g = Tensor::of(dtype, {n}, normal_values(n, 2));
      const Tensor v = Tensor::of(dtype, {n}, normal_values(n, 3));
      for (const auto& out : update(Op::kSgdUpdate, {word(0), word(0), 0, word(kDecay)},
                                    {p, g, Tensor(), scalar(dtype, kLr)}, {0})) {
        for (int64_t i = 0; i < n; ++i) {
          const double expected = p.get(i) - kLr * (g.get(i) + kDecay * p.get(i));
          expect_near(out[0].get(i), expected, 2 * eps, 2 + std::abs(p.get(i)), "p");
        }
      }
      for (const int64_t nesterov : {0, 1}) {
        const Words attrs = {word(kMomentum), word(kDampening), nesterov, word(kDecay)};
        const std::vector<Tensor> inputs = {p, g, v, scalar(dtype, kLr)};
        for (const auto& out : update(Op::kSgdUpdate, attrs, inputs, {0, 2})) {
          for (int64_t i = 0; i < n; ++i) {
            const double d = g.get(i) + kDecay * p.get(i);
            const double velocity = kMomentum * v.get(i) + (1 - kDampening) * d;
            const double step = nesterov != 0 ? d + kMomentum * velocity : velocity;
            expect_near(out[0].get(i), p.get(i) - kLr * step, 4 * eps, 4, "p");
            expect_near(out[1].get(i), velocity, 4 * eps, 4, "v");
          }
        }
        expect_in_place(Op::kSgdUpdate, attrs, inputs, {0, 2});
      }
    }
  }
}

TEST(Adam, MatchesTheDefinition) {
  constexpr double kB1 = 0.9, kB2 = 0.999, kEps = 1e-8, kLr = 0.01, kDecay = 0.1;
  for (const dlcore_dtype dtype : kFloats) {
    const double eps = epsilon_of(dtype);
    for (const int64_t n : kSizes) {
      std::vector<double> squares = normal_values(n, 4);
      for (double& s : squares) s = s * s;
      const Tensor p = Tensor::of(dtype, {n}, normal_values(n, 1));
      const Tensor g = Tensor::of(dtype, {n}, normal_values(n, 2));
      const Tensor m = Tensor::of(dtype, {n}, normal_values(n, 3));
      const Tensor v = Tensor::of(dtype, {n}, squares);
      for (const int64_t decoupled : {0, 1}) {
        const Words attrs = {word(kB1), word(kB2), word(kEps), word(kDecay), decoupled};
        const std::vector<Tensor> inputs = {
            p, g, m, v, scalar(DLCORE_F64, kLr), scalar(DLCORE_I64, 3)};
        for (const auto& out : update(Op::kAdamUpdate, attrs, inputs, {0, 2, 3})) {
          for (int64_t i = 0; i < n; ++i) {
            const double d = g.get(i) + (decoupled != 0 ? 0 : kDecay * p.get(i));
            const double m1 = kB1 * m.get(i) + (1 - kB1) * d;
            const double v1 = kB2 * v.get(i) + (1 - kB2) * d * d;
            const double change = kLr * (m1 / (1 - std::pow(kB1, 3))) /
                                  (std::sqrt(v1 / (1 - std::pow(kB2, 3))) + kEps);
            const double start = p.get(i) * (decoupled != 0 ? 1 - kLr * kDecay : 1);
            expect_near(out[0].get(i), start - change, 8 * eps,
                        1 + std::abs(start) + std::abs(change), "p");
            expect_near(out[1].get(i), m1, 4 * eps, 4, "m");
            expect_near(out[2].get(i), v1, 4 * eps, 4 + v1, "v");
          }
        }
        expect_in_place(Op::kAdamUpdate, attrs, inputs, {0, 2, 3});
      }
    }
  }
}

TEST(Adam, EpsilonIsOutsideTheRootAndNotScaled) {
  for (const TargetKernels& table : usable_tables(update_kernels)) {
    std::vector<Tensor> state = {scalar(DLCORE_F32, 1), scalar(DLCORE_F32, 0),
                                 scalar(DLCORE_F32, 0)};
    const double expected[] = {.99090909, .98181818, .97272727};
    for (int t = 1; t <= 3; ++t) {
      Call call{Op::kAdamUpdate, DLCORE_F32, {word(.9), word(.999), word(.1), word(0), 0}, ""};
      std::vector<Tensor> out(3, Tensor(DLCORE_F32, {}));
      ASSERT_EQ(run(table, call,
                    {state[0], scalar(DLCORE_F32, .01), state[1], state[2], scalar(DLCORE_F32, .1),
                     scalar(DLCORE_I64, t)},
                    out),
                DLCORE_OK);
      state = out;
      EXPECT_NEAR(state[0].get(0), expected[t - 1], 1e-6);
    }
  }
}

double norm_on(const TargetKernels& table, const std::vector<Tensor>& list, ThreadPool* pool) {
  Call call{Op::kGlobalNorm, list[0].dtype(), {}, ""};
  std::vector<Tensor> out = {Tensor(list[0].dtype(), {})};
  EXPECT_EQ(run(table, call, list, out, pool), DLCORE_OK);
  return out[0].get(0);
}

void expect_norm(const std::vector<Tensor>& list, double expected) {
  static ThreadPool pool(4);
  for (const TargetKernels& table : usable_tables(global_norm_kernels)) {
    const double norm = norm_on(table, list, nullptr);
    expect_near(norm, expected, 4 * epsilon_of(list[0].dtype()), std::abs(expected), "norm");
    for (const Layout layout : kLayouts) {
      std::vector<Tensor> copies;
      for (const Tensor& t : list) copies.push_back(t.copied(layout));
      const double again = norm_on(table, copies, &pool);
      EXPECT_EQ(std::bit_cast<uint64_t>(again), std::bit_cast<uint64_t>(norm));
    }
  }
}

TEST(GlobalNorm, OverListsOfAnySizes) {
  for (const dlcore_dtype dtype : kFloats) {
    std::vector<Tensor> list;
    long double sum = 0;
    for (const int64_t n : kSizes) {
      list.push_back(Tensor::of(dtype, {n, 3}, normal_values(n * 3, 5)));
      for (const double v : list.back().values()) sum += v * v;
    }
    expect_norm(list, static_cast<double>(std::sqrt(sum)));
  }
}

TEST(GlobalNorm, NeverOverflowsNorVanishes) {
  expect_norm(std::vector<Tensor>(100, scalar(DLCORE_F32, 1e20)), 10 * static_cast<double>(1e20f));
  for (const double value : {1e300, 1.5e308, 1e-200, 5e-324, 1e-310}) {
    expect_norm({Tensor::of(DLCORE_F64, {2}, {value * 0.5, 0})}, value * 0.5);
    expect_norm({Tensor::of(DLCORE_F64, {1}, {-value})}, value);
  }
  expect_norm({Tensor::of(DLCORE_F64, {2}, {3e-320, 4e-320})}, 5e-320);
  expect_norm({Tensor::of(DLCORE_F64, {2}, {3e307, 4e307})}, 5e307);
  for (const dlcore_dtype dtype : kFloats) {
    expect_norm({Tensor::of(dtype, {3}, {0, 0, 0})}, 0);
    expect_norm({Tensor(dtype, {0})}, 0);
    expect_norm({Tensor::of(dtype, {2}, {-kInf, 1})}, kInf);
    expect_norm({Tensor::of(dtype, {2}, {std::nan(""), 1})}, std::nan(""));
  }
}

}  // namespace
}  // namespace dlcore::cpu::testing
