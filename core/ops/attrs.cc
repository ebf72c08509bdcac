// SPDX-License-Identifier: Apache-2.0
#include "core/ops/attrs.h"

#include <cstring>

#include "core/base/error.h"

namespace dlcore {
namespace {

constexpr int64_t kLongestList = 4096;
constexpr int64_t kLongestText = 4096;

size_t text_words(int64_t bytes) { return static_cast<size_t>((bytes + 7) / 8); }

bool is_choice(std::string_view choices, std::string_view text) {
  while (true) {
    const size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

// Checks one attribute of words from outside, and says where it ends.
class AttrChecker {
 public:
  AttrChecker(const char* what, std::span<const int64_t> words, int64_t expressions)
      : what_(what), words_(words), expressions_(expressions) {}

  size_t check(const AttrDef& def, size_t at) {
    if (def.optional) {
      const int64_t present = word(def, at++);
      if (present != 0 && present != 1) malformed(def, "presence word", present);
      if (present == 0) return at;
    }
    switch (def.type) {
      case AttrType::kInt:
      case AttrType::kFloat:
        word(def, at);
        return at + 1;
      case AttrType::kBool:
        if (word(def, at) != 0 && words_[at] != 1) malformed(def, "bool", words_[at]);
        return at + 1;
      case AttrType::kDtype:
        if (!is_dtype(word(def, at))) malformed(def, "dtype", words_[at]);
        return at + 1;
      case AttrType::kString:
        return check_text(def, at);
      case AttrType::kInts: {
        const int64_t n = length(def, at, kLongestList);
        if (n > 0) word(def, at + static_cast<size_t>(n));
        return at + 1 + static_cast<size_t>(n);
      }
      case AttrType::kDims:
        return check_dims(def, at);
    }
    return at;
  }

 private:
  int64_t word(const AttrDef& def, size_t at) {
    if (at >= words_.size()) {
      invalid("{}: packed attributes end inside {}: there are {} words", what_, def.name,
              words_.size());
    }
    return words_[at];
  }
  int64_t length(const AttrDef& def, size_t at, int64_t longest) {
    const int64_t n = word(def, at);
    if (n < 0 || n > longest) malformed(def, "length", n);
    return n;
  }
  size_t check_text(const AttrDef& def, size_t at) {
    const int64_t bytes = length(def, at, kLongestText);
    const size_t end = at + 1 + text_words(bytes);
    if (bytes > 0) word(def, end - 1);
    const std::string_view text(reinterpret_cast<const char*>(words_.data() + at + 1),
                                static_cast<size_t>(bytes));
    if (*def.choices != '\0' && !is_choice(def.choices, text)) {
      invalid("{}: {} is '{}', expected one of {}", what_, def.name, text, def.choices);
    }
    return end;
  }
  size_t check_dims(const AttrDef& def, size_t at) {
    const int64_t n = length(def, at, DLCORE_MAX_RANK);
    const size_t end = at + 1 + 2 * static_cast<size_t>(n);
    if (n > 0) word(def, end - 1);
    for (size_t i = at + 1; i < end; i += 2) {
      const int64_t kind = words_[i], value = words_[i + 1];
      if (kind != 0 && kind != 1) malformed(def, "dim kind", kind);
      if (kind == 1 && (value < 0 || value >= expressions_))
        malformed(def, "size expression", value);
      if (kind == 0 && value < 0 && !(def.allow_rest && value == -1)) {
        invalid("{}: dimension {} of {} is {}, expected 0 or more", what_, (i - at) / 2, def.name,
                value);
      }
    }
    return end;
  }
  [[noreturn]] void malformed(const AttrDef& def, const char* part, int64_t value) {
    invalid("{}: {} is malformed: {} is {}", what_, def.name, part, value);
  }

  const char* what_;
  std::span<const int64_t> words_;
  int64_t expressions_;
};

void append_default(const char* what, const AttrDef& def, Words& words) {
  if (def.required) invalid("{}: attribute {} is missing", what, def.name);
  if (def.optional) {
    words.push_back(0);
    return;
  }
  switch (def.type) {
    case AttrType::kFloat:
      words.push_back(std::bit_cast<int64_t>(def.number));
      return;
    case AttrType::kString: {
      Attrs text;
      text.text(def.text);
      words.append(text);
      return;
    }
    case AttrType::kInt:
    case AttrType::kBool:
    case AttrType::kDtype:
      words.push_back(static_cast<int64_t>(def.number));
      return;
    case AttrType::kInts:
    case AttrType::kDims:
      words.push_back(0);
      return;
  }
}

}  // namespace

Attrs& Attrs::dims(const Dims& dims) {
  number(static_cast<int64_t>(dims.size()));
  for (Dim d : dims) {
    number(d.symbolic() ? 1 : 0);
    number(d.symbolic() ? d.number() : d.value);
  }
  return *this;
}

Attrs& Attrs::text(std::string_view text) {
  number(static_cast<int64_t>(text.size()));
  const size_t at = words_.size();
  words_.resize(at + text_words(static_cast<int64_t>(text.size())), 0);
  if (!text.empty()) std::memcpy(words_.data() + at, text.data(), text.size());
  return *this;
}

size_t attr_length(const AttrDef& def, std::span<const int64_t> words, size_t at) {
  size_t n = 0;
  if (def.optional) {
    if (words[at] == 0) return 1;
    n = 1;
  }
  switch (def.type) {
    case AttrType::kString:
      return n + 1 + text_words(words[at + n]);
    case AttrType::kInts:
      return n + 1 + static_cast<size_t>(words[at + n]);
    case AttrType::kDims:
      return n + 1 + 2 * static_cast<size_t>(words[at + n]);
    default:
      return n + 1;
  }
}

size_t AttrReader::value_at(int index) const {
  size_t at = 0;
  for (int i = 0; i < index; ++i) at += attr_length(defs_[static_cast<size_t>(i)], words_, at);
  return at + (defs_[static_cast<size_t>(index)].optional ? 1 : 0);
}

bool AttrReader::has(int index) const { return words_[value_at(index) - 1] != 0; }

std::span<const int64_t> AttrReader::list(int index) const {
  const size_t at = value_at(index);
  return words_.subspan(at + 1, static_cast<size_t>(words_[at]));
}

Dims AttrReader::dims(int index) const {
  const size_t at = value_at(index);
  Dims dims;
  for (size_t i = 0; i < static_cast<size_t>(words_[at]); ++i) {
    const int64_t value = words_[at + 2 + 2 * i];
    const bool expression = words_[at + 1 + 2 * i] == 1;
    dims.push_back(expression ? Dim::expression(value) : value < 0 ? kRestOfSize : Dim(value));
  }
  return dims;
}

std::string_view AttrReader::text(int index) const {
  const size_t at = value_at(index);
  return {reinterpret_cast<const char*>(words_.data() + at + 1), static_cast<size_t>(words_[at])};
}

void complete_attrs(const char* what, std::span<const AttrDef> defs, std::span<const int64_t> words,
                    int64_t expressions, Words& complete) {
  AttrChecker checker(what, words, expressions);
  size_t at = 0;
  for (const AttrDef& def : defs) {
    if (at == words.size()) {
      append_default(what, def, complete);
      continue;
    }
    const size_t end = checker.check(def, at);
    complete.append(words.subspan(at, end - at));
    at = end;
  }
  if (at != words.size()) {
    invalid("{}: {} words of packed attributes were given, but its attributes end after {}", what,
            words.size(), at);
  }
}

}  // namespace dlcore
