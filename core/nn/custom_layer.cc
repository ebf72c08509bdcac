// SPDX-License-Identifier: Apache-2.0
#include "core/nn/custom_layer.h"

#include <algorithm>
#include <sstream>

#include "core/base/error.h"
#include "core/engine/context.h"
#include "core/nn/module.h"
#include "core/ops/callback.h"
#include "core/tensor/variable.h"

namespace dlcore {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  if (text.ends_with(',')) parts.emplace_back();
  return parts;
}

}  // namespace

CustomLayer::CustomLayer(Context& ctx, std::string kind, dlcore_module_callback forward)
    : engine_(ctx.engine()), kind_(std::move(kind)), forward_(forward), manual_(ctx.manual()) {
  def_.name = def_.function = kind_.c_str();
  def_.children = Children::kList;
  def_.forward = run;
}

CustomLayer::~CustomLayer() {
  if (destroy_ != nullptr) engine_.deferred().add(destroy_, user_data_);
}

void CustomLayer::take(void* user_data, void (*destroy)(void*)) {
  user_data_ = user_data;
  destroy_ = destroy;
}

void CustomLayer::set_names(const std::string& names, size_t children,
                            std::span<Variable* const> variables) {
  child_names_ = split(names);
  if (!child_names_.empty() && child_names_.size() != children) {
    invalid("{}: names is '{}', expected {} for {} children", kind_, names, children, children);
  }
  std::vector<std::string> all = child_names_;
  for (const Variable* variable : variables) all.push_back(variable->name());
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty() || all[i].find('.') != std::string::npos) {
      invalid("{}: '{}' is no name of a child or variable, expected one without '.'", kind_,
              all[i]);
    }
    if (std::find(all.begin(), all.begin() + static_cast<ptrdiff_t>(i), all[i]) !=
        all.begin() + static_cast<ptrdiff_t>(i)) {
      invalid("{}: two children or variables are called '{}'", kind_, all[i]);
    }
  }
}

Value CustomLayer::run(const LayerCall& call, const Value& x) {
  const CustomLayer& layer = call.module().custom();
  Context& ctx = call.ctx;
  CallGuard seen;
  seen->inputs.push_back(Value(x).take());
  seen->outputs.resize(1);
  seen->phase = OpCall::Phase::kForward;
  run_callback(ctx, layer.manual_, layer.kind_, "forward", *seen,
               [&](dlcore_context* child, dlcore_op_call* handle) {
                 auto* module = reinterpret_cast<dlcore_module*>(&call.module());
                 return layer.forward_(layer.user_data_, child, module, handle);
               });
  if (!seen->outputs[0]) {
    fail(DLCORE_FAILED_PRECONDITION, "{}: its forward callback set no output", layer.kind_);
  }
  return {ctx, std::move(seen->outputs[0])};
}

}  // namespace dlcore
