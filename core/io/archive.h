// SPDX-License-Identifier: Apache-2.0
// Tensors under names, in the safetensors format.
#pragma once

#include <span>
#include <string>

#include "core/base/handle.h"
#include "core/engine/context.h"
#include "core/io/host_elements.h"
#include "core/io/safetensors.h"
#include "core/tensor/tensor.h"

namespace dlcore {

class Archive : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kArchive;

  explicit Archive(const std::string& path) : contents_(read_safetensors_file(path)) {}
  explicit Archive(const ReadFunction& read) : contents_(read_safetensors(read)) {}
  explicit Archive(std::span<const std::byte> buffer);

  const std::vector<SafetensorsTensor>& tensors() const { return contents_.tensors; }
  // On the context's device. Throws NOT_FOUND.
  TensorRef tensor(Context& ctx, const std::string& name) const;

 private:
  Safetensors contents_;
};

// A tensor of a file, on the context's device.
TensorRef tensor_from(Context& ctx, const SafetensorsTensor& stored);

struct NamedTensor {
  std::string name;
  TensorRef tensor;
};
// Tensors, which must have elements, as they go into a file.
class StoredTensors {
 public:
  StoredTensors(Context& ctx, std::span<const NamedTensor> tensors);
  std::span<const SafetensorsTensor> tensors() const { return tensors_; }

 private:
  std::vector<HostElements> elements_;
  std::vector<SafetensorsTensor> tensors_;
};

// The file is replaced as a whole or not at all.
void save_tensors(Context& ctx, const std::string& path, std::span<const NamedTensor> tensors);
void write_tensors(Context& ctx, const WriteFunction& write, std::span<const NamedTensor> tensors);

}  // namespace dlcore
