// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/dims.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"

namespace dlcore {

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) invalid("size overflows: {} * {}", a, b);
  return result;
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) invalid("size overflows: {} + {}", a, b);
  return result;
}

DimTable::Polynomial DimTable::polynomial(Dim d) const {
  if (d.symbolic()) return expressions_[static_cast<size_t>(d.number())];
  Polynomial p;
  if (d.value != 0) p[{}] = d.value;
  return p;
}

// Of signs, operators and the digits of coefficients, 24 characters at most for a term.
int64_t DimTable::text_bound(const Polynomial& p) const {
  int64_t length = 0;
  for (const auto& [monomial, coefficient] : p) {
    length += coefficient > -1000 && coefficient < 1000 ? 8 : 24;
    for (int32_t a : monomial) length += atoms_[static_cast<size_t>(a)].length + 1;
  }
  return length;
}

Dim DimTable::intern(Polynomial p) {
  std::erase_if(p, [](const auto& term) { return term.second == 0; });
  if (text_bound(p) > kLongestText)
    invalid("a size is an expression of more than {} characters", +kLongestText);
  if (p.empty()) return 0;
  if (p.size() == 1 && p.begin()->first.empty() && p.begin()->second >= 0) return p.begin()->second;
  const auto known = numbers_.find(p);
  if (known != numbers_.end()) return Dim::expression(known->second);
  const auto number = static_cast<int64_t>(expressions_.size());
  expressions_.push_back(p);
  try {
    numbers_.emplace(std::move(p), number);
  } catch (...) {
    expressions_.pop_back();
    throw;
  }
  return Dim::expression(number);
}

int32_t DimTable::atom(Atom a) {
  for (size_t i = 0; i < atoms_.size(); ++i) {
    const Atom& other = atoms_[i];
    if (other.symbol == a.symbol && other.numerator == a.numerator &&
        other.denominator == a.denominator) {
      return static_cast<int32_t>(i);
    }
  }
  if (atoms_.size() == kMostAtoms)
    invalid("there are more than {} symbols and quotients of sizes", +kMostAtoms);
  if (a.symbol >= 0) {
    a.length = static_cast<int64_t>(symbols_[static_cast<size_t>(a.symbol)].size());
  } else {
    a.length = 7 + text_bound(polynomial(a.numerator)) + text_bound(polynomial(a.denominator));
  }
  atoms_.push_back(a);
  return static_cast<int32_t>(atoms_.size() - 1);
}

Dim DimTable::symbol(std::string_view name) {
  auto it = std::find(symbols_.begin(), symbols_.end(), name);
  Atom a;
  a.symbol = it - symbols_.begin();
  if (it == symbols_.end()) {
    if (symbols_.size() == kMostSymbols) invalid("there are more than {} symbols", +kMostSymbols);
    symbols_.emplace_back(name);
  }
  return intern({{{atom(a)}, 1}});
}

Dim DimTable::combine(Dim a, Dim b, int64_t sign) {
  if (!a.symbolic() && !b.symbolic()) {
    const int64_t value = checked_add(a.value, sign * b.value);
    if (value < 0) return intern({{{}, value}});
    return value;
  }
  Polynomial p = polynomial(a);
  for (const auto& [monomial, coefficient] : polynomial(b)) {
    p[monomial] = checked_add(p[monomial], checked_multiply(sign, coefficient));
  }
  return intern(std::move(p));
}

Dim DimTable::multiply(Dim a, Dim b) {
  if (!a.symbolic() && !b.symbolic()) return checked_multiply(a.value, b.value);
  Polynomial p;
  for (const auto& [m1, c1] : polynomial(a)) {
    for (const auto& [m2, c2] : polynomial(b)) {
      Monomial m = m1;
      m.insert(m.end(), m2.begin(), m2.end());
      std::sort(m.begin(), m.end());
      p[m] = checked_add(p[m], checked_multiply(c1, c2));
    }
  }
  return intern(std::move(p));
}

