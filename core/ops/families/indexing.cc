// SPDX-License-Identifier: Apache-2.0
// Ops that pick elements by tensors of indices, and their adjoints, which add to the places picked.
// A negative index counts from the end; one out of range is OUT_OF_RANGE.
#include <algorithm>

#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kTake = 132, kTakeAlongAxis = 133, kScatterAdd = 135, kTakeBackward = 136,
                  kTakeAlongAxisBackward = 137, kEmbedding = 138;
constexpr DtypeSet kIndices = kIntegerSet;
constexpr DtypeSet kDifferentiable = kFloatSet | kHalfSet;

constexpr AttrDef kShape = required(dims_attr("shape", "of the result"));

// ---- Shapes

// `dims` with axis `axis` replaced by `middle`.
Dims replaced(const Dims& dims, int axis, const Dims& middle) {
  Dims result;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    if (i != axis) {
      result.push_back(dims[static_cast<size_t>(i)]);
      continue;
    }
    for (Dim d : middle) result.push_back(d);
  }
  return result;
}

// What take answers.
Dims taken(const Infer& r, const Dims& x, int axis, const Dims& indices) {
  if (x.size() - 1 + indices.size() > DLCORE_MAX_RANK) {
    r.refuse("x is {} and indices is {}: the result has rank {}, expected at most {}",
             r.math.text(x), r.math.text(indices), x.size() - 1 + indices.size(),
             int{DLCORE_MAX_RANK});
  }
  return replaced(x, axis, indices);
}

void need_axes(const Infer& r, int input) {
  if (r.rank(input) == 0) {
    r.refuse("{} has rank 0, expected rank 1 or more",
             r.op.inputs[static_cast<size_t>(input)].name);
  }
}

// Kernels are not asked where the result has no elements: an axis without any has no valid index.
void need_entries(const Infer& r, Dim size) {
  const Dims& indices = r.dims(1);
  const bool none = std::find(indices.begin(), indices.end(), Dim(0)) != indices.end();
  if (none || !(size == Dim(0))) return;
  fail(DLCORE_OUT_OF_RANGE,
       "{}: every index is out of bounds for size 0: indices is {}, expected it empty", r.op.name,
       r.math.text(indices));
}

// Indices of as many axes as `dims`, whose sizes are those of `dims` or 1 except along `axis`.
void need_aligned(const Infer& r, int input, const Dims& dims, int axis, const char* like) {
  const Dims& indices = r.dims(input);
  bool fits = indices.size() == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    fits = static_cast<int>(i) == axis || indices[i] == dims[i] || indices[i] == Dim(1);
  }
  if (fits) return;
  r.refuse("indices is {}, expected the sizes of {} or 1 except along axis {}: {} is {}",
           r.math.text(indices), like, axis, like, r.math.text(dims));
}

// ---- take

constexpr AttrDef kAxis = positional(int_attr("axis", "along which elements are picked"));

Value take(const Value& x, const Value& indices, int64_t axis) {
  return call(kTake, {x, indices}, Attrs().number(axis));
}

// take with one set of indices for each example: both have the examples as axis 0, `axis` counts
// without it.
Value take_each(const Value& x, const Value& indices, int axis) {
  const DimMath math(x.context());
  const Dims dims = indices.dims();
  Dims own;  // of one example
  for (size_t i = 1; i < dims.size(); ++i) own.push_back(dims[i]);
  Dims aligned = {dims[0]};
  for (int i = 0; i + 1 < x.rank(); ++i) aligned.push_back(i == axis ? math.product(own) : Dim(1));
  const Value picked =
      call(kTakeAlongAxis, {x, reshape(indices, aligned)}, Attrs().number(axis + 1));
  return reshape(picked, replaced(x.dims(), axis + 1, own));
}

Value batch_take(const Batch& r, int64_t axis_attr) {
  const int axis = normal_axis("take", "axis", axis_attr, r.logical_rank(0));
  if (!r.batched(1)) return take(r.input(0), r.input(1), axis + 1);
  if (!r.batched(0)) return move_axis(take(r.input(0), r.input(1), axis), axis, 0);
  return take_each(r.input(0), r.input(1), axis);
}

