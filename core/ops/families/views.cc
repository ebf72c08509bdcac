// SPDX-License-Identifier: Apache-2.0
// Views: ops whose result shares the elements of their input.
#include <algorithm>

#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kReshape = 120, kPermuteDims = 121, kSlice = 122, kBroadcastTo = 123,
                  kExpandDims = 124, kSqueeze = 125, kStopGradient = 126, kSliceBackward = 129;

// ---- reshape

// The shape asked for, with a -1 replaced by what is left.
Dims target_shape(const char* op, const DimMath& math, const Dims& from, Dims to) {
  int unknown = -1;
  Dim known = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == kRestOfSize) {
      if (unknown >= 0) invalid("{}: shape has -1 twice", op);
      unknown = static_cast<int>(i);
    } else {
      known = math.multiply(known, to[i]);
    }
  }
  const Dim total = math.product(from);
  if (unknown >= 0) {
    if (known == Dim(0)) invalid("{}: -1 is undetermined beside a size of 0", op);
    const Dim rest = math.divide(total, known);
    if (!(math.multiply(rest, known) == total)) {
      invalid("{}: x is {} with {} elements, which a shape with -1 and {} others does not divide",
              op, math.text(from), math.text(total), math.text(known));
    }
    to[static_cast<size_t>(unknown)] = rest;
    return to;
  }
  if (!(known == total)) {
    invalid("{}: x is {} with {} elements, expected {} for shape {}", op, math.text(from),
            math.text(total), math.text(known), math.text(to));
  }
  return to;
}

// Strides for `shape` over the same elements, or impossible: groups of axes that span the same
// number of elements must be contiguous within themselves.
void view_reshape(View& r) {
  const auto from = r.input.shape(), from_strides = r.input.strides();
  if (r.input.count == 0 || r.input.contiguous()) return contiguous_strides(r.shape, r.strides);
  size_t i = 0, j = 0;
  const size_t n = from.size(), m = r.shape.size();
  while (i < n && j < m) {
    int64_t a = from[i], b = r.shape[j];
    const size_t i0 = i, j0 = j;
    ++i, ++j;
    while (a != b) {
      if (a < b) {
        a *= from[i++];
      } else {
        b *= r.shape[j++];
      }
    }
    for (size_t k = i0; k + 1 < i; ++k) {
      if (from[k + 1] != 1 && from_strides[k] != from_strides[k + 1] * from[k + 1]) {
        r.possible = false;
        return;
      }
    }
    int64_t stride = from_strides[i - 1];
    for (size_t k = j; k-- > j0;) {
      r.strides[k] = stride;
      stride *= r.shape[k];
    }
  }
  for (; j < m; ++j) r.strides[j] = 1;
}

constexpr OpDef op_reshape = {
    .number = kReshape,
    .name = "reshape",
    .family = "views",
    .doc =
        "The same elements in row-major order with another shape; one size may be -1, for what is "
        "left. A view where "
        "the strides allow it.",
    .inputs = {in("x", kAllSet)},
    .attrs = {required(with_rest(dims_attr("shape", "of the result; one size may be -1")))},
    .traits = kView | kLinear,
    .infer =
        [](Infer& r) {
          r.set(0, r.dtype(), target_shape("reshape", r.math, r.dims(), r.attrs.dims(0)));
        },
    .view = view_reshape,
    .vjp = [](Vjp& r) { r.set(0, reshape(r.g(), r.input_dims(0))); },
    .batch =
        [](Batch& r) {
          Dims from = r.input(0).dims();
          from.erase(0);
          Dims shape = target_shape("reshape", DimMath(r.ctx), from, r.attrs.dims(0));
          shape.insert(0, r.size);
          r.set(0, reshape(r.input(0), shape));
        },
};

// ---- permute_dims

Ints permutation(const char* op, std::span<const int64_t> axes, int rank) {
  if (axes.size() != static_cast<size_t>(rank)) {
    invalid("{}: axes names {} axes, expected all {} of x", op, axes.size(), rank);
  }
  Ints order, seen(static_cast<size_t>(rank), 0);
  for (int64_t axis : axes) {
    const int a = normal_axis(op, "axes", axis, rank);
    if (seen[static_cast<size_t>(a)]++ != 0) invalid("{}: axes name axis {} twice", op, a);
    order.push_back(a);
  }
  return order;
}

