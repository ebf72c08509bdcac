// SPDX-License-Identifier: Apache-2.0
// A layer whose forward computation is a function of the program. It is shared by the module that
// was made and its snapshots.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/nn/layer.h"
#include "dlcore/module.h"

namespace dlcore {

class CustomLayer {
 public:
  CustomLayer(Context& ctx, std::string kind, dlcore_module_callback forward);
  ~CustomLayer();
  CustomLayer(const CustomLayer&) = delete;
  CustomLayer& operator=(const CustomLayer&) = delete;

  // Of the children, separated by commas; "" numbers them. Throws INVALID_ARGUMENT for names that
  // are no part of a path, or not of their own.
  void set_names(const std::string& names, size_t children, std::span<Variable* const> variables);
  // From here on `destroy` runs when the engine collects, once the layer is gone.
  void take(void* user_data, void (*destroy)(void*));

  const LayerDef& def() const { return def_; }
  const std::vector<std::string>& child_names() const { return child_names_; }

 private:
  static Value run(const LayerCall& call, const Value& x);

  Engine& engine_;  // which the modules keep alive
  const std::string kind_;
  LayerDef def_;
  std::vector<std::string> child_names_;
  dlcore_module_callback forward_;
  bool manual_;  // the context of the callback
  void* user_data_ = nullptr;
  void (*destroy_)(void*) = nullptr;
};

}  // namespace dlcore
