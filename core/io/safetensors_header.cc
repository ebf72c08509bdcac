// SPDX-License-Identifier: Apache-2.0
#include "core/io/safetensors_header.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"

namespace dlcore {
namespace {

struct DtypeName {
  std::string_view name;
  dlcore_dtype dtype;
  uint64_t bytes;
};
constexpr DtypeName kDtypes[] = {
    {"BOOL", DLCORE_BOOL, 1}, {"U8", DLCORE_U8, 1},     {"I8", DLCORE_I8, 1},
    {"I16", DLCORE_I16, 2},   {"I32", DLCORE_I32, 4},   {"I64", DLCORE_I64, 8},
    {"F16", DLCORE_F16, 2},   {"BF16", DLCORE_BF16, 2}, {"F32", DLCORE_F32, 4},
    {"F64", DLCORE_F64, 8},
};

const DtypeName* find_dtype(dlcore_dtype dtype) {
  const auto* found = std::ranges::find(kDtypes, dtype, &DtypeName::dtype);
  return found == std::end(kDtypes) ? nullptr : found;
}

// A name as it may appear in a message: of bearable length, without control characters.
std::string shown(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string result(text.substr(0, kLongest));
  if (text.size() > kLongest) {
    while (!result.empty() && (result.back() & 0x80)) result.pop_back();  // no half characters
    result += "...";
  }
  std::ranges::replace_if(
      result, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return result;
}

// Receives the header's JSON as it is read, so that neither depth nor surprise costs memory.
class HeaderReader : public nlohmann::json::json_sax_t {
 public:
  explicit HeaderReader(SafetensorsHeader& header) : header_(header) {}

  bool start_object(size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kRoot;
    } else if (place_ == Place::kRoot) {
      start_member();
    } else {
      fail_unexpected("an object");
    }
    return true;
  }

  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) finish_tensor();
    place_ = place_ == Place::kRoot ? Place::kStart : Place::kRoot;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || (key_ != "shape" && key_ != "data_offsets")) {
      fail_unexpected("a list");
    }
    const bool is_shape = key_ == "shape";
    mark_seen(is_shape ? kShape : kOffsets);
    place_ = is_shape ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) {
      if (!header_.metadata.emplace(key_, std::move(text)).second) {
        fail(DLCORE_DATA_LOSS, "__metadata__ has '{}' twice", shown(key_));
      }
    } else if (place_ == Place::kTensor && key_ == "dtype") {
      mark_seen(kDtype);
      set_dtype(text);
    } else {
      fail_unexpected("a string");
    }
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::kShape) {
      add_dimension(value);
    } else if (place_ == Place::kOffsets) {
      add_offset(value);
    } else {
      fail_unexpected("a number");
    }
    return true;
  }

  bool number_integer(int64_t value) override {
    fail_if_in_list(std::to_string(value));
    fail_unexpected("a number");
  }
  bool number_float(double, const std::string& text) override {
    fail_if_in_list(text);
    fail_unexpected("a number");
  }
  bool null() override { fail_unexpected("null"); }
  bool boolean(bool) override { fail_unexpected("a boolean"); }
  bool binary(nlohmann::json::binary_t&) override { fail_unexpected("binary data"); }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail(DLCORE_DATA_LOSS, "the header is not valid JSON at byte {}", position);
  }

 private:
  enum class Place { kStart, kRoot, kMetadata, kTensor, kShape, kOffsets };
  enum Field : unsigned { kDtype = 1, kShape = 2, kOffsets = 4, kAll = 7 };

  [[noreturn]] void fail_unexpected(const char* what) const {
    if (place_ == Place::kStart)
      fail(DLCORE_DATA_LOSS, "the header is {}, expected an object", what);
    if (place_ == Place::kRoot) {
      fail(DLCORE_DATA_LOSS, "'{}' in the header is {}, expected an object", shown(key_), what);
    }
    if (place_ == Place::kMetadata) {
      fail(DLCORE_DATA_LOSS, "'{}' in __metadata__ is {}, expected a string", shown(key_), what);
    }
    fail(DLCORE_DATA_LOSS,
         "tensor '{}': '{}' holds {}, expected dtype, shape and data_offsets as a string and two "
         "lists "
         "of numbers",
         shown(entry_.name), shown(key_), what);
  }

  void fail_if_in_list(const std::string& value) const {
    if (place_ != Place::kShape && place_ != Place::kOffsets) return;
    fail(DLCORE_DATA_LOSS, "tensor '{}': {} holds {}, expected integers from 0 to 2^63 - 1",
         shown(entry_.name), place_ == Place::kShape ? "shape" : "data_offsets", shown(value));
  }

  void start_member() {
    if (key_ == kSafetensorsMetadataKey) {
      if (std::exchange(has_metadata_, true)) fail(DLCORE_DATA_LOSS, "__metadata__ is there twice");
      place_ = Place::kMetadata;
      return;
    }
    if (key_.find('\0') != std::string::npos) {
      fail(DLCORE_DATA_LOSS, "tensor '{}': the name holds a zero character", shown(key_));
    }
    entry_ = {};
    entry_.name = std::move(key_);
    key_.clear();
    seen_ = 0;
    n_offsets_ = 0;
    place_ = Place::kTensor;
  }

  void mark_seen(Field field) {
    if (seen_ & field) {
      fail(DLCORE_DATA_LOSS, "tensor '{}': {} is there twice", shown(entry_.name), key_);
    }
    seen_ |= field;
  }

  void set_dtype(std::string_view name) {
    const auto* found = std::ranges::find(kDtypes, name, &DtypeName::name);
    if (found == std::end(kDtypes)) {
      invalid(
          "tensor '{}': dtype is '{}', expected BOOL, U8, I8, I16, I32, I64, F16, BF16, F32 or F64",
          shown(entry_.name), shown(name));
    }
    entry_.dtype = found->dtype;
  }

  void add_dimension(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail_if_in_list(std::to_string(value));
    }
    if (entry_.shape.size() == DLCORE_MAX_RANK) {
      invalid("tensor '{}': shape has more than {} dimensions", shown(entry_.name),
              int{DLCORE_MAX_RANK});
    }
    entry_.shape.push_back(static_cast<int64_t>(value));
  }

  void add_offset(uint64_t value) {
    if (n_offsets_ == 2) {
      fail(DLCORE_DATA_LOSS, "tensor '{}': data_offsets has more than 2 numbers",
           shown(entry_.name));
    }
    (n_offsets_++ == 0 ? entry_.begin : entry_.end) = value;
  }

  void finish_tensor() {
    if (seen_ != kAll || n_offsets_ != 2) {
      fail(DLCORE_DATA_LOSS, "tensor '{}': {} is missing", shown(entry_.name),
           !(seen_ & kDtype)   ? "dtype"
           : !(seen_ & kShape) ? "shape"
                               : "a number of data_offsets");
    }
    if (entry_.begin > entry_.end) {
      fail(DLCORE_DATA_LOSS, "tensor '{}': data_offsets are [{}, {}], expected them to rise",
           shown(entry_.name), entry_.begin, entry_.end);
    }
    const uint64_t needed = safetensors_bytes(entry_.name, entry_.dtype, entry_.shape);
    if (entry_.end - entry_.begin != needed) {
      fail(DLCORE_DATA_LOSS,
           "tensor '{}': data_offsets [{}, {}] span {} bytes, expected {} for {} of shape [{}]",
           shown(entry_.name), entry_.begin, entry_.end, entry_.end - entry_.begin, needed,
           find_dtype(entry_.dtype)->name, joined(entry_.shape, ", "));
    }
    header_.entries.push_back(std::move(entry_));
  }

  SafetensorsHeader& header_;
  Place place_ = Place::kStart;
  std::string key_;
  SafetensorsEntry entry_;
  unsigned seen_ = 0;
  int n_offsets_ = 0;
  bool has_metadata_ = false;
};

