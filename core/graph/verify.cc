// SPDX-License-Identifier: Apache-2.0
#include "core/graph/verify.h"

#include <algorithm>
#include <set>

#include "core/ops/attrs.h"
#include "core/ops/custom.h"
#include "core/ops/dispatch.h"

namespace dlcore {
namespace {

class Verifier {
 public:
  // Inference makes new size expressions: they go to a copy of the graph's table.
  explicit Verifier(const Graph& graph)
      : graph_(graph), dims_(graph.dims), defined_(graph.values.size(), false) {}

  void run() {
    declarations();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      number_ = static_cast<int64_t>(i);
      what_ = formatted("node {} ({})", i,
                        graph_.nodes[i].op == nullptr ? "none" : graph_.nodes[i].op->name);
      try {
        node(graph_.nodes[i]);
      } catch (const GraphFault&) {
        throw;
      } catch (const Error& e) {  // of the op's rules
        refuse("{}", e.message);
      }
    }
    number_ = -1;
    results();
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw GraphFault(number_, formatted("graph '{}': {}: {}", graph_.name, what_,
                                        formatted(format, std::forward<Args>(args)...)));
  }

  std::string type_text(const TensorType& t) const {
    const DimMath math(&dims_);
    return formatted("{}{}{}", t.weak ? "weak " : "", dtype_name(t.dtype), math.text(t.dims));
  }

  const TensorType& type(ValueId value) const { return graph_.values[static_cast<size_t>(value)]; }

  void define(ValueId value) {
    if (value < 0 || static_cast<size_t>(value) >= graph_.values.size())
      refuse("it defines a value that there is none of: {}", value);
    if (defined_[static_cast<size_t>(value)]) refuse("value {} is defined twice", value);
    defined_[static_cast<size_t>(value)] = true;
    const TensorType& t = type(value);
    if (!is_dtype(t.dtype)) refuse("value {} has no dtype", value);
    if (t.dims.size() > DLCORE_MAX_RANK)
      refuse("value {} has rank {}, expected at most {}", value, t.dims.size(),
             int{DLCORE_MAX_RANK});
    for (Dim d : t.dims) {
      if (d.symbolic() && d.number() >= graph_.dims.expression_count())
        refuse("value {} has an unknown size", value);
    }
  }
  void need_defined(ValueId value, const char* role) const {
    if (value < 0 || static_cast<size_t>(value) >= defined_.size() ||
        !defined_[static_cast<size_t>(value)]) {
      refuse("{} is value {}, which is not defined before it is used", role, value);
    }
  }
  void need_concrete(ValueId value) const {
    for (Dim d : type(value).dims) {
      if (d.symbolic())
        refuse("its size {} is symbolic, which only those of inputs and of results may be",
               dims_.text(d));
    }
  }

  void declarations() {
    std::set<std::string_view> names;
    for (const GraphInput& input : graph_.inputs) {
      what_ = formatted("input '{}'", input.name);
      if (!names.insert(input.name).second) refuse("another input has that name");
      define(input.value);
      if (type(input.value).weak) refuse("it is weak, which only constants are");
    }
    names.clear();
    for (const GraphState& s : graph_.state) {
      what_ = formatted("state '{}'", s.name);
      if (!names.insert(s.name).second) refuse("another state has that name");
      define(s.value);
      if (type(s.value).weak) refuse("it is weak, which only constants are");
      need_concrete(s.value);
    }
    for (size_t i = 0; i < graph_.constants.size(); ++i) {
      const GraphConstant& c = graph_.constants[i];
      what_ = formatted("constant {}", i);
      define(c.value);
      need_concrete(c.value);
      const TensorType& t = type(c.value);
      if (!c.tensor || c.tensor->dtype != t.dtype || c.tensor->weak != t.weak ||
          !(c.tensor->dims() == t.dims)) {
        refuse("its elements are not of its type, {}", type_text(t));
      }
    }
  }

