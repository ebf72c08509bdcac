// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/norm/norm.h"

#include <limits>

#include "backends/cpu/reduce/kernel_testing.h"

namespace dlcore::cpu::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct AxisCase {
  Shape shape;
  int64_t axis;
};

const AxisCase kAxisCases[] = {
    {{}, -1},       {{1}, 0},       {{5, 7}, -1},    {{64, 10}, 1},
    {{3, 1000}, 1}, {{1030, 4}, 0}, {{3, 11, 5}, 1}, {{2, 40, 17}, 0},
    {{0, 4}, 1},    {{4, 0}, 1},    {{2, 70001}, 1}, {{33000, 2}, 0},
};

// Calls fn(positions) for every sequence along one axis.
void for_each_sequence(const AxisCase& c,
                       const std::function<void(const std::vector<int64_t>&)>& fn) {
  const int64_t rank = static_cast<int64_t>(c.shape.size());
  const int64_t axis = c.axis < 0 ? c.axis + rank : c.axis;
  const int64_t length = rank == 0 ? 1 : c.shape[axis];
  int64_t inner = 1;
  for (int64_t a = axis + 1; a < rank; ++a) inner *= c.shape[a];
  if (rank == 0) inner = 1;
  if (product(c.shape) == 0) return;
  for (int64_t s = 0; s < product(c.shape) / length; ++s) {
    std::vector<int64_t> at;
    for (int64_t i = 0; i < length; ++i)
      at.push_back(s / inner * inner * length + i * inner + s % inner);
    fn(at);
  }
}

const dlcore_dtype kFloats[] = {DLCORE_F32, DLCORE_F64};

TEST(Softmax, MatchesTheDefinition) {
  for (const dlcore_dtype dtype : kFloats) {
    const double eps = epsilon_of(dtype);
    for (const AxisCase& c : kAxisCases) {
      const Tensor x = Tensor::of(dtype, c.shape, normal_values(product(c.shape), 1, 3));
      const Tensor g = Tensor::of(dtype, c.shape, normal_values(product(c.shape), 2));
      const Tensor out(dtype, c.shape);
      for (const auto& [op, log] : {std::pair{Op::kSoftmax, false}, {Op::kLogSoftmax, true}}) {
        for (const auto& y : run_all(softmax_kernels, op, {c.axis}, {x}, {out})) {
          for_each_sequence(c, [&, log = log](const std::vector<int64_t>& at) {
            double max = -kInf;
            long double sum = 0;
            for (int64_t i : at) max = std::max(max, x.get(i));
            for (int64_t i : at) sum += std::exp(x.get(i) - max);
            for (int64_t i : at) {
              const double expected = static_cast<double>(log ? x.get(i) - max - std::log(sum)
                                                              : std::exp(x.get(i) - max) / sum);
              const double scale = log ? 1 + std::abs(expected) : expected;
              expect_near(y[0].get(i), expected, 12 * eps, scale, "softmax");
            }
          });
        }
      }
      const Op backward[] = {Op::kSoftmaxBackward, Op::kLogSoftmaxBackward};
      for (const Op op : backward) {
        for (const auto& dx : run_all(softmax_backward_kernels, op, {c.axis}, {g, x}, {out})) {
          for_each_sequence(c, [&](const std::vector<int64_t>& at) {
            long double dot = 0, sum = 0;
            for (int64_t i : at) dot += g.get(i) * x.get(i), sum += g.get(i);
            for (int64_t i : at) {
              const double y = x.get(i);
              const bool soft = op == Op::kSoftmaxBackward;
              const double expected =
                  static_cast<double>(soft ? y * (g.get(i) - dot) : g.get(i) - std::exp(y) * sum);
              const double scale =
                  (soft ? std::abs(y) : std::exp(y)) * (3 * std::sqrt(at.size()) + 1) + 3;
              expect_near(dx[0].get(i), expected, 16 * eps, scale, "softmax_backward");
            }
          });
        }
      }
    }
  }
}

TEST(Softmax, NeverOverflows) {
  for (const dlcore_dtype dtype : kFloats) {
    const Tensor x = Tensor::of(dtype, {3}, {1000, 1001, -1000});
    for (const auto& y : run_all(softmax_kernels, Op::kSoftmax, {0}, {x}, {Tensor(dtype, {3})})) {
      EXPECT_NEAR(y[0].get(0), 0.2689414213699951, 1e-7);
      EXPECT_NEAR(y[0].get(1), 0.7310585786300049, 1e-7);
      EXPECT_EQ(y[0].get(2), 0);
    }
    for (const auto& y :
         run_all(softmax_kernels, Op::kLogSoftmax, {0}, {x}, {Tensor(dtype, {3})})) {
      EXPECT_NEAR(y[0].get(2), -2001.3132616875182, 1e-3);
    }
    const Tensor masked = Tensor::of(dtype, {3}, {-kInf, 2, -kInf});
    for (const auto& y :
         run_all(softmax_kernels, Op::kSoftmax, {0}, {masked}, {Tensor(dtype, {3})})) {
      EXPECT_EQ(y[0].values(), (std::vector<double>{0, 1, 0}));
    }
  }
}

