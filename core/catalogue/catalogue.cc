// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/nn/layer.h"
#include "core/optim/definition.h"
#include "core/optim/schedules/definition.h"
#include "dlcore/op.h"

namespace dlcore {
namespace {

using Json = nlohmann::ordered_json;

Json dtype_names(DtypeSet set) {
  Json names = Json::array();
  for (Dtype d = 1; d < kDtypeCount; ++d) {
    if (contains(set, d)) names.push_back(dtype_name(d));
  }
  return names;
}

// "i64", "u8|i32|i64"
std::string dtype_choice(DtypeSet set) {
  std::string text;
  for (Dtype d = 1; d < kDtypeCount; ++d) {
    if (contains(set, d)) text += (text.empty() ? "" : "|") + std::string(dtype_name(d));
  }
  return text;
}

const char* type_name(AttrType type) {
  switch (type) {
    case AttrType::kInt:
      return "int";
    case AttrType::kFloat:
      return "float";
    case AttrType::kBool:
      return "bool";
    case AttrType::kDtype:
      return "dtype";
    case AttrType::kString:
      return "string";
    case AttrType::kInts:
      return "ints";
    case AttrType::kDims:
      return "dims";
  }
  return "";
}

Json default_value(const AttrDef& attr) {
  if (attr.optional) return nullptr;
  switch (attr.type) {
    case AttrType::kInt:
      return static_cast<int64_t>(attr.number);
    case AttrType::kFloat:
      return attr.number;
    case AttrType::kBool:
      return attr.number != 0;
    case AttrType::kDtype:
      return dtype_name(static_cast<Dtype>(attr.number));
    case AttrType::kString:
      return attr.text;
    case AttrType::kInts:
    case AttrType::kDims:
      break;
  }
  return Json::array();
}

Json choices_of(std::string_view text) {
  Json choices = Json::array();
  while (!text.empty()) {
    const size_t bar = std::min(text.find('|'), text.size());
    choices.push_back(text.substr(0, bar));
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  return choices;
}

Json describe(std::span<const AttrDef> attrs) {
  Json list = Json::array();
  for (const AttrDef& attr : attrs) {
    Json entry;
    entry["name"] = attr.name;
    entry["type"] = std::string(type_name(attr.type)) + (attr.optional ? "?" : "");
    if (!attr.required) entry["default"] = default_value(attr);
    entry["positional"] = attr.positional;
    if (*attr.choices != '\0') entry["choices"] = choices_of(attr.choices);
    entry["doc"] = attr.doc;
    list.push_back(std::move(entry));
  }
  return list;
}

Json inputs_of(const OpDef& op) {
  Json list = Json::array();
  for (const InputDef& input : op.inputs) {
    Json entry;
    entry["name"] = input.name;
    entry["type"] = input.promotes ? "T" : dtype_choice(input.dtypes);
    entry["optional"] = input.optional;
    entry["variadic"] = input.variadic;
    entry["doc"] = input.doc;
    list.push_back(std::move(entry));
  }
  return list;
}

Json outputs_of(const OpDef& op) {
  Json list = Json::array();
  for (const OutputDef& output : op.outputs) {
    Json entry;
    entry["name"] = output.name;
    entry["type"] = output.dtype;
    entry["hidden"] = output.hidden;
    entry["doc"] = output.doc;
    list.push_back(std::move(entry));
  }
  return list;
}

Json types_of(const OpDef& op) {
  Json types = Json::object();
  for (const InputDef& input : op.inputs) {
    if (!input.promotes) continue;
    types["T"] = dtype_names(input.dtypes);
    break;
  }
  return types;
}

Json kernels_of(const OpDef& op, std::span<Device* const> devices) {
  Json kernels = Json::object();
  for (const Device* device : devices) {
    DtypeSet set = 0;
    for (Dtype d = 1; d < kDtypeCount; ++d) {
      if (device->kernel(op.number, d) != nullptr) set |= dtype_set(d);
    }
    if (set != 0) kernels[device->name()] = dtype_names(set);
  }
  return kernels;
}

Json describe(const OpDef& op, std::span<Device* const> devices) {
  Json entry;
  entry["name"] = op.name;
  entry["number"] = op.number;
  entry["version"] = op.version;
  entry["since"] = op.since;
  entry["category"] = op.family;
  entry["doc"] = op.doc;
  entry["types"] = types_of(op);
  entry["inputs"] = inputs_of(op);
  entry["attrs"] = describe(attr_defs(op));
  entry["outputs"] = outputs_of(op);
  entry["differentiable"] = op.differentiable();
  entry["effect"] = op.is(kRandom) ? "random" : "pure";
  entry["view"] = op.is(kView);
  entry["composite"] = op.compose != nullptr;
  entry["elementwise"] = op.is(kElementwise);
  entry["hidden"] = op.is(kHidden);
  entry["kernels"] = kernels_of(op, devices);
  return entry;
}

const char* children_name(Children children) {
  return children == Children::kNone ? "none" : children == Children::kOne ? "one" : "list";
}

// What definitions of layers, optimizers and schedules have in common.
template <class Def>
Json head_of(const Def& def) {
  Json entry;
  entry["name"] = def.name;
  entry["number"] = def.number;
  entry["version"] = def.version;
  entry["function"] = def.function;
  entry["doc"] = def.doc;
  return entry;
}

Json describe(const LayerDef& layer) {
  Json entry = head_of(layer);
  entry["children"] = children_name(layer.children);
  entry["attrs"] = describe(attr_defs(layer));
  entry["variables"] = Json::array();
  for (const LayerVariable& variable : layer.variables) {
    Json v;
    v["name"] = variable.name;
    v["doc"] = variable.doc;
    v["trainable"] = variable.trainable;
    entry["variables"].push_back(std::move(v));
  }
  return entry;
}

Json describe(const OptimizerDef& optimizer) {
  Json entry = head_of(optimizer);
  entry["attrs"] = describe(attr_defs(optimizer));
  entry["state"] = Json::array();
  for (const char* state : optimizer.state) entry["state"].push_back(state);
  return entry;
}

Json describe(const ScheduleDef& schedule) {
  Json entry = head_of(schedule);
  entry["attrs"] = describe(attr_defs(schedule));
  return entry;
}

constexpr OpHint kLayerHints[] = {
    {"Dense", "Linear"},     {"FullyConnected", "Linear"},
    {"Affine", "Linear"},    {"Relu", "ReLU"},
    {"Gelu", "GELU"},        {"Swish", "SiLU"},
    {"Silu", "SiLU"},        {"LeakyRelu", "LeakyReLU"},
    {"Logistic", "Sigmoid"}, {"LogSoftMax", "LogSoftmax"},
    {"SoftMax", "Softmax"},  {"LayerNormalization", "LayerNorm"},
    {"Chain", "Sequential"},
};
constexpr OpHint kOptimizerHints[] = {
    {"adam", "Adam"}, {"adamw", "AdamW"},  {"Adamw", "AdamW"},         {"sgd", "SGD"},
    {"Sgd", "SGD"},   {"Momentum", "SGD"}, {"GradientDescent", "SGD"},
};
constexpr OpHint kScheduleHints[] = {
    {"Constant", "ConstantLR"},
    {"Linear", "LinearLR"},
    {"LinearWarmup", "LinearLR"},
    {"Warmup", "LinearLR"},
    {"Step", "StepLR"},
    {"StepDecay", "StepLR"},
    {"MultiStep", "MultiStepLR"},
    {"MultistepLR", "MultiStepLR"},
    {"PiecewiseConstant", "MultiStepLR"},
    {"Exponential", "ExponentialLR"},
    {"ExponentialDecay", "ExponentialLR"},
    {"Polynomial", "PolynomialLR"},
    {"PolynomialDecay", "PolynomialLR"},
    {"PolyLR", "PolynomialLR"},
    {"Cosine", "CosineAnnealingLR"},
    {"CosineLR", "CosineAnnealingLR"},
    {"CosineAnnealing", "CosineAnnealingLR"},
    {"CosineDecay", "CosineAnnealingLR"},
    {"OneCycle", "OneCycleLR"},
    {"CosineWithWarmup", "WarmupCosine"},
    {"WarmupCosineLR", "WarmupCosine"},
};

std::string_view look_up(std::span<const OpHint> hints, std::string_view name) {
  for (const OpHint& hint : hints) {
    if (name == hint.wrong) return hint.right;
  }
  return "";
}

template <class Def>
int32_t number_of(const Def* def) {
  return def == nullptr ? -1 : def->number;
}

}  // namespace

std::string catalogue_json(const OpTable& ops, std::span<Device* const> devices) {
  Json all;
  all["version"] =
      formatted("{}.{}.{}", DLCORE_VERSION_MAJOR, DLCORE_VERSION_MINOR, DLCORE_VERSION_PATCH);
  for (const char* list : {"ops", "layers", "optimizers", "schedules"}) all[list] = Json::array();
  for (const OpDef* op : ops.all()) all["ops"].push_back(describe(*op, devices));
  for (const LayerDef* layer : all_layers()) all["layers"].push_back(describe(*layer));
  for (const OptimizerDef* o : all_optimizers()) all["optimizers"].push_back(describe(*o));
  for (const ScheduleDef* s : all_schedules()) all["schedules"].push_back(describe(*s));
  all["hints"] = Json::object();
  for (const OpHint& hint : op_hints()) all["hints"][hint.wrong] = hint.right;
  all["tombstones"] = Json::array();
  return all.dump();
}

int32_t catalogue_find(const OpTable& ops, int32_t catalogue, std::string_view name) {
  switch (catalogue) {
    case DLCORE_CATALOGUE_OPS:
      return number_of(ops.find(name));
    case DLCORE_CATALOGUE_LAYERS:
      return number_of(find_layer(name));
    case DLCORE_CATALOGUE_OPTIMIZERS:
      return number_of(find_optimizer(name));
    case DLCORE_CATALOGUE_SCHEDULES:
      return number_of(find_schedule(name));
    default:
      invalid("catalogue_find: catalogue is {}, expected 0 to {}", catalogue,
              int{DLCORE_CATALOGUE_SCHEDULES});
  }
}

std::string_view catalogue_hint(int32_t catalogue, std::string_view name) {
  switch (catalogue) {
    case DLCORE_CATALOGUE_OPS:
      return op_hint(name);
    case DLCORE_CATALOGUE_LAYERS:
      return look_up(kLayerHints, name);
    case DLCORE_CATALOGUE_OPTIMIZERS:
      return look_up(kOptimizerHints, name);
    case DLCORE_CATALOGUE_SCHEDULES:
      return look_up(kScheduleHints, name);
    default:
      return "";
  }
}

}  // namespace dlcore
