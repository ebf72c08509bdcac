// SPDX-License-Identifier: Apache-2.0
// The whole state of a training in one safetensors file: the variables of models, the state of
// optimizers and schedules, the generator, where loaders are, and texts of the program. What
// belongs to it is named once; then it is saved and loaded any number of times.
//
// In the file a tensor is called after what it belongs to:
//   generator                  (seed, generator, next call), i64
//   module/NAME/PATH           a variable of a model
//   optimizer/NAME/GROUP.WHAT  a learning rate, number of steps; with the number of a parameter
//                              before WHAT, the state of that one
//   schedule/NAME/count, schedule/NAME/GROUP.base_rate
//   loader/NAME                Loader::Position, i64
//   variable/NAME
// The metadata hold the texts under their keys, and under "dlcore." what the file was written with.
#pragma once

#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/data/loader.h"
#include "core/io/archive.h"
#include "core/io/named_variables.h"
#include "core/nn/module.h"
#include "core/optim/schedule.h"

namespace dlcore {

class Checkpoint : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kCheckpoint;

  explicit Checkpoint(Context& ctx) : engine_(&ctx.engine()) {}
  Engine& engine() const { return *engine_; }

  // Throw ALREADY_EXISTS for a name of the same kind, INVALID_ARGUMENT for one that is none.
  void add(const std::string& name, Module& module);
  void add(const std::string& name, Optimizer& optimizer);
  void add(const std::string& name, Schedule& schedule);
  void add(const std::string& name, Loader& loader);
  void add(const std::string& name, Variable& variable);

  // Text of the program; nullptr takes it out.
  void set_text(const std::string& key, const char* text);
  // Stays valid until the text is set again or a file is loaded; nullptr when there is none.
  const char* text(const std::string& key) const;

  void save(Context& ctx, const std::string& path);
  void write(Context& ctx, const WriteFunction& write);
  // All or nothing. `source` is what errors call it.
  void load(Context& ctx, const Safetensors& file, const std::string& source);
  // What was different when the file that was loaded last was written; "" when nothing was.
  const std::string& warning() const { return warning_; }

 private:
  template <class T>
  struct Member {
    std::string name;
    Ref<T> object;
  };
  template <class T>
  void add_to(std::vector<Member<T>>& members, const char* kind, const std::string& name,
              T& object);
  std::vector<NamedVariable> variables(Context& ctx) const;
  struct Contents;
  Contents contents(Context& ctx, const char* call) const;
  std::vector<Loader::Position> positions(const Safetensors& file) const;

  Ref<Engine> engine_;
  mutable Mutex lock_;  // what follows
  std::vector<Member<Module>> modules_;
  std::vector<Member<Optimizer>> optimizers_;
  std::vector<Member<Schedule>> schedules_;
  std::vector<Member<Loader>> loaders_;
  std::vector<Member<Variable>> variables_;
  SafetensorsMetadata texts_;
  std::string warning_;
};

}  // namespace dlcore
