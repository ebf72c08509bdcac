// SPDX-License-Identifier: Apache-2.0
// Runs GoogleTest's tests; beside its own arguments takes --instruction-set NAME.
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "instruction_set.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; i += 2) {
    const bool known = std::string_view(argv[i]) == "--instruction-set" && i + 1 < argc &&
                       dlcore::test::force_instruction_set(argv[i + 1]);
    if (known) continue;
    std::fprintf(stderr,
                 "%s is not understood; expected --instruction-set best|baseline|avx2|avx512\n",
                 argv[i]);
    return 2;
  }
  if (dlcore_engine* engine = dlcore::test::open_engine()) {
    dlcore_engine_close(engine);
    return RUN_ALL_TESTS();
  }
  std::fprintf(stderr, "this processor or this build lacks the instruction set\n");
  return 2;
}
