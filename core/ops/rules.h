// SPDX-License-Identifier: Apache-2.0
// What the rules of an op get to see. Sizes are Dims throughout, so that every rule also serves
// captures with symbolic sizes.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/autograd/node.h"
#include "core/base/error.h"
#include "core/ops/attrs.h"
#include "core/ops/schema.h"
#include "core/ops/value.h"

namespace dlcore {

// Arithmetic and comparison of sizes.
class DimMath {
 public:
  explicit DimMath(DimTable* table) : table_(table) {}
  explicit DimMath(Context& ctx);

  Dim add(Dim a, Dim b) const;
  Dim subtract(Dim a, Dim b) const;
  Dim multiply(Dim a, Dim b) const;
  Dim divide(Dim a, Dim b) const;
  Dim product(const Dims& dims) const;
  std::string text(Dim d) const;
  std::string text(const Dims& dims) const;  // "[64, B]"
  DimTable* table() const { return table_; }

 private:
  DimTable& symbolic() const;
  DimTable* table_;
};

// Negative axes count from the end; INVALID_ARGUMENT outside [-rank, rank).
int normal_axis(const char* op, const char* name, int64_t axis, int rank);
// Sorted and without duplicates; all axes when absent.
Ints normal_axes(const char* op, std::span<const int64_t> axes, bool given, int rank);

// ---- Inference: dtypes and shapes of the outputs. -----------------------------------------------
class Infer {
 public:
  Infer(const OpDef& op, std::span<const TensorType> inputs, AttrReader attrs, DimMath math,
        std::span<TensorType> outputs)
      : op(op), attrs(attrs), math(math), inputs_(inputs), outputs_(outputs) {}

  const OpDef& op;
  const AttrReader attrs;
  const DimMath math;

  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const {
    return i < input_count() && inputs_[static_cast<size_t>(i)].dtype != DLCORE_DTYPE_NONE;
  }
  Dtype dtype(int i = 0) const { return inputs_[static_cast<size_t>(i)].dtype; }
  const Dims& dims(int i = 0) const { return inputs_[static_cast<size_t>(i)].dims; }
  int rank(int i = 0) const { return static_cast<int>(dims(i).size()); }
  Dim dim(int i, int axis) const { return dims(i)[static_cast<size_t>(axis)]; }
  int axis(int attr, int rank) const {
    return normal_axis(op.name, op.attrs[static_cast<size_t>(attr)].name, attrs.number(attr), rank);
  }
  Ints axes(int attr, int rank) const;  // of an optional list

  void set(int output, Dtype dtype, const Dims& dims);
  const Dims& output_dims(int i) const { return outputs_[static_cast<size_t>(i)].dims; }
  void need_rank(int input, int at_least) const;
  // The shapes must be equal.
  void need_same(int input, const Dims& expected) const;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    invalid("{}: {}", op.name, formatted(format, std::forward<Args>(args)...));
  }

 private:
  std::span<const TensorType> inputs_;
  std::span<TensorType> outputs_;
};

// Shared inference.
void infer_elementwise(Infer& r);  // the broadcast shape, input 0's dtype
void infer_comparison(Infer& r);   // the broadcast shape, bool
void infer_like_first(Infer& r);   // output 0 like input 0
Dims broadcast(const Infer& r, const Dims& a, const Dims& b);

// ---- Views: strides and offset of an output that shares input 0's elements.
class View {
 public:
  View(const Tensor& input, AttrReader attrs, std::span<const int64_t> shape, int64_t* strides)
      : input(input), attrs(attrs), shape(shape), strides(strides) {}
  const Tensor& input;
  const AttrReader attrs;
  const std::span<const int64_t> shape;  // of the output
  int64_t* const strides;                // to be filled in
  int64_t offset = 0;                    // to be filled in, in elements
  bool possible = true;                  // false: the input has to be made contiguous first
};

// ---- Reverse mode
class Vjp {
 public:
  // `wanted`: bit i for each input whose gradient is asked for.
  Vjp(Context& ctx, const Node& node, uint64_t wanted, std::span<Value> gradients,
      std::span<Value> results);

  Context& ctx;
  const AttrReader attrs;
  const DimMath math;

