// SPDX-License-Identifier: Apache-2.0
// Launches kernels whose output has a shape of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/elementwise/test_support.h"

namespace dlcore::cpu::test {

inline const dlcore_kernel* find_kernel(KernelFile file, int64_t target, Op op,
                                        dlcore_dtype dtype) {
  for (const TargetKernels& table : file()) {
    if (table.target != target) continue;
    for (const dlcore_kernel& kernel : table.kernels) {
      if (kernel.op == static_cast<int32_t>(op) && kernel.dtype == dtype) return &kernel;
    }
  }
  return nullptr;
}

// Runs on two threads into `out`, whose memory is overwritten with a pattern before.
inline Outcome launch(const dlcore_kernel* kernel, std::vector<Operand> inputs, Operand out,
                      const std::vector<int64_t>& attrs) {
  if (kernel == nullptr) return {DLCORE_UNIMPLEMENTED, "no kernel", out};
  for (std::byte& byte : out.memory) byte = std::byte{0xa5};
  std::vector<dlcore_operand> views;
  for (Operand& input : inputs) views.push_back(input.view());
  const dlcore_operand target = out.view();
  dlcore_failure failure{};
  failure.struct_size = sizeof failure;
  dlcore_launch call{};
  call.struct_size = sizeof call;
  call.op = kernel->op;
  call.inputs = views.data();
  call.outputs = &target;
  call.n_inputs = static_cast<int32_t>(views.size());
  call.n_outputs = 1;
  call.attrs = attrs.data();
  call.n_words = static_cast<int32_t>(attrs.size());
  call.failure = &failure;
  ThreadPool pool(2);
  Queue queue;
  queue.pool = &pool;
  const dlcore_status status = kernel->launch(&queue, &call);
  return {status, failure.message, std::move(out)};
}

// The words of a `dims` attribute.
inline std::vector<int64_t> dims_words(const std::vector<int64_t>& shape) {
  std::vector<int64_t> words{static_cast<int64_t>(shape.size())};
  for (const int64_t size : shape) {
    words.push_back(0);
    words.push_back(size);
  }
  return words;
}

}  // namespace dlcore::cpu::test
