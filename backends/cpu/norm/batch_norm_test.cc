// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/norm/norm.h"
#include "backends/cpu/reduce/kernel_testing.h"

namespace dlcore::cpu::testing {
namespace {

constexpr double kEpsilon = 1e-3;

// Planes of all sizes: inside of a block, of several, and of so many that threads share a channel.
const Shape kShapes[] = {{4, 3},         {64, 5},        {700, 2},          {5000, 3},
                         {3, 4, 70},     {2, 3, 28, 28}, {9, 3, 1, 2, 100}, {1, 2, 70000},
                         {70, 1, 33, 34}};

struct Problem {
  Problem(dlcore_dtype dtype, const Shape& shape)
      : channels(shape[1]),
        plane(product(shape) / (shape[0] * shape[1])),
        values(shape[0] * plane),
        x(of(dtype, shape, 1, 2, 5)),
        g(of(dtype, shape, 2, 1, 0)),
        scale(of(dtype, {channels}, 3, 1, 0)),
        bias(of(dtype, {channels}, 4, 1, 0)),
        mean(of(dtype, {channels}, 5, 1, 5)),
        variance(of(dtype, {channels}, 6, 0.1, 2)) {}

  static Tensor of(dlcore_dtype dtype, const Shape& shape, unsigned seed, double width,
                   double middle) {
    std::vector<double> numbers = normal_values(product(shape), seed, width);
    for (double& v : numbers) v += middle;
    return Tensor::of(dtype, shape, numbers);
  }
  // Element i of channel c.
  int64_t at(int64_t c, int64_t i) const { return (i / plane * channels + c) * plane + i % plane; }

  int64_t channels, plane, values;
  Tensor x, g, scale, bias, mean, variance;
};

struct Statistics {
  double mean;
  double variance;
};

Statistics statistics(const Problem& p, int64_t c) {
  long double mean = 0, squares = 0;
  for (int64_t i = 0; i < p.values; ++i) mean += p.x.get(p.at(c, i));
  mean /= p.values;
  for (int64_t i = 0; i < p.values; ++i) squares += std::pow(p.x.get(p.at(c, i)) - mean, 2);
  return {static_cast<double>(mean), static_cast<double>(squares / p.values)};
}

// The statistics that the forward op would hand to the backward one.
Tensor given(const Problem& p, bool training, bool mean) {
  if (!training) return mean ? p.mean : p.variance;
  Tensor t(p.x.dtype(), {p.channels});
  for (int64_t c = 0; c < p.channels; ++c) {
    const Statistics s = statistics(p, c);
    t.set(c, mean ? s.mean : s.variance);
  }
  return t;
}

void expect_gradients(const Problem& p, bool training, const Tensor& mean, const Tensor& variance,
                      const std::vector<Tensor>& out, double eps) {
  for (int64_t c = 0; c < p.channels; ++c) {
    const double rstd = 1 / std::sqrt(variance.get(c) + kEpsilon);
    const auto hat = [&](int64_t i) { return (p.x.get(p.at(c, i)) - mean.get(c)) * rstd; };
    long double sum = 0, dot = 0;
    for (int64_t i = 0; i < p.values; ++i) {
      sum += p.g.get(p.at(c, i));
      dot += p.g.get(p.at(c, i)) * hat(i);
    }
    const double many = std::sqrt(static_cast<double>(p.values)) + 1;
    expect_near(out[1].get(c), static_cast<double>(dot), 32 * eps, many * 4, "dscale");
    expect_near(out[2].get(c), static_cast<double>(sum), 32 * eps, many * 2, "dbias");
    for (int64_t i = 0; i < p.values; ++i) {
      long double dx = p.g.get(p.at(c, i));
      if (training) dx -= (sum + hat(i) * dot) / p.values;
      const double slope = p.scale.get(c) * rstd;
      expect_near(out[0].get(p.at(c, i)), static_cast<double>(dx * slope), 32 * eps,
                  std::abs(slope) * 8, "dx");
    }
  }
}

TEST(BatchNorm, MatchesTheDefinitionInEveryLayoutAndWithThreads) {
  for (const dlcore_dtype dtype : {DLCORE_F32, DLCORE_F64}) {
    const double eps = epsilon_of(dtype);
    for (const Shape& shape : kShapes) {
      const Problem p(dtype, shape);
      const Tensor none;
      const std::vector<Tensor> outs = {Tensor(dtype, shape), Tensor(dtype, {p.channels}),
                                        Tensor(dtype, {p.channels})};
      for (const bool training : {true, false}) {
        const Words attrs = {training, word(kEpsilon)};
        std::vector<Tensor> inputs = {p.x, p.scale, p.bias};
        if (!training) inputs.insert(inputs.end(), {p.mean, p.variance});
        for (const auto& out : run_all(batch_norm_kernels, Op::kBatchNorm, attrs, inputs, outs)) {
          for (int64_t c = 0; c < p.channels; ++c) {
            const Statistics s =
                training ? statistics(p, c) : Statistics{p.mean.get(c), p.variance.get(c)};
            expect_near(out[1].get(c), s.mean, 8 * eps, 8, "mean");
            expect_near(out[2].get(c), s.variance, 16 * eps, s.variance + 1, "variance");
            const double slope = p.scale.get(c) / std::sqrt(s.variance + kEpsilon);
            for (int64_t i = 0; i < p.values; ++i) {
              const double centered = p.x.get(p.at(c, i)) - s.mean;
              expect_near(out[0].get(p.at(c, i)), centered * slope + p.bias.get(c), 16 * eps,
                          std::abs(slope) * (std::abs(centered) + 5) + 4, "batch_norm");
            }
          }
        }
        const Tensor mean = given(p, training, true), variance = given(p, training, false);
        const auto backward = run_all(batch_norm_backward_kernels, Op::kBatchNormBackward, attrs,
                                      {p.g, p.x, p.scale, mean, variance}, outs);
        for (const auto& out : backward) expect_gradients(p, training, mean, variance, out, eps);
      }
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu::testing
