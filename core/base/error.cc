// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"

namespace dlcore {

void fail_formatted(dlcore_status code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, formatted_args(format, args));
}

}  // namespace dlcore
