// SPDX-License-Identifier: Apache-2.0
// Sizes. A Dim is an integer, or, while a graph is captured, an expression over the graph's
// symbols; rules do their arithmetic on Dims through a DimTable so that they serve both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/small_vector.h"
#include "dlcore/base.h"

namespace dlcore {

struct Dim {
  // >= 0: the size itself; < 0: expression number -1 - value of the capture's DimTable.
  int64_t value = 0;

  constexpr Dim() = default;
  constexpr Dim(int64_t size) : value(size) {}
  static constexpr Dim expression(int64_t number) { return Dim(-1 - number); }
  constexpr bool symbolic() const { return value < 0; }
  constexpr int64_t number() const { return -1 - value; }
  friend constexpr bool operator==(Dim a, Dim b) { return a.value == b.value; }
};

using Dims = SmallVector<Dim, 6>;
using Ints = SmallVector<int64_t, 6>;

// Interned polynomials with integer coefficients over symbols, and opaque quotients of them: equal
// expressions have equal numbers, as far as the normal form goes. Texts come from outside, so every
// expression is bounded by the length of its text, and the number of symbols is bounded too.
class DimTable {
 public:
  static constexpr int64_t kLongestText = 1024;
  static constexpr size_t kMostSymbols = 256;
  static constexpr size_t kMostAtoms = 4096;

  Dim symbol(std::string_view name);
  Dim add(Dim a, Dim b) { return combine(a, b, 1); }
  Dim subtract(Dim a, Dim b) { return combine(a, b, -1); }
  Dim multiply(Dim a, Dim b);
  Dim divide(Dim a, Dim b);  // floor of the quotient; exact where the polynomial divides

  // "64", "B", "4*B + 1": the same for equal expressions, whatever the order in which symbols were
  // met.
  std::string text(Dim d) const;
  Dim parse(std::string_view text);  // the inverse; throws INVALID_ARGUMENT
  const std::vector<std::string>& symbols() const { return symbols_; }
  int64_t expression_count() const { return static_cast<int64_t>(expressions_.size()); }
  // The value once every symbol has one. `sizes` is indexed like symbols().
  int64_t evaluate(Dim d, const std::vector<int64_t>& sizes) const;
  // No symbol decides about it: a negative number, since the others are no expressions.
  bool constant(Dim d) const;
  // d = scale * symbol + offset, where it has that form.
  struct Linear {
    int64_t symbol, scale, offset;
  };
  std::optional<Linear> linear(Dim d) const;

 private:
  // An atom is a symbol, or the quotient of two expressions.
  struct Atom {
    int64_t symbol = -1;
    Dim numerator, denominator;
    int64_t length = 0;  // bound of its text
  };
  using Monomial = std::vector<int32_t>;           // atom numbers, sorted
  using Polynomial = std::map<Monomial, int64_t>;  // no zero coefficients

  Polynomial polynomial(Dim d) const;
  int64_t text_bound(const Polynomial& p) const;
  Dim intern(Polynomial p);
  Dim combine(Dim a, Dim b, int64_t sign);
  int32_t atom(Atom a);
  std::string atom_text(int32_t number) const;

  std::vector<std::string> symbols_;
  std::vector<Atom> atoms_;
  std::vector<Polynomial> expressions_;
  std::map<Polynomial, int64_t> numbers_;
};

// "[64, B]" -> dims. Throws INVALID_ARGUMENT.
Dims parse_shape(std::string_view text, DimTable& table);

// Integer arithmetic that answers INVALID_ARGUMENT where it would overflow.
int64_t checked_multiply(int64_t a, int64_t b);
int64_t checked_add(int64_t a, int64_t b);

}  // namespace dlcore
