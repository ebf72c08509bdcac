// SPDX-License-Identifier: Apache-2.0
#include "core/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/io/file.h"
#include "core/io/safetensors_header.h"

namespace dlcore {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied as they are");

constexpr uint64_t kLengthBytes = 8;

// Runs `body`; its errors get `where` in front.
template <class Body>
auto naming(const std::string& where, const Body& body) {
  try {
    return body();
  } catch (Error& error) {
    error.message = where + ": " + error.message;
    throw;
  }
}

uint64_t header_length(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) {
    fail(DLCORE_DATA_LOSS, "there are {} bytes, too few for the header's length", bytes.size());
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kLargestSafetensorsHeader) {
    fail(DLCORE_DATA_LOSS, "the header is {} bytes long, expected at most {}", length,
         kLargestSafetensorsHeader);
  }
  return length;
}

[[noreturn]] void fail_short_header(uint64_t length, uint64_t available) {
  fail(DLCORE_DATA_LOSS, "the header is {} bytes long, but only {} are there", length, available);
}

void check_data_size(const SafetensorsHeader& header, uint64_t available) {
  if (available > header.data_bytes) {
    fail(DLCORE_DATA_LOSS, "there are bytes after the last tensor, which ends at {}",
         header.data_bytes);
  }
  const auto cut = std::ranges::find_if(
      header.entries, [&](const SafetensorsEntry& entry) { return entry.end > available; });
  if (cut != header.entries.end()) {
    fail(DLCORE_DATA_LOSS, "tensor '{}': data_offsets are [{}, {}], but the data has {} bytes",
         cut->name, cut->begin, cut->end, available);
  }
}

// A byte other than 0 and 1 would be undefined behaviour wherever it is read as a bool.
void check_booleans(const SafetensorsTensor& tensor) {
  const auto bad = std::ranges::find_if(tensor.data, [](std::byte b) { return b > std::byte{1}; });
  if (bad != tensor.data.end()) {
    fail(DLCORE_DATA_LOSS, "tensor '{}': element {} of a BOOL tensor is {}, expected 0 or 1",
         tensor.name, bad - tensor.data.begin(), std::to_integer<int>(*bad));
  }
}

Safetensors assemble(SafetensorsHeader header, std::span<const std::byte> data) {
  check_data_size(header, data.size());
  Safetensors result;
  result.metadata = std::move(header.metadata);
  result.tensors.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    result.tensors.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape),
                              data.subspan(entry.begin, entry.end - entry.begin)});
    if (entry.dtype == DLCORE_BOOL) check_booleans(result.tensors.back());
  }
  std::ranges::sort(result.tensors, {}, &SafetensorsTensor::name);
  return result;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `size` of the whole stream, where it is known, refuses a wrong file before its data is read.
Safetensors read_stream(const ReadFunction& read, std::optional<uint64_t> size) {
  std::vector<std::byte> bytes;
  append_from(read, kLengthBytes, bytes);
  const uint64_t length = header_length(bytes);
  if (size && *size - kLengthBytes < length) fail_short_header(length, *size - kLengthBytes);
  append_from(read, length, bytes);
  const uint64_t data_begin = kLengthBytes + length;
  if (bytes.size() < data_begin) fail_short_header(length, bytes.size() - kLengthBytes);
  SafetensorsHeader header =
      parse_safetensors_header(as_text(std::span(bytes).subspan(kLengthBytes)));
  if (size) {
    check_data_size(header, *size - data_begin);
    bytes.reserve(*size + 1);
  }
  append_from(read, header.data_bytes + 1, bytes);  // the one more must not be there
  Safetensors result = assemble(std::move(header), std::span(bytes).subspan(data_begin));
  result.storage = std::move(bytes);
  return result;
}

void check_names(std::vector<const SafetensorsTensor*> tensors) {
  std::ranges::sort(tensors, {}, [](const SafetensorsTensor* tensor) -> const std::string& {
    return tensor->name;
  });
  const SafetensorsTensor* previous = nullptr;
  for (const SafetensorsTensor* tensor : tensors) {
    if (tensor->name == kSafetensorsMetadataKey || tensor->name.find('\0') != std::string::npos) {
      invalid("tensor '{}' cannot have this name", tensor->name);
    }
    if (previous != nullptr && previous->name == tensor->name) {
      invalid("tensor '{}' is there twice", tensor->name);
    }
    previous = tensor;
  }
}

