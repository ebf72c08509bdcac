// SPDX-License-Identifier: Apache-2.0
// The files in cases/: what README.md describes, read into memory.
#pragma once

#include <dlcore/dlcore.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dlcore::conformance {

using Json = nlohmann::json;
using Shape = std::vector<int64_t>;

// Elements in row-major order, as they are stored.
struct Array {
  dlcore_dtype dtype = DLCORE_DTYPE_NONE;
  Shape shape;
  std::vector<uint8_t> bytes;
};

// The same as numbers: `integers` for integer and boolean dtypes, `reals` for the others.
struct Numbers {
  bool integral = false;
  std::vector<int64_t> integers;
  std::vector<double> reals;

  size_t size() const { return integral ? integers.size() : reals.size(); }
};

struct Family {
  std::string name;
  Json cases;
  std::map<std::string, Array> tensors;

  // The array of that key; throws when the files do not fit together.
  const Array& tensor(const std::string& key) const;
};

// Reads every family of the folder, sorted by name. Throws std::runtime_error.
std::vector<Family> load_corpus(const std::filesystem::path& folder);

bool is_float(dlcore_dtype dtype);
int64_t count_of(const Shape& shape);
std::string to_string(const Shape& shape);
Shape shape_from(const Json& json);

Numbers decode(const Array& array);
// Elements of a floating dtype from float64 numbers, rounded to nearest even.
Array encode(const std::vector<double>& values, const Shape& shape, dlcore_dtype dtype);

}  // namespace dlcore::conformance
