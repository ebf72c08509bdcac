// SPDX-License-Identifier: Apache-2.0
// The words of a graph's text. Nothing is looked at twice, and nothing is kept but the present
// word.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace dlcore {

enum class TokenKind {
  kEnd,
  kName,    // linear.v1
  kValue,   // %12; its text is without the %
  kNumber,  // -3, 0x1.8p+1, -inf, nan(0x7fc00001)
  kString,  // its text is without quotes and escapes
  kMark,    // one of ( ) { } [ ] : , =
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  size_t offset = 0;      // in the text
  std::string_view text;  // as written; not of a string
  std::string unescaped;  // of a string
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  const Token& token() const { return token_; }
  void advance();
  bool at(char mark) const { return token_.kind == TokenKind::kMark && token_.text[0] == mark; }
  // At a '[': all up to its ']' as written, and goes on behind it.
  std::string_view bracketed();

  // INVALID_ARGUMENT with the line and column of an offset.
  template <class... Args>
  [[noreturn]] void fail_at(size_t offset, fmt::format_string<Args...> format,
                            Args&&... args) const {
    refuse(offset, formatted(format, std::forward<Args>(args)...));
  }
  // The token as errors name it.
  std::string found() const;

 private:
  [[noreturn]] void refuse(size_t offset, const std::string& message) const;
  void skip_blanks();
  void string();
  char escape();
  size_t number_end() const;

  std::string_view text_;
  size_t next_ = 0;  // behind the token
  Token token_;
};

}  // namespace dlcore
