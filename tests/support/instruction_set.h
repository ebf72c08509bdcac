// SPDX-License-Identifier: Apache-2.0
// The instruction set that a test program was told to use: --instruction-set NAME.
#pragma once

#include <dlcore/dlcore.h>

#include <string>

namespace dlcore::test {

// What engines of tests are pinned to, unless the test itself chooses.
inline int32_t forced_isa = DLCORE_ISA_BEST;

// Takes "best", "baseline", "avx2", "avx512" or "avx512_bf16"; false for anything else.
inline bool force_instruction_set(const std::string& name) {
  constexpr const char* kNames[] = {"best", "baseline", "avx2", "avx512",
                                    "avx512_bf16"};  // DLCORE_ISA_*
  for (int32_t isa = DLCORE_ISA_BEST; isa <= DLCORE_ISA_AVX512_BF16; ++isa) {
    if (name != kNames[isa]) continue;
    forced_isa = isa;
    return true;
  }
  return false;
}

// Defaults but for the instruction set.
inline dlcore_engine_options engine_options() {
  dlcore_engine_options options;
  dlcore_engine_options_init(&options, sizeof options);
  options.isa = forced_isa;
  return options;
}

inline dlcore_engine* open_engine() {
  const dlcore_engine_options options = engine_options();
  return dlcore_engine_open(&options, nullptr);
}

}  // namespace dlcore::test
