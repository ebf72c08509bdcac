// SPDX-License-Identifier: Apache-2.0
// One context for one case, with failures as exceptions, and the calls that cases consist of.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "attributes.h"
#include "corpus.h"

namespace dlcore::conformance {

// The case does not hold.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A call failed.
struct CallError : Failure {
  CallError(dlcore_status code_in, const std::string& text);
  dlcore_status code;
  std::string text;
};

struct Description {
  dlcore_dtype dtype = DLCORE_DTYPE_NONE;
  Shape shape;
  Shape strides;
  bool weak = false;
  bool requires_grad = false;
};

// Tensors belong to the context, so that nothing has to be released.
class Session {
 public:
  Session(dlcore_engine* engine, const std::string& device, const Catalogue& catalogue);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  dlcore_context* context() const { return context_; }
  // Throws the error that sticks to the context, if any, and clears it.
  void check() const;

  dlcore_tensor* create(const Array& array) const;
  // Runs an op by name with packed attributes. `on` is the context of a callback, or NULL for this
  // one.
  std::vector<dlcore_tensor*> invoke(const std::string& op,
                                     const std::vector<dlcore_tensor*>& inputs,
                                     const std::vector<int64_t>& words, size_t outputs,
                                     dlcore_context* on = nullptr) const;
  // The input that a case describes, made of a base by view ops.
  dlcore_tensor* input(const Family& family, const Json& record) const;

  Description describe(const dlcore_tensor* tensor) const;
  Array read(dlcore_tensor* tensor) const;
  const Catalogue& catalogue() const { return catalogue_; }

 private:
  const Catalogue& catalogue_;
  dlcore_context* context_ = nullptr;
};

// A transform level that was just opened on the session's context; closed at the end of its scope.
class Level {
 public:
  Level(const Session& session, dlcore_transform* opened) : session_(session), level_(opened) {
    session.check();
  }
  ~Level() {
    if (dlcore_transform_close(session_.context(), level_) != DLCORE_OK) {
      dlcore_context_clear_error(session_.context());
    }
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  dlcore_transform* get() const { return level_; }

 private:
  const Session& session_;
  dlcore_transform* level_;
};

}  // namespace dlcore::conformance
