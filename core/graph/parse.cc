// SPDX-License-Identifier: Apache-2.0
#include "core/graph/parse.h"

#include <cstring>
#include <limits>
#include <map>

#include "core/engine/context.h"
#include "core/graph/lexer.h"
#include "core/graph/literals.h"
#include "core/graph/print.h"
#include "core/graph/verify.h"
#include "core/ops/custom.h"

namespace dlcore {
namespace {

class Parser {
 public:
  Parser(Context& ctx, std::string_view text)
      : ctx_(ctx),
        lexer_(text),
        graph_(make_ref<Graph>(ctx.engine(), "")),
        read_(lexer_, graph_->dims) {}

  Ref<Graph> run() {
    try {
      header();
      read_.expect('{');
      while (!at_name("return")) statement();
      results();
      read_.expect('}');
      if (lexer_.token().kind != TokenKind::kEnd) unexpected("the end of the text");
      check();
    } catch (const Error& e) {
      if (e.code == DLCORE_RESOURCE_EXHAUSTED || e.message.starts_with("graph_parse: ")) throw;
      locate(e.message);
    }
    return std::move(graph_);
  }

 private:
  [[noreturn]] void unexpected(const char* expected) {
    lexer_.fail_at(lexer_.token().offset, "expected {}, found {}", expected, lexer_.found());
  }
  // Of what rules for sizes, attributes and ops refused while a statement was read.
  [[noreturn]] void locate(std::string_view message) {
    constexpr size_t kLongest = 1000;
    if (message.size() <= kLongest) lexer_.fail_at(statement_, "{}", message);
    size_t end = kLongest;
    while ((static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
    lexer_.fail_at(statement_, "{}...", message.substr(0, end));
  }

  bool at_name(std::string_view name) const {
    return lexer_.token().kind == TokenKind::kName && lexer_.token().text == name;
  }
  std::string string(const char* what) {
    if (lexer_.token().kind != TokenKind::kString) unexpected(what);
    std::string text = lexer_.token().unescaped;
    lexer_.advance();
    return text;
  }

  // ---- Values and types

  // A value's name, which must be new; and where it stands.
  std::pair<std::string_view, size_t> new_name() {
    if (lexer_.token().kind != TokenKind::kValue) unexpected("a value");
    const std::pair<std::string_view, size_t> name{lexer_.token().text, lexer_.token().offset};
    if (values_.contains(name.first))
      lexer_.fail_at(name.second, "{} is defined already", lexer_.found());
    lexer_.advance();
    return name;
  }
  ValueId define(std::string_view name, size_t offset, TensorType type) {
    if (graph_->values.size() >= static_cast<size_t>(std::numeric_limits<ValueId>::max())) {
      lexer_.fail_at(offset, "there are too many values");
    }
    const ValueId value = graph_->add_value(std::move(type));
    if (!values_.emplace(name, value).second)
      lexer_.fail_at(offset, "'%{}' is defined already", name);
    return value;
  }
  ValueId use() {
    if (lexer_.token().kind != TokenKind::kValue) unexpected("a value");
    const auto it = values_.find(lexer_.token().text);
    if (it == values_.end())
      lexer_.fail_at(lexer_.token().offset, "{} is used before it is defined", lexer_.found());
    lexer_.advance();
    return it->second;
  }
  TensorType type() {
    read_.expect(':');
    TensorType type;
    type.weak = at_name("weak");
    if (type.weak) lexer_.advance();
    type.dtype = read_.dtype();
    type.dims = read_.shape();
    return type;
  }

  // ---- Statements

  void header() {
    if (lexer_.token().kind == TokenKind::kName && lexer_.token().text.starts_with("graph.v") &&
        !at_name("graph.v1")) {
      lexer_.fail_at(0, "the text has the form {}, but this library reads graph.v1",
                     lexer_.found());
    }
    read_.expect("graph.v1");
    graph_->name = string("the graph's name");
    read_.expect('(');
    while (!lexer_.at(')')) {
      if (!graph_->inputs.empty()) read_.expect(',');
      statement_ = lexer_.token().offset;
      const auto [name, offset] = new_name();
      GraphInput input;
      input.name = string("the input's name");
      input.value = define(name, offset, type());
      graph_->inputs.push_back(std::move(input));
    }
    read_.expect(')');
  }

  void statement() {
    statement_ = lexer_.token().offset;
    if (at_name("state")) return state();
    if (at_name("const")) return constant();
    if (at_name("update")) return update();
    if (lexer_.token().kind != TokenKind::kValue)
      unexpected("'state', 'const', 'update', 'return' or a value");
    node();
  }

  void state() {
    lexer_.advance();
    const auto [name, offset] = new_name();
    GraphState state;
    state.name = string("the name of a variable");
    state.value = define(name, offset, type());
    states_.emplace(state.value, graph_->state.size());
    graph_->state.push_back(std::move(state));
  }

  void update() {
    lexer_.advance();
    const size_t offset = lexer_.token().offset;
    const auto it = states_.find(use());
    if (it == states_.end())
      lexer_.fail_at(offset, "an update is of a state, which this value is not");
    GraphState& state = graph_->state[it->second];
    if (state.update != kNoValue)
      lexer_.fail_at(offset, "state {} has an update already", quoted(state.name));
    read_.expect('=');
    state.update = use();
  }

  void constant() {
    lexer_.advance();
    const auto [name, offset] = new_name();
    const TensorType t = type();
    Ints shape;
    for (Dim d : t.dims) {
      if (d.symbolic())
        lexer_.fail_at(statement_, "a constant has the symbolic size {}", graph_->dims.text(d));
      shape.push_back(d.value);
    }
    const auto bytes = static_cast<uint64_t>(checked_count(shape, t.dtype)) * dtype_bytes(t.dtype);
    read_.expect('=');
    std::vector<std::byte> data;
    read_.elements(t.dtype, shape.empty(), data);
    if (data.size() != bytes) {
      lexer_.fail_at(statement_, "a constant of {} {} has {} bytes of elements, expected {}",
                     dtype_name(t.dtype), shape_text(shape), data.size(), bytes);
    }
    GraphConstant constant;
    constant.tensor = new_tensor(ctx_, ctx_.engine().cpu(), t.dtype, shape);
    constant.tensor->weak = t.weak;
    if (bytes > 0) std::memcpy(constant.tensor->data, data.data(), bytes);
    constant.value = define(name, offset, t);
    graph_->constants.push_back(std::move(constant));
  }

  // ---- Nodes

  void node() {
    struct Result {
      std::pair<std::string_view, size_t> name;
      TensorType type;
    };
    std::vector<Result> results;
    do {
      if (results.size() == DLCORE_MAX_OP_OUTPUTS) unexpected("'='");
      const auto name = new_name();
      results.push_back({name, type()});
    } while (read_.accept(','));
    read_.expect('=');
    GraphNode node;
    node.op = &op();
    read_.expect('(');
    while (!lexer_.at(')')) {
      if (!node.inputs.empty()) read_.expect(',');
      if (node.inputs.size() == DLCORE_MAX_OP_INPUTS) unexpected("')'");
      if (at_name("none")) {
        node.inputs.push_back(kNoValue);
        lexer_.advance();
      } else {
        node.inputs.push_back(use());
      }
    }
    read_.expect(')');
    attributes(node);
    for (Result& r : results)
      node.outputs.push_back(define(r.name.first, r.name.second, std::move(r.type)));
    nodes_.push_back(statement_);
    graph_->nodes.push_back(std::move(node));
  }

  const OpDef& op() {
    const Token token = lexer_.token();
    if (token.kind != TokenKind::kName && token.kind != TokenKind::kString) unexpected("an op");
    const std::string_view text =
        token.kind == TokenKind::kName ? token.text : std::string_view(token.unescaped);
    lexer_.advance();
    const size_t dot = text.rfind(".v");
    if (dot == std::string_view::npos) {
      lexer_.fail_at(token.offset, "op {} has no version; write {}.v1", quoted(text.substr(0, 40)),
                     text.substr(0, 40));
    }
    const std::string_view name = text.substr(0, dot);
    const OpDef* op = ctx_.engine().ops().find(name);
    if (op == nullptr) op = ctx_.engine().custom_ops().find(name);
    if (op == nullptr) {
      const std::string_view hint = op_hint(name);
      lexer_.fail_at(token.offset, "there is no op {}{}{}", quoted(name.substr(0, 40)),
                     hint.empty() ? "" : "; use ", hint);
    }
    if (text != versioned_name(*op)) {
      lexer_.fail_at(token.offset, "op {} has version {} here, not '{}'", op->name, op->version,
                     text.substr(dot + 1, 20));
    }
    return *op;
  }

  void attributes(GraphNode& node) {
    const auto defs = attr_defs(*node.op);
    if (defs.empty()) return;
    Attrs attrs;
    read_.expect('{');
    for (size_t i = 0; i < defs.size(); ++i) {
      if (i > 0) read_.expect(',');
      if (!at_name(defs[i].name)) {
        lexer_.fail_at(lexer_.token().offset, "expected attribute '{}' of {}, found {}",
                       defs[i].name, node.op->name, lexer_.found());
      }
      lexer_.advance();
      read_.expect('=');
      read_.attribute(defs[i], attrs);
    }
    read_.expect('}');
    node.attrs.assign(attrs.words().begin(), attrs.words().end());
  }

  void results() {
    statement_ = lexer_.token().offset;
    read_.expect("return");
    while (!lexer_.at('}')) {
      if (!graph_->outputs.empty()) read_.expect(',');
      graph_->outputs.push_back(use());
    }
  }

  void check() {
    try {
      verify(*graph_);
    } catch (const GraphFault& fault) {
      statement_ = fault.node >= 0 ? nodes_[static_cast<size_t>(fault.node)] : 0;
      locate(fault.message);
    }
  }

  Context& ctx_;
  Lexer lexer_;
  Ref<Graph> graph_;
  LiteralReader read_;
  std::map<std::string_view, ValueId> values_;
  std::map<ValueId, size_t> states_;  // index by value
  std::vector<size_t> nodes_;         // where each begins
  size_t statement_ = 0;              // where the present one begins
};

}  // namespace

Ref<Graph> parse_graph(Context& ctx, std::string_view text) { return Parser(ctx, text).run(); }

}  // namespace dlcore