void check_names_differ(const std::vector<SafetensorsEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) fail(DLCORE_DATA_LOSS, "tensor '{}' is there twice", shown(*twice));
}

// Sorts by place and checks that the tensors follow each other; returns the end of the last.
uint64_t check_places(std::vector<SafetensorsEntry>& entries) {
  std::ranges::sort(
      entries, {}, [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); });
  const SafetensorsEntry* previous = nullptr;
  uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin < end) {
      fail(DLCORE_DATA_LOSS, "tensors '{}' [{}, {}] and '{}' [{}, {}] overlap",
           shown(previous->name), previous->begin, previous->end, shown(entry.name), entry.begin,
           entry.end);
    }
    if (entry.begin > end) {
      fail(DLCORE_DATA_LOSS, "bytes {} to {} before tensor '{}' belong to no tensor", end,
           entry.begin, shown(entry.name));
    }
    previous = &entry;
    end = entry.end;
  }
  return end;
}

std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    invalid("'{}' is not valid UTF-8", shown(text));
  }
}

}  // namespace

uint64_t safetensors_bytes(const std::string& name, dlcore_dtype dtype,
                           const std::vector<int64_t>& shape) {
  const DtypeName* const known = find_dtype(dtype);
  if (known == nullptr) invalid("tensor '{}': dtype is {}, which is none", shown(name), dtype);
  if (shape.size() > DLCORE_MAX_RANK) {
    invalid("tensor '{}': shape has {} dimensions, expected at most {}", shown(name), shape.size(),
            int{DLCORE_MAX_RANK});
  }
  // Dimensions of 0 are left out until the end: strides are products of the others and must not
  // overflow.
  int64_t bytes = static_cast<int64_t>(known->bytes);
  bool is_empty = false;
  for (int64_t dimension : shape) {
    if (dimension < 0) invalid("tensor '{}': shape holds {}", shown(name), dimension);
    is_empty |= dimension == 0;
    if (dimension > 0 && __builtin_mul_overflow(bytes, dimension, &bytes)) {
      invalid("tensor '{}': shape [{}] is too large", shown(name), joined(shape, ", "));
    }
  }
  return is_empty ? 0 : static_cast<uint64_t>(bytes);
}

SafetensorsHeader parse_safetensors_header(std::string_view json) {
  if (!json.starts_with('{')) {
    fail(DLCORE_DATA_LOSS, "the header does not start with '{{'; this is no safetensors file");
  }
  SafetensorsHeader header;
  HeaderReader reader(header);
  nlohmann::json::sax_parse(json, &reader);
  check_names_differ(header.entries);
  header.data_bytes = check_places(header.entries);
  return header;
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  std::vector<const SafetensorsEntry*> by_name;
  for (const SafetensorsEntry& entry : header.entries) by_name.push_back(&entry);
  std::ranges::sort(
      by_name, {}, [](const SafetensorsEntry* entry) -> const std::string& { return entry->name; });

  std::string json = "{";
  if (!header.metadata.empty()) {
    std::vector<std::string> members;
    for (const auto& [key, value] : header.metadata) {
      members.push_back(formatted("{}:{}", quoted(key), quoted(value)));
    }
    json += formatted("\"{}\":{{{}}}", kSafetensorsMetadataKey, joined(members, ","));
  }
  for (const SafetensorsEntry* entry : by_name) {
    json +=
        formatted("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                  json.size() > 1 ? "," : "", quoted(entry->name), find_dtype(entry->dtype)->name,
                  joined(entry->shape, ","), entry->begin, entry->end);
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  return json;
}

}  // namespace dlcore
