// SPDX-License-Identifier: Apache-2.0
// A tensor: one slot of 256 bytes that holds the handle, the dimensions and, when they are few and
// the host may address them, the elements.
#pragma once

#include <memory>
#include <span>

#include "core/base/handle.h"
#include "core/tensor/dims.h"
#include "core/tensor/dtype.h"
#include "core/tensor/storage.h"

namespace dlcore {

class Engine;
class Context;
class Scope;
class Node;
class Transform;
struct Tensor;
using TensorRef = Ref<Tensor>;

// What only some tensors have: history, a place in a transform level, a place in a captured graph.
struct TensorExtra {
  // History: this tensor is output `output` of `node`.
  Node* node = nullptr;  // one reference
  int32_t output = 0;

  // A level's tensor: what it is one level below.
  Transform* level = nullptr;  // one reference
  TensorRef primal;            // the value; with the examples as axis 0 when `batched`
  TensorRef tangent;           // forward mode; null when zero
  bool batched = false;

  // A value of the graph that capture number `capture` records.
  uint64_t capture = 0;
  int32_t value = -1;

  ~TensorExtra();
};

struct Tensor : Handle {
  static constexpr Tag kTag = Tag::kTensor;
  static constexpr int kInlineRank = 4;
  static constexpr uint64_t kInlineBytes = 64;

  Engine* engine = nullptr;
  uint8_t dtype = 0;
  uint8_t rank = 0;
  bool weak = false;
  bool inline_data = false;
  Device* device = nullptr;
  int64_t count = 0;             // product of shape; -1 when symbolic
  void* data = nullptr;          // first element; nullptr when the tensor has none of its own
  Storage* storage = nullptr;    // one reference
  Tensor* base = nullptr;        // one reference: the tensor whose inline elements this one sees
  TensorExtra* extra = nullptr;  // owned
  int64_t* sizes = nullptr;      // shape, then strides; inline or owned
  Scope* scope = nullptr;        // that owns it for the program
  Tensor* scope_previous = nullptr;
  Tensor* scope_next = nullptr;
  int64_t inline_sizes[2 * kInlineRank];
  alignas(64) std::byte inline_elements[kInlineBytes];

  std::span<const int64_t> shape() const { return {sizes, rank}; }
  std::span<const int64_t> strides() const { return {sizes + rank, rank}; }
  int64_t* mutable_strides() { return sizes + rank; }
  Dim dim(int axis) const {
    return sizes[axis] < 0 ? Dim::expression(-1 - sizes[axis]) : Dim(sizes[axis]);
  }
  Dims dims() const;

  bool symbolic() const { return extra != nullptr && extra->value >= 0; }
  bool leveled() const { return extra != nullptr && extra->level != nullptr; }
  bool has_history() const { return extra != nullptr && extra->node != nullptr; }
  bool contiguous() const;
  // No other tensor sees these elements.
  bool sole_owner() const { return storage != nullptr ? storage->unique() : base == nullptr; }
  TensorExtra& make_extra();

  void set_sizes(std::span<const int64_t> shape);  // contiguous strides, count
};
static_assert(sizeof(Tensor) == 256);

std::string shape_text(std::span<const int64_t> shape);  // "[64, 784]"

// Row-major strides of a shape.
void contiguous_strides(std::span<const int64_t> shape, int64_t* strides);
// Product of a shape; INVALID_ARGUMENT when it, or its bytes for `dtype`, overflow or a dimension
// is negative.
int64_t checked_count(std::span<const int64_t> shape, Dtype dtype);

// ---- Making tensors. All return one library reference and throw RESOURCE_EXHAUSTED. -------------

TensorRef new_tensor(Context& ctx, Device& device, Dtype dtype, std::span<const int64_t> shape);
// Of the dtype, shape and device of `like`, which is contiguous and has elements.
TensorRef new_like(Context& ctx, const Tensor& like);
// A weak scalar on the CPU.
TensorRef new_weak(Context& ctx, Dtype dtype, const void* element);
// Shares the elements of `source`; `offset` counts elements from its first.
TensorRef new_view(Context& ctx, Tensor& source, std::span<const int64_t> shape,
                   std::span<const int64_t> strides, int64_t offset);
// Sees elements of `storage`, a reference to which it takes over, from `first` on.
TensorRef new_over(Context& ctx, Storage* storage, Dtype dtype, std::span<const int64_t> shape,
                   std::span<const int64_t> strides, void* first);
// The same value without history: what a node may keep of its own output without keeping itself
// alive.
TensorRef new_alias(Context& ctx, Tensor& source);
// A tensor that has no elements of its own: a graph's value or a level's.
TensorRef new_abstract(Context& ctx, Device& device, Dtype dtype, const Dims& dims, bool weak);

// Copies elements from the host, which are contiguous, or to the host in row-major order. The
// tensor has elements.
void write_tensor(Context& ctx, Tensor& to, const void* data);
void read_tensor(Context& ctx, Tensor& from, void* data);
// The same elements on `device`, without history: the tensor itself when it is there.
TensorRef copy_to_device(Context& ctx, Tensor& tensor, Device& device);

}  // namespace dlcore