constexpr OpDef op_permute_dims = {
    .number = kPermuteDims,
    .name = "permute_dims",
    .family = "views",
    .doc = "Axis i of the result is axis axes[i] of x. A view.",
    .inputs = {in("x", kAllSet)},
    .attrs = {required(ints_attr("axes", "a permutation of the axes"))},
    .traits = kView | kLinear,
    .infer =
        [](Infer& r) {
          Dims y;
          for (int64_t a : permutation(r.op.name, r.attrs.list(0), r.rank()))
            y.push_back(r.dim(0, static_cast<int>(a)));
          r.set(0, r.dtype(), y);
        },
    .view =
        [](View& r) {
          const Ints order = permutation("permute_dims", r.attrs.list(0), r.input.rank);
          for (size_t i = 0; i < order.size(); ++i)
            r.strides[i] = r.input.strides()[static_cast<size_t>(order[i])];
        },
    .vjp =
        [](Vjp& r) {
          const Ints order = permutation("permute_dims", r.attrs.list(0), r.rank());
          Ints inverse(order.size(), 0);
          for (size_t i = 0; i < order.size(); ++i)
            inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
          r.set(0, permute_dims(r.g(), inverse));
        },
    .batch =
        [](Batch& r) {
          Ints order = shifted(permutation("permute_dims", r.attrs.list(0), r.logical_rank(0)));
          order.insert(0, 0);
          r.set(0, permute_dims(r.input(0), order));
        },
};

// ---- slice

// start : stop : step along one axis, as NumPy reads them, with a positive step.
struct Range {
  int64_t start = 0, step = 1;
  Dim size = 0;
};

Range range_of(const char* op, const DimMath& math, Dim dim, int64_t start, int64_t stop,
               int64_t step) {
  if (step <= 0) invalid("{}: step is {}, expected 1 or more", op, step);
  Range range;
  range.step = step;
  if (dim.symbolic()) {
    if (start < 0 || stop != INT64_MAX || step != 1) {
      invalid("{}: an axis of symbolic size {} can only be sliced from a start to its end", op,
              math.text(dim));
    }
    range.start = start;
    range.size = math.subtract(dim, start);
    return range;
  }
  const int64_t n = dim.value;
  auto clamp = [n](int64_t i) {
    return std::clamp(i < 0 ? (i < -n ? 0 : i + n) : i, int64_t{0}, n);
  };
  range.start = clamp(start);
  const int64_t end = clamp(stop);
  const int64_t length = end > range.start ? end - range.start : 0;
  range.size = length == 0 ? 0 : (length - 1) / step + 1;
  return range;
}

// One range for each axis.
std::vector<Range> ranges_of(const char* op, const DimMath& math, const Dims& dims,
                             AttrReader attrs) {
  const int rank = static_cast<int>(dims.size());
  const auto starts = attrs.list(0), stops = attrs.list(1);
  const bool some = attrs.has(2);
  Ints axes;
  if (some) {
    for (int64_t a : attrs.list(2)) {
      const int axis = normal_axis(op, "axes", a, rank);
      if (std::find(axes.begin(), axes.end(), axis) != axes.end())
        invalid("{}: axes name axis {} twice", op, axis);
      axes.push_back(axis);
    }
  } else {
    for (size_t i = 0; i < starts.size(); ++i)
      axes.push_back(normal_axis(op, "starts names axis", static_cast<int64_t>(i), rank));
  }
  if (stops.size() != starts.size() || axes.size() != starts.size() ||
      (attrs.has(3) && attrs.list(3).size() != starts.size())) {
    invalid("{}: starts has {} entries, stops {}, axes {}, steps {}; expected equal numbers", op,
            starts.size(), stops.size(), axes.size(),
            attrs.has(3) ? attrs.list(3).size() : starts.size());
  }
  std::vector<Range> ranges(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) ranges[i].size = dims[i];
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    ranges[axis] =
        range_of(op, math, dims[axis], starts[i], stops[i], attrs.has(3) ? attrs.list(3)[i] : 1);
  }
  return ranges;
}

