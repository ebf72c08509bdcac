// SPDX-License-Identifier: Apache-2.0
// Builds launches for the tests of elementwise kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu::test {

using KernelMap = std::map<std::pair<int32_t, dlcore_dtype>, dlcore_kernel>;

inline bool supported(int64_t target) {
#if HWY_ARCH_X86
  if (target == HWY_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (target == HWY_AVX3) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  }
#endif
  return true;
}

// The kernels of every instruction set that this processor has.
inline std::map<int64_t, KernelMap> all_kernels() {
  const KernelFile files[] = {integer_kernels, copy_kernels, binary_kernels, compare_kernels,
                              unary_kernels,   math_kernels, select_kernels, astype_kernels};
  std::map<int64_t, KernelMap> result;
  for (const TargetKernels& table : binary_kernels()) {
    if (supported(table.target)) result[table.target] = {};
  }
  for (auto& [target, kernels] : result) {
    for (const KernelFile file : files) {
      for (const TargetKernels& table : file()) {
        if (table.target != 0 && table.target != target) continue;
        for (const dlcore_kernel& kernel : table.kernels) {
          kernels[{kernel.op, kernel.dtype}] = kernel;
        }
      }
    }
  }
  return result;
}

// A tensor that owns its memory, allocated to the byte so that a sanitizer sees every excess.
struct Operand {
  dlcore_dtype dtype = DLCORE_F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;  // elements
  std::vector<std::byte> memory;

  int64_t count() const {
    int64_t n = 1;
    for (const int64_t size : shape) n *= size;
    return n;
  }

  dlcore_operand view() {
    return {memory.data() + offset * element_size(dtype),
            shape.data(),
            strides.data(),
            count(),
            dtype,
            static_cast<int32_t>(shape.size())};
  }

  static Operand contiguous(dlcore_dtype dtype, std::vector<int64_t> shape) {
    Operand result;
    result.dtype = dtype;
    result.shape = std::move(shape);
    result.strides.resize(result.shape.size());
    int64_t stride = 1;
    for (size_t dim = result.shape.size(); dim-- > 0;) {
      result.strides[dim] = stride;
      stride *= result.shape[dim];
    }
    result.memory.resize(static_cast<size_t>(result.count() * element_size(dtype)));
    return result;
  }

  template <class T>
  static Operand of(dlcore_dtype dtype, const std::vector<T>& values) {
    Operand result = contiguous(dtype, {static_cast<int64_t>(values.size())});
    if (!values.empty()) {
      std::memcpy(result.memory.data(), values.data(), values.size() * sizeof(T));
    }
    return result;
  }

  template <class T>
  std::vector<T> values() const {
    std::vector<T> result(memory.size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), memory.data(), memory.size());
    return result;
  }

  // The same elements in contiguous memory, by the definition of strides.
  Operand materialised() const {
    Operand result = contiguous(dtype, shape);
    const int64_t size = element_size(dtype);
    for (int64_t i = 0; i < count(); ++i) {
      int64_t rest = i;
      int64_t at = offset;
      for (size_t dim = shape.size(); dim-- > 0;) {
        at += rest % shape[dim] * strides[dim];
        rest /= shape[dim];
      }
      std::memcpy(result.memory.data() + i * size, memory.data() + at * size,
                  static_cast<size_t>(size));
    }
    return result;
  }
};

struct Outcome {
  dlcore_status status;
  std::string message;
  Operand out;
};

inline Outcome run(const dlcore_kernel& kernel, std::vector<Operand> inputs, dlcore_dtype out_dtype,
                   const std::vector<int64_t>& attrs = {}) {
  Outcome outcome{DLCORE_OK, "", Operand::contiguous(out_dtype, inputs[0].shape)};
  std::vector<dlcore_operand> views;
  for (Operand& input : inputs) views.push_back(input.view());
  const dlcore_operand out = outcome.out.view();
  dlcore_failure failure{};
  failure.struct_size = sizeof failure;
  dlcore_launch launch{};
  launch.struct_size = sizeof launch;
  launch.op = kernel.op;
  launch.inputs = views.data();
  launch.outputs = &out;
  launch.n_inputs = static_cast<int32_t>(views.size());
  launch.n_outputs = 1;
  launch.attrs = attrs.data();
  launch.n_words = static_cast<int32_t>(attrs.size());
  launch.failure = &failure;
  Queue queue;
  outcome.status = kernel.launch(&queue, &launch);
  outcome.message = failure.message;
  return outcome;
}

}  // namespace dlcore::cpu::test
