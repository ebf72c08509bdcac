// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/reduce/reduce.h"

#include <limits>
#include <map>

#include "backends/cpu/reduce/kernel_testing.h"

namespace dlcore::cpu::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

const KernelFile kFiles[] = {float_reduce_kernels, logsumexp_kernels, integer_reduce_kernels,
                             arg_reduce_kernels, cumsum_kernels};

bool is_float(dlcore_dtype dtype) { return dtype == DLCORE_F32 || dtype == DLCORE_F64; }

bool is_arg(Op op) { return op == Op::kArgmax || op == Op::kArgmin; }

dlcore_dtype output_dtype(Op op, dlcore_dtype dtype) {
  if (is_arg(op)) return DLCORE_I64;
  if ((op == Op::kSum || op == Op::kProd) && !is_float(dtype)) return DLCORE_I64;
  return dtype;
}

// Runs a reduction on every table that has it.
void reduce(Op op, const Tensor& x, const std::vector<int64_t>& axes, const Shape& out_shape,
            const std::function<void(const Tensor&)>& check, ThreadPool* pool = nullptr) {
  Words attrs = {0, 0};
  if (!axes.empty()) {
    attrs = {1};
    if (!is_arg(op)) attrs.push_back(static_cast<int64_t>(axes.size()));
    attrs.insert(attrs.end(), axes.begin(), axes.end());
    attrs.push_back(0);
  }
  int ran = 0;
  for (const KernelFile file : kFiles) {
    for (const TargetKernels& table : usable_tables(file)) {
      Call call{op, x.dtype(), attrs, ""};
      std::vector<Tensor> out = {Tensor(output_dtype(op, x.dtype()), out_shape)};
      const dlcore_status status = run(table, call, {x}, out, pool);
      if (status == DLCORE_UNIMPLEMENTED) continue;
      ASSERT_EQ(status, DLCORE_OK) << call.message;
      ++ran;
      check(out[0]);
    }
  }
  EXPECT_GT(ran, 0) << "op " << static_cast<int>(op) << " dtype " << x.dtype();
}

// The definition, on one sequence.
double reference(Op op, const std::vector<double>& x) {
  long double total = op == Op::kProd || op == Op::kAll ? 1 : 0;
  double best = x.empty() ? 0 : x[0];
  size_t index = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    switch (op) {
      case Op::kProd:
        total *= x[i];
        break;
      case Op::kAll:
        total = total != 0 && x[i] != 0;
        break;
      case Op::kAny:
        total = total != 0 || x[i] != 0;
        break;
      default:
        total += x[i];
    }
    const bool lower = op == Op::kMin || op == Op::kArgmin;
    if ((lower ? x[i] < best : x[i] > best) || (std::isnan(x[i]) && !std::isnan(best))) {
      best = x[i];
      index = i;
    }
  }
  switch (op) {
    case Op::kMean:
      return static_cast<double>(total / x.size());
    case Op::kMax:
    case Op::kMin:
      return best;
    case Op::kArgmax:
    case Op::kArgmin:
      return static_cast<double>(index);
    case Op::kLogsumexp: {
      if (std::isinf(best) || x.empty()) return x.empty() ? -kInf : best;
      long double sum = 0;
      for (double v : x) sum += std::exp(static_cast<long double>(v) - best);
      return static_cast<double>(best + std::log(sum));
    }
    default:
      return static_cast<double>(total);
  }
}

// Splits positions into the sequences that are reduced.
std::map<int64_t, std::vector<double>> sequences(const Tensor& x,
                                                 const std::vector<int64_t>& axes) {
  std::map<int64_t, std::vector<double>> result;
  const int64_t rank = static_cast<int64_t>(x.shape().size());
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t key = 0, scale = 1, rest = i;
    for (int64_t a = rank - 1; a >= 0; --a) {
      const int64_t at = rest % x.shape()[a];
      rest /= x.shape()[a];
      bool reduced = axes.empty();
      for (int64_t axis : axes) reduced = reduced || axis == a || axis + rank == a;
      if (!reduced) {
        key += at * scale;
        scale *= x.shape()[a];
      }
    }
    result[key].push_back(x.get(i));
  }
  return result;
}

