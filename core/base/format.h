// SPDX-License-Identifier: Apache-2.0
// Text from a format string. What compiles slowly of the fmt library is in format.cc alone, so
// files call these functions rather than fmt::format and fmt::join.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace dlcore {

std::string formatted_args(fmt::string_view format, fmt::format_args args);

// formatted("axis {} of {}", axis, rank)
template <class... Args>
std::string formatted(fmt::format_string<Args...> format, Args&&... args) {
  return formatted_args(format, fmt::make_format_args(args...));
}

// joined({2, 3}, ", ") is "2, 3"
template <class Range>
std::string joined(const Range& parts, std::string_view separator) {
  std::string text;
  for (bool is_first = true; const auto& part : parts) {
    if (!std::exchange(is_first, false)) text += separator;
    text += formatted("{}", part);
  }
  return text;
}

}  // namespace dlcore
