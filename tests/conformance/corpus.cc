// SPDX-License-Identifier: Apache-2.0
#include "corpus.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace dlcore::conformance {
namespace {

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// safetensors calls dtypes by upper-case names.
dlcore_dtype dtype_of_tag(std::string tag) {
  std::transform(tag.begin(), tag.end(), tag.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return dlcore_dtype_by_name(tag.c_str());
}

std::map<std::string, Array> read_tensors(const std::filesystem::path& path) {
  const std::vector<uint8_t> file = read_file(path);
  uint64_t header_size = 0;
  if (file.size() < sizeof header_size) throw std::runtime_error(path.string() + " is too short");
  std::memcpy(&header_size, file.data(), sizeof header_size);
  const auto start = file.begin() + sizeof header_size;
  if (header_size > file.size() - sizeof header_size) {
    throw std::runtime_error(path.string() + " is cut off");
  }
  const auto body = start + static_cast<std::ptrdiff_t>(header_size);
  std::map<std::string, Array> tensors;
  const Json header = Json::parse(start, body);
  for (const auto& [key, entry] : header.items()) {
    Array array;
    array.dtype = dtype_of_tag(entry.at("dtype"));
    array.shape = shape_from(entry.at("shape"));
    const auto begin = entry.at("data_offsets").at(0).get<std::ptrdiff_t>();
    const auto end = entry.at("data_offsets").at(1).get<std::ptrdiff_t>();
    if (begin < 0 || end < begin || end > file.end() - body) {
      throw std::runtime_error(path.string() + " is cut off");
    }
    array.bytes.assign(body + begin, body + end);
    tensors.emplace(key, std::move(array));
  }
  return tensors;
}

// A binary float of `mantissa` explicit bits and the rest exponent, in 16 bits.
double decode_half(uint16_t bits, int mantissa) {
  const int exponent_bits = 15 - mantissa;
  const int top = (1 << exponent_bits) - 1;
  const int bias = top >> 1;
  const int exponent = (bits >> mantissa) & top;
  const int fraction = bits & ((1 << mantissa) - 1);
  double value = 0;
  if (exponent == top) {
    value = fraction != 0 ? std::nan("") : HUGE_VAL;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - mantissa);
  } else {
    value = std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
  }
  return (bits >> 15) != 0 ? -value : value;
}

// The reverse, to nearest even.
uint16_t encode_half(double value, int mantissa) {
  const int top = (1 << (15 - mantissa)) - 1;
  const int bias = top / 2;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>((top << mantissa) + 1);
  const double size = std::abs(value);
  if (std::isinf(size)) return static_cast<uint16_t>(sign + (top << mantissa));
  const int exponent = size == 0 ? 1 - bias : std::max(std::ilogb(size), 1 - bias);
  // In units of the last place; a carry into the exponent is right, up to infinity.
  const double units = std::nearbyint(std::ldexp(size, mantissa - exponent));
  const double bits = std::ldexp(exponent - 1 + bias, mantissa) + units;
  return static_cast<uint16_t>(sign + std::min<int>(static_cast<int>(bits), top << mantissa));
}

template <class T>
std::vector<T> elements(const Array& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), values.size() * sizeof(T));
  return values;
}

template <class To, class From>
std::vector<To> widen(const std::vector<From>& values) {
  return std::vector<To>(values.begin(), values.end());
}

template <class T>
Array pack(const std::vector<double>& values, const Shape& shape, dlcore_dtype dtype) {
  Array array{dtype, shape, std::vector<uint8_t>(values.size() * sizeof(T))};
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(array.bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return array;
}

}  // namespace

const Array& Family::tensor(const std::string& key) const {
  const auto found = tensors.find(key);
  if (found == tensors.end()) throw std::runtime_error(name + ".safetensors has no " + key);
  return found->second;
}

std::vector<Family> load_corpus(const std::filesystem::path& folder) {
  std::vector<Family> families;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    Family family;
    family.name = entry.path().stem().string();
    const std::vector<uint8_t> text = read_file(entry.path());
    family.cases = Json::parse(text.begin(), text.end());
    family.tensors =
        read_tensors(std::filesystem::path(entry.path()).replace_extension(".safetensors"));
    families.push_back(std::move(family));
  }
  std::sort(families.begin(), families.end(),
            [](const Family& a, const Family& b) { return a.name < b.name; });
  return families;
}

bool is_float(dlcore_dtype dtype) {
  return dtype == DLCORE_F16 || dtype == DLCORE_BF16 || dtype == DLCORE_F32 || dtype == DLCORE_F64;
}

int64_t count_of(const Shape& shape) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  return count;
}

std::string to_string(const Shape& shape) { return Json(shape).dump(); }

Shape shape_from(const Json& json) { return json.get<Shape>(); }

Numbers decode(const Array& array) {
  switch (array.dtype) {
    case DLCORE_BOOL:
    case DLCORE_U8:
      return {true, widen<int64_t>(array.bytes), {}};
    case DLCORE_I8:
      return {true, widen<int64_t>(elements<int8_t>(array)), {}};
    case DLCORE_I16:
      return {true, widen<int64_t>(elements<int16_t>(array)), {}};
    case DLCORE_I32:
      return {true, widen<int64_t>(elements<int32_t>(array)), {}};
    case DLCORE_I64:
      return {true, elements<int64_t>(array), {}};
    case DLCORE_F32:
      return {false, {}, widen<double>(elements<float>(array))};
    case DLCORE_F64:
      return {false, {}, elements<double>(array)};
    default:
      break;
  }
  Numbers numbers;
  const int mantissa = array.dtype == DLCORE_F16 ? 10 : 7;
  for (uint16_t bits : elements<uint16_t>(array)) {
    numbers.reals.push_back(decode_half(bits, mantissa));
  }
  return numbers;
}

Array encode(const std::vector<double>& values, const Shape& shape, dlcore_dtype dtype) {
  if (dtype == DLCORE_F32) return pack<float>(values, shape, dtype);
  if (dtype == DLCORE_F64) return pack<double>(values, shape, dtype);
  std::vector<double> bits;
  for (double value : values) bits.push_back(encode_half(value, dtype == DLCORE_F16 ? 10 : 7));
  return pack<uint16_t>(bits, shape, dtype);
}

}  // namespace dlcore::conformance