constexpr OpDef op_take = {
    .number = kTake,
    .name = "take",
    .family = "indexing",
    .doc =
        "The entries of x along one axis that indices name, in their order: y[a, i, b] = "
        "x[a, indices[i], b]. The axes of indices take the place of that axis. Negative indices "
        "count from the end; an index out of range is OUT_OF_RANGE.",
    .inputs = {in("x", kAllSet, "rank 1 or more"), fixed_in("indices", kIndices, "of any rank")},
    .attrs = {kAxis},
    .infer =
        [](Infer& r) {
          need_axes(r, 0);
          const int axis = r.axis(0, r.rank(0));
          need_entries(r, r.dim(0, axis));
          r.set(0, r.dtype(0), taken(r, r.dims(0), axis, r.dims(1)));
        },
    .vjp =
        [](Vjp& r) {
          r.set(0, call(kTakeBackward, {r.g(), r.input(1)},
                        Attrs().dims(r.input_dims(0)).number(r.attrs.number(0))));
        },
    .saves = [](uint32_t) { return save_input(1); },
    .jvp = [](Jvp& r) { r.set(0, take(r.tangent(0), r.input(1), r.attrs.number(0))); },
    .batch = [](Batch& r) { r.set(0, batch_take(r, r.attrs.number(0))); },
};

// The adjoint of take_each.
Value take_each_backward(const Value& g, const Value& indices, const Dims& shape, int axis) {
  const DimMath math(g.context());
  const Dims dims = indices.dims();
  Dims own;
  for (size_t i = 1; i < dims.size(); ++i) own.push_back(dims[i]);
  const Dim n = math.product(own);
  Dims aligned = {dims[0]}, wide = shape;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i)
    aligned.push_back(i == axis ? n : Dim(1));
  Dims g_dims = replaced(shape, axis, {n});
  g_dims.insert(0, dims[0]);
  wide.insert(0, dims[0]);
  return call(kTakeAlongAxisBackward, {reshape(g, g_dims), reshape(indices, aligned)},
              Attrs().dims(wide).number(axis + 1));
}

constexpr OpDef op_take_backward = {
    .number = kTakeBackward,
    .name = "take_backward",
    .family = "indexing",
    .doc =
        "Zeros of a shape, with the entries of g added where take with the same indices reads. "
        "Entries for one place are added in the order of indices, f16 and bf16 in f32.",
    .inputs = {in("g", kDifferentiable), fixed_in("indices", kIndices)},
    .attrs = {kShape, positional(int_attr("axis", "of the result"))},
    .traits = kHidden,
    .infer =
        [](Infer& r) {
          const Dims shape = r.attrs.dims(0);
          const int axis = r.axis(1, static_cast<int>(shape.size()));
          need_entries(r, shape[static_cast<size_t>(axis)]);
          r.need_same(0, taken(r, shape, axis, r.dims(1)));
          r.set(0, r.dtype(0), shape);
        },
    .vjp = [](Vjp& r) { r.set(0, take(r.g(), r.input(1), r.attrs.number(1))); },
    .saves = [](uint32_t) { return save_input(1); },
    .jvp =
        [](Jvp& r) {
          r.set(0, call(kTakeBackward, {r.tangent(0), r.input(1)}, r.attrs.words()));
        },
    .batch =
        [](Batch& r) {
          Dims shape = r.attrs.dims(0);
          const int axis = normal_axis("take_backward", "axis", r.attrs.number(1),
                                       static_cast<int>(shape.size()));
          if (r.batched(1)) {
            return r.set(0, take_each_backward(r.with_examples(0), r.input(1), shape, axis));
          }
          shape.insert(0, r.size);
          r.set(0, call(kTakeBackward, {r.input(0), r.input(1)},
                        Attrs().dims(shape).number(axis + 1)));
        },
};

// ---- take_along_axis

// Inputs with the examples in front, where sizes of 1 are repeated by the op.
Value in_front(const Batch& r, int i) {
  return r.batched(i) ? r.input(i) : expand_dims(r.input(i), 0);
}