std::vector<double> references(Op op, const Tensor& x, const std::vector<int64_t>& axes) {
  std::vector<double> result;
  for (const auto& [key, sequence] : sequences(x, axes)) result.push_back(reference(op, sequence));
  return result;
}

struct Case {
  Shape shape;
  std::vector<int64_t> axes;
  Shape out;
};

const Case kCases[] = {
    {{}, {}, {}},
    {{1}, {0}, {}},
    {{7}, {}, {}},
    {{64}, {-1}, {}},
    {{1000}, {0}, {}},
    {{5, 1000}, {1}, {5}},
    {{1000, 5}, {0}, {5}},
    {{1000, 3}, {0}, {3}},
    {{600, 150}, {0}, {150}},
    {{33, 10}, {-1}, {33}},
    {{9, 4, 17}, {1}, {9, 17}},
    {{9, 14, 7}, {0, 2}, {14}},
    {{9, 14, 70}, {0, 1}, {70}},
    {{3, 4, 5, 6}, {-1, 1}, {3, 5}},
    {{70000}, {0}, {}},
    {{2, 40000}, {1}, {2}},
    {{35000, 9}, {0}, {9}},
    {{20, 300}, {0}, {300}},  // more columns than are taken at once
    {{70, 1024}, {}, {}},     // rows of whole blocks, which may be neighbours in memory
};

TEST(Reduce, MatchesTheDefinitionInEveryLayout) {
  const Op ops[] = {Op::kSum, Op::kMean, Op::kProd, Op::kMax, Op::kMin, Op::kLogsumexp};
  for (const dlcore_dtype dtype : {DLCORE_F32, DLCORE_F64}) {
    for (const Case& c : kCases) {
      for (const Op op : ops) {
        std::vector<double> values = normal_values(product(c.shape), 1);
        if (op == Op::kProd) {
          for (double& v : values) v = 1 + v / 1000;
        }
        const Tensor dense = Tensor::of(dtype, c.shape, values);
        const std::vector<double> expected = references(op, dense, c.axes);
        const double n = static_cast<double>(dense.count()) / product(c.out);
        double scale = std::sqrt(n);
        if (op == Op::kMean) scale = 1;
        if (op == Op::kProd) scale = 10 * std::sqrt(n);
        for (const Layout layout : kLayouts) {
          reduce(op, dense.copied(layout), c.axes, c.out, [&](const Tensor& out) {
            for (int64_t i = 0; i < out.count(); ++i) {
              expect_near(out.get(i), expected[i], 8 * epsilon_of(dtype), scale + 1,
                          "op " + std::to_string(static_cast<int>(op)));
            }
          });
        }
      }
    }
  }
}

TEST(Reduce, IntegersAreExactAndWrapInSixtyFourBits) {
  const Op ops[] = {Op::kSum, Op::kProd, Op::kMax, Op::kMin, Op::kArgmax, Op::kArgmin};
  for (const dlcore_dtype dtype :
       {DLCORE_U8, DLCORE_I8, DLCORE_I16, DLCORE_I32, DLCORE_I64, DLCORE_F32, DLCORE_F64}) {
    for (const Case& c : kCases) {
      for (const Op op : ops) {
        if (is_arg(op) && c.axes.size() > 1) continue;
        std::vector<double> values = normal_values(product(c.shape), 2, 30);
        for (size_t i = 0; i < values.size(); ++i) {
          values[i] = std::min(100.0, std::floor(std::abs(values[i])));
          if (op == Op::kProd) values[i] = i < 5000 && values[i] == 100 ? 2 : 1;
        }
        const Tensor dense = Tensor::of(dtype, c.shape, values);
        const std::vector<double> expected = references(op, dense, c.axes);
        for (const Layout layout : kLayouts) {
          reduce(op, dense.copied(layout), c.axes, c.out, [&](const Tensor& out) {
            EXPECT_EQ(out.values(), expected) << static_cast<int>(op);
          });
        }
      }
    }
  }
  const Tensor big = Tensor::of(DLCORE_I32, {3}, {2147483647, 2147483647, 2});
  reduce(Op::kSum, big, {}, {}, [](const Tensor& out) { EXPECT_EQ(out.get(0), 4294967296.0); });
}