constexpr OpDef op_slice = {
    .number = kSlice,
    .name = "slice",
    .family = "views",
    .doc =
        "Elements start, start + step, ... before stop along some axes, as NumPy slices: negative "
        "positions count from "
        "the end, positions outside are clamped. A view. Steps are positive.",
    .inputs = {in("x", kAllSet)},
    .attrs = {required(ints_attr("starts", "first positions")),
              required(ints_attr("stops", "positions to stop before")),
              optional(ints_attr("axes", "the axes meant; left out: the first ones, in order")),
              optional(ints_attr("steps", "1 when left out"))},
    .traits = kView | kLinear,
    .infer =
        [](Infer& r) {
          Dims y;
          for (const Range& range : ranges_of("slice", r.math, r.dims(), r.attrs))
            y.push_back(range.size);
          r.set(0, r.dtype(), y);
        },
    .view =
        [](View& r) {
          const auto ranges = ranges_of("slice", DimMath(nullptr), r.input.dims(), r.attrs);
          for (size_t i = 0; i < ranges.size(); ++i) {
            r.strides[i] = r.input.strides()[i] * ranges[i].step;
            if (r.shape[i] > 0) r.offset += ranges[i].start * r.input.strides()[i];
          }
          if (std::find(r.shape.begin(), r.shape.end(), 0) != r.shape.end()) r.offset = 0;
        },
    .vjp =
        [](Vjp& r) {
          Ints starts, steps;
          for (const Range& range : ranges_of("slice", r.math, r.input_dims(0), r.attrs)) {
            starts.push_back(range.start);
            steps.push_back(range.step);
          }
          r.set(0, call(kSliceBackward, {r.g()},
                        Attrs().dims(r.input_dims(0)).list(starts).list(steps)));
        },
    .batch =
        [](Batch& r) {
          Dims dims = r.input(0).dims();
          dims.erase(0);
          const auto ranges = ranges_of("slice", DimMath(r.ctx), dims, r.attrs);
          Ints starts, stops, axes, steps;
          for (size_t i = 0; i < ranges.size(); ++i) {
            starts.push_back(ranges[i].start);
            const bool whole = ranges[i].size.symbolic() || ranges[i].size == dims[i];
            stops.push_back(whole ? INT64_MAX
                                  : ranges[i].start + ranges[i].size.value * ranges[i].step);
            axes.push_back(static_cast<int64_t>(i) + 1);
            steps.push_back(ranges[i].step);
          }
          r.set(0, slice(r.input(0), starts, stops, axes, steps));
        },
};

// ---- broadcast_to, expand_dims, squeeze, stop_gradient

constexpr OpDef op_broadcast_to = {
    .number = kBroadcastTo,
    .name = "broadcast_to",
    .family = "views",
    .doc = "x repeated along axes of size 1 and along new axes in front. A view.",
    .inputs = {in("x", kAllSet)},
    .attrs = {required(dims_attr("shape", "of the result"))},
    .traits = kView | kLinear,
    .infer =
        [](Infer& r) {
          const Dims shape = r.attrs.dims(0);
          const Dims& x = r.dims();
          bool fits = shape.size() >= x.size();
          for (size_t i = 0; fits && i < x.size(); ++i) {
            const Dim d = x[x.size() - 1 - i];
            fits = d == Dim(1) || d == shape[shape.size() - 1 - i];
          }
          if (!fits)
            r.refuse("x is {} and cannot be broadcast to {}", r.math.text(x), r.math.text(shape));
          r.set(0, r.dtype(), shape);
        },
    .view =
        [](View& r) {
          const size_t added = r.shape.size() - r.input.rank;
          for (size_t i = 0; i < r.shape.size(); ++i) {
            const bool repeats = i < added || (r.input.shape()[i - added] == 1 && r.shape[i] != 1);
            r.strides[i] = repeats ? 0 : r.input.strides()[i - added];
          }
        },
    .vjp = [](Vjp& r) { r.set(0, sum_to(r.g(), r.input_dims(0))); },
    .batch =
        [](Batch& r) {
          Dims shape = r.attrs.dims(0);
          const int rank = static_cast<int>(shape.size());
          shape.insert(0, r.size);
          r.set(0, broadcast_to(r.aligned(0, rank), shape));
        },
};

constexpr OpDef op_expand_dims = {
    .number = kExpandDims,
    .name = "expand_dims",
    .family = "views",
    .doc = "A new axis of size 1. A view.",
    .inputs = {in("x", kAllSet)},
    .attrs = {positional(int_attr("axis", "its place in the result"))},
    .traits = kView | kLinear,
    .infer =
        [](Infer& r) {
          Dims y = r.dims();
          if (y.size() == DLCORE_MAX_RANK) r.refuse("x has rank {} already", y.size());
          y.insert(static_cast<size_t>(r.axis(0, r.rank() + 1)), 1);
          r.set(0, r.dtype(), y);
        },
    .view =
        [](View& r) {
          const int axis = normal_axis("expand_dims", "axis", r.attrs.number(0), r.input.rank + 1);
          for (int i = 0, j = 0; i < static_cast<int>(r.shape.size()); ++i)
            r.strides[i] = i == axis ? 1 : r.input.strides()[static_cast<size_t>(j++)];
        },
    .vjp = [](Vjp& r) { r.set(0, reshape(r.g(), r.input_dims(0))); },
    .batch =
        [](Batch& r) {
          r.set(0, expand_dims(r.input(0), normal_axis("expand_dims", "axis", r.attrs.number(0),
                                                       r.logical_rank(0) + 1) +
                                               1));
        },
};

