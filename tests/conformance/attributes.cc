// SPDX-License-Identifier: Apache-2.0
#include "attributes.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace dlcore::conformance {
namespace {

using Words = std::vector<int64_t>;

// JSON has no infinities and no NaN: they are written as strings.
double real_from(const Json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr)
                           : value.get<double>();
}

int64_t dtype_from(const Json& value) {
  return value.is_string() ? dlcore_dtype_by_name(value.get<std::string>().c_str())
                           : value.get<int64_t>();
}

void append_string(const std::string& text, Words& words) {
  words.push_back(static_cast<int64_t>(text.size()));
  for (size_t at = 0; at < text.size(); at += sizeof(int64_t)) {
    int64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    words.push_back(word);
  }
}

void append_value(const std::string& type, const Json& value, Words& words) {
  if (type == "int") {
    words.push_back(value.get<int64_t>());
  } else if (type == "bool") {
    words.push_back(value.is_boolean() ? static_cast<int64_t>(value.get<bool>())
                                       : value.get<int64_t>());
  } else if (type == "dtype") {
    words.push_back(dtype_from(value));
  } else if (type == "float") {
    words.push_back(std::bit_cast<int64_t>(real_from(value)));
  } else if (type == "string") {
    append_string(value.get<std::string>(), words);
  } else if (type == "ints" || type == "dims") {
    words.push_back(static_cast<int64_t>(value.size()));
    for (const Json& item : value) {
      if (type == "dims") words.push_back(0);
      words.push_back(item.get<int64_t>());
    }
  } else {
    throw std::runtime_error("unknown attribute type '" + type + "'");
  }
}

void append(const Json& attr, const Json* value, Words& words) {
  std::string type = attr.at("type");
  const bool optional = !type.empty() && type.back() == '?';
  if (optional) type.pop_back();
  const bool absent =
      value == nullptr && (!attr.contains("default") || attr.at("default").is_null());
  if (absent && optional) {
    words.push_back(0);
    return;
  }
  if (absent)
    throw std::runtime_error("no value for attribute '" + attr.at("name").get<std::string>() + "'");
  if (optional) words.push_back(1);
  append_value(type, value != nullptr ? *value : attr.at("default"), words);
}

}  // namespace

Catalogue::Catalogue() {
  int64_t size = 0;
  const char* text = dlcore_catalogue_json(&size);
  if (text == nullptr) throw std::runtime_error("the library has no catalogue");
  json_ = Json::parse(text, text + size);
  for (const Json& op : json_.at("ops")) schemas_.emplace(op.at("name"), &op);
}

int32_t Catalogue::number(const std::string& op) const {
  const int32_t number = dlcore_catalogue_find(nullptr, DLCORE_CATALOGUE_OPS, op.c_str());
  if (number < 0) throw std::runtime_error("the catalogue has no op '" + op + "'");
  return number;
}

const Json& Catalogue::schema(const std::string& op) const {
  const auto found = schemas_.find(op);
  if (found == schemas_.end()) throw std::runtime_error("the catalogue has no op '" + op + "'");
  return *found->second;
}

std::vector<int64_t> Catalogue::pack(const std::string& op, const Json& attrs) const {
  const Json& known = schema(op).at("attrs");
  size_t given = 0;
  size_t used = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    if (attrs.contains(known[i].at("name"))) {
      ++given;
      used = i + 1;
    }
  }
  if (given != attrs.size()) {
    throw std::runtime_error("op '" + op + "' lacks one of the attributes " + attrs.dump());
  }
  Words words;
  for (size_t i = 0; i < used; ++i) {
    const auto value = attrs.find(known[i].at("name").get<std::string>());
    append(known[i], value == attrs.end() ? nullptr : &*value, words);
  }
  return words;
}

}  // namespace dlcore::conformance