TEST(Reduce, Booleans) {
  for (const Case& c : kCases) {
    std::vector<double> values = normal_values(product(c.shape), 3);
    for (double& v : values) v = v > -1.5 ? 1 : 0;
    const Tensor dense = Tensor::of(DLCORE_BOOL, c.shape, values);
    for (const Op op : {Op::kAll, Op::kAny, Op::kSum, Op::kProd}) {
      const std::vector<double> expected = references(op, dense, c.axes);
      for (const Layout layout : kLayouts) {
        reduce(op, dense.copied(layout), c.axes, c.out,
               [&](const Tensor& out) { EXPECT_EQ(out.values(), expected); });
      }
    }
  }
}

TEST(Reduce, BitsDependOnNeitherStridesNorThreads) {
  ThreadPool pool(4);
  for (const dlcore_dtype dtype : {DLCORE_F32, DLCORE_F64}) {
    for (const Case& c : kCases) {
      std::vector<double> values = normal_values(product(c.shape), 4);
      for (size_t i = 0; i < values.size(); i += 5) values[i] = i % 2 == 0 ? 0.0 : -0.0;
      for (const Op op : {Op::kSum, Op::kMean, Op::kProd, Op::kMax, Op::kMin, Op::kLogsumexp}) {
        const Tensor dense = Tensor::of(dtype, c.shape, values);
        std::vector<std::vector<char>> bits;
        reduce(op, dense, c.axes, c.out, [&](const Tensor& out) { bits.push_back(out.memory()); });
        for (const Layout layout : kLayouts) {
          size_t table = 0;
          reduce(
              op, dense.copied(layout), c.axes, c.out,
              [&](const Tensor& out) {
                EXPECT_EQ(out.memory(), bits[table++]) << static_cast<int>(op);
              },
              &pool);
        }
      }
    }
  }
}

TEST(Reduce, SumOfManyIsAccurate) {
  const int64_t n = 1 << 22;
  const Tensor x = Tensor::of(DLCORE_F32, {n}, std::vector<double>(n, 0.1));
  reduce(Op::kSum, x, {}, {},
         [&](const Tensor& out) { EXPECT_NEAR(out.get(0), static_cast<double>(0.1f) * n, 0.2); });
}

TEST(Reduce, RepeatedInput) {
  const Tensor row = Tensor::of(DLCORE_F32, {5}, {1, 2, 3, 4, 5});
  reduce(Op::kSum, row.repeated(1000), {0}, {5}, [](const Tensor& out) {
    EXPECT_EQ(out.values(), (std::vector<double>{1000, 2000, 3000, 4000, 5000}));
  });
  reduce(Op::kSum, row.repeated(3), {1}, {3}, [](const Tensor& out) {
    EXPECT_EQ(out.values(), (std::vector<double>{15, 15, 15}));
  });
}

TEST(Reduce, EmptyInputs) {
  const Tensor none(DLCORE_F32, {0});
  const Tensor rows(DLCORE_F64, {3, 0});
  reduce(Op::kSum, none, {}, {}, [](const Tensor& out) { EXPECT_EQ(out.get(0), 0); });
  reduce(Op::kProd, rows, {1}, {3}, [](const Tensor& out) { EXPECT_EQ(out.get(2), 1); });
  reduce(Op::kMean, rows, {1}, {3}, [](const Tensor& out) { EXPECT_TRUE(std::isnan(out.get(2))); });
  reduce(Op::kLogsumexp, none, {}, {}, [](const Tensor& out) { EXPECT_EQ(out.get(0), -kInf); });
  reduce(Op::kMax, rows, {0}, {0}, [](const Tensor&) {});
  reduce(Op::kAll, Tensor(DLCORE_BOOL, {0}), {}, {},
         [](const Tensor& out) { EXPECT_EQ(out.get(0), 1); });
  for (const KernelFile file : {float_reduce_kernels, arg_reduce_kernels}) {
    for (const TargetKernels& table : usable_tables(file)) {
      const bool arg = file == KernelFile(arg_reduce_kernels);
      Call call{arg ? Op::kArgmax : Op::kMax, DLCORE_F32, {0, 0}, ""};
      std::vector<Tensor> out = {Tensor(arg ? DLCORE_I64 : DLCORE_F32, {})};
      EXPECT_EQ(run(table, call, {none}, out), DLCORE_INVALID_ARGUMENT);
      EXPECT_NE(call.message, "");
    }
  }
}

