// SPDX-License-Identifier: Apache-2.0
// Ops that put elements into new places.
#include <algorithm>

#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kConcat = 127, kPad = 128, kSliceBackward = 129, kOneHot = 130, kStack = 131;

// ---- concat, stack, pad

void infer_concat(Infer& r) {
  const int axis = r.axis(0, r.rank(0));
  Dims y = r.dims(0);
  for (int i = 1; i < r.input_count(); ++i) {
    bool fits = r.rank(i) == r.rank(0);
    for (int a = 0; fits && a < r.rank(0); ++a)
      fits = a == axis || r.dim(i, a) == y[static_cast<size_t>(a)];
    if (!fits) {
      r.refuse("tensor {} is {} and tensor 0 is {}: they may differ at axis {} only", i,
               r.math.text(r.dims(i)), r.math.text(r.dims(0)), axis);
    }
    y[static_cast<size_t>(axis)] = r.math.add(y[static_cast<size_t>(axis)], r.dim(i, axis));
  }
  r.set(0, r.dtype(0), y);
}

constexpr InputDef kList = {
    .name = "xs", .doc = "tensors of one rank", .dtypes = kAllSet, .variadic = true};

constexpr OpDef op_concat = {
    .number = kConcat,
    .name = "concat",
    .family = "movement",
    .doc = "The tensors one after another along an axis that exists; the other sizes are equal.",
    .inputs = {kList},
    .attrs = {positional(int_attr("axis", "along which"))},
    .traits = kLinear,
    .infer = infer_concat,
    .vjp =
        [](Vjp& r) {
          const int64_t axis = normal_axis("concat", "axis", r.attrs.number(0), r.rank(0));
          int64_t start = 0;
          for (int i = 0; i < r.input_count(); ++i) {
            const Dim size = r.input_dims(i)[static_cast<size_t>(axis)];
            const bool last = i + 1 == r.input_count();
            if (size.symbolic() && !last)
              fail(DLCORE_UNIMPLEMENTED, "concat: the gradient along an axis of symbolic size");
            const int64_t starts[] = {start}, stops[] = {last ? INT64_MAX : start + size.value},
                          axes[] = {axis};
            if (r.needs(i)) r.set(i, slice(r.g(), starts, stops, axes));
            start += size.symbolic() ? 0 : size.value;
          }
        },
    .batch =
        [](Batch& r) {
          const int64_t axis =
              normal_axis("concat", "axis", r.attrs.number(0), r.logical_rank(0)) + 1;
          std::vector<Value> parts;
          for (int i = 0; i < r.input_count(); ++i) parts.push_back(r.with_examples(i));
          r.set(0, concat(parts, axis));
        },
};

constexpr OpDef op_stack = {
    .number = kStack,
    .name = "stack",
    .family = "movement",
    .doc = "Tensors of one shape, one after another along a new axis.",
    .inputs = {kList},
    .attrs = {positional(int_attr("axis", "the place of the new axis"))},
    .infer =
        [](Infer& r) {
          Dims y = r.dims(0);
          if (y.size() == DLCORE_MAX_RANK) r.refuse("tensor 0 has rank {} already", y.size());
          for (int i = 1; i < r.input_count(); ++i) {
            if (!(r.dims(i) == r.dims(0))) {
              r.refuse("tensor {} is {}, expected {} as tensor 0", i, r.math.text(r.dims(i)),
                       r.math.text(r.dims(0)));
            }
          }
          y.insert(static_cast<size_t>(r.axis(0, r.rank(0) + 1)), r.input_count());
          r.set(0, r.dtype(0), y);
        },
    .compose =
        [](Compose& r) {
          std::vector<Value> parts;
          const int axis = normal_axis("stack", "axis", r.attrs.number(0), r.input(0).rank() + 1);
          for (int i = 0; i < r.input_count(); ++i) parts.push_back(expand_dims(r.input(i), axis));
          r.set(0, concat(parts, axis));
        },
};

constexpr OpDef op_pad = {
    .number = kPad,
    .name = "pad",
    .family = "movement",
    .doc = "x with a border of one value.",
    .inputs = {in("x", kAllSet)},
    .attrs =
        {required(ints_attr(
             "pads",
             "0 or more; the widths before each axis, then the widths after each axis, as ONNX")),
         float_attr("value", "of the border, brought to the dtype of x")},
    .infer =
        [](Infer& r) {
          const auto pads = r.attrs.list(0);
          const auto rank = static_cast<size_t>(r.rank());
          if (pads.size() != 2 * rank)
            r.refuse("pads has {} entries, expected {} for rank {}", pads.size(), 2 * rank, rank);
          Dims y = r.dims();
          for (size_t i = 0; i < 2 * rank; ++i) {
            if (pads[i] < 0) r.refuse("entry {} of pads is {}, expected 0 or more", i, pads[i]);
            y[i % rank] = r.math.add(y[i % rank], pads[i]);
          }
          r.set(0, r.dtype(), y);
        },
    .vjp =
        [](Vjp& r) {
          const auto pads = r.attrs.list(0);
          const auto rank = static_cast<size_t>(r.rank());
          Ints starts, stops, axes;
          for (size_t i = 0; i < rank; ++i) {
            if (pads[i] == 0 && pads[rank + i] == 0) continue;
            const Dim size = r.input_dims(0)[i];
            if (size.symbolic())
              fail(DLCORE_UNIMPLEMENTED, "pad: the gradient along an axis of symbolic size");
            starts.push_back(pads[i]);
            stops.push_back(pads[i] + size.value);
            axes.push_back(static_cast<int64_t>(i));
          }
          r.set(0, slice(r.g(), starts, stops, axes));
        },
    .jvp =
        [](Jvp& r) {  // the border does not move
          r.set(0, call(kPad, {r.tangent(0)}, Attrs().list(r.attrs.list(0)).real(0)));
        },
    .batch =
        [](Batch& r) {
          const auto pads = r.attrs.list(0);
          Ints wider(pads.subspan(0, pads.size() / 2));
          wider.insert(0, 0);
          wider.push_back(0);
          wider.append(pads.subspan(pads.size() / 2));
          r.set(0, call(kPad, {r.input(0)}, Attrs().list(wider).real(r.attrs.real(1))));
        },
};