Dim DimTable::divide(Dim a, Dim b) {
  if (!a.symbolic() && !b.symbolic()) {
    if (b.value == 0) invalid("size {} is divided by 0", a.value);
    return a.value / b.value;
  }
  if (b == Dim(0)) invalid("size {} is divided by 0", text(a));
  const Polynomial divisor = polynomial(b);
  if (divisor.size() == 1) {  // by a monomial: exact when every term has it
    const auto& [monomial, coefficient] = *divisor.begin();
    Polynomial quotient;
    bool exact = true;
    for (const auto& [m, c] : polynomial(a)) {
      Monomial rest;
      std::set_difference(m.begin(), m.end(), monomial.begin(), monomial.end(),
                          std::back_inserter(rest));
      // INT64_MIN / -1 is no int64_t.
      exact = exact && rest.size() + monomial.size() == m.size() &&
              (coefficient == -1 || c % coefficient == 0);
      if (exact) quotient[rest] = coefficient == -1 ? checked_multiply(c, -1) : c / coefficient;
    }
    if (exact) return intern(std::move(quotient));
  }
  if (a == b) return 1;
  Atom quotient;
  quotient.numerator = a;
  quotient.denominator = b;
  return intern({{{atom(quotient)}, 1}});
}

std::string DimTable::atom_text(int32_t number) const {
  const Atom& a = atoms_[static_cast<size_t>(number)];
  if (a.symbol >= 0) return symbols_[static_cast<size_t>(a.symbol)];
  return formatted("div({}, {})", text(a.numerator), text(a.denominator));
}

std::string DimTable::text(Dim d) const {
  if (!d.symbolic()) return std::to_string(d.value);
  struct Term {
    size_t degree;
    std::string factors;
    int64_t coefficient;
  };
  std::vector<Term> terms;
  for (const auto& [monomial, coefficient] : polynomial(d)) {
    std::vector<std::string> factors;
    for (int32_t a : monomial) factors.push_back(atom_text(a));
    std::sort(factors.begin(), factors.end());
    terms.push_back({monomial.size(), joined(factors, "*"), coefficient});
  }
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return a.degree != b.degree ? a.degree > b.degree : a.factors < b.factors;
  });
  std::string result;
  for (const Term& t : terms) {
    if (!result.empty()) result += " + ";
    if (t.coefficient != 1 || t.degree == 0) result += std::to_string(t.coefficient);
    if (t.coefficient != 1 && t.degree > 0) result += "*";
    result += t.factors;
  }
  return result;
}

bool DimTable::constant(Dim d) const {
  if (!d.symbolic()) return true;
  const Polynomial& p = expressions_[static_cast<size_t>(d.number())];
  return p.size() == 1 && p.begin()->first.empty();
}

std::optional<DimTable::Linear> DimTable::linear(Dim d) const {
  if (!d.symbolic()) return std::nullopt;
  Linear found{-1, 0, 0};
  for (const auto& [monomial, coefficient] : expressions_[static_cast<size_t>(d.number())]) {
    if (monomial.empty()) {
      found.offset = coefficient;
      continue;
    }
    const int64_t symbol = atoms_[static_cast<size_t>(monomial[0])].symbol;
    if (monomial.size() > 1 || symbol < 0 || found.symbol >= 0) return std::nullopt;
    found.symbol = symbol;
    found.scale = coefficient;
  }
  if (found.symbol < 0) return std::nullopt;
  return found;
}

namespace {

// sum = product { '+' product } ; product = factor { '*' factor } ; factor = integer | name |
// div(sum, sum)
class DimParser {
 public:
  DimParser(DimTable& table, std::string_view text) : table_(table), text_(text) {}

  Dim parse() {
    const Dim d = sum(0);
    skip_spaces();
    if (at_ != text_.size()) unexpected();
    return d;
  }

