// SPDX-License-Identifier: Apache-2.0
// The kernel tables of matmul, linear and dense: which provider computes them depends on the
// instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/matmul/matmul.cc"
#include "backends/cpu/matmul/matmul.h"

#include <string_view>

#include "backends/cpu/targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/elementwise/activations-inl.h"
#include "backends/cpu/elementwise/vector_loop.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

dlcore_status run_matmul(void* queue, const dlcore_launch* launch) {
  return launch_matmul(HWY_TARGET, *static_cast<const Queue*>(queue), *launch);
}

uint64_t size_matmul(const dlcore_launch* launch) { return matmul_workspace(HWY_TARGET, *launch); }

dlcore_status run_linear(void* queue, const dlcore_launch* launch) {
  return launch_linear(HWY_TARGET, *static_cast<const Queue*>(queue), *launch, nullptr);
}

uint64_t size_linear(const dlcore_launch* launch) { return linear_workspace(HWY_TARGET, *launch); }

template <class T>
Loop activation_loop(std::string_view name) {
  if (name == "relu") return unary_loop<T, Relu>;
  if (name == "sigmoid") return unary_loop<T, Sigmoid>;
  if (name == "tanh") return unary_loop<T, Tanh>;
  if (name == "silu") return unary_loop<T, Silu>;
  if (name == "gelu") return unary_loop<T, Gelu>;
  return nullptr;
}

template <class T>
dlcore_status run_dense(void* queue, const dlcore_launch* launch) {
  const std::string_view name(reinterpret_cast<const char*>(&launch->attrs[1]),
                              static_cast<size_t>(launch->attrs[0]));
  return launch_linear(HWY_TARGET, *static_cast<const Queue*>(queue), *launch,
                       activation_loop<T>(name));
}

constexpr dlcore_kernel make_product(Op op, dlcore_dtype dtype, dlcore_kernel_fn run,
                                     uint64_t (*size)(const dlcore_launch*)) {
  dlcore_kernel kernel = make_kernel(op, dtype, DLCORE_KERNEL_STRIDED, run);
  kernel.workspace = size;
  return kernel;
}

constexpr dlcore_kernel kKernels[] = {
    make_product(Op::kMatmul, DLCORE_F32, run_matmul, size_matmul),
    make_product(Op::kMatmul, DLCORE_F64, run_matmul, size_matmul),
    make_product(Op::kMatmul, DLCORE_F16, run_matmul, size_matmul),
    make_product(Op::kMatmul, DLCORE_BF16, run_matmul, size_matmul),
    make_product(Op::kLinear, DLCORE_F32, run_linear, size_linear),
    make_product(Op::kLinear, DLCORE_F64, run_linear, size_linear),
    make_product(Op::kLinear, DLCORE_F16, run_linear, size_linear),
    make_product(Op::kLinear, DLCORE_BF16, run_linear, size_linear),
    make_product(Op::kDense, DLCORE_F32, run_dense<float>, size_linear),
    make_product(Op::kDense, DLCORE_F64, run_dense<double>, size_linear),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(matmul)
}  // namespace dlcore::cpu
#endif