uint64_t element_bytes(const SafetensorsTensor& tensor) {
  return safetensors_bytes(tensor.name, tensor.dtype, {});
}

// The tensors, checked, in the order of their data.
std::vector<const SafetensorsTensor*> lay_out(std::span<const SafetensorsTensor> tensors) {
  std::vector<const SafetensorsTensor*> order;
  for (const SafetensorsTensor& tensor : tensors) {
    const uint64_t bytes = safetensors_bytes(tensor.name, tensor.dtype, tensor.shape);
    if (tensor.data.size() != bytes) {
      invalid("tensor '{}': there are {} bytes of data, expected {} for shape [{}]", tensor.name,
              tensor.data.size(), bytes, joined(tensor.shape, ", "));
    }
    order.push_back(&tensor);
  }
  check_names(order);
  std::ranges::sort(order, [](const SafetensorsTensor* a, const SafetensorsTensor* b) {
    return std::pair(element_bytes(*b), std::string_view(a->name)) <
           std::pair(element_bytes(*a), std::string_view(b->name));
  });
  return order;
}

std::string header_of(const std::vector<const SafetensorsTensor*>& order,
                      const SafetensorsMetadata& metadata) {
  SafetensorsHeader header;
  header.metadata = metadata;
  for (const SafetensorsTensor* tensor : order) {
    const uint64_t begin = header.data_bytes;
    if (__builtin_add_overflow(begin, tensor->data.size(), &header.data_bytes)) {
      invalid("the tensors are too large for one file");
    }
    header.entries.push_back(
        {tensor->name, tensor->dtype, tensor->shape, begin, header.data_bytes});
  }
  std::string json = format_safetensors_header(header);
  if (json.size() > kLargestSafetensorsHeader) {
    invalid("the header would be {} bytes long, expected at most {}", json.size(),
            kLargestSafetensorsHeader);
  }
  return json;
}

}  // namespace

const SafetensorsTensor* Safetensors::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors, name, {}, &SafetensorsTensor::name);
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

Safetensors parse_safetensors(std::span<const std::byte> bytes) {
  return naming("safetensors", [&] {
    const uint64_t length = header_length(bytes);
    const auto rest = bytes.subspan(kLengthBytes);
    if (rest.size() < length) fail_short_header(length, rest.size());
    return assemble(parse_safetensors_header(as_text(rest.first(length))), rest.subspan(length));
  });
}

Safetensors read_safetensors(const ReadFunction& read) {
  return naming("safetensors", [&] { return read_stream(read, std::nullopt); });
}

Safetensors read_safetensors_file(const std::string& path) {
  FileReader file(path);
  return naming(formatted("safetensors: '{}'", path), [&] {
    return read_stream([&](std::span<std::byte> into) { return file.read(into); }, file.size());
  });
}

void write_safetensors(const WriteFunction& write, std::span<const SafetensorsTensor> tensors,
                       const SafetensorsMetadata& metadata) {
  naming("safetensors", [&] {
    const auto order = lay_out(tensors);
    const std::string header = header_of(order, metadata);
    const uint64_t length = header.size();
    write(std::as_bytes(std::span(&length, 1)));
    write(std::as_bytes(std::span(header)));
    for (const SafetensorsTensor* tensor : order) {
      if (!tensor->data.empty()) write(tensor->data);
    }
  });
}

std::vector<std::byte> write_safetensors(std::span<const SafetensorsTensor> tensors,
                                         const SafetensorsMetadata& metadata) {
  std::vector<std::byte> result;
  write_safetensors(
      [&](std::span<const std::byte> bytes) {
        result.insert(result.end(), bytes.begin(), bytes.end());
      },
      tensors, metadata);
  return result;
}

void write_safetensors_file(const std::string& path, std::span<const SafetensorsTensor> tensors,
                            const SafetensorsMetadata& metadata) {
  AtomicFileWriter file(path);
  write_safetensors([&](std::span<const std::byte> bytes) { file.write(bytes); }, tensors,
                    metadata);
  file.commit();
}

}  // namespace dlcore
