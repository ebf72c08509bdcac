// SPDX-License-Identifier: Apache-2.0
// Numbers, elements and attributes in a graph's text.
#pragma once

#include <cstddef>
#include <vector>

#include "core/graph/lexer.h"
#include "core/ops/attrs.h"
#include "core/tensor/dims.h"
#include "core/tensor/dtype.h"

namespace dlcore {

// Each reads one literal at the lexer and goes on behind it.
class LiteralReader {
 public:
  LiteralReader(Lexer& lexer, DimTable& dims) : lexer_(lexer), dims_(dims) {}

  int64_t integer(int64_t least, int64_t most);
  bool boolean();
  Dtype dtype();
  Dims shape();
  // Appends one element, or all of a list or of a hex string, as bytes.
  void elements(Dtype dtype, bool single, std::vector<std::byte>& bytes);
  // Appends the words of an attribute.
  void attribute(const AttrDef& def, Attrs& attrs);

  // Goes behind a mark or a name that must stand here.
  void expect(char mark);
  void expect(std::string_view name);
  bool accept(char mark);

 private:
  void element(Dtype dtype, std::vector<std::byte>& bytes);
  void hex(std::vector<std::byte>& bytes);
  double real();
  float real32();
  uint64_t nan_bits(uint64_t usual, uint64_t infinity, uint64_t most);
  void dims_attribute(Attrs& attrs);
  bool at_name(std::string_view name) const {
    return lexer_.token().kind == TokenKind::kName && lexer_.token().text == name;
  }

  Lexer& lexer_;
  DimTable& dims_;
};

}  // namespace dlcore