struct NormCase {
  Shape shape;
  int64_t axis;
  Shape rows;
  Shape row;
};

const NormCase kNormCases[] = {
    {{7}, 0, {}, {7}},           {{5, 1}, -1, {5}, {1}},
    {{600, 33}, 1, {600}, {33}}, {{3, 1000}, -1, {3}, {1000}},
    {{9, 4, 6}, 1, {9}, {4, 6}}, {{2, 3, 700}, 2, {2, 3}, {700}},
    {{0, 8}, 1, {0}, {8}},       {{70, 2100}, 1, {70}, {2100}},
};

TEST(LayerNorm, MatchesTheDefinition) {
  constexpr double kEpsilon = 1e-5;
  for (const dlcore_dtype dtype : kFloats) {
    const double eps = epsilon_of(dtype);
    for (const NormCase& c : kNormCases) {
      for (const int parts : {0, 1, 2, 3}) {  // bit 0 scale, bit 1 bias
        std::vector<double> values = normal_values(product(c.shape), 1, 2);
        for (double& v : values) v += 5;
        const int64_t n = product(c.row);
        const Tensor x = Tensor::of(dtype, c.shape, values);
        const Tensor g = Tensor::of(dtype, c.shape, normal_values(product(c.shape), 2));
        const Tensor none;
        const Tensor scale =
            (parts & 1) != 0 ? Tensor::of(dtype, c.row, normal_values(n, 3)) : none;
        const Tensor bias = (parts & 2) != 0 ? Tensor::of(dtype, c.row, normal_values(n, 4)) : none;
        const std::vector<Tensor> outs = {Tensor(dtype, c.shape), Tensor(dtype, c.rows),
                                          Tensor(dtype, c.rows)};
        const auto scale_at = [&](int64_t i) { return (parts & 1) != 0 ? scale.get(i) : 1.0; };
        const auto bias_at = [&](int64_t i) { return (parts & 2) != 0 ? bias.get(i) : 0.0; };
        const auto forward = run_all(layer_norm_kernels, Op::kLayerNorm, {c.axis, word(kEpsilon)},
                                     {x, scale, bias}, outs);
        std::vector<double> means, rstds;
        for (int64_t r = 0; r < product(c.rows); ++r) {
          long double mean = 0, variance = 0;
          for (int64_t i = 0; i < n; ++i) mean += x.get(r * n + i);
          mean /= n;
          for (int64_t i = 0; i < n; ++i) variance += std::pow(x.get(r * n + i) - mean, 2);
          means.push_back(static_cast<double>(mean));
          rstds.push_back(static_cast<double>(1 / std::sqrt(variance / n + kEpsilon)));
        }
        for (const auto& out : forward) {
          for (int64_t i = 0; i < x.count(); ++i) {
            const int64_t r = i / n;
            const double xhat = (x.get(i) - means[r]) * rstds[r];
            const double expected = xhat * scale_at(i % n) + bias_at(i % n);
            const double size = (1 + std::abs(xhat) + 5 * rstds[r]) * std::abs(scale_at(i % n)) +
                                std::abs(expected);
            expect_near(out[0].get(i), expected, 16 * eps, size, "layer_norm");
          }
          for (int64_t r = 0; r < product(c.rows); ++r) {
            expect_near(out[1].get(r), means[r], 8 * eps, 5, "mean");
            expect_near(out[2].get(r), rstds[r], 16 * eps, rstds[r], "rstd");
          }
        }
        if ((parts & 2) != 0) continue;
        const std::vector<Tensor> gradients = {Tensor(dtype, c.shape), Tensor(dtype, c.row),
                                               Tensor(dtype, c.row)};
        const Tensor mean = Tensor::of(dtype, c.rows, means);
        const Tensor rstd = Tensor::of(dtype, c.rows, rstds);
        const auto backward = run_all(layer_norm_backward_kernels, Op::kLayerNormBackward, {c.axis},
                                      {g, x, scale, mean, rstd}, gradients);
        std::vector<double> dx(x.count()), dscale(n), dbias(n);
        for (int64_t r = 0; r < product(c.rows); ++r) {
          long double h_sum = 0, h_xhat = 0;
          const auto hat = [&](int64_t i) { return (x.get(r * n + i) - means[r]) * rstds[r]; };
          for (int64_t i = 0; i < n; ++i) {
            const double h = g.get(r * n + i) * scale_at(i);
            h_sum += h;
            h_xhat += h * hat(i);
            dscale[i] += g.get(r * n + i) * hat(i);
            dbias[i] += g.get(r * n + i);
          }
          for (int64_t i = 0; i < n; ++i) {
            const double h = g.get(r * n + i) * scale_at(i);
            dx[r * n + i] = static_cast<double>(rstds[r] * (h - (h_sum + hat(i) * h_xhat) / n));
          }
        }
        const double many = std::sqrt(static_cast<double>(product(c.rows))) + 1;
        for (const auto& out : backward) {
          for (int64_t i = 0; i < x.count(); ++i) {
            const double rate = rstds[i / n];
            expect_near(out[0].get(i), dx[i], 64 * eps, rate * (4 + 5 * rate), "dx");
          }
          for (int64_t i = 0; i < n; ++i) {
            expect_near(out[1].get(i), dscale[i], 64 * eps, many * 4, "dscale");
            expect_near(out[2].get(i), dbias[i], 64 * eps, many * 4, "dbias");
          }
        }
      }
    }
  }
}

