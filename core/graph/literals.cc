// SPDX-License-Identifier: Apache-2.0
#include "core/graph/literals.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace dlcore {
namespace {

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

template <class T>
constexpr int64_t kLeast = std::numeric_limits<T>::min();
template <class T>
constexpr int64_t kMost = std::numeric_limits<T>::max();

int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void LiteralReader::expect(char mark) {
  if (!accept(mark))
    lexer_.fail_at(lexer_.token().offset, "expected '{}', found {}", mark, lexer_.found());
}

void LiteralReader::expect(std::string_view name) {
  if (!at_name(name))
    lexer_.fail_at(lexer_.token().offset, "expected '{}', found {}", name, lexer_.found());
  lexer_.advance();
}

bool LiteralReader::accept(char mark) {
  if (!lexer_.at(mark)) return false;
  lexer_.advance();
  return true;
}

int64_t LiteralReader::integer(int64_t least, int64_t most) {
  const Token& t = lexer_.token();
  int64_t value = 0;
  const char* end = t.text.data() + t.text.size();
  const auto [stop, status] = std::from_chars(t.text.data(), end, value);
  if (t.kind != TokenKind::kNumber || stop != end || status == std::errc::invalid_argument) {
    lexer_.fail_at(t.offset, "expected an integer, found {}", lexer_.found());
  }
  if (status == std::errc::result_out_of_range || value < least || value > most) {
    lexer_.fail_at(t.offset, "{} is out of range, expected {} to {}", lexer_.found(), least, most);
  }
  lexer_.advance();
  return value;
}

bool LiteralReader::boolean() {
  const bool value = at_name("true");
  if (!value && !at_name("false")) {
    lexer_.fail_at(lexer_.token().offset, "expected true or false, found {}", lexer_.found());
  }
  lexer_.advance();
  return value;
}

Dtype LiteralReader::dtype() {
  for (Dtype d = 1; d < kDtypeCount; ++d) {
    if (!at_name(dtype_name(d))) continue;
    lexer_.advance();
    return d;
  }
  lexer_.fail_at(lexer_.token().offset, "expected a dtype, found {}", lexer_.found());
}

Dims LiteralReader::shape() {
  if (!lexer_.at('['))
    lexer_.fail_at(lexer_.token().offset, "expected a shape, found {}", lexer_.found());
  return parse_shape(lexer_.bracketed(), dims_);
}

// `nan`, or the bits of another NaN in parentheses.
uint64_t LiteralReader::nan_bits(uint64_t usual, uint64_t infinity, uint64_t most) {
  expect("nan");
  if (!accept('(')) return usual;
  const Token& t = lexer_.token();
  uint64_t bits = 0;
  const std::string_view digits = t.text.substr(t.text.starts_with("0x") ? 2 : 0);
  const char* end = digits.data() + digits.size();
  const auto [stop, status] = std::from_chars(digits.data(), end, bits, 16);
  const uint64_t magnitude = bits & (most >> 1);
  if (t.kind != TokenKind::kNumber || stop != end || status != std::errc() || bits > most ||
      magnitude <= infinity) {
    lexer_.fail_at(t.offset, "expected the bits of a NaN, found {}", lexer_.found());
  }
  lexer_.advance();
  expect(')');
  return bits;
}

double LiteralReader::real() {
  constexpr uint64_t kNan = 0x7ff8000000000000, kInfinity = 0x7ff0000000000000;
  if (at_name("nan")) return std::bit_cast<double>(nan_bits(kNan, kInfinity, ~uint64_t{0}));
  const Token& t = lexer_.token();
  std::string_view rest = t.text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  double value = std::numeric_limits<double>::infinity();
  bool good = rest == "inf";
  if (!good && t.kind == TokenKind::kNumber && rest.find_first_of("nN") == std::string_view::npos) {
    const bool hexadecimal = rest.starts_with("0x");
    if (hexadecimal) rest.remove_prefix(2);
    const char* end = rest.data() + rest.size();
    const auto format = hexadecimal ? std::chars_format::hex : std::chars_format::general;
    const auto [stop, status] = std::from_chars(rest.data(), end, value, format);
    good = stop == end && status == std::errc() && !rest.starts_with('-');
  }
  if (!good) lexer_.fail_at(t.offset, "expected a number that is an f64, found {}", lexer_.found());
  lexer_.advance();
  return negative ? -value : value;
}

float LiteralReader::real32() {
  constexpr uint64_t kNan = 0x7fc00000, kInfinity = 0x7f800000, kMost32 = 0xffffffff;
  if (at_name("nan"))
    return std::bit_cast<float>(static_cast<uint32_t>(nan_bits(kNan, kInfinity, kMost32)));
  const size_t offset = lexer_.token().offset;
  const std::string found = lexer_.found();
  const double value = real();
  // Converting a double beyond the range of float is undefined.
  const bool fits =
      std::isinf(value) || std::fabs(value) <= double{std::numeric_limits<float>::max()};
  if (!fits) lexer_.fail_at(offset, "{} is out of the range of f32", found);
  return static_cast<float>(value);
}

void LiteralReader::element(Dtype dtype, std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DLCORE_BOOL:
      return append(bytes, static_cast<uint8_t>(boolean() ? 1 : 0));
    case DLCORE_U8:
      return append(bytes, static_cast<uint8_t>(integer(kLeast<uint8_t>, kMost<uint8_t>)));
    case DLCORE_I8:
      return append(bytes, static_cast<int8_t>(integer(kLeast<int8_t>, kMost<int8_t>)));
    case DLCORE_I16:
      return append(bytes, static_cast<int16_t>(integer(kLeast<int16_t>, kMost<int16_t>)));
    case DLCORE_I32:
      return append(bytes, static_cast<int32_t>(integer(kLeast<int32_t>, kMost<int32_t>)));
    case DLCORE_I64:
      return append(bytes, integer(kLeast<int64_t>, kMost<int64_t>));
    case DLCORE_F32:
      return append(bytes, real32());
    case DLCORE_F64:
      return append(bytes, real());
    default:
      lexer_.fail_at(lexer_.token().offset, "elements of {} are written as hex", dtype_name(dtype));
  }
}