  // Gradient of output i; absent when none came (see zero_filled).
  const Value& g(int i = 0) const { return gradients_[static_cast<size_t>(i)]; }
  Value zero_filled(int i) const;  // the same, zeros when none came
  const OpDef& op() const { return *node_.op; }
  int input_count() const { return static_cast<int>(node_.input_types.size()); }
  bool needs(int i) const { return (wanted_ >> i & 1) != 0; }
  bool has_input(int i) const;
  // Saved tensors: only those that `saves` asked for.
  Value input(int i) const;
  Value output(int i) const;
  const Dims& input_dims(int i) const { return node_.input_types[static_cast<size_t>(i)].dims; }
  Dtype input_dtype(int i) const { return node_.input_types[static_cast<size_t>(i)].dtype; }
  const Dims& output_dims(int i = 0) const {
    return node_.output_types[static_cast<size_t>(i)].dims;
  }
  int rank(int i = 0) const { return static_cast<int>(input_dims(i).size()); }

  // For elementwise ops the gradient is summed over the axes along which input i was broadcast.
  void set(int i, Value gradient);

 private:
  const Node& node_;
  const uint64_t wanted_;
  std::span<Value> gradients_;
  std::span<Value> results_;
};

// ---- Forward mode
class Jvp {
 public:
  Jvp(Context& ctx, const OpDef& op, AttrReader attrs, std::span<const Value> primals,
      std::span<const Value> tangents, std::span<const Value> outputs, std::span<Value> results)
      : ctx(ctx),
        op(op),
        attrs(attrs),
        primals_(primals),
        tangents_(tangents),
        outputs_(outputs),
        results_(results) {}

  Context& ctx;
  const OpDef& op;
  const AttrReader attrs;

  int input_count() const { return static_cast<int>(primals_.size()); }
  const Value& input(int i) const { return primals_[static_cast<size_t>(i)]; }
  bool moves(int i) const { return static_cast<bool>(tangents_[static_cast<size_t>(i)]); }
  // Absent when input i does not move.
  const Value& tangent(int i) const { return tangents_[static_cast<size_t>(i)]; }
  Value zero_filled(int i) const;
  const Value& output(int i = 0) const { return outputs_[static_cast<size_t>(i)]; }
  void set(int i, Value tangent) { results_[static_cast<size_t>(i)] = std::move(tangent); }
  // Adds to what output i has.
  void add(int i, Value tangent);

 private:
  std::span<const Value> primals_, tangents_, outputs_;
  std::span<Value> results_;
};

// ---- Vectorisation: batched inputs have the examples as axis 0
class Batch {
 public:
  Batch(Context& ctx, const OpDef& op, AttrReader attrs, int64_t size,
        std::span<const Value> inputs, std::span<const bool> batched, std::span<Value> results)
      : ctx(ctx),
        op(op),
        attrs(attrs),
        size(size),
        inputs_(inputs),
        batched_(batched),
        results_(results) {}

  Context& ctx;
  const OpDef& op;
  const AttrReader attrs;
  const int64_t size;

  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const {
    return i < input_count() && static_cast<bool>(inputs_[static_cast<size_t>(i)]);
  }
  const Value& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  bool batched(int i) const { return batched_[static_cast<size_t>(i)]; }
  int logical_rank(int i) const { return input(i).rank() - (batched(i) ? 1 : 0); }
  // Input i with the examples axis, repeated if it is not batched.
  Value with_examples(int i) const;
  // The same, and with size-1 axes inserted after the examples so that its logical rank is `rank`.
  Value aligned(int i, int rank) const;
  void set(int i, Value output) { results_[static_cast<size_t>(i)] = std::move(output); }

 private:
  std::span<const Value> inputs_;
  std::span<const bool> batched_;
  std::span<Value> results_;
};

// Shared batching.
void batch_elementwise(Batch& r);

// ---- Decomposition
class Compose {
 public:
  Compose(Context& ctx, AttrReader attrs, std::span<const Value> inputs, std::span<Value> results)
      : ctx(ctx), attrs(attrs), math(ctx), inputs_(inputs), results_(results) {}
  Context& ctx;
  const AttrReader attrs;
  const DimMath math;
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const {
    return i < input_count() && static_cast<bool>(inputs_[static_cast<size_t>(i)]);
  }
  const Value& input(int i = 0) const { return inputs_[static_cast<size_t>(i)]; }
  void set(int i, Value output) { results_[static_cast<size_t>(i)] = std::move(output); }

 private:
  std::span<const Value> inputs_;
  std::span<Value> results_;
};

}  // namespace dlcore
