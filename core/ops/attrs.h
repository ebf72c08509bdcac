// SPDX-License-Identifier: Apache-2.0
// Packed attributes: writing, completing and reading them. The format is described in op.h.
#pragma once

#include <bit>
#include <string>
#include <string_view>

#include "core/base/small_vector.h"
#include "core/ops/schema.h"
#include "core/tensor/dims.h"

namespace dlcore {

using Words = SmallVector<int64_t, 16>;

// Builds packed attributes in schema order: Attrs().list(axes).flag(keepdims)
class Attrs {
 public:
  Attrs& number(int64_t v) {
    words_.push_back(v);
    return *this;
  }
  Attrs& real(double v) { return number(std::bit_cast<int64_t>(v)); }
  Attrs& flag(bool v) { return number(v ? 1 : 0); }
  Attrs& list(std::span<const int64_t> values) {
    number(static_cast<int64_t>(values.size()));
    words_.append(values);
    return *this;
  }
  Attrs& dims(const Dims& dims);
  Attrs& text(std::string_view text);
  Attrs& absent() { return number(0); }
  Attrs& present() { return number(1); }
  Attrs& optional_list(std::span<const int64_t> values) { return present().list(values); }

  operator std::span<const int64_t>() const { return words_.span(); }
  Words& words() { return words_; }

 private:
  Words words_;
};

// What a size of -1 in a dims attribute reads as.
constexpr Dim kRestOfSize(INT64_MIN);

// Reads complete packed attributes by position in the schema. Borrows the words.
class AttrReader {
 public:
  AttrReader(std::span<const AttrDef> defs, std::span<const int64_t> words)
      : defs_(defs), words_(words) {}

  bool has(int index) const;  // of an optional attribute
  int64_t number(int index) const { return words_[value_at(index)]; }
  double real(int index) const { return std::bit_cast<double>(number(index)); }
  bool flag(int index) const { return number(index) != 0; }
  Dtype dtype(int index) const { return static_cast<Dtype>(number(index)); }
  std::span<const int64_t> list(int index) const;
  Dims dims(int index) const;
  std::string_view text(int index) const;
  std::span<const int64_t> words() const { return words_; }

 private:
  size_t value_at(int index) const;  // first word after the presence word

  std::span<const AttrDef> defs_;
  std::span<const int64_t> words_;
};

// Words of one attribute that starts at `at`, its presence word included. `words` must be well
// formed.
size_t attr_length(const AttrDef& def, std::span<const int64_t> words, size_t at);

// Checks words from outside and fills in defaults. `what` names the op in errors. `expressions`:
// number of size expressions that dim words may refer to.
void complete_attrs(const char* what, std::span<const AttrDef> defs, std::span<const int64_t> words,
                    int64_t expressions, Words& complete);

constexpr std::span<const AttrDef> attr_defs(const OpDef& op) {
  return {op.attrs.begin(), op.attrs.size()};
}

}  // namespace dlcore
