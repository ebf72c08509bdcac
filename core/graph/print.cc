// SPDX-License-Identifier: Apache-2.0
#include "core/graph/print.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/ops/attrs.h"
#include "core/ops/schema.h"

namespace dlcore {
namespace {

constexpr int64_t kMostListed = 16;  // elements of a constant that are written one by one

constexpr uint64_t kNan64 = 0x7ff8000000000000;
constexpr uint32_t kNan32 = 0x7fc00000;

// std::to_chars depends on no locale.
std::string finite_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char digits[40];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, std::fabs(value), std::chars_format::hex).ptr;
  return formatted("{}0x{}", std::signbit(value) ? "-" : "",
                   std::string_view(digits, static_cast<size_t>(end - digits)));
}

std::string real_text(double value) {
  if (!std::isnan(value)) return finite_text(value);
  const auto bits = std::bit_cast<uint64_t>(value);
  return bits == kNan64 ? "nan" : formatted("nan({:#018x})", bits);
}

std::string real_text(float value) {
  if (!std::isnan(value)) return finite_text(value);
  const auto bits = std::bit_cast<uint32_t>(value);
  return bits == kNan32 ? "nan" : formatted("nan({:#010x})", bits);
}

template <class T>
T element(const Tensor& t, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(t.data) + i * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

std::string element_text(const Tensor& t, int64_t i) {
  switch (t.dtype) {
    case DLCORE_BOOL:
      return element<uint8_t>(t, i) != 0 ? "true" : "false";
    case DLCORE_U8:
      return std::to_string(element<uint8_t>(t, i));
    case DLCORE_I8:
      return std::to_string(element<int8_t>(t, i));
    case DLCORE_I16:
      return std::to_string(element<int16_t>(t, i));
    case DLCORE_I32:
      return std::to_string(element<int32_t>(t, i));
    case DLCORE_I64:
      return std::to_string(element<int64_t>(t, i));
    case DLCORE_F32:
      return real_text(element<float>(t, i));
    default:
      return real_text(element<double>(t, i));
  }
}

bool is_utf8_tail(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), numbers_(graph.values.size(), -1) {}

  std::string run() {
    out_ = formatted("graph.v1 {} (", quoted(graph_.name));
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const GraphInput& input = graph_.inputs[i];
      out_ += i == 0 ? "" : ", ";
      out_ +=
          formatted("{} {}: {}", define(input.value), quoted(input.name), type_text(input.value));
    }
    out_ += ") {\n";
    for (const GraphState& s : graph_.state) {
      out_ += formatted("  state {} {}: {}\n", define(s.value), quoted(s.name), type_text(s.value));
    }
    for (const GraphConstant& c : graph_.constants) constant(c);
    for (const GraphNode& node : graph_.nodes) this->node(node);
    for (const GraphState& s : graph_.state) {
      if (s.update != kNoValue)
        out_ += formatted("  update {} = {}\n", name(s.value), name(s.update));
    }
    out_ += "  return";
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      out_ += (i == 0 ? " " : ", ") + name(graph_.outputs[i]);
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  std::string define(ValueId value) {
    numbers_[static_cast<size_t>(value)] = next_++;
    return name(value);
  }
  std::string name(ValueId value) const {
    return value == kNoValue ? "none" : formatted("%{}", numbers_[static_cast<size_t>(value)]);
  }

  std::string dims_text(const Dims& dims) const {
    std::string text = "[";
    for (size_t i = 0; i < dims.size(); ++i)
      text += (i == 0 ? "" : ", ") + graph_.dims.text(dims[i]);
    return text + "]";
  }
  std::string type_text(ValueId value) const {
    const TensorType& type = graph_.values[static_cast<size_t>(value)];
    return formatted("{}{}{}", type.weak ? "weak " : "", dtype_name(type.dtype),
                     dims_text(type.dims));
  }

  void constant(const GraphConstant& c) {
    const Tensor& t = *c.tensor;
    out_ += formatted("  const {}: {} = ", define(c.value), type_text(c.value));
    if (t.count > kMostListed || contains(kHalfSet, t.dtype)) {
      bytes(t);
    } else if (t.rank == 0) {
      out_ += element_text(t, 0);
    } else {
      for (int64_t i = 0; i < t.count; ++i) out_ += (i == 0 ? "[" : ", ") + element_text(t, i);
      out_ += t.count == 0 ? "[]" : "]";
    }
    out_ += "\n";
  }
  void bytes(const Tensor& t) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto* data = static_cast<const unsigned char*>(t.data);
    const uint64_t n = static_cast<uint64_t>(t.count) * dtype_bytes(t.dtype);
    out_ += "hex \"";
    out_.reserve(out_.size() + 2 * n);
    for (uint64_t i = 0; i < n; ++i) {
      out_ += kDigits[data[i] >> 4];
      out_ += kDigits[data[i] & 15];
    }
    out_ += "\"";
  }

  void node(const GraphNode& node) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      out_ += i == 0 ? "  " : ", ";
      out_ += formatted("{}: {}", define(node.outputs[i]), type_text(node.outputs[i]));
    }
    const std::string op = versioned_name(*node.op);
    out_ += formatted(" = {}(", is_plain_name(op) ? op : quoted(op));
    for (size_t i = 0; i < node.inputs.size(); ++i)
      out_ += (i == 0 ? "" : ", ") + name(node.inputs[i]);
    out_ += ")";
    attributes(node);
    out_ += "\n";
  }

  void attributes(const GraphNode& node) {
    const auto defs = attr_defs(*node.op);
    if (defs.empty()) return;
    size_t at = 0;
    for (size_t i = 0; i < defs.size(); ++i) {
      out_ += formatted("{}{} = ", i == 0 ? " {" : ", ", defs[i].name);
      const size_t end = at + attr_length(defs[i], node.attrs, at);
      const bool absent = defs[i].optional && node.attrs[at] == 0;
      if (absent) {
        out_ += "none";
      } else {
        if (defs[i].optional) ++at;
        out_ += attribute(defs[i], std::span(node.attrs).subspan(at, end - at));
      }
      at = end;
    }
    out_ += "}";
  }

  std::string attribute(const AttrDef& def, std::span<const int64_t> words) const {
    switch (def.type) {
      case AttrType::kInt:
        return std::to_string(words[0]);
      case AttrType::kFloat:
        return real_text(std::bit_cast<double>(words[0]));
      case AttrType::kBool:
        return words[0] != 0 ? "true" : "false";
      case AttrType::kDtype:
        return dtype_name(static_cast<Dtype>(words[0]));
      case AttrType::kString:
        return quoted(
            {reinterpret_cast<const char*>(words.data() + 1), static_cast<size_t>(words[0])});
      case AttrType::kInts:
        return formatted("[{}]", joined(words.subspan(1), ", "));
      case AttrType::kDims:
        break;
    }
    std::string text = "[";
    for (size_t i = 1; i < words.size(); i += 2) {
      if (i > 1) text += ", ";
      // A plain -1 may stand for a size that the op works out.
      text += words[i] == 0 ? std::to_string(words[i + 1])
                            : graph_.dims.text(Dim::expression(words[i + 1]));
    }
    return text + "]";
  }

  const Graph& graph_;
  std::vector<int32_t> numbers_;  // in the text, by ValueId
  int32_t next_ = 0;
  std::string out_;
};

}  // namespace

size_t utf8_length(std::string_view text) {
  // RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t n = lead < 0x80   ? 1
                   : lead < 0xc2 ? 0
                   : lead < 0xe0 ? 2
                   : lead < 0xf0 ? 3
                   : lead < 0xf5 ? 4
                                 : 0;
  if (n == 0 || text.size() < n) return 0;
  for (size_t i = 1; i < n; ++i) {
    if (!is_utf8_tail(text[i])) return 0;
  }
  if (n < 3) return n;
  const auto second = static_cast<unsigned char>(text[1]);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90)) return 0;
  return n;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const size_t n = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : 'r'};
    } else if (n == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += formatted("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out + "\"";
}

std::string versioned_name(const OpDef& op) { return formatted("{}.v{}", op.name, op.version); }

bool is_plain_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name[0])) return false;
  for (char c : name) {
    if (!letter(c) && c != '.' && (c < '0' || c > '9')) return false;
  }
  return true;
}

std::string print(const Graph& graph) { return Printer(graph).run(); }

}  // namespace dlcore