void LiteralReader::hex(std::vector<std::byte>& bytes) {
  expect("hex");
  const Token& t = lexer_.token();
  if (t.kind != TokenKind::kString)
    lexer_.fail_at(t.offset, "expected a string of hex digits, found {}", lexer_.found());
  if (t.unescaped.size() % 2 != 0) lexer_.fail_at(t.offset, "the number of hex digits is odd");
  bytes.reserve(t.unescaped.size() / 2);
  for (size_t i = 0; i < t.unescaped.size(); i += 2) {
    const int high = hex_digit(t.unescaped[i]), low = hex_digit(t.unescaped[i + 1]);
    if (high < 0 || low < 0)
      lexer_.fail_at(t.offset, "digits {} and {} are not both hex digits", i, i + 1);
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  lexer_.advance();
}

void LiteralReader::elements(Dtype dtype, bool single, std::vector<std::byte>& bytes) {
  if (at_name("hex")) {
    const size_t offset = lexer_.token().offset;
    hex(bytes);
    for (std::byte b : bytes) {
      if (dtype == DLCORE_BOOL && b > std::byte{1})
        lexer_.fail_at(offset, "a byte of a bool is neither 0 nor 1");
    }
    return;
  }
  if (single) return element(dtype, bytes);
  expect('[');
  if (accept(']')) return;
  do {
    element(dtype, bytes);
  } while (accept(','));
  expect(']');
}

// A list of integers may hold negative ones, which have meanings of their own to ops.
void LiteralReader::dims_attribute(Attrs& attrs) {
  const size_t offset = lexer_.token().offset;
  if (!lexer_.at('[')) lexer_.fail_at(offset, "expected a list of sizes, found {}", lexer_.found());
  std::string_view text = lexer_.bracketed();
  text = text.substr(1, text.size() - 2);
  std::vector<int64_t> words;
  int depth = 0;
  size_t start = 0;
  if (text.find_first_not_of(' ') == std::string_view::npos) {
    attrs.number(0);
    return;
  }
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (words.size() == 2 * DLCORE_MAX_RANK)
      lexer_.fail_at(offset, "there are more than {} sizes", int{DLCORE_MAX_RANK});
    std::string_view part = text.substr(start, i - start);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    int64_t value = 0;
    const auto [stop, status] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool plain = status == std::errc() && stop == part.data() + part.size();
    const Dim d = plain ? Dim(0) : dims_.parse(part);
    words.push_back(d.symbolic() ? 1 : 0);
    words.push_back(plain ? value : d.symbolic() ? d.number() : d.value);
    start = i + 1;
  }
  attrs.number(static_cast<int64_t>(words.size() / 2));
  for (int64_t word : words) attrs.number(word);
}

void LiteralReader::attribute(const AttrDef& def, Attrs& attrs) {
  if (def.optional) {
    if (at_name("none")) {
      attrs.absent();
      return lexer_.advance();
    }
    attrs.present();
  }
  switch (def.type) {
    case AttrType::kInt:
      attrs.number(integer(kLeast<int64_t>, kMost<int64_t>));
      return;
    case AttrType::kFloat:
      attrs.real(real());
      return;
    case AttrType::kBool:
      attrs.flag(boolean());
      return;
    case AttrType::kDtype:
      attrs.number(dtype());
      return;
    case AttrType::kString:
      if (lexer_.token().kind != TokenKind::kString) {
        lexer_.fail_at(lexer_.token().offset, "expected a string, found {}", lexer_.found());
      }
      attrs.text(lexer_.token().unescaped);
      return lexer_.advance();
    case AttrType::kInts: {
      std::vector<int64_t> values;
      expect('[');
      while (!lexer_.at(']')) {
        if (!values.empty()) expect(',');
        values.push_back(integer(kLeast<int64_t>, kMost<int64_t>));
      }
      expect(']');
      attrs.list(values);
      return;
    }
    case AttrType::kDims:
      return dims_attribute(attrs);
  }
}

}  // namespace dlcore
