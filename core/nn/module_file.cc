// SPDX-License-Identifier: Apache-2.0
// Saving and loading the variables of a module by their paths.
#include <map>

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/graph/capture.h"
#include "core/io/archive.h"
#include "core/nn/module.h"
#include "core/ops/rules.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {
namespace {

constexpr size_t kProblemsShown = 16;

void need_no_capture(const Context& ctx, const char* what) {
  if (!ctx.capture) return;
  fail(DLCORE_FAILED_PRECONDITION, "{}: a capture is open, in which variables have no elements",
       what);
}

std::vector<Variable*> variables_of(const std::vector<Module::Entry>& entries) {
  std::vector<Variable*> variables;
  for (const Module::Entry& entry : entries) variables.push_back(entry.variable);
  return variables;
}

// What keeps a file's tensors from being the values of the variables, one line each.
std::vector<std::string> problems(const std::vector<Module::Entry>& entries,
                                  const Safetensors& file) {
  std::vector<std::string> found;
  std::map<std::string_view, const Variable*> by_path;
  const DimMath math(nullptr);
  for (const Module::Entry& entry : entries) {
    const Variable& v = *entry.variable;
    by_path[entry.path] = &v;
    const SafetensorsTensor* stored = file.find(entry.path);
    if (stored == nullptr) {
      found.push_back(fmt::format("'{}' is missing", entry.path));
      continue;
    }
    const Dims shape = [&] {
      Dims dims;
      for (int64_t d : stored->shape) dims.push_back(d);
      return dims;
    }();
    if (stored->dtype == v.dtype() && shape == v.shape()) continue;
    found.push_back(fmt::format("'{}' is {} {}, expected {} {}", entry.path,
                                dtype_name(stored->dtype), math.text(shape), dtype_name(v.dtype()),
                                math.text(v.shape())));
  }
  for (const SafetensorsTensor& stored : file.tensors) {
    if (!by_path.contains(stored.name)) {
      found.push_back(fmt::format("'{}' is not in the model", stored.name));
    }
  }
  return found;
}

void need_fit(const std::string& path, const std::vector<Module::Entry>& entries,
              const Safetensors& file) {
  std::vector<std::string> found = problems(entries, file);
  if (found.empty()) return;
  const size_t count = found.size();
  if (count > kProblemsShown) {
    found.resize(kProblemsShown);
    found.push_back(fmt::format("and {} more", count - kProblemsShown));
  }
  invalid("module_load: '{}' does not fit the model: {}", path, fmt::join(found, "; "));
}

}  // namespace

void Module::save(Context& ctx, const std::string& path) {
  need_no_capture(ctx, "module_save");
  const std::vector<Entry> entries = variables();
  std::vector<NamedTensor> tensors;
  {
    // All of one moment, also when another thread is training the model.
    const LockedVariables locked(variables_of(entries));
    for (const Entry& entry : entries) {
      tensors.push_back({entry.path, TensorRef(&entry.variable->value_locked(ctx))});
    }
  }
  save_tensors(ctx, path, tensors);
}

void Module::load(Context& ctx, const std::string& path) {
  need_no_capture(ctx, "module_load");
  const std::vector<Entry> entries = variables();
  const Safetensors file = read_safetensors_file(path);
  need_fit(path, entries, file);
  std::vector<TensorRef> values;
  for (const Entry& entry : entries) values.push_back(tensor_from(ctx, *file.find(entry.path)));
  const LockedVariables locked(variables_of(entries));
  for (size_t i = 0; i < entries.size(); ++i)
    entries[i].variable->store_locked(std::move(values[i]));
}

}  // namespace dlcore
