// SPDX-License-Identifier: Apache-2.0
// How a kernel file is compiled once per instruction set. Layout of such a file:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "backends/cpu/<folder>/<file>.cc"
//   #include "backends/cpu/targets.h"  // before anything of Highway's
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
//
//   HWY_BEFORE_NAMESPACE();
//   namespace dlcore::cpu::HWY_NAMESPACE {
//   namespace {
//   ... kernels ...
//   constexpr dlcore_kernel kKernels[] = {...};
//   }
//   }
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace dlcore::cpu {
//   DLCORE_CPU_KERNEL_FILE(<file>)  // defines <file>_kernels()
//   }
//   #endif
//
// A file that gains nothing from vectors includes only this header, defines kKernels in namespace
// dlcore::cpu::plain inside an anonymous namespace and ends with
// DLCORE_CPU_PLAIN_KERNEL_FILE(<file>); its kernels serve every instruction set that has none of
// its own for the same op and dtype.
//
// libhwy is not linked: no HWY_EXPORT, HWY_DYNAMIC_DISPATCH, HWY_ASSERT or HWY_ABORT.
#pragma once

// x86-64-v2 has SSE4.2 without AES; without this line Highway would take SSSE3 as the baseline.
#ifndef HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_PCLMUL_AES
#endif
// Highway's debug assertions call into libhwy.
#ifndef HWY_IS_DEBUG_BUILD
#define HWY_IS_DEBUG_BUILD 0
#endif

#include <cstdint>
#include <span>
#include <type_traits>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/op_numbers.h"
#include "backends/cpu/queue.h"
#include "core/base/half.h"
#include "dlcore/plugin.h"
#include "hwy/detect_targets.h"

#if HWY_TARGETS & HWY_SCALAR
#define DLCORE_CPU_TABLE_SCALAR TargetKernels{HWY_SCALAR, N_SCALAR::kKernels},
#else
#define DLCORE_CPU_TABLE_SCALAR
#endif
#if HWY_TARGETS & HWY_EMU128
#define DLCORE_CPU_TABLE_EMU128 TargetKernels{HWY_EMU128, N_EMU128::kKernels},
#else
#define DLCORE_CPU_TABLE_EMU128
#endif
#if HWY_TARGETS & HWY_SSSE3
#define DLCORE_CPU_TABLE_SSSE3 TargetKernels{HWY_SSSE3, N_SSSE3::kKernels},
#else
#define DLCORE_CPU_TABLE_SSSE3
#endif
#if HWY_TARGETS & HWY_SSE4
#define DLCORE_CPU_TABLE_SSE4 TargetKernels{HWY_SSE4, N_SSE4::kKernels},
#else
#define DLCORE_CPU_TABLE_SSE4
#endif
#if HWY_TARGETS & HWY_AVX2
#define DLCORE_CPU_TABLE_AVX2 TargetKernels{HWY_AVX2, N_AVX2::kKernels},
#else
#define DLCORE_CPU_TABLE_AVX2
#endif
#if HWY_TARGETS & HWY_AVX3
#define DLCORE_CPU_TABLE_AVX3 TargetKernels{HWY_AVX3, N_AVX3::kKernels},
#else
#define DLCORE_CPU_TABLE_AVX3
#endif
#if HWY_ARCH_X86  // elsewhere the compiler's own is the only one: NEON on aarch64
#define DLCORE_CPU_TABLE_OTHER
#else
#define DLCORE_CPU_TABLE_OTHER TargetKernels{HWY_STATIC_TARGET, HWY_NAMESPACE::kKernels},
#endif

// Defines `name`_kernels(): the tables of every compiled instruction set.
#define DLCORE_CPU_KERNEL_FILE(name)                                           \
  std::span<const TargetKernels> name##_kernels() {                            \
    static constexpr TargetKernels kTables[] = {                               \
        DLCORE_CPU_TABLE_SCALAR DLCORE_CPU_TABLE_EMU128 DLCORE_CPU_TABLE_SSSE3 \
            DLCORE_CPU_TABLE_SSE4 DLCORE_CPU_TABLE_AVX2 DLCORE_CPU_TABLE_AVX3  \
                DLCORE_CPU_TABLE_OTHER};                                       \
    return kTables;                                                            \
  }

// The same for kernels that are compiled once and serve every instruction set.
#define DLCORE_CPU_PLAIN_KERNEL_FILE(name)                                          \
  std::span<const TargetKernels> name##_kernels() {                                 \
    static constexpr TargetKernels kTables[] = {TargetKernels{0, plain::kKernels}}; \
    return kTables;                                                                 \
  }

namespace dlcore::cpu {

template <class T>
consteval dlcore_dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DLCORE_BOOL;
  if constexpr (std::is_same_v<T, uint8_t>) return DLCORE_U8;
  if constexpr (std::is_same_v<T, int8_t>) return DLCORE_I8;
  if constexpr (std::is_same_v<T, int16_t>) return DLCORE_I16;
  if constexpr (std::is_same_v<T, int32_t>) return DLCORE_I32;
  if constexpr (std::is_same_v<T, int64_t>) return DLCORE_I64;
  if constexpr (std::is_same_v<T, Half>) return DLCORE_F16;
  if constexpr (std::is_same_v<T, BFloat16>) return DLCORE_BF16;
  if constexpr (std::is_same_v<T, float>) return DLCORE_F32;
  if constexpr (std::is_same_v<T, double>) return DLCORE_F64;
  return DLCORE_DTYPE_NONE;
}

// A row of a kernel table.
constexpr dlcore_kernel make_kernel(Op op, dlcore_dtype dtype, uint32_t flags,
                                    dlcore_kernel_fn launch,
                                    decltype(dlcore_kernel::workspace) workspace = nullptr) {
  return {static_cast<int32_t>(op), dtype, flags, 0, launch, nullptr, workspace};
}

// The same for a class over one launch: Work(launch) with run(queue), which returns a status or
// cannot fail, and workspace_bytes().
template <class Work>
dlcore_status launch_work(void* queue, const dlcore_launch* launch) {
  const Work work(launch);
  const Queue& q = *static_cast<const Queue*>(queue);
  if constexpr (std::is_void_v<decltype(work.run(q))>) {
    work.run(q);
    return DLCORE_OK;
  } else {
    return work.run(q);
  }
}

template <class Work>
uint64_t workspace_of_work(const dlcore_launch* launch) {
  return Work(launch).workspace_bytes();
}

template <class Work>
constexpr dlcore_kernel make_kernel(Op op, dlcore_dtype dtype, uint32_t flags) {
  return make_kernel(op, dtype, flags, launch_work<Work>, workspace_of_work<Work>);
}

}  // namespace dlcore::cpu
