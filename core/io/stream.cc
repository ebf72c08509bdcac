// SPDX-License-Identifier: Apache-2.0
#include "core/io/stream.h"

#include <algorithm>

#include "core/base/error.h"

namespace dlcore {

uint64_t append_from(const ReadFunction& read, uint64_t bytes, std::vector<std::byte>& to) {
  constexpr uint64_t kFirstStep = 1 << 16;
  const uint64_t before = to.size();
  uint64_t have = before;
  while (have - before < bytes) {
    const uint64_t step = std::min(bytes - (have - before), std::max(kFirstStep, have));
    to.resize(have + step);
    while (have < to.size()) {
      const std::span<std::byte> rest = std::span(to).subspan(have);
      const size_t n = read(rest);
      if (n > rest.size()) {
        invalid("the read function returned {} when asked for {} bytes", n, rest.size());
      }
      if (n == 0) {
        to.resize(have);
        return have - before;
      }
      have += n;
    }
  }
  return have - before;
}

}  // namespace dlcore