TEST(Reduce, NanWinsWhereverItStands) {
  for (const dlcore_dtype dtype : {DLCORE_F32, DLCORE_F64}) {
    for (const int64_t n : {1, 5, 16, 33, 700}) {
      for (const int64_t at : {int64_t(0), n / 2, n - 1}) {
        std::vector<double> values(static_cast<size_t>(n), 10);
        values[static_cast<size_t>(at)] = kNan;
        const Tensor x = Tensor::of(dtype, {n}, values);
        for (const Op op : {Op::kMax, Op::kMin, Op::kSum, Op::kLogsumexp}) {
          reduce(op, x, {}, {}, [&](const Tensor& out) {
            EXPECT_TRUE(std::isnan(out.get(0)))
                << static_cast<int>(op) << " n " << n << " at " << at;
          });
        }
        for (const Op op : {Op::kArgmax, Op::kArgmin}) {
          reduce(op, x, {}, {}, [&](const Tensor& out) { EXPECT_EQ(out.get(0), at); });
        }
      }
    }
  }
}

TEST(Reduce, LogsumexpAtTheEnds) {
  const auto check = [](std::vector<double> values, double expected) {
    for (const dlcore_dtype dtype : {DLCORE_F32, DLCORE_F64}) {
      const Tensor x = Tensor::of(dtype, {static_cast<int64_t>(values.size())}, values);
      reduce(Op::kLogsumexp, x, {}, {}, [&](const Tensor& out) {
        expect_near(out.get(0), expected, 4 * epsilon_of(dtype), std::abs(expected), "logsumexp");
      });
    }
  };
  check({-kInf, -kInf}, -kInf);
  check({1, 2}, 2.313261687518223);
  check({kInf, 0}, kInf);
  check({1000, 1000}, 1000 + std::log(2.0));
  std::vector<double> far(1500, -1000);
  far[20] = -kInf;
  check(far, -1000 + std::log(1499.0));
  std::vector<double> late(1500, -kInf);
  late[1400] = 1000;
  check(late, 1000);
}

TEST(Reduce, CumsumFollowsTheDefinition) {
  for (const dlcore_dtype dtype :
       {DLCORE_U8, DLCORE_I8, DLCORE_I16, DLCORE_I32, DLCORE_I64, DLCORE_F32, DLCORE_F64}) {
    for (const Case& c : kCases) {
      if (c.shape.empty() || c.axes.size() != 1) continue;
      const int64_t rank = static_cast<int64_t>(c.shape.size());
      const int64_t axis = c.axes[0] < 0 ? c.axes[0] + rank : c.axes[0];
      int64_t inner = 1;
      for (int64_t a = axis + 1; a < rank; ++a) inner *= c.shape[a];
      for (const Layout layout : kLayouts) {
        std::vector<double> values = normal_values(product(c.shape), 5);
        if (!is_float(dtype)) {
          for (double& v : values) v = v > 2.5 ? 1 : 0;
        }
        const Tensor x = Tensor::of(dtype, c.shape, values, layout);
        for (const TargetKernels& table : usable_tables(cumsum_kernels)) {
          Call call{Op::kCumsum, dtype, {c.axes[0]}, ""};
          std::vector<Tensor> out = {Tensor(dtype, c.shape)};
          ASSERT_EQ(run(table, call, {x}, out), DLCORE_OK);
          std::vector<long double> sums(values.size());
          for (int64_t i = 0; i < x.count(); ++i) {
            const bool first = i / inner % c.shape[axis] == 0;
            sums[i] = x.get(i) + (first ? 0 : sums[i - inner]);
            if (!is_float(dtype) && sums[i] > 127) continue;  // i8 wraps
            const double sum = static_cast<double>(sums[i]);
            ASSERT_NEAR(out[0].get(i), sum, 16 * epsilon_of(dtype) * (std::abs(sum) + 1e3));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu::testing
