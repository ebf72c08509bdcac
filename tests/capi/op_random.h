// SPDX-License-Identifier: Apache-2.0
// Random calls of the ops of the catalogue, the same on every run.
#pragma once

#include <nlohmann/json.hpp>
#include <random>

#include "support.h"

namespace dlcore::test {

class RandomCalls {
 public:
  explicit RandomCalls(uint64_t seed) : random_(seed) {}

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }

  // A word that may be anything, and is often something nasty.
  int64_t word() {
    static constexpr int64_t kWords[] = {0,         1,         2,         3,           4,    5,
                                         6,         7,         8,         9,           10,   16,
                                         17,        64,        -1,        -2,          -3,   -17,
                                         INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN,   4096, 4097,
                                         1 << 20,   1LL << 40, 1LL << 61, -(1LL << 61)};
    switch (below(8)) {
      case 0:
        return static_cast<int64_t>(random_());
      case 1:
        return std::bit_cast<int64_t>(real());
      default:
        return kWords[below(below(2) == 0 ? 8 : std::size(kWords))];
    }
  }
  double real() {
    static constexpr double kReals[] = {0.0,   -0.0,   1.0,  -1.0,  0.5,      1e-320,
                                        1e308, -1e308, 1e18, -1e18, INFINITY, NAN};
    return kReals[below(std::size(kReals))];
  }

  // Words of the right form, with nasty values or small ones.
  std::vector<int64_t> attributes(const nlohmann::json& op, bool nasty) {
    std::vector<int64_t> words;
    for (const auto& attr : op.at("attrs")) append(attr, nasty, words);
    return words;
  }

 private:
  void append(const nlohmann::json& attr, bool nasty, std::vector<int64_t>& words) {
    auto type = attr.at("type").get<std::string>();
    if (type.back() == '?') {
      type.pop_back();
      words.push_back(static_cast<int64_t>(below(4) != 0));
      if (words.back() == 0) return;
    }
    if (type == "bool") return words.push_back(static_cast<int64_t>(below(2)));
    if (type == "dtype") {
      return words.push_back(nasty ? static_cast<int64_t>(1 + below(10)) : int64_t{DLCORE_F64});
    }
    if (type == "float") {
      return words.push_back(std::bit_cast<int64_t>(nasty ? real() : between(0.1, 0.6)));
    }
    if (type == "string") {
      const auto choices = attr.at("choices").get<std::vector<std::string>>();
      const Words text = Words().text(choices[below(choices.size())]);
      words.insert(words.end(), text.data(), text.data() + text.size());
      return;
    }
    const auto element = [&] {
      return nasty && below(3) == 0 ? word() : static_cast<int64_t>(below(6)) - 1;
    };
    if (type == "int") return words.push_back(element());
    const size_t n = below(5);
    words.push_back(static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      if (type == "dims") words.push_back(0);
      words.push_back(element());
    }
  }

  std::mt19937_64 random_;
};

}  // namespace dlcore::test
