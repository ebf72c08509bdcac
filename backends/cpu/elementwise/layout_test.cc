// SPDX-License-Identifier: Apache-2.0
// Every elementwise kernel, every dtype, every instruction set: the result for strided and
// broadcast operands has the bits of the result for contiguous ones, and so has a computation in
// place.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "backends/cpu/elementwise/test_support.h"

namespace dlcore::cpu::test {
namespace {

using Shape = std::vector<int64_t>;

void fill(Operand& operand, std::mt19937& generator) {
  const int64_t size = element_size(operand.dtype);
  for (size_t at = 0; at < operand.memory.size(); at += static_cast<size_t>(size)) {
    const int draw = static_cast<int>(generator() % 15) - 7;
    const double real = std::uniform_real_distribution<double>(-4, 4)(generator);
    std::byte* to = operand.memory.data() + at;
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
    switch (operand.dtype) {
      case DLCORE_BOOL:
        put(static_cast<uint8_t>(draw & 1));
        break;
      case DLCORE_U8:
        put(static_cast<uint8_t>(draw == 0 ? 1 : draw & 7));
        break;
      case DLCORE_I8:
        put(static_cast<int8_t>(draw == 0 ? 1 : draw));
        break;
      case DLCORE_I16:
        put(static_cast<int16_t>(draw == 0 ? 1 : draw));
        break;
      case DLCORE_I32:
        put(static_cast<int32_t>(draw == 0 ? 1 : draw));
        break;
      case DLCORE_I64:
        put(static_cast<int64_t>(draw == 0 ? 1 : draw));
        break;
      case DLCORE_F16:
        put(half_from(real));
        break;
      case DLCORE_BF16:
        put(bfloat16_from(real));
        break;
      case DLCORE_F32:
        put(static_cast<float>(real));
        break;
      default:
        put(real);
        break;
    }
  }
}

// Layout 0: contiguous; 1: permuted; 2: every second element, offset; 3: first axis repeated;
// 4: last axis repeated; 5: one value; 6: a slice with contiguous rows.
Operand make(dlcore_dtype dtype, const Shape& shape, int layout, std::mt19937& generator) {
  Operand result;
  result.dtype = dtype;
  result.shape = shape;
  result.strides.resize(shape.size());
  int64_t stride = layout == 2 ? 2 : 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t dim = layout == 1 ? i : shape.size() - 1 - i;
    const bool repeated =
        layout == 5 || (layout == 3 && dim == 0) || (layout == 4 && dim + 1 == shape.size());
    result.strides[dim] = repeated ? 0 : stride;
    if (!repeated) stride *= shape[dim];
    if (layout == 6 && i == 0) stride += 3;
  }
  result.offset = layout == 2 ? 1 : 0;
  int64_t extent = result.offset + 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    extent += (shape[dim] > 0 ? shape[dim] - 1 : 0) * result.strides[dim];
  }
  result.memory.resize(static_cast<size_t>(extent * element_size(dtype)));
  fill(result, generator);
  return result;
}

struct Signature {
  std::vector<dlcore_dtype> inputs;
  dlcore_dtype output;
  std::vector<int64_t> attrs;
};

Signature signature(const dlcore_kernel& kernel, int variant) {
  const int32_t op = kernel.op;
  const dlcore_dtype t = kernel.dtype;
  const int64_t half = std::bit_cast<int64_t>(0.5);
  int64_t tanh = 0;
  std::memcpy(&tanh, variant == 0 ? "none" : "tanh", 4);
  if (op == static_cast<int32_t>(Op::kWhere)) return {{DLCORE_BOOL, t, t}, t, {}};
  if (op == static_cast<int32_t>(Op::kAstype)) return {{t}, 1 + variant, {1 + variant}};
  if (op == static_cast<int32_t>(Op::kGelu)) return {{t}, t, {4, tanh}};
  if (op == static_cast<int32_t>(Op::kGeluBackward)) return {{t, t}, t, {4, tanh}};
  if (op == static_cast<int32_t>(Op::kLeakyRelu)) return {{t}, t, {half}};
  if (op == static_cast<int32_t>(Op::kClip)) return {{t}, t, {0, 1, half}};
  if (op >= 10 && op <= 15) return {{t, t}, DLCORE_BOOL, {}};
  if (op >= 43 && op <= 45) return {{t}, DLCORE_BOOL, {}};
  if (op < 20 || op >= 60) return {{t, t}, t, {}};
  return {{t}, t, {}};
}

int variants(int32_t op) {
  if (op == static_cast<int32_t>(Op::kAstype)) return 10;
  if (op == static_cast<int32_t>(Op::kGelu) || op == static_cast<int32_t>(Op::kGeluBackward)) {
    return 2;
  }
  return 1;
}

