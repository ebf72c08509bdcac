// SPDX-License-Identifier: Apache-2.0
// The three kernels of convolution against their definition in float64; layouts, instruction sets
// and threads change no bit.
#include "backends/cpu/convolution/convolution.h"

#include <gtest/gtest.h>

#include <atomic>

#include "backends/cpu/convolution/correlate_plan.h"
#include "backends/cpu/convolution/weight_gradient_plan.h"
#include "backends/cpu/reduce/kernel_testing.h"

namespace dlcore::cpu::testing {
namespace {

struct Case {
  int64_t images, groups, inputs, outputs;  // channels per group
  Shape in, kernel;
  Shape stride = {1, 1};
  Shape padding = {0, 0, 0, 0};  // top, left, bottom, right
  Shape dilation = {1, 1};

  int64_t out(size_t a) const {
    return (in[a] + padding[a] + padding[a + 2] - (kernel[a] - 1) * dilation[a] - 1) / stride[a] +
           1;
  }
  Shape x() const { return {images, groups * inputs, in[0], in[1]}; }
  Shape w() const { return {groups * outputs, inputs, kernel[0], kernel[1]}; }
  Shape y() const { return {images, groups * outputs, out(0), out(1)}; }

  // Packed attributes; the derivatives have a size in addition.
  Words attrs(const Shape& size = {}) const {
    Words words;
    for (const Shape* list : {&stride, &padding, &dilation}) {
      words.push_back(1);
      words.push_back(static_cast<int64_t>(list->size()));
      words.insert(words.end(), list->begin(), list->end());
    }
    words.push_back(groups);
    words.push_back(4);
    int64_t text = 0;
    std::memcpy(&text, "none", 4);
    words.push_back(text);
    if (size.empty()) return words;
    words.push_back(1);
    words.push_back(2);
    for (const int64_t s : size) {
      words.push_back(0);
      words.push_back(s);
    }
    return words;
  }
  std::string name() const {
    return std::to_string(images) + "x" + std::to_string(groups) + "x" + std::to_string(inputs) +
           "->" + std::to_string(outputs) + " " + std::to_string(in[0]) + "x" +
           std::to_string(in[1]) + " kernel " + std::to_string(kernel[0]) + "x" +
           std::to_string(kernel[1]) + " stride " + std::to_string(stride[0]);
  }