// The axes that squeeze removes.
Ints squeezed_axes(const Dims& dims, AttrReader attrs) {
  if (attrs.has(0))
    return normal_axes("squeeze", attrs.list(0), true, static_cast<int>(dims.size()));
  Ints axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Dim(1)) axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

constexpr OpDef op_squeeze = {
    .number = kSqueeze,
    .name = "squeeze",
    .family = "views",
    .doc = "x without axes of size 1. A view.",
    .inputs = {in("x", kAllSet)},
    .attrs = {positional(optional(ints_attr("axes", "which; left out: all of size 1")))},
    .traits = kView | kLinear,
    .infer =
        [](Infer& r) {
          Dims y = r.dims();
          const Ints axes = squeezed_axes(y, r.attrs);
          for (size_t i = axes.size(); i-- > 0;) {
            const auto axis = static_cast<size_t>(axes[i]);
            if (!(y[axis] == Dim(1)))
              r.refuse("axis {} has size {}, expected 1", axis, r.math.text(y[axis]));
            y.erase(axis);
          }
          r.set(0, r.dtype(), y);
        },
    .view =
        [](View& r) {
          const Ints axes = squeezed_axes(r.input.dims(), r.attrs);
          size_t j = 0;
          for (int64_t i = 0; i < r.input.rank; ++i) {
            if (std::find(axes.begin(), axes.end(), i) == axes.end())
              r.strides[j++] = r.input.strides()[static_cast<size_t>(i)];
          }
        },
    .vjp = [](Vjp& r) { r.set(0, reshape(r.g(), r.input_dims(0))); },
    .batch =
        [](Batch& r) {
          Dims dims = r.input(0).dims();
          dims.erase(0);
          r.set(0, squeeze(r.input(0), shifted(squeezed_axes(dims, r.attrs))));
        },
};

constexpr OpDef op_stop_gradient = {
    .number = kStopGradient,
    .name = "stop_gradient",
    .family = "views",
    .doc = "x, through which no gradient flows. A view.",
    .inputs = {in("x", kAllSet)},
    .traits = kView | kNoGradient,
    .infer = infer_like_first,
    .view =
        [](View& r) { std::copy(r.input.strides().begin(), r.input.strides().end(), r.strides); },
    .batch = [](Batch& r) { r.set(0, call(kStopGradient, {r.input(0)})); },
};

constexpr const OpDef* kOps[] = {&op_reshape,      &op_permute_dims, &op_slice,
                                 &op_broadcast_to, &op_expand_dims,  &op_squeeze,
                                 &op_stop_gradient};

}  // namespace

extern const OpFamily views_ops = kOps;

Value reshape(const Value& x, const Dims& shape) {
  return x.dims() == shape ? x : call(kReshape, {x}, Attrs().dims(shape));
}
Value permute_dims(const Value& x, std::span<const int64_t> axes) {
  return call(kPermuteDims, {x}, Attrs().list(axes));
}
Value slice(const Value& x, std::span<const int64_t> starts, std::span<const int64_t> stops,
            std::span<const int64_t> axes, std::span<const int64_t> steps) {
  Attrs attrs;
  attrs.list(starts).list(stops).optional_list(axes);
  if (!steps.empty()) attrs.optional_list(steps);
  return call(kSlice, {x}, attrs);
}
Value broadcast_to(const Value& x, const Dims& shape) {
  return x.dims() == shape ? x : call(kBroadcastTo, {x}, Attrs().dims(shape));
}
Value expand_dims(const Value& x, int64_t axis) {
  return call(kExpandDims, {x}, Attrs().number(axis));
}
Value squeeze(const Value& x, std::span<const int64_t> axes) {
  return call(kSqueeze, {x}, Attrs().optional_list(axes));
}
Value move_axis(const Value& x, int from, int to) {
  if (from == to) return x;
  Ints order;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(static_cast<size_t>(to), from);
  return permute_dims(x, order);
}

}  // namespace dlcore