void make_exponents_positive(const dlcore_kernel& kernel, Operand& operand) {
  if (kernel.op != static_cast<int32_t>(Op::kPow) || kernel.dtype >= DLCORE_F32) return;
  const size_t size = static_cast<size_t>(element_size(kernel.dtype));
  for (size_t at = 0; at < operand.memory.size(); at += size) {  // little endian
    std::memset(operand.memory.data() + at + 1, 0, size - 1);
    operand.memory[at] &= std::byte{7};
  }
}

TEST(ElementwiseLayout, StridesDoNotChangeBits) {
  const Shape shapes[] = {{},          {0},       {1},          {7},      {64},
                          {1000},      {3, 5},    {40, 30},     {2, 700}, {9, 130},
                          {130, 4, 5}, {5, 0, 3}, {2, 3, 4, 5}, {600, 2}};
  std::mt19937 generator(1);
  for (const auto& [target, kernels] : all_kernels()) {
    for (const auto& [key, kernel] : kernels) {
      for (int variant = 0; variant < variants(kernel.op); ++variant) {
        const Signature call = signature(kernel, variant);
        for (const Shape& shape : shapes) {
          for (int layout = 0; layout < 7; ++layout) {
            std::vector<Operand> strided, contiguous;
            for (size_t i = 0; i < call.inputs.size(); ++i) {
              const int own = static_cast<int>((static_cast<size_t>(layout) + i * 3) % 7);
              strided.push_back(make(call.inputs[i], shape, own, generator));
              if (i == 1) make_exponents_positive(kernel, strided.back());
              contiguous.push_back(strided.back().materialised());
            }
            const Outcome want = run(kernel, contiguous, call.output, call.attrs);
            const Outcome got = run(kernel, strided, call.output, call.attrs);
            ASSERT_EQ(want.status, DLCORE_OK) << want.message;
            ASSERT_EQ(got.status, DLCORE_OK) << got.message;
            ASSERT_EQ(got.out.memory, want.out.memory)
                << "op " << kernel.op << " dtype " << kernel.dtype << " target " << target
                << " layout " << layout << " rank " << shape.size() << " count "
                << want.out.count();
          }
        }
      }
    }
  }
}

TEST(ElementwiseLayout, InPlace) {
  std::mt19937 generator(2);
  for (const auto& [target, kernels] : all_kernels()) {
    for (const auto& [key, kernel] : kernels) {
      if ((kernel.flags & DLCORE_KERNEL_MAY_REUSE) == 0) continue;
      const Signature call = signature(kernel, 0);
      for (const int64_t size : {1, 7, 64, 1003}) {
        for (size_t reused = 0; reused < call.inputs.size(); ++reused) {
          if (call.inputs[reused] != call.output) continue;
          std::vector<Operand> inputs;
          for (size_t i = 0; i < call.inputs.size(); ++i) {
            inputs.push_back(make(call.inputs[i], {size}, i == reused ? 0 : 5, generator));
            if (i == 1) make_exponents_positive(kernel, inputs.back());
          }
          const Outcome want = run(kernel, inputs, call.output, call.attrs);
          std::vector<dlcore_operand> views;
          for (Operand& input : inputs) views.push_back(input.view());
          dlcore_failure failure{};
          dlcore_launch launch{};
          launch.inputs = views.data();
          launch.outputs = &views[reused];
          launch.n_inputs = static_cast<int32_t>(views.size());
          launch.n_outputs = 1;
          launch.attrs = call.attrs.data();
          launch.n_words = static_cast<int32_t>(call.attrs.size());
          launch.failure = &failure;
          Queue queue;
          ASSERT_EQ(kernel.launch(&queue, &launch), DLCORE_OK);
          ASSERT_EQ(inputs[reused].memory, want.out.memory)
              << "op " << kernel.op << " dtype " << kernel.dtype << " target " << target;
        }
      }
    }
  }
}

TEST(ElementwiseLayout, LargeTransposedCopies) {
  std::mt19937 generator(3);
  for (const auto& [target, kernels] : all_kernels()) {
    const dlcore_kernel kernel = kernels.at({static_cast<int32_t>(Op::kCopy), DLCORE_F32});
    for (const Shape& shape : {Shape{150, 333}, Shape{3, 70, 90}, Shape{17, 5, 31}}) {
      for (int axis = 0; axis + 1 < static_cast<int>(shape.size()); ++axis) {
        Operand operand = make(DLCORE_F32, shape, 0, generator);
        std::swap(operand.shape[static_cast<size_t>(axis)], operand.shape.back());
        std::swap(operand.strides[static_cast<size_t>(axis)], operand.strides.back());
        const Outcome got = run(kernel, {operand}, DLCORE_F32);
        ASSERT_EQ(got.out.memory, operand.materialised().memory);
      }
    }
  }
}

}  // namespace
}  // namespace dlcore::cpu::test