struct EntropyCase {
  Shape logits;
  Shape labels;
};

const EntropyCase kEntropyCases[] = {{{10}, {}},       {{1, 1}, {1}},       {{64, 10}, {64}},
                                     {{5, 1000}, {5}}, {{4, 6, 9}, {4, 9}}, {{2, 700, 3}, {2, 3}},
                                     {{0, 5}, {0}}};

Words entropy_attrs(const std::string& reduction, bool ignore, int64_t index, double smoothing) {
  int64_t text = 0;
  std::memcpy(&text, reduction.data(), reduction.size());
  Words words = {static_cast<int64_t>(reduction.size()), text, ignore ? 1 : 0};
  if (ignore) words.push_back(index);
  words.push_back(word(smoothing));
  return words;
}

// Position of class `c` of row `r`: the class axis is 1, or 0 for one row.
int64_t logit_at(const EntropyCase& e, int64_t r, int64_t c) {
  if (e.logits.size() < 2) return c;
  int64_t inner = 1;
  for (size_t a = 2; a < e.logits.size(); ++a) inner *= e.logits[a];
  return r / inner * inner * e.logits[1] + c * inner + r % inner;
}

void check_entropy(const EntropyCase& e, dlcore_dtype dtype, dlcore_dtype label_dtype,
                   const std::string& reduction, bool ignore, double smoothing) {
  const int64_t classes = e.logits.size() < 2 ? e.logits[0] : e.logits[1];
  const int64_t rows = product(e.labels);
  std::vector<double> targets;
  for (int64_t r = 0; r < rows; ++r) targets.push_back(static_cast<double>(r * 7 % classes));
  const int64_t ignored = ignore ? 0 : -100;
  const Tensor x = Tensor::of(dtype, e.logits, normal_values(product(e.logits), 1, 4));
  const Tensor labels = Tensor::of(label_dtype, e.labels, targets);
  const Words attrs = entropy_attrs(reduction, ignore, ignored, smoothing);
  const bool none = reduction == "none";
  const Shape loss_shape = none ? e.labels : Shape{};
  const Tensor g = Tensor::of(dtype, loss_shape, normal_values(product(loss_shape), 3));

  double counted = 0;
  for (double t : targets) counted += t == ignored ? 0 : 1;
  std::vector<double> losses, lses, dx(x.count());
  for (int64_t r = 0; r < rows; ++r) {
    double max = -kInf, sum = 0, mean = 0;
    for (int64_t c = 0; c < classes; ++c) max = std::max(max, x.get(logit_at(e, r, c)));
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x.get(logit_at(e, r, c)) - max);
    const double lse = max + std::log(sum);
    for (int64_t c = 0; c < classes; ++c) mean += (lse - x.get(logit_at(e, r, c))) / classes;
    lses.push_back(lse);
    const bool counts = targets[r] != ignored;
    const double nll = lse - x.get(logit_at(e, r, static_cast<int64_t>(targets[r])));
    losses.push_back(counts ? (1 - smoothing) * nll + smoothing * mean : 0);
    for (int64_t c = 0; c < classes; ++c) {
      const double hot = c == targets[r] ? 1 - smoothing : 0;
      const double p = std::exp(x.get(logit_at(e, r, c)) - lse);
      const double scale = g.get(none ? r : 0) / (reduction == "mean" ? counted : 1);
      dx[logit_at(e, r, c)] = counts ? (p - smoothing / classes - hot) * scale : 0;
    }
  }
  double total = 0;
  for (double l : losses) total += l;
  if (reduction == "mean") total = counted == 0 ? 0 : total / counted;

  const double eps = epsilon_of(dtype);
  const auto forward = run_all(cross_entropy_kernels, Op::kCrossEntropy, attrs, {x, labels},
                               {Tensor(dtype, loss_shape), Tensor(dtype, e.labels)});
  for (const auto& out : forward) {
    for (int64_t r = 0; r < rows; ++r) {
      expect_near(out[1].get(r), lses[r], 8 * eps, 1 + std::abs(lses[r]), "logsumexp");
      if (none) expect_near(out[0].get(r), losses[r], 8 * eps, 10 + losses[r], "loss");
    }
    if (!none) expect_near(out[0].get(0), total, 8 * eps, 10 + total, "loss");
  }
  const Tensor lse = Tensor::of(dtype, e.labels, lses);
  const auto backward = run_all(cross_entropy_kernels, Op::kCrossEntropyBackward, attrs,
                                {g, x, labels, lse}, {Tensor(dtype, e.logits)});
  for (const auto& out : backward) {
    for (int64_t i = 0; i < x.count(); ++i) expect_near(out[0].get(i), dx[i], 64 * eps, 1, "dx");
  }
}

