// SPDX-License-Identifier: Apache-2.0
// What a case claims, one function for each claim. All throw Failure (or CallError) when it does
// not hold.
#pragma once

#include <string>
#include <vector>

#include "comparison.h"
#include "session.h"

namespace dlcore::conformance {

// A case, with its attributes packed.
struct Case {
  const Family& family;
  const Json& json;
  std::string op;
  std::vector<int64_t> words;

  Case(const Catalogue& catalogue, const Family& family_in, const Json& json_in);
  const Json& input(size_t i) const { return json.at("inputs").at(i); }
  size_t inputs() const { return json.at("inputs").size(); }
  const Json& output(size_t i) const { return json.at("expect").at("outputs").at(i); }
  bool has_flag(const char* flag) const;
  Tolerance tolerance() const;

  // The tensors that the op is called with.
  std::vector<dlcore_tensor*> make_inputs(const Session& session) const;
  // Positions of the inputs that have an expected gradient.
  std::vector<size_t> differentiable() const;
};

// The call fails with the code and words that the case states.
void check_error(const Session& session, const Case& test);
// Dtype, shape and elements of each output; what is read as another dtype is refused.
void check_outputs(const Session& session, const Case& test);
// The same bits when the inputs are made contiguous first.
void check_layout(const Session& session, const Case& test);
// Reverse mode against the expected gradients.
void check_gradients(const Session& session, const Case& test);
// Forward mode: <seed, J t> is <J^T seed, t>, with the expected J^T seed.
void check_forward_mode(const Session& session, const Case& test);
// Derivatives of order 1 and 2 against differences.
void check_gradcheck(const Session& session, const Case& test);
// vmap over a leading axis of three examples against a loop over them; all inputs, then the first
// alone.
void check_vmap(const Session& session, const Case& test);

}  // namespace dlcore::conformance