  void node(const GraphNode& n) {
    if (n.op == nullptr) refuse("it has no op");
    inputs(n);
    Words complete;
    complete_attrs(n.op->name, attr_defs(*n.op), n.attrs, graph_.dims.expression_count(), complete);
    if (!std::equal(complete.begin(), complete.end(), n.attrs.begin(), n.attrs.end()))
      refuse("attributes are missing");
    outputs(n);
  }

  void inputs(const GraphNode& n) {
    const OpDef& op = *n.op;
    const size_t expected = op.inputs.size();
    if (op.variadic() ? n.inputs.size() < expected || n.inputs.size() > DLCORE_MAX_OP_INPUTS
                      : n.inputs.size() != expected) {
      refuse("it has {} inputs, expected {}{}", n.inputs.size(), expected,
             op.variadic() ? " or more" : "");
    }
    types_.assign(n.inputs.size(), TensorType());
    const TensorType* first = nullptr;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const InputDef& def = op.inputs[std::min(i, expected - 1)];
      if (n.inputs[i] == kNoValue) {
        // A key is drawn while capturing; a graph that lacks one would not say which.
        if (!def.optional || (op.is(kRandom) && i + 1 == n.inputs.size()))
          refuse("input {} ({}) is missing", i, def.name);
        continue;
      }
      need_defined(n.inputs[i], def.name);
      const TensorType& t = types_[i] = type(n.inputs[i]);
      if (def.dtypes != 0 && !contains(def.dtypes, t.dtype)) {
        refuse("input {} ({}) is {}, expected {}", i, def.name, dtype_name(t.dtype),
               dtype_set_text(def.dtypes));
      }
      if (!def.promotes) continue;
      if (first != nullptr && first->dtype != t.dtype) {
        refuse("input {} ({}) is {}, but one before it is {}", i, def.name, dtype_name(t.dtype),
               dtype_name(first->dtype));
      }
      if (first == nullptr) first = &types_[i];
    }
  }

  void outputs(const GraphNode& n) {
    const OpDef& op = *n.op;
    if (n.outputs.size() != op.outputs.size())
      refuse("it has {} outputs, expected {}", n.outputs.size(), op.outputs.size());
    for (ValueId value : n.outputs) {
      define(value);
      if (type(value).weak) refuse("its result is weak, which only constants are");
    }
    if (op.custom != nullptr) return;  // its callback is asked when the graph runs
    std::vector<TensorType> made(op.outputs.size());
    infer_types(op, types_, n.attrs, &dims_, made);
    for (size_t i = 0; i < made.size(); ++i) {
      const TensorType& stated = type(n.outputs[i]);
      if (stated.dtype != made[i].dtype || !(stated.dims == made[i].dims)) {
        refuse("output {} is {}, but the op makes {}", i, type_text(stated), type_text(made[i]));
      }
    }
  }

  void results() {
    for (const GraphState& s : graph_.state) {
      if (s.update == kNoValue) continue;
      what_ = formatted("state '{}'", s.name);
      need_defined(s.update, "its update");
      const TensorType& from = type(s.update);
      const TensorType& to = type(s.value);
      if (from.dtype != to.dtype || !(from.dims == to.dims)) {
        refuse("it is {}, but its update is {}", type_text(to), type_text(from));
      }
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      what_ = formatted("output {}", i);
      need_defined(graph_.outputs[i], "it");
    }
    what_ = "values";
    const auto undefined = std::find(defined_.begin(), defined_.end(), false);
    if (undefined != defined_.end())
      refuse("value {} is defined nowhere", undefined - defined_.begin());
  }

  const Graph& graph_;
  mutable DimTable dims_;
  std::vector<bool> defined_;      // by ValueId
  std::string what_;               // is being checked
  int64_t number_ = -1;            // of the node
  std::vector<TensorType> types_;  // of the node's inputs
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace dlcore
