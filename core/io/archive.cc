// SPDX-License-Identifier: Apache-2.0
#include "core/io/archive.h"

#include "core/base/error.h"

namespace dlcore {
namespace {

constexpr size_t kNamesShown = 16;

std::string names_of(const std::vector<SafetensorsTensor>& tensors) {
  std::vector<std::string_view> names;
  for (const SafetensorsTensor& t : tensors) {
    if (names.size() == kNamesShown) break;
    names.push_back(t.name);
  }
  if (names.empty()) return "none";
  std::string text = joined(names, ", ");
  if (tensors.size() > names.size()) {
    text += formatted(" and {} more", tensors.size() - names.size());
  }
  return text;
}

}  // namespace

Archive::Archive(std::span<const std::byte> buffer) {
  std::vector<std::byte> copy(buffer.begin(), buffer.end());
  contents_ = parse_safetensors(copy);
  contents_.storage = std::move(copy);
}

TensorRef Archive::tensor(Context& ctx, const std::string& name) const {
  const SafetensorsTensor* stored = contents_.find(name);
  if (stored == nullptr) {
    fail(DLCORE_NOT_FOUND, "archive_tensor: no tensor is called '{}'; there are {}", name,
         names_of(contents_.tensors));
  }
  return tensor_from(ctx, *stored);
}

TensorRef tensor_from(Context& ctx, const SafetensorsTensor& stored) {
  TensorRef tensor = new_tensor(ctx, ctx.device(), stored.dtype, stored.shape);
  write_tensor(ctx, *tensor, stored.data.data());
  return tensor;
}

StoredTensors::StoredTensors(Context& ctx, std::span<const NamedTensor> tensors) {
  for (const NamedTensor& t : tensors) {
    elements_.emplace_back(ctx, t.tensor);
    const std::span<const int64_t> shape = t.tensor->shape();
    tensors_.push_back(
        {t.name, t.tensor->dtype, {shape.begin(), shape.end()}, elements_.back().bytes()});
  }
}

void save_tensors(Context& ctx, const std::string& path, std::span<const NamedTensor> tensors) {
  const StoredTensors stored(ctx, tensors);
  write_safetensors_file(path, stored.tensors(), {});
}

void write_tensors(Context& ctx, const WriteFunction& write, std::span<const NamedTensor> tensors) {
  const StoredTensors stored(ctx, tensors);
  write_safetensors(write, stored.tensors(), {});
}

}  // namespace dlcore
