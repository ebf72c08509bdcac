// SPDX-License-Identifier: Apache-2.0
#include "core/io/named_variables.h"

#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/ops/rules.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {
namespace {

constexpr size_t kProblemsShown = 16;

// One line each.
std::vector<std::string> problems(const char* reader, std::span<const ExpectedTensor> expected,
                                  const Safetensors& file) {
  std::vector<std::string> found;
  std::set<std::string_view> known;
  const DimMath math(nullptr);
  for (const ExpectedTensor& e : expected) {
    known.insert(e.name);
    const SafetensorsTensor* stored = file.find(e.name);
    if (stored == nullptr) {
      found.push_back(formatted("'{}' is missing", e.name));
      continue;
    }
    Dims shape;
    for (int64_t d : stored->shape) shape.push_back(d);
    if (stored->dtype == e.dtype && shape == e.shape) continue;
    found.push_back(formatted("'{}' is {} {}, expected {} {}", e.name, dtype_name(stored->dtype),
                              math.text(shape), dtype_name(e.dtype), math.text(e.shape)));
  }
  for (const SafetensorsTensor& stored : file.tensors) {
    if (!known.contains(stored.name)) {
      found.push_back(formatted("'{}' is not in {}", stored.name, reader));
    }
  }
  return found;
}

}  // namespace

std::vector<TensorRef> values_of(Context& ctx, std::span<const NamedVariable> variables) {
  std::vector<Variable*> all;
  for (const NamedVariable& v : variables) all.push_back(v.variable);
  std::vector<TensorRef> values;
  values.reserve(all.size());
  const LockedVariables locked(std::move(all));
  for (const NamedVariable& v : variables) {
    values.emplace_back(&v.variable->value_locked(ctx));
  }
  return values;
}

ExpectedTensor expected_by(const NamedVariable& v) {
  return {v.name, v.variable->dtype(), v.variable->shape()};
}

void need_fit(const char* call, const std::string& source, const char* reader,
              std::span<const ExpectedTensor> expected, const Safetensors& file) {
  std::vector<std::string> found = problems(reader, expected, file);
  if (found.empty()) return;
  const size_t count = found.size();
  if (count > kProblemsShown) {
    found.resize(kProblemsShown);
    found.push_back(formatted("and {} more", count - kProblemsShown));
  }
  invalid("{}: {} does not fit {}: {}", call, source, reader, joined(found, "; "));
}

}  // namespace dlcore