constexpr OpDef op_take_along_axis = {
    .number = kTakeAlongAxis,
    .name = "take_along_axis",
    .family = "indexing",
    .doc =
        "y[a, i, b] = x[a, indices[a, i, b], b], with i along one axis: the elements that, for "
        "instance, argsort or argmax with keepdims name. Other axes of x and indices broadcast. "
        "Negative indices count from the end; an index out of range is OUT_OF_RANGE.",
    .inputs = {in("x", kAllSet, "rank 1 or more"), fixed_in("indices", kIndices, "the rank of x")},
    .attrs = {kAxis},
    .infer =
        [](Infer& r) {
          need_axes(r, 0);
          const int axis = r.axis(0, r.rank(0));
          Dims y = r.dims(0);
          if (r.rank(1) != r.rank(0)) {
            r.refuse("indices is {}, expected the rank of x, which is {}", r.math.text(r.dims(1)),
                     r.math.text(y));
          }
          need_entries(r, r.dim(0, axis));
          y[static_cast<size_t>(axis)] = r.dim(1, axis);
          r.set(0, r.dtype(0), broadcast(r, y, r.dims(1)));
        },
    .vjp =
        [](Vjp& r) {
          const int axis = normal_axis("take_along_axis", "axis", r.attrs.number(0), r.rank(0));
          Dims wide = r.output_dims();
          wide[static_cast<size_t>(axis)] = r.input_dims(0)[static_cast<size_t>(axis)];
          r.set(0, sum_to(call(kTakeAlongAxisBackward, {r.g(), r.input(1)},
                               Attrs().dims(wide).number(axis)),
                          r.input_dims(0)));
        },
    .saves = [](uint32_t) { return save_input(1); },
    .jvp =
        [](Jvp& r) {
          r.set(0, call(kTakeAlongAxis, {r.tangent(0), r.input(1)}, r.attrs.words()));
        },
    .batch =
        [](Batch& r) {
          const int axis =
              normal_axis("take_along_axis", "axis", r.attrs.number(0), r.logical_rank(0));
          r.set(0,
                call(kTakeAlongAxis, {in_front(r, 0), in_front(r, 1)}, Attrs().number(axis + 1)));
        },
};

constexpr OpDef op_take_along_axis_backward = {
    .number = kTakeAlongAxisBackward,
    .name = "take_along_axis_backward",
    .family = "indexing",
    .doc =
        "Zeros of a shape, with the elements of g added where take_along_axis with the same "
        "indices reads. Elements for one place are added in their order along the axis, f16 and "
        "bf16 in f32.",
    .inputs = {in("g", kDifferentiable), fixed_in("indices", kIndices)},
    .attrs = {kShape, positional(int_attr("axis", "of the result"))},
    .traits = kHidden,
    .infer =
        [](Infer& r) {
          const Dims shape = r.attrs.dims(0);
          const int axis = r.axis(1, static_cast<int>(shape.size()));
          need_aligned(r, 1, shape, axis, "shape");
          need_entries(r, shape[static_cast<size_t>(axis)]);
          r.need_same(0, replaced(shape, axis, {r.dim(1, axis)}));
          r.set(0, r.dtype(0), shape);
        },
    .vjp =
        [](Vjp& r) {
          r.set(0, call(kTakeAlongAxis, {r.g(), r.input(1)}, Attrs().number(r.attrs.number(1))));
        },
    .saves = [](uint32_t) { return save_input(1); },
    .jvp =
        [](Jvp& r) {
          r.set(0, call(kTakeAlongAxisBackward, {r.tangent(0), r.input(1)}, r.attrs.words()));
        },
    .batch =
        [](Batch& r) {
          Dims shape = r.attrs.dims(0);
          const int axis = normal_axis("take_along_axis_backward", "axis", r.attrs.number(1),
                                       static_cast<int>(shape.size()));
          shape.insert(0, r.size);
          r.set(0, call(kTakeAlongAxisBackward, {r.with_examples(0), in_front(r, 1)},
                        Attrs().dims(shape).number(axis + 1)));
        },
};

// ---- scatter_add

constexpr OpDef op_scatter_add = {
    .number = kScatterAdd,
    .name = "scatter_add",
    .family = "indexing",
    .doc =
        "x with updates added to it: y[a, indices[a, i, b], b] += updates[a, i, b], with i along "
        "one axis. Other axes of indices may have size 1 and repeat, so that indices [E, 1] add "
        "whole rows of updates [E, F] to x [N, F]. Updates of one place are added in their order "
        "along the axis, f16 and bf16 in f32; integers wrap. Negative indices count from the end; "
        "an index out of range is OUT_OF_RANGE.",
    .inputs = {in("x", kNumericSet | kHalfSet, "rank 1 or more"),
               fixed_in("indices", kIndices, "the rank of x"),
               in("updates", kNumericSet | kHalfSet, "the sizes of x except along the axis")},
    .attrs = {positional(int_attr("axis", "along which indices count"))},
    .infer =
        [](Infer& r) {
          need_axes(r, 0);
          const Dims& x = r.dims(0);
          const int axis = r.axis(0, r.rank(0));
          need_aligned(r, 1, x, axis, "x");
          need_entries(r, x[static_cast<size_t>(axis)]);
          r.need_same(2, replaced(x, axis, {r.dim(1, axis)}));
          r.set(0, r.dtype(0), x);
        },
    .vjp =
        [](Vjp& r) {
          r.set(0, r.g());
          if (r.needs(2)) r.set(2, call(kTakeAlongAxis, {r.g(), r.input(1)}, r.attrs.words()));
        },
    .saves = [](uint32_t needs) { return (needs >> 2 & 1) != 0 ? save_input(1) : save_nothing(); },
    .jvp =
        [](Jvp& r) {
          if (!r.moves(2)) return r.set(0, r.tangent(0));
          r.set(0,
                call(kScatterAdd, {r.zero_filled(0), r.input(1), r.tangent(2)}, r.attrs.words()));
        },
    .batch =
        [](Batch& r) {
          const int axis = normal_axis("scatter_add", "axis", r.attrs.number(0), r.logical_rank(0));
          r.set(0, call(kScatterAdd, {r.with_examples(0), in_front(r, 1), r.with_examples(2)},
                        Attrs().number(axis + 1)));
        },
};

