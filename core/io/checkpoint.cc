// SPDX-License-Identifier: Apache-2.0
#include "core/io/checkpoint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/base/error.h"
#include "core/tensor/locked_variables.h"

namespace dlcore {
namespace {

constexpr const char* kOwnKeys = "dlcore.";
constexpr const char* kFormatKey = "dlcore.checkpoint";
constexpr const char* kFormat = "1";
constexpr const char* kVersionKey = "dlcore.version";
constexpr const char* kIsaKey = "dlcore.instruction_set";
constexpr const char* kDeviceKey = "dlcore.device";
constexpr const char* kGenerator = "generator";

using PositionWords = std::array<int64_t, 8>;
static_assert(sizeof(PositionWords) == sizeof(Loader::Position));

std::string isa_name(Isa isa) {
  switch (isa) {
    case Isa::kBaseline:
      return "baseline";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    case Isa::kBest:
      break;
  }
  return std::to_string(static_cast<int>(isa));
}

SafetensorsMetadata circumstances(Context& ctx) {
  return {{kFormatKey, kFormat},
          {kVersionKey,
           formatted("{}.{}.{}", DLCORE_VERSION_MAJOR, DLCORE_VERSION_MINOR, DLCORE_VERSION_PATCH)},
          {kIsaKey, isa_name(ctx.engine().isa())},
          {kDeviceKey, ctx.device().name()}};
}

void need_no_capture(const Context& ctx, const char* call) {
  if (!ctx.capture) return;
  fail(DLCORE_FAILED_PRECONDITION, "{}: a capture is open, in which variables have no elements",
       call);
}

std::string position_name(const std::string& loader) { return "loader/" + loader; }

const std::string* find(const SafetensorsMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

void need_checkpoint(const std::string& source, const Safetensors& file) {
  const std::string* format = find(file.metadata, kFormatKey);
  if (format == nullptr) {
    invalid("checkpoint_load: {} is no checkpoint: its metadata has no '{}'", source, kFormatKey);
  }
  if (*format != kFormat) {
    invalid("checkpoint_load: {} has format '{}', expected '{}'", source, *format, kFormat);
  }
}

// Equal bits are promised where all of these are equal.
std::string differences(Context& ctx, const SafetensorsMetadata& written) {
  std::string text;
  for (const auto& [key, here] : circumstances(ctx)) {
    const std::string* there = find(written, key.c_str());
    const std::string value = there == nullptr ? "unknown" : *there;
    if (value == here) continue;
    text += formatted("{}{} was {} and is {}", text.empty() ? "" : ", ",
                      key.substr(std::strlen(kOwnKeys)), value, here);
  }
  if (text.empty()) return text;
  return formatted("{}: what follows may differ in its last bits from what would have followed",
                   text);
}

}  // namespace

template <class T>
void Checkpoint::add_to(std::vector<Member<T>>& members, const char* kind, const std::string& name,
                        T& object) {
  if (name.empty() || name.find('/') != std::string::npos) {
    invalid("checkpoint_add_{}: name is '{}', expected some text without '/'", kind, name);
  }
  std::lock_guard<Mutex> guard(lock_);
  for (const Member<T>& member : members) {
    if (member.name != name && member.object.get() != &object) continue;
    fail(DLCORE_ALREADY_EXISTS, "checkpoint_add_{}: {} '{}' {}", kind, kind, member.name,
         member.name == name ? "is in the checkpoint already" : "is the same object");
  }
  members.push_back({name, Ref<T>(&object)});
}

void Checkpoint::add(const std::string& name, Module& module) {
  add_to(modules_, "module", name, module);
}
void Checkpoint::add(const std::string& name, Optimizer& optimizer) {
  add_to(optimizers_, "optimizer", name, optimizer);
}
void Checkpoint::add(const std::string& name, Schedule& schedule) {
  add_to(schedules_, "schedule", name, schedule);
}
void Checkpoint::add(const std::string& name, Loader& loader) {
  add_to(loaders_, "loader", name, loader);
}
void Checkpoint::add(const std::string& name, Variable& variable) {
  add_to(variables_, "variable", name, variable);
}

void Checkpoint::set_text(const std::string& key, const char* text) {
  if (key.empty() || key.starts_with(kOwnKeys)) {
    invalid("checkpoint_set_text: key is '{}', expected some text that does not start with '{}'",
            key, kOwnKeys);
  }
  std::lock_guard<Mutex> guard(lock_);
  if (text == nullptr) {
    texts_.erase(key);
  } else {
    texts_[key] = text;
  }
}

const char* Checkpoint::text(const std::string& key) const {
  std::lock_guard<Mutex> guard(lock_);
  const std::string* found = find(texts_, key.c_str());
  return found == nullptr ? nullptr : found->c_str();
}

std::vector<NamedVariable> Checkpoint::variables(Context& ctx) const {
  std::vector<NamedVariable> all = {{kGenerator, &ctx.generator()}};
  const auto append = [&](const std::string& prefix, std::vector<NamedVariable> named) {
    for (NamedVariable& v : named) all.push_back({prefix + v.name, v.variable});
  };
  for (const auto& [name, module] : modules_) append("module/" + name + "/", module->variables());
  for (const auto& [name, optimizer] : optimizers_) {
    append("optimizer/" + name + "/", optimizer->named_state());
  }
  for (const auto& [name, schedule] : schedules_) {
    append("schedule/" + name + "/", schedule->named_state());
  }
  for (const auto& [name, variable] : variables_) append("variable/", {{name, variable.get()}});
  return all;
}

// ---- Saving

struct Checkpoint::Contents {
  std::vector<NamedTensor> values;
  std::vector<Loader::Position> positions;
  std::vector<std::string> position_names;
  SafetensorsMetadata metadata;