  // fn(y, x, w) for every product of the definition: indices into the three.
  template <class Fn>
  void each(const Fn& fn) const {
    const Shape ys = y(), xs = x(), ws = w();
    for (int64_t i = 0; i < product(ys); ++i) {
      const int64_t n = i / (ys[1] * ys[2] * ys[3]), o = i / (ys[2] * ys[3]) % ys[1];
      const int64_t row = i / ys[3] % ys[2], col = i % ys[3];
      for (int64_t k = 0; k < inputs * kernel[0] * kernel[1]; ++k) {
        const int64_t c = o / outputs * inputs + k / (kernel[0] * kernel[1]);
        const int64_t h = row * stride[0] - padding[0] + k / kernel[1] % kernel[0] * dilation[0];
        const int64_t v = col * stride[1] - padding[1] + k % kernel[1] * dilation[1];
        if (h < 0 || h >= in[0] || v < 0 || v >= in[1]) continue;
        fn(i, ((n * xs[1] + c) * xs[2] + h) * xs[3] + v, o * inputs * kernel[0] * kernel[1] + k);
      }
    }
  }
};

const Case kCases[] = {
    {2, 1, 3, 4, {5, 6}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {1, 1, 1, 32, {28, 28}, {3, 3}, {1, 1}, {1, 1, 1, 1}},   // the first layer of a network
    {3, 1, 32, 64, {14, 14}, {3, 3}, {1, 1}, {1, 1, 1, 1}},  // a later one
    {17, 1, 5, 40, {6, 7}, {3, 3}, {1, 1}, {1, 1, 1, 1}},    // more images than parts
    {1, 1, 30, 33, {40, 37}, {3, 3}, {1, 1}, {1, 1, 1, 1}},  // one image, cut into bands
    {2, 1, 7, 20, {9, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {2, 1, 4, 20, {11, 9}, {2, 3}, {3, 2}, {0, 1, 2, 0}},
    {1, 1, 3, 18, {16, 16}, {4, 4}, {4, 4}},  // patches
    {1, 1, 3, 18, {13, 12}, {3, 2}, {2, 3}, {2, 1, 0, 3}, {2, 2}},
    {1, 1, 2, 3, {15, 16}, {3, 3}, {4, 6}, {3, 3, 3, 3}, {6, 4}},
    {2, 1, 20, 35, {7, 5}, {1, 1}},
    {2, 1, 6, 5, {8, 8}, {1, 1}, {2, 2}},
    {40, 1, 9, 20, {2, 2}, {3, 3}, {1, 1}, {1, 1, 1, 1}},  // images smaller than vectors
    {40, 1, 9, 20, {3, 3}, {3, 3}},                        // one position
    {2, 3, 4, 5, {9, 9}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {2, 2, 3, 40, {9, 9}, {3, 3}, {2, 1}, {1, 1, 1, 1}},
    {3, 37, 1, 1, {14, 15}, {3, 3}, {1, 1}, {1, 1, 1, 1}},  // depthwise
    {1, 5, 1, 2, {30, 33}, {5, 5}, {2, 2}, {2, 2, 2, 2}},
    {2, 4, 1, 1, {9, 70}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {2, 3, 1, 2, {13, 41}, {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {1, 1, 1, 2, {2, 3}, {3, 2}, {37, 50}, {40, 70, 40, 70}},  // mostly padding
    {2, 1, 3, 40, {2, 3}, {2, 2}, {17, 19}, {30, 30, 30, 30}},
    {1, 1, 2, 40, {1, 300}, {1, 9}},
    {1, 1, 2, 40, {300, 1}, {9, 1}},
};

struct Kernel {
  KernelFile file;
  Op op;
  std::vector<Shape> inputs;
  Shape output;
  Words attrs;
};

std::vector<Kernel> kernels_of(const Case& c) {
  return {{correlate_kernels, Op::kConv2d, {c.x(), c.w(), {c.w()[0]}}, c.y(), c.attrs()},
          {correlate_kernels, Op::kConv2dInputBackward, {c.y(), c.w()}, c.x(), c.attrs(c.in)},
          {weight_gradient_kernels,
           Op::kConv2dWeightBackward,
           {c.y(), c.x()},
           c.w(),
           c.attrs(c.kernel)}};
}

// The definition, and the sum of the absolute values of what is added.
struct Expected {
  std::vector<double> values, sizes;
};

Expected expected_of(const Case& c, Op op, const std::vector<Tensor>& in) {
  Expected e;
  if (op == Op::kConv2d) {
    for (int64_t i = 0; i < product(c.y()); ++i) {
      const int64_t channel = i / (c.y()[2] * c.y()[3]) % c.y()[1];
      e.values.push_back(in.size() > 2 ? in[2].get(channel) : 0);
    }
  } else {
    const Shape shape = op == Op::kConv2dInputBackward ? c.x() : c.w();
    e.values.assign(static_cast<size_t>(product(shape)), 0);
  }
  for (double v : e.values) e.sizes.push_back(std::abs(v));
  const std::vector<double> a = in[0].values(), b = in[1].values();
  c.each([&](int64_t y, int64_t x, int64_t w) {
    const int64_t first = op == Op::kConv2d ? x : y;
    const int64_t second = op == Op::kConv2dWeightBackward ? x : w;
    const int64_t to = op == Op::kConv2d ? y : op == Op::kConv2dInputBackward ? x : w;
    const double term = a[static_cast<size_t>(first)] * b[static_cast<size_t>(second)];
    e.values[static_cast<size_t>(to)] += term;
    e.sizes[static_cast<size_t>(to)] += std::abs(term);
  });
  return e;
}

void check(const Case& c, const Kernel& kernel, dlcore_dtype dtype) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : kernel.inputs) {
    const auto seed = static_cast<unsigned>(inputs.size() + 1);
    inputs.push_back(Tensor::of(dtype, shape, normal_values(product(shape), seed)));
  }
  const Expected expected = expected_of(c, kernel.op, inputs);
  ThreadPool pool(3);
  for (const TargetKernels& table : usable_tables(kernel.file)) {
    std::vector<char> bits;
    for (const Layout layout : kLayouts) {
      if (dtype == DLCORE_F64 && layout > Layout::kReversedAxes) break;  // the same code as f32
      std::vector<Tensor> in;
      for (const Tensor& t : inputs) in.push_back(t.copied(layout));
      for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
        std::vector<Tensor> out = {Tensor(dtype, kernel.output)};
        Call call{kernel.op, dtype, kernel.attrs, ""};
        ASSERT_EQ(run(table, call, in, out, threads), DLCORE_OK) << call.message;
        if (bits.empty()) {
          bits = out[0].memory();
          for (int64_t i = 0; i < out[0].count(); ++i) {
            expect_near(out[0].get(i), expected.values[static_cast<size_t>(i)],
                        8 * epsilon_of(dtype), expected.sizes[static_cast<size_t>(i)] + 1e-30,
                        c.name() + ", op " + std::to_string(static_cast<int>(kernel.op)) + " at " +
                            std::to_string(i));
            if (::testing::Test::HasFailure()) return;
          }
        }
        ASSERT_EQ(out[0].memory(), bits)
            << c.name() << ", op " << static_cast<int>(kernel.op) << ", layout "
            << static_cast<int>(layout) << (threads != nullptr ? " with a pool" : "");
      }
    }
  }
}

TEST(Convolution, MatchesTheDefinitionWithEqualBitsForEveryLayoutAndPool) {
  for (const Case& c : kCases) {
    for (const Kernel& kernel : kernels_of(c)) {
      for (const dlcore_dtype dtype : {DLCORE_F32, DLCORE_F64}) {
        check(c, kernel, dtype);
        if (HasFatalFailure() || HasFailure()) return;
      }
    }
  }
}

TEST(Convolution, WithoutABias) {
  const Case& c = kCases[0];
  Kernel kernel = kernels_of(c)[0];
  kernel.inputs.pop_back();
  check(c, kernel, DLCORE_F32);
}

// Values that all three formats hold exactly, so that only the last rounding shows.
template <class H>
void check_half(const Case& c, dlcore_dtype dtype, H (*from)(double), double (*to)(H)) {
  for (const Kernel& kernel : kernels_of(c)) {
    std::vector<Tensor> wide;
    std::vector<std::vector<H>> narrow;
    for (const Shape& shape : kernel.inputs) {
      std::vector<double> values = normal_values(product(shape), 5);
      auto& elements = narrow.emplace_back();
      for (double& v : values) {
        v = std::round(v * 4) / 4;
        elements.push_back(from(v));
      }
      wide.push_back(Tensor::of(DLCORE_F64, shape, values));
    }
    const Expected expected = expected_of(c, kernel.op, wide);
    for (const TargetKernels& table : usable_tables(kernel.file)) {
      std::vector<Tensor> in = wide, out = {Tensor(dtype, kernel.output)};
      for (size_t i = 0; i < in.size(); ++i) in[i] = Tensor(dtype, kernel.inputs[i]);
      for (size_t i = 0; i < in.size(); ++i) {
        std::memcpy(const_cast<char*>(in[i].memory().data()), narrow[i].data(),
                    narrow[i].size() * sizeof(H));
      }
      Call call{kernel.op, dtype, kernel.attrs, ""};
      ASSERT_EQ(run(table, call, in, out), DLCORE_OK) << call.message;
      for (size_t i = 0; i < expected.values.size(); ++i) {
        H got;
        std::memcpy(&got, out[0].memory().data() + i * sizeof got, sizeof got);
        ASSERT_EQ(to(got), to(from(expected.values[i]))) << c.name() << " at " << i;
      }
    }
  }
}

TEST(Convolution, HalfPrecisionIsAccumulatedInFloat) {
  for (const Case& c :
       {kCases[0], kCases[5], kCases[14], kCases[16], kCases[18], kCases[19], kCases[20]}) {
    check_half<Half>(c, DLCORE_F16, half_from, to_double);
    check_half<BFloat16>(c, DLCORE_BF16, bfloat16_from, to_double);
    if (HasFatalFailure()) return;
  }
}

// What lies behind a row of planes or of the source must not be multiplied by anything.
TEST(Convolution, InfinitiesStayWhereTheDefinitionPutsThem) {
  for (const Case& c : {kCases[0], kCases[2], kCases[16]}) {
    for (const Kernel& kernel : kernels_of(c)) {
      std::vector<Tensor> inputs;
      for (const Shape& shape : kernel.inputs) {
        inputs.push_back(Tensor::of(DLCORE_F32, shape, normal_values(product(shape), 3)));
      }
      inputs[1].set(inputs[1].count() / 2, INFINITY);
      const Expected expected = expected_of(c, kernel.op, inputs);
      for (const TargetKernels& table : usable_tables(kernel.file)) {
        std::vector<Tensor> out = {Tensor(DLCORE_F32, kernel.output)};
        Call call{kernel.op, DLCORE_F32, kernel.attrs, ""};
        ASSERT_EQ(run(table, call, inputs, out), DLCORE_OK);
        for (int64_t i = 0; i < out[0].count(); ++i) {
          if (kernel.op == Op::kConv2dWeightBackward) {
            const double e = expected.values[static_cast<size_t>(i)];
            ASSERT_EQ(std::isfinite(out[0].get(i)), std::isfinite(e)) << c.name() << " at " << i;
          } else if (std::isfinite(out[0].get(i))) {
            ASSERT_TRUE(std::isfinite(expected.values[static_cast<size_t>(i)]));
          }
        }
      }
    }
  }
}

TEST(Convolution, StopsBetweenParts) {
  const Case& c = kCases[2];
  for (const Kernel& kernel : kernels_of(c)) {
    std::vector<Tensor> inputs;
    for (const Shape& shape : kernel.inputs) {
      inputs.push_back(Tensor::of(DLCORE_F32, shape, normal_values(product(shape), 3)));
    }
    std::vector<dlcore_operand> in;
    for (const Tensor& t : inputs) in.push_back(t.operand());
    const Tensor out(DLCORE_F32, kernel.output);
    const dlcore_operand result = out.operand();
    const TargetKernels table = usable_tables(kernel.file)[0];
    for (const dlcore_kernel& k : table.kernels) {
      if (k.op != static_cast<int32_t>(kernel.op) || k.dtype != DLCORE_F32) continue;
      dlcore_launch launch{};
      launch.inputs = in.data();
      launch.outputs = &result;
      launch.n_inputs = static_cast<int32_t>(in.size());
      launch.n_outputs = 1;
      launch.attrs = kernel.attrs.data();
      std::vector<double> workspace(k.workspace(&launch) / 8 + 1);
      launch.workspace = workspace.data();
      const std::atomic<int32_t> stop{1};
      Queue queue;
      queue.stop = &stop;
      const std::vector<char> before = out.memory();
      EXPECT_EQ(k.launch(&queue, &launch), DLCORE_OK);
      EXPECT_EQ(out.memory(), before);
    }
  }
}

// Memory: no matrix of patches. Planes and panels together take at most about twice the source,
// beside the packed weights and a constant.
TEST(Convolution, WorkspaceIsAtMostTwiceTheSource) {
  const Case cases[] = {{1, 1, 64, 64, {56, 56}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
                        {64, 1, 32, 64, {14, 14}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
                        {64, 1, 1, 32, {28, 28}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
                        {8, 1, 64, 64, {56, 56}, {7, 7}, {1, 1}, {3, 3, 3, 3}},
                        {8, 1, 64, 128, {56, 56}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
                        {8, 128, 1, 1, {28, 28}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
                        {1, 960, 1, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
                        {8, 1, 3, 768, {224, 224}, {16, 16}, {16, 16}},
                        {1, 1, 256, 256, {64, 64}, {3, 3}, {1, 1}, {12, 12, 12, 12}, {12, 12}}};
  for (const Case& c : cases) {
    for (const Kernel& kernel : kernels_of(c)) {
      const Shape& source = kernel.inputs[kernel.op == Op::kConv2dWeightBackward ? 1 : 0];
      std::vector<dlcore_operand> in;
      std::vector<std::vector<int64_t>> strides;
      for (const Shape& shape : kernel.inputs) {
        auto& s = strides.emplace_back(shape.size(), 1);
        for (size_t a = shape.size() - 1; a-- > 0;) s[a] = s[a + 1] * shape[a + 1];
      }
      for (size_t i = 0; i < strides.size(); ++i) {
        const Shape& shape = kernel.inputs[i];
        in.push_back({nullptr, shape.data(), strides[i].data(), product(shape), DLCORE_F32,
                      static_cast<int32_t>(shape.size())});
      }
      const std::vector<int64_t> out_strides(4, 1);
      const dlcore_operand out{
          nullptr, kernel.output.data(), out_strides.data(), product(kernel.output), DLCORE_F32, 4};
      dlcore_launch launch{};
      launch.inputs = in.data();
      launch.outputs = &out;
      launch.n_inputs = static_cast<int32_t>(in.size());
      launch.attrs = kernel.attrs.data();
      for (const TargetKernels& table : usable_tables(kernel.file)) {
        for (const dlcore_kernel& k : table.kernels) {
          if (k.op != static_cast<int32_t>(kernel.op) || k.dtype != DLCORE_F32) continue;
          const auto bytes = static_cast<double>(k.workspace(&launch));
          const auto weights = static_cast<double>(4 * product(c.w()));
          EXPECT_LE(bytes, 2.0 * 4 * static_cast<double>(product(source)) + 3 * weights + (1 << 20))
              << c.name() << ", op " << static_cast<int>(kernel.op);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu::testing
