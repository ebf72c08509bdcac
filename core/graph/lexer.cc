// SPDX-License-Identifier: Apache-2.0
#include "core/graph/lexer.h"

#include <algorithm>

#include "core/graph/print.h"

namespace dlcore {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

void Lexer::refuse(size_t offset, const std::string& message) const {
  offset = std::min(offset, text_.size());
  const std::string_view before = text_.substr(0, offset);
  const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  size_t column = 1;  // in characters
  for (size_t i = start; i < offset; ++i)
    column += (static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80;
  invalid("graph_parse: line {}, column {}: {}", line, column, message);
}

std::string Lexer::found() const {
  constexpr size_t kLongest = 40;
  if (token_.kind == TokenKind::kEnd) return "the end of the text";
  if (token_.kind == TokenKind::kString) return "a string";
  return formatted("'{}{}{}'", token_.kind == TokenKind::kValue ? "%" : "",
                   token_.text.substr(0, kLongest), token_.text.size() > kLongest ? "..." : "");
}

void Lexer::skip_blanks() {
  while (next_ < text_.size()) {
    const char c = text_[next_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++next_;
    } else if (text_.substr(next_, 2) == "//") {
      next_ = std::min(text_.find('\n', next_), text_.size());
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_ = Token{};
  token_.offset = next_;
  if (next_ == text_.size()) return;
  const char c = text_[next_];
  size_t end = next_ + 1;
  if (c == '"') {
    token_.kind = TokenKind::kString;
    return string();
  }
  const bool signed_name =
      c == '-' && end < text_.size() && is_word(text_[end]) && !is_digit(text_[end]);
  if (is_digit(c) || (c == '-' && !signed_name)) {
    token_.kind = TokenKind::kNumber;
    end = number_end();
  } else if (is_word(c) || c == '%' || signed_name) {
    token_.kind = c == '%'      ? TokenKind::kValue
                  : signed_name ? TokenKind::kNumber
                                : TokenKind::kName;
    while (end < text_.size() && (is_word(text_[end]) || (c != '%' && text_[end] == '.'))) ++end;
  } else if (std::string_view("(){}[]:,=").find(c) != std::string_view::npos) {
    token_.kind = TokenKind::kMark;
  } else {
    fail_at(next_, "unexpected character {}",
            quoted(text_.substr(next_, std::max<size_t>(1, utf8_length(text_.substr(next_))))));
  }
  if (c == '%') ++next_;
  token_.text = text_.substr(next_, end - next_);
  if (c == '%' && token_.text.empty()) fail_at(token_.offset, "a value's name is missing after %");
  next_ = end;
}

// Digits, letters and dots, and signs after the letter of an exponent: e in decimal numbers, p in
// hexadecimal ones.
size_t Lexer::number_end() const {
  size_t end = next_ + (text_[next_] == '-' ? 1 : 0);
  const std::string_view digits = text_.substr(end, 2);
  const bool hexadecimal = digits == "0x" || digits == "0X";
  for (; end < text_.size(); ++end) {
    const char c = text_[end];
    const char before = end > next_ ? text_[end - 1] : '\0';
    const bool exponent =
        before == 'p' || before == 'P' || (!hexadecimal && (before == 'e' || before == 'E'));
    if (!is_word(c) && c != '.' && !((c == '+' || c == '-') && exponent)) break;
  }
  return end;
}

void Lexer::string() {
  const size_t start = next_++;
  while (true) {
    if (next_ == text_.size()) fail_at(start, "the string that begins here has no end");
    const char c = text_[next_];
    if (c == '"') break;
    if (c == '\\') {
      token_.unescaped += escape();
      continue;
    }
    const size_t n = utf8_length(text_.substr(next_, 4));
    if (n == 0) fail_at(next_, "a byte of a string is no UTF-8");
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      fail_at(next_, "a string holds a control character; write \\x{:02x}", c);
    token_.unescaped += text_.substr(next_, n);
    next_ += n;
  }
  ++next_;
}

char Lexer::escape() {
  const size_t start = next_;
  const std::string_view rest = text_.substr(next_ + 1, 3);
  const char c = rest.empty() ? '\0' : rest[0];
  next_ += 2;
  if (c == '"' || c == '\\') return c;
  if (c == 'n') return '\n';
  if (c == 't') return '\t';
  if (c == 'r') return '\r';
  if (c == 'x' && rest.size() == 3 && hex_digit(rest[1]) >= 0 && hex_digit(rest[2]) >= 0) {
    next_ += 2;
    const int byte = hex_digit(rest[1]) * 16 + hex_digit(rest[2]);
    if (byte == 0) fail_at(start, "a string holds a NUL");
    return static_cast<char>(byte);
  }
  fail_at(
      start,
      "a string has an escape that there is none of; they are \\\", \\\\, \\n, \\t, \\r and \\xNN");
}

std::string_view Lexer::bracketed() {
  const size_t start = token_.offset;
  const size_t end = text_.find(']', start);
  if (end == std::string_view::npos) fail_at(start, "'[' has no ']'");
  next_ = end + 1;
  advance();
  return text_.substr(start, end + 1 - start);
}

}  // namespace dlcore
