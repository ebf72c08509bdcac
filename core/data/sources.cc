// SPDX-License-Identifier: Apache-2.0
#include "core/data/sources.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/data/idx.h"

namespace dlcore {
namespace {

constexpr const char* kSystemDatasets = "/usr/share/datasets";

std::string images_path(const std::string& prefix) { return prefix + "-images-idx3-ubyte"; }
std::string labels_path(const std::string& prefix) { return prefix + "-labels-idx1-ubyte"; }

template <class T>
std::vector<int64_t> widened(const std::vector<std::byte>& data) {
  std::vector<int64_t> result(data.size() / sizeof(T));
  for (size_t i = 0; i < result.size(); ++i) {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    result[i] = value;
  }
  return result;
}

std::vector<int64_t> read_labels(const std::string& path) {
  const IdxArray array = read_idx(path);
  if (array.shape.size() != 1) {
    invalid("'{}' has shape [{}], expected one label per sample", path, joined(array.shape, ", "));
  }
  switch (array.dtype) {
    case DLCORE_U8:
      return widened<uint8_t>(array.data);
    case DLCORE_I8:
      return widened<int8_t>(array.data);
    case DLCORE_I16:
      return widened<int16_t>(array.data);
    case DLCORE_I32:
      return widened<int32_t>(array.data);
    default:
      invalid("'{}' holds floating-point numbers, expected integer labels", path);
  }
}

Dataset load_pair(const std::string& prefix) {
  IdxArray images = read_idx(images_path(prefix));
  if (images.dtype != DLCORE_U8 || images.shape.size() < 2) {
    invalid("'{}' holds {} dimensions of {}, expected images of bytes, [count, height, width]",
            images_path(prefix), images.shape.size(),
            images.dtype == DLCORE_U8 ? "bytes" : "other elements");
  }
  Dataset dataset;
  dataset.count = images.shape[0];
  int64_t pixels = 1;  // as read_idx has found the product of all dimensions to fit
  for (size_t i = 1; i < images.shape.size(); ++i) pixels *= images.shape[i];
  dataset.sample_shape = {pixels};
  dataset.samples = std::move(images.data);
  dataset.labels = read_labels(labels_path(prefix));
  if (std::cmp_not_equal(dataset.labels.size(), dataset.count)) {
    invalid("'{}' has {} images, but '{}' has {} labels", images_path(prefix), dataset.count,
            labels_path(prefix), dataset.labels.size());
  }
  return dataset;
}

std::string file_prefix(const std::string& directory, std::string_view name) {
  return formatted("{}/{}", directory, name == "test" ? "t10k" : name);
}

Dataset load_idx(std::string_view source, std::string_view place) {
  const size_t slash = place.rfind('/');
  const std::string_view name = slash == place.npos ? place : place.substr(slash + 1);
  if (name.empty()) {
    invalid("source '{}' names no files, expected idx:DIR/train or idx:DIR/test", source);
  }
  const std::string directory(slash == place.npos ? "." : place.substr(0, slash));
  return load_pair(file_prefix(directory, name));
}

// Where a data set of that name may be.
std::vector<std::string> places_of(const std::string& name, const std::string& directory) {
  std::vector<std::string> roots;
  if (!directory.empty()) {
    roots = {directory};
  } else {
    const char* const configured = std::getenv("DLCORE_DATA");
    if (configured != nullptr && *configured != '\0') roots.emplace_back(configured);
    roots.emplace_back(kSystemDatasets);
  }
  std::vector<std::string> places;
  for (const std::string& root : roots) {
    places.push_back(root + "/" + name);
    places.push_back(root);
  }
  return places;
}

Dataset load_named(std::string_view source, const std::string& name, std::string_view split,
                   const std::string& directory) {
  if (split != "train" && split != "test") {
    invalid("source '{}' has no part '{}', expected {}:train or {}:test", source, split, name,
            name);
  }
  std::vector<std::string> tried;
  for (const std::string& place : places_of(name, directory)) {
    const std::string prefix = file_prefix(place, split);
    if (idx_exists(images_path(prefix))) return load_pair(prefix);
    tried.push_back(formatted("'{}[.gz]'", images_path(prefix)));
  }
  fail(DLCORE_NOT_FOUND,
       "source '{}' was not found, tried {}; set DLCORE_DATA to the directory that holds it, or "
       "install Debian's dataset-{}",
       source, joined(tried, ", "), name);
}

}  // namespace

Dataset load_dataset(std::string_view source, const std::string& directory) {
  const size_t colon = std::min(source.find(':'), source.size());
  const std::string_view kind = source.substr(0, colon);
  const std::string_view rest = source.substr(std::min(colon + 1, source.size()));
  if (kind == "idx") return load_idx(source, rest);
  if (kind == "fashion-mnist") return load_named(source, "fashion-mnist", rest, directory);
  invalid(
      "source '{}' is unknown, expected idx:DIR/train, fashion-mnist:train or fashion-mnist:test",
      source);
}

}  // namespace dlcore
