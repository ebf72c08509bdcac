// SPDX-License-Identifier: Apache-2.0
// An error that a program took from a context.
#pragma once

#include "core/base/error.h"
#include "core/base/handle.h"

namespace dlcore {

class ErrorHandle : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kError;
  explicit ErrorHandle(std::shared_ptr<const Error> e) : error(std::move(e)) {
    if (error->cause) cause = make_ref<ErrorHandle>(error->cause);
  }

  const std::shared_ptr<const Error> error;
  Ref<ErrorHandle> cause;
};

// As a new handle that the program holds.
inline ErrorHandle* give_error(std::shared_ptr<const Error> error) {
  ErrorHandle* made = make_ref<ErrorHandle>(std::move(error)).leak();
  made->give_to_program();
  return made;
}

}  // namespace dlcore
