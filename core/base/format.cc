// SPDX-License-Identifier: Apache-2.0
// The one file that compiles the fmt library, of which the others see declarations only.
#define FMT_HEADER_ONLY
#include "core/base/format.h"

#include <fmt/format.h>

namespace dlcore {

std::string formatted_args(fmt::string_view format, fmt::format_args args) {
  return fmt::vformat(format, args);
}

}  // namespace dlcore