TEST(CrossEntropy, MatchesTheDefinition) {
  for (const EntropyCase& e : kEntropyCases) {
    for (const dlcore_dtype dtype : kFloats) {
      for (const std::string reduction : {"mean", "sum", "none"}) {
        check_entropy(e, dtype, DLCORE_I64, reduction, false, 0);
        check_entropy(e, dtype, DLCORE_I32, reduction, true, 0.1);
        check_entropy(e, dtype, DLCORE_I32, reduction, false, 1);
      }
      if (e.logits.size() < 2 || e.logits[1] < 256)
        check_entropy(e, dtype, DLCORE_U8, "mean", true, 0);
    }
  }
}

TEST(CrossEntropy, NeverOverflowsAndNothingToAverageIsZero) {
  for (const dlcore_dtype dtype : kFloats) {
    const Tensor x = Tensor::of(dtype, {2, 2}, {1000, -1000, -1000, 1000});
    const Tensor labels = Tensor::of(DLCORE_I64, {2}, {0, 0});
    const std::vector<Tensor> outs = {Tensor(dtype, {}), Tensor(dtype, {2})};
    const auto mean = run_all(cross_entropy_kernels, Op::kCrossEntropy,
                              entropy_attrs("mean", false, 0, 0), {x, labels}, outs);
    for (const auto& out : mean) EXPECT_EQ(out[0].get(0), 1000);
    const Words ignore_all = entropy_attrs("mean", true, 0, 0.5);
    for (const auto& out :
         run_all(cross_entropy_kernels, Op::kCrossEntropy, ignore_all, {x, labels}, outs)) {
      EXPECT_EQ(out[0].get(0), 0);
    }
    const Tensor g = Tensor::of(dtype, {}, {1});
    for (const auto& out :
         run_all(cross_entropy_kernels, Op::kCrossEntropyBackward, ignore_all,
                 {g, x, labels, labels.copied(Layout::kDense)}, {Tensor(dtype, {2, 2})})) {
      EXPECT_EQ(out[0].values(), (std::vector<double>{0, 0, 0, 0}));
    }
  }
}

TEST(CrossEntropy, NamesTheFirstBadLabel) {
  const Tensor x(DLCORE_F32, {5, 10});
  const Tensor labels = Tensor::of(DLCORE_I32, {5}, {1, 2, 3, 12, -1});
  const Tensor g = Tensor::of(DLCORE_F32, {}, {1});
  const Tensor lse(DLCORE_F32, {5});
  for (const TargetKernels& table : usable_tables(cross_entropy_kernels)) {
    std::vector<Tensor> outs = {Tensor(DLCORE_F32, {}), Tensor(DLCORE_F32, {5})};
    Call call{Op::kCrossEntropy, DLCORE_F32, entropy_attrs("mean", false, 0, 0), ""};
    EXPECT_EQ(run(table, call, {x, labels}, outs), DLCORE_OUT_OF_RANGE);
    EXPECT_EQ(call.message, "label 12 at row 3 is out of bounds for 10 classes");
    std::vector<Tensor> dx = {Tensor(DLCORE_F32, {5, 10})};
    call.op = Op::kCrossEntropyBackward;
    EXPECT_EQ(run(table, call, {g, x, labels, lse}, dx), DLCORE_OUT_OF_RANGE);
  }
}

}  // namespace
}  // namespace dlcore::cpu::testing