  // The tensors refer to these contents and to `stored`.
  std::vector<SafetensorsTensor> tensors(const StoredTensors& stored) const {
    std::vector<SafetensorsTensor> all(stored.tensors().begin(), stored.tensors().end());
    for (size_t i = 0; i < positions.size(); ++i) {
      all.push_back({position_names[i],
                     DLCORE_I64,
                     {static_cast<int64_t>(PositionWords().size())},
                     std::as_bytes(std::span(&positions[i], 1))});
    }
    return all;
  }
};

Checkpoint::Contents Checkpoint::contents(Context& ctx, const char* call) const {
  need_no_capture(ctx, call);
  std::lock_guard<Mutex> guard(lock_);
  Contents result;
  const std::vector<NamedVariable> named = variables(ctx);
  for (const auto& [name, loader] : loaders_) {
    result.positions.push_back(loader->position());
    result.position_names.push_back(position_name(name));
  }
  std::vector<TensorRef> values = values_of(ctx, named);
  for (size_t i = 0; i < named.size(); ++i) {
    result.values.push_back({named[i].name, std::move(values[i])});
  }
  result.metadata = circumstances(ctx);
  result.metadata.insert(texts_.begin(), texts_.end());
  return result;
}

void Checkpoint::save(Context& ctx, const std::string& path) {
  const Contents contents = this->contents(ctx, "checkpoint_save");
  const StoredTensors stored(ctx, contents.values);
  write_safetensors_file(path, contents.tensors(stored), contents.metadata);
}

void Checkpoint::write(Context& ctx, const WriteFunction& write) {
  const Contents contents = this->contents(ctx, "checkpoint_write");
  const StoredTensors stored(ctx, contents.values);
  write_safetensors(write, contents.tensors(stored), contents.metadata);
}

// ---- Loading

std::vector<Loader::Position> Checkpoint::positions(const Safetensors& file) const {
  std::vector<Loader::Position> all;
  for (const auto& [name, loader] : loaders_) {
    PositionWords words;
    std::memcpy(words.data(), file.find(position_name(name))->data.data(), sizeof words);
    all.push_back(std::bit_cast<Loader::Position>(words));
    loader->check("checkpoint_load", name, all.back());
  }
  return all;
}

void Checkpoint::load(Context& ctx, const Safetensors& file, const std::string& source) {
  need_no_capture(ctx, "checkpoint_load");
  if (ctx.runs > 0) {
    fail(DLCORE_FAILED_PRECONDITION, "checkpoint_load: cannot load inside a run of a graph");
  }
  need_checkpoint(source, file);
  std::lock_guard<Mutex> guard(lock_);
  const std::vector<NamedVariable> named = variables(ctx);
  std::vector<ExpectedTensor> expected;
  std::vector<Variable*> changed;
  for (const NamedVariable& v : named) {
    v.variable->need_changeable("checkpoint_load");
    expected.push_back(expected_by(v));
    changed.push_back(v.variable);
  }
  for (const auto& [name, loader] : loaders_) {
    expected.push_back(
        {position_name(name), DLCORE_I64, {Dim(static_cast<int64_t>(PositionWords().size()))}});
  }
  need_fit("checkpoint_load", source, "this checkpoint", expected, file);
  const std::vector<Loader::Position> positions = this->positions(file);

  std::vector<TensorRef> values;
  for (const NamedVariable& v : named) {
    const bool on_host = v.variable == &ctx.generator();
    const Context::OnDevice on(ctx, on_host ? ctx.engine().cpu() : ctx.device());
    values.push_back(tensor_from(ctx, *file.find(v.name)));
  }
  std::string warning = differences(ctx, file.metadata);
  SafetensorsMetadata texts = file.metadata;
  std::erase_if(texts, [](const auto& entry) { return entry.first.starts_with(kOwnKeys); });

  const LockedRuns alone(changed);
  LockedVariables locked(std::move(changed));
  locked.lock_gradients();
  // From here on nothing fails.
  for (size_t i = 0; i < named.size(); ++i) {
    named[i].variable->store_locked(std::move(values[i]));
    named[i].variable->slot()->gradient = nullptr;
  }
  for (size_t i = 0; i < loaders_.size(); ++i) loaders_[i].object->restore(positions[i]);
  texts_ = std::move(texts);
  if (!warning.empty()) ctx.engine().log().write(DLCORE_LOG_WARNING, "checkpoint", warning);
  warning_ = std::move(warning);
}

}  // namespace dlcore
