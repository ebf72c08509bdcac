// SPDX-License-Identifier: Apache-2.0
// Saving and loading the variables of a module by their paths.
#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/io/archive.h"
#include "core/nn/module.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {
namespace {

void need_no_capture(const Context& ctx, const char* call) {
  if (!ctx.capture) return;
  fail(DLCORE_FAILED_PRECONDITION, "{}: a capture is open, in which variables have no elements",
       call);
}

std::vector<NamedTensor> named_values(Context& ctx, const std::vector<NamedVariable>& entries) {
  std::vector<TensorRef> values = values_of(ctx, entries);
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < entries.size(); ++i) {
    tensors.push_back({entries[i].name, std::move(values[i])});
  }
  return tensors;
}

}  // namespace

void Module::save(Context& ctx, const std::string& path) {
  need_no_capture(ctx, "module_save");
  save_tensors(ctx, path, named_values(ctx, variables()));
}

void Module::write(Context& ctx, const WriteFunction& write) {
  need_no_capture(ctx, "module_write");
  write_tensors(ctx, write, named_values(ctx, variables()));
}

void Module::load(Context& ctx, const Safetensors& file, const std::string& source) {
  need_no_capture(ctx, "module_load");
  const std::vector<Entry> entries = variables();
  std::vector<ExpectedTensor> expected;
  std::vector<Variable*> changed;
  for (const Entry& entry : entries) {
    entry.variable->need_changeable("module_load");
    expected.push_back(expected_by(entry));
    changed.push_back(entry.variable);
  }
  need_fit("module_load", source, "the model", expected, file);
  std::vector<TensorRef> values;
  for (const Entry& entry : entries) values.push_back(tensor_from(ctx, *file.find(entry.name)));
  const auto runs = ctx.runs > 0 ? LockedRuns({}) : LockedRuns(changed);
  const LockedVariables locked(std::move(changed));
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].variable->store_locked(std::move(values[i]));
  }
}

}  // namespace dlcore
