// SPDX-License-Identifier: Apache-2.0
// Attributes by name, packed into words as the catalogue's schemas say (see dlcore/op.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "corpus.h"

namespace dlcore::conformance {

class Catalogue {
 public:
  // Reads the catalogue of the library that is loaded. Throws when there is none.
  Catalogue();

  // The number of an op; throws when there is none of that name.
  int32_t number(const std::string& op) const;
  const Json& schema(const std::string& op) const;
  const Json& ops() const { return json_.at("ops"); }

  // Words up to the last attribute that is given: the rest is left to the defaults.
  std::vector<int64_t> pack(const std::string& op, const Json& attrs) const;

 private:
  Json json_;
  std::map<std::string, const Json*> schemas_;
};

}  // namespace dlcore::conformance
