// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/instruction_set.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "backends/cpu/targets.h"
#include "core/base/error.h"

#if DLCORE_HAVE_OPENBLAS
extern "C" void openblas_set_num_threads(int threads);
#endif

namespace dlcore::cpu {
namespace {

#if defined(__x86_64__)
// Conversions of f16, which every processor with AVX2 has, but not every virtual one shows.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool processor_has(Isa isa) {
  __builtin_cpu_init();
  switch (isa) {
    case Isa::kAvx512Bf16:
      return __builtin_cpu_supports("avx512bf16") && processor_has(Isa::kAvx512);
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512cd") && processor_has(Isa::kAvx2);
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c();
    default:
      return true;
  }
}
#else
bool processor_has(Isa isa) { return isa == Isa::kBaseline; }
#endif

// Builds may leave instruction sets out.
bool compiled(Isa isa) { return (HWY_TARGETS & target_of(isa)) != 0; }

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512Bf16:
      return "AVX-512 with BF16";
    case Isa::kAvx512:
      return "AVX-512";
    case Isa::kAvx2:
      return "AVX2";
    default:
      return "baseline";
  }
}

}  // namespace

Isa choose_isa(Isa asked) {
  if (asked == Isa::kBest) {
    for (Isa isa : {Isa::kAvx512Bf16, Isa::kAvx512, Isa::kAvx2}) {
      if (compiled(isa) && processor_has(isa)) return isa;
    }
    return Isa::kBaseline;
  }
  if (!processor_has(asked)) {
    fail(DLCORE_UNAVAILABLE, "engine_open: the processor lacks the instruction set {}",
         name_of(asked));
  }
  if (!compiled(asked)) {
    fail(DLCORE_UNAVAILABLE, "engine_open: this build lacks the instruction set {}",
         name_of(asked));
  }
  return asked;
}

int64_t target_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 || isa == Isa::kAvx512Bf16) return HWY_AVX3;
  if (isa == Isa::kAvx2) return HWY_AVX2;
#else
  (void)isa;
#endif
  return HWY_STATIC_TARGET;
}

void use_blas_from_many_threads() {
#if DLCORE_HAVE_OPENBLAS
  openblas_set_num_threads(1);
#endif
}

}  // namespace dlcore::cpu