 private:
  Dim sum(int depth) {
    Dim d = product(depth);
    while (accept('+')) d = table_.add(d, product(depth));
    return d;
  }
  Dim product(int depth) {
    Dim d = factor(depth);
    while (accept('*')) d = table_.multiply(d, factor(depth));
    return d;
  }
  Dim factor(int depth) {
    // A quotient takes 7 characters, so that none within the longest text is nested more deeply
    // than that.
    if (depth > DimTable::kLongestText / 7)
      invalid("a size is nested more than {} deep", depth - 1);
    skip_spaces();
    const size_t start = at_;
    if (at_ < text_.size() && (text_[at_] == '-' || is_digit(text_[at_]))) return integer();
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (name.empty()) unexpected();
    if (name != "div") return table_.symbol(name);
    expect('(');
    const Dim a = sum(depth + 1);
    expect(',');
    const Dim b = sum(depth + 1);
    expect(')');
    return table_.divide(a, b);
  }
  Dim integer() {
    const bool negative = text_[at_] == '-';
    if (negative) ++at_;
    if (at_ == text_.size() || !is_digit(text_[at_])) unexpected();
    int64_t value = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      value = checked_add(checked_multiply(value, 10), text_[at_++] - '0');
    }
    return negative ? table_.subtract(table_.multiply(0, 0), value) : Dim(value);
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) unexpected();
  }
  [[noreturn]] void unexpected() {
    invalid("size '{}' is malformed at character {}", text_, at_ + 1);
  }

  DimTable& table_;
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Dim DimTable::parse(std::string_view text) { return DimParser(*this, text).parse(); }

Dims parse_shape(std::string_view text, DimTable& table) {
  const auto spaces = [](char c) { return c == ' '; };
  while (!text.empty() && spaces(text.front())) text.remove_prefix(1);
  while (!text.empty() && spaces(text.back())) text.remove_suffix(1);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    invalid("shape '{}' is not of the form [A, B]", text);
  std::string_view rest = text.substr(1, text.size() - 2);
  Dims dims;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= rest.size(); ++i) {
    if (i < rest.size() && rest[i] == '(') ++depth;
    if (i < rest.size() && rest[i] == ')') --depth;
    if (i < rest.size() && (rest[i] != ',' || depth > 0)) continue;
    const std::string_view part = rest.substr(start, i - start);
    start = i + 1;
    if (dims.empty() && i == rest.size() && part.find_first_not_of(' ') == std::string_view::npos)
      break;
    if (dims.size() == DLCORE_MAX_RANK)
      invalid("shape '{}' has more than {} dimensions", text, int{DLCORE_MAX_RANK});
    const Dim d = table.parse(part);
    if (d.symbolic() && table.constant(d))
      invalid("shape '{}': {} is negative", text, table.text(d));
    dims.push_back(d);
  }
  return dims;
}

namespace {

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == -1) return checked_multiply(a, -1);  // INT64_MIN / -1 is no int64_t
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

int64_t DimTable::evaluate(Dim d, const std::vector<int64_t>& sizes) const {
  if (!d.symbolic()) return d.value;
  int64_t total = 0;
  for (const auto& [monomial, coefficient] : expressions_[static_cast<size_t>(d.number())]) {
    int64_t product = coefficient;
    for (int32_t number : monomial) {
      const Atom& a = atoms_[static_cast<size_t>(number)];
      if (a.symbol >= 0) {
        product = checked_multiply(product, sizes[static_cast<size_t>(a.symbol)]);
        continue;
      }
      const int64_t denominator = evaluate(a.denominator, sizes);
      if (denominator == 0) invalid("size {} is divided by 0", text(a.numerator));
      product =
          checked_multiply(product, floor_quotient(evaluate(a.numerator, sizes), denominator));
    }
    total = checked_add(total, product);
  }
  return total;
}

}  // namespace dlcore