constexpr OpDef op_slice_backward = {
    .number = kSliceBackward,
    .name = "slice_backward",
    .family = "movement",
    .doc = "Zeros of a shape, with g at positions start + i * step of each axis.",
    .inputs = {in("g", kAllSet)},
    .attrs = {required(dims_attr("shape", "of the result")),
              required(ints_attr("starts", "one for each axis")),
              required(ints_attr("steps", "one for each axis"))},
    .traits = kHidden | kLinear,
    .infer =
        [](Infer& r) {
          const Dims shape = r.attrs.dims(0);
          const auto starts = r.attrs.list(1), steps = r.attrs.list(2);
          const auto rank = static_cast<size_t>(r.rank());
          if (shape.size() != rank || starts.size() != rank || steps.size() != rank)
            r.refuse("g has rank {}, but shape {}, starts {} and steps {} entries", rank,
                     shape.size(), starts.size(), steps.size());
          for (size_t i = 0; i < rank; ++i) {
            const Dim n = r.dims()[i];
            if (starts[i] < 0 || steps[i] < 1)
              r.refuse("axis {}: start is {} and step {}", i, starts[i], steps[i]);
            if (n.symbolic() || shape[i].symbolic() || n == Dim(0)) continue;
            const int64_t last = checked_add(starts[i], checked_multiply(n.value - 1, steps[i]));
            if (last >= shape[i].value)
              r.refuse("axis {}: position {} is out of bounds for size {}", i, last,
                       shape[i].value);
          }
          r.set(0, r.dtype(), shape);
        },
    .vjp =
        [](Vjp& r) {
          const auto starts = r.attrs.list(1), steps = r.attrs.list(2);
          Ints first, stops, axes, by;
          for (size_t i = 0; i < starts.size(); ++i) {
            const Dim n = r.input_dims(0)[i];
            axes.push_back(static_cast<int64_t>(i));
            first.push_back(starts[i]);
            by.push_back(steps[i]);
            stops.push_back(n.symbolic()
                                ? INT64_MAX
                                : starts[i] + (n == Dim(0) ? 0 : (n.value - 1) * steps[i] + 1));
          }
          r.set(0, slice(r.g(), first, stops, axes, by));
        },
    .batch =
        [](Batch& r) {
          Dims shape = r.attrs.dims(0);
          shape.insert(0, r.size);
          Ints starts(r.attrs.list(1)), steps(r.attrs.list(2));
          starts.insert(0, 0);
          steps.insert(0, 1);
          r.set(0,
                call(kSliceBackward, {r.input(0)}, Attrs().dims(shape).list(starts).list(steps)));
        },
};

constexpr OpDef op_one_hot = {
    .number = kOneHot,
    .name = "one_hot",
    .family = "movement",
    .doc =
        "1 at the index and 0 elsewhere along a new last axis. Negative indices count from the "
        "end; an index out of "
        "range is OUT_OF_RANGE.",
    .inputs = {fixed_in("indices", kIndexSet)},
    .attrs = {required(int_attr("depth", "size of the new axis")),
              dtype_attr("dtype", "of the result")},
    .outputs = {out("y", "dtype")},
    .traits = kNoGradient,
    .infer =
        [](Infer& r) {
          if (r.attrs.number(0) < 0) r.refuse("depth is {}, expected 0 or more", r.attrs.number(0));
          Dims y = r.dims();
          if (y.size() == DLCORE_MAX_RANK) r.refuse("indices has rank {} already", y.size());
          y.push_back(r.attrs.number(0));
          r.set(0, r.attrs.dtype(1), y);
        },
    .batch = [](Batch& r) { r.set(0, call(kOneHot, {r.input(0)}, r.attrs.words())); },
};

constexpr const OpDef* kOps[] = {&op_concat, &op_stack, &op_pad, &op_slice_backward, &op_one_hot};

}  // namespace

extern const OpFamily movement_ops = kOps;

Value concat(std::span<const Value> parts, int64_t axis) {
  return call(kConcat, parts, Attrs().number(axis));
}
Value stack(std::span<const Value> parts, int64_t axis) {
  return call(kStack, parts, Attrs().number(axis));
}

}  // namespace dlcore
