// SPDX-License-Identifier: Apache-2.0
// How failures travel inside the library: an Error is thrown where the fault is known and caught by
// the thunk of the C call, which keeps it on the context.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "core/base/format.h"
#include "dlcore/base.h"

namespace dlcore {

class Error : public std::exception {
 public:
  Error(dlcore_status status, std::string text) : code(status), message(std::move(text)) {}
  const char* what() const noexcept override { return message.c_str(); }

  dlcore_status code;
  std::string message;
  std::string op;                      // name of the op that failed, empty when none
  std::shared_ptr<const Error> cause;  // what made it fail, when another error did
};

[[noreturn]] void fail_formatted(dlcore_status code, fmt::string_view format,
                                 fmt::format_args args);

// fail(DLCORE_INVALID_ARGUMENT, "{}: axis is {}, expected at most {}", op, axis, rank)
template <class... Args>
[[noreturn]] void fail(dlcore_status code, fmt::format_string<Args...> format, Args&&... args) {
  fail_formatted(code, format, fmt::make_format_args(args...));
}

template <class... Args>
[[noreturn]] void invalid(fmt::format_string<Args...> format, Args&&... args) {
  fail_formatted(DLCORE_INVALID_ARGUMENT, format, fmt::make_format_args(args...));
}

}  // namespace dlcore