// ---- embedding

// Where an index means the padding row: to be broadcast against rows.
Value is_padding(const Value& indices, int64_t padding, Dim rows) {
  Value index = astype(indices, DLCORE_I64);
  if (rows.symbolic())
    fail(DLCORE_UNIMPLEMENTED, "embedding: padding_idx with a symbolic number of rows");
  if (padding < 0) padding += rows.value;
  Context& ctx = indices.context();
  index =
      where(less(index, weak_int(ctx, 0)), index + full_like(index, {}, double(rows.value)), index);
  return expand_dims(equal(index, weak_int(ctx, padding)), index.rank());
}

// `rows` without those of the padding.
Value without_padding(const Value& rows, const Value& indices, const AttrReader& attrs, Dim count) {
  if (!attrs.has(0)) return rows;
  return where(is_padding(indices, attrs.number(0), count), full_like(rows, {}, 0), rows);
}

constexpr OpDef op_embedding = {
    .number = kEmbedding,
    .name = "embedding",
    .family = "indexing",
    .doc =
        "The rows of weight that indices name. Negative indices count from the end; an index out "
        "of range is OUT_OF_RANGE.",
    .inputs = {in("weight", kDifferentiable, "[V, D]"),
               fixed_in("indices", kIndices, "of any rank")},
    .attrs = {optional(int_attr("padding_idx", "the row that gets no gradient"))},
    .outputs = {out("y", "T", "[..., D]")},
    .infer =
        [](Infer& r) {
          if (r.rank(0) != 2) r.refuse("weight is {}, expected [V, D]", r.math.text(r.dims(0)));
          const Dim rows = r.dim(0, 0);
          if (r.attrs.has(0) && !rows.symbolic() &&
              (r.attrs.number(0) < -rows.value || r.attrs.number(0) >= rows.value)) {
            r.refuse("padding_idx is {}, expected {} to {} for {} rows", r.attrs.number(0),
                     -rows.value, rows.value - 1, rows.value);
          }
          need_entries(r, rows);
          r.set(0, r.dtype(0), taken(r, r.dims(0), 0, r.dims(1)));
        },
    .compose = [](Compose& r) { r.set(0, take(r.input(0), r.input(1), 0)); },
    .vjp =
        [](Vjp& r) {
          const Dims& weight = r.input_dims(0);
          const Value g = without_padding(r.g(), r.input(1), r.attrs, weight[0]);
          r.set(0, call(kTakeBackward, {g, r.input(1)}, Attrs().dims(weight).number(0)));
        },
    .saves = [](uint32_t) { return save_input(1); },
    .jvp =
        [](Jvp& r) {
          r.set(0, without_padding(take(r.tangent(0), r.input(1), 0), r.input(1), r.attrs,
                                   r.tangent(0).dim(0)));
        },
    .batch =
        [](Batch& r) {
          if (!r.batched(0)) {
            return r.set(0, call(kEmbedding, {r.input(0), r.input(1)}, r.attrs.words()));
          }
          const Value y = batch_take(r, 0);
          if (!r.attrs.has(0)) return r.set(0, y);
          constexpr int32_t kStopGradient = 126;
          const Value padding = is_padding(r.input(1), r.attrs.number(0), r.input(0).dim(1));
          r.set(0, where(padding, call(kStopGradient, {y}), y));
        },
};

constexpr const OpDef* kOps[] = {
    &op_take,          &op_take_along_axis,          &op_scatter_add,
    &op_take_backward, &op_take_along_axis_backward, &op_embedding,
};

}  // namespace

extern const OpFamily indexing_ops = kOps;

}  // namespace dlcore
