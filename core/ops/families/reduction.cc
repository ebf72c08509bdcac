// SPDX-License-Identifier: Apache-2.0
// Reductions over axes: all of them when none are given.
#include <algorithm>
#include <cmath>

#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kSum = 80, kMean = 81, kProd = 82, kMax = 83, kMin = 84, kAll = 85, kAny = 86,
                  kArgmax = 87, kArgmin = 88, kLogsumexp = 89, kCumsum = 94, kEye = 142;

constexpr AttrDef kAxes =
    optional(ints_attr("axes", "the axes to reduce; all of them when left out"));
constexpr AttrDef kKeepdims = bool_attr("keepdims", "keep reduced axes with size 1");

Dims reduced(const Dims& dims, const Ints& axes, bool keepdims) {
  Dims result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) {
      result.push_back(dims[i]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

void infer_as(Infer& r, Dtype dtype) {
  r.set(0, dtype, reduced(r.dims(), r.axes(0, r.rank()), r.attrs.flag(1)));
}
void infer_same(Infer& r) { infer_as(r, r.dtype()); }
void infer_bool(Infer& r) { infer_as(r, DLCORE_BOOL); }
// Sums and products of integers and booleans are i64.
void infer_accumulated(Infer& r) { infer_as(r, is_float(r.dtype()) ? r.dtype() : DLCORE_I64); }

void infer_extreme(Infer& r) {
  infer_same(r);
  for (Dim d : r.output_dims(0)) {
    if (d == Dim(0)) return;
  }
  for (int64_t axis : r.axes(0, r.rank())) {
    if (r.dim(0, static_cast<int>(axis)) == Dim(0)) {
      r.refuse("nothing to reduce: x is {} and axis {} is empty", r.math.text(r.dims()), axis);
    }
  }
}

// The axes of a call, normal.
template <class Rule>
Ints axes_of(const Rule& r, int rank) {
  return normal_axes("reduction", r.attrs.has(0) ? r.attrs.list(0) : std::span<const int64_t>{},
                     r.attrs.has(0), rank);
}

Value with_reduced_axes(const Value& y, const Dims& full, const Ints& axes) {
  return reshape(y, reduced(full, axes, /*keepdims=*/true));
}

// A gradient or result brought back to the input's shape.
Value spread(const Value& g, const Dims& full, const Ints& axes) {
  return broadcast_to(with_reduced_axes(g, full, axes), full);
}

// Calls the same op one level below, with the axes past the examples.
void batch_reduction(Batch& r) {
  Ints axes = shifted(axes_of(r, r.logical_rank(0)));
  r.set(0, call(r.op.number, {r.input(0)}, Attrs().optional_list(axes).flag(r.attrs.flag(1))));
}

constexpr OpDef reduction(int32_t number, const char* name, DtypeSet dtypes, void (*infer)(Infer&),
                          const char* doc) {
  return {
      .number = number,
      .name = name,
      .family = "reduction",
      .doc = doc,
      .inputs = {in("x", dtypes)},
      .attrs = {kAxes, kKeepdims},
      .infer = infer,
      .batch = batch_reduction,
  };
}

constexpr OpDef make_sum() {
  OpDef op = reduction(kSum, "sum", kAllSet, infer_accumulated,
                       "The sum; 0 over nothing. Booleans and integers are summed as i64, floats "
                       "in blocks over a fixed tree, halves in f32.");
  op.outputs = {out("y", "T, i64 for booleans and integers")};
  op.traits = kLinear;
  op.vjp = [](Vjp& r) { r.set(0, spread(r.g(), r.input_dims(0), axes_of(r, r.rank()))); };
  return op;
}
constexpr OpDef op_sum = make_sum();

Dims reduced_sizes(const Dims& dims, const Ints& axes) {
  Dims sizes;
  for (int64_t axis : axes) sizes.push_back(dims[static_cast<size_t>(axis)]);
  return sizes;
}

constexpr OpDef make_mean() {
  OpDef op =
      reduction(kMean, "mean", kAnyFloatSet, infer_same, "The arithmetic mean; NaN over nothing.");
  op.traits = kLinear;
  op.vjp = [](Vjp& r) {
    const Ints axes = axes_of(r, r.rank());
    const Value g = wide(r.g());  // f16 does not hold every count
    const Value share = g / size_value(g, reduced_sizes(r.input_dims(0), axes));
    r.set(0, spread(as_dtype(share, r.input_dtype(0)), r.input_dims(0), axes));
  };
  return op;
}
constexpr OpDef op_mean = make_mean();

Value create_eye(const Value& like, int64_t n) {
  Context::OnDevice on(like.context(), *like.tensor().device);
  return create(like.context(), kEye, Attrs().number(n).absent().number(DLCORE_BOOL));
}

// The product of the others, also where one factor is 0: then only that one has a gradient.
Value product_of_others(const Value& x, const Ints& axes) {
  const Value zero = equal(x, zeros_like(x));
  const Value zeros = sum(astype(zero, DLCORE_I64), axes, true);
  const Value filled = where(zero, full_like(x, {}, 1), x);
  const Value product = call(kProd, {filled}, Attrs().optional_list(axes).flag(true));
  const Value none = full_like(x, {}, 0);
  const Value no_zero = where(equal(zeros, weak_int(x.context(), 0)), product / filled, none);
  const Value only_zero = logical_and(zero, equal(zeros, weak_int(x.context(), 1)));
  return where(only_zero, broadcast_to(product, x.dims()), no_zero);
}

// The same where derivatives of it are wanted: for each factor the product of a row in which it is
// replaced by 1.
Value product_of_others_by_rows(const Value& x, const Ints& axes) {
  Dims kept_sizes, sizes = reduced_sizes(x.dims(), axes);
  Ints order;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) != axes.end()) continue;
    order.push_back(i);
    kept_sizes.push_back(x.dim(i));
  }
  order.append(axes.span());
  const DimMath math(x.context());
  const Dim n = math.product(sizes);
  if (n.symbolic())
    fail(DLCORE_UNIMPLEMENTED, "prod: its second derivative over axes of symbolic size");
  Dims row = kept_sizes, square = kept_sizes;
  for (Dim d : {Dim(1), n}) row.push_back(d);
  for (Dim d : {n, n}) square.push_back(d);
  const Value rows = broadcast_to(reshape(permute_dims(x, order), row), square);
  const Value diagonal = create_eye(x, n.value);
  const int64_t last[] = {-1};
  const Value others = call(kProd, {where(diagonal, full_like(x, {}, 1), rows)},
                            Attrs().optional_list(last).flag(false));
  Dims back = kept_sizes;
  for (Dim d : sizes) back.push_back(d);
  Ints inverse(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return permute_dims(reshape(others, back), inverse);
}

constexpr OpDef make_prod() {
  OpDef op = reduction(
      kProd, "prod", kAllSet, infer_accumulated,
      "The product; 1 over nothing. Booleans and integers are multiplied as i64, wrapping. Where "
      "the gradient itself is differentiated it takes memory for n^2 products of n factors.");
  op.outputs = {out("y", "T, i64 for booleans and integers")};
  op.vjp = [](Vjp& r) {
    const Ints axes = axes_of(r, r.rank());
    const Value& x = r.input(0);
    const bool again = r.ctx.recording && r.ctx.recording_below > 0;  // differentiated again
    const Value others = again ? product_of_others_by_rows(x, axes) : product_of_others(x, axes);
    r.set(0, spread(r.g(), r.input_dims(0), axes) * others);
  };
  op.saves = saves_x;
  return op;
}
constexpr OpDef op_prod = make_prod();

// The gradient is shared evenly by the elements that equal the extreme.
Value extreme_share(const Value& x, const Value& y, const Ints& axes) {
  const Value equals = equal(x, with_reduced_axes(y, x.dims(), axes));
  const Value hit = astype(equals, wide_dtype(x.dtype()));
  return as_dtype(hit / sum(hit, axes, true), x.dtype());
}

void extreme_vjp(Vjp& r) {
  const Ints axes = axes_of(r, r.rank());
  r.set(0, spread(r.g(), r.input_dims(0), axes) * extreme_share(r.input(0), r.output(0), axes));
}
void extreme_jvp(Jvp& r) {
  const Ints axes = axes_of(r, r.input(0).rank());
  const Value share = extreme_share(r.input(0), r.output(), axes);
  r.set(0, sum(r.tangent(0) * share, axes, r.attrs.flag(1)));
}

constexpr OpDef extreme(int32_t number, const char* name, const char* doc) {
  OpDef op = reduction(number, name, kAnyNumericSet, infer_extreme, doc);
  op.vjp = extreme_vjp;
  op.saves = saves_xy;
  op.jvp = extreme_jvp;
  return op;
}
constexpr OpDef op_max = extreme(kMax, "max",
                                 "The largest element; NaN when there is one. An error over "
                                 "nothing. Equal largest elements share the gradient.");
constexpr OpDef op_min = extreme(kMin, "min",
                                 "The smallest element; NaN when there is one. An error over "
                                 "nothing. Equal smallest elements share the gradient.");

constexpr OpDef quantifier(int32_t number, const char* name, const char* doc) {
  OpDef op = reduction(number, name, kBoolSet, infer_bool, doc);
  op.outputs = {out("y", "bool")};
  op.traits = kNoGradient;
  return op;
}
constexpr OpDef op_all =
    quantifier(kAll, "all", "Whether all elements are true; true over nothing.");
constexpr OpDef op_any =
    quantifier(kAny, "any", "Whether any element is true; false over nothing.");

void infer_arg(Infer& r) {
  Ints axes;
  if (r.attrs.has(0)) {
    axes.push_back(r.axis(0, r.rank()));
  } else {
    axes = normal_axes(r.op.name, {}, false, r.rank());
  }
  const Dims dims = reduced(r.dims(), axes, r.attrs.flag(1));
  r.set(0, DLCORE_I64, dims);
  for (Dim d : dims) {
    if (d == Dim(0)) return;
  }
  for (int64_t axis : axes) {
    if (r.dim(0, static_cast<int>(axis)) == Dim(0)) {
      r.refuse("nothing to choose from: x is {} and axis {} is empty", r.math.text(r.dims()), axis);
    }
  }
}

void batch_arg(Batch& r) {
  const int rank = r.logical_rank(0);
  if (r.attrs.has(0)) {
    const int64_t axis = normal_axis(r.op.name, "axis", r.attrs.number(0), rank) + 1;
    r.set(0, call(r.op.number, {r.input(0)}, Attrs().present().number(axis).flag(r.attrs.flag(1))));
    return;
  }
  // Over everything: each example flattened to a row.
  Dim row = 1;
  for (int i = 1; i <= rank; ++i) row = DimMath(r.ctx).multiply(row, r.input(0).dim(i));
  Value y = call(r.op.number, {reshape(r.input(0), {Dim(r.size), row})},
                 Attrs().present().number(1).flag(false));
  Dims shape = {Dim(r.size)};
  for (int i = 0; r.attrs.flag(1) && i < rank; ++i) shape.push_back(1);
  r.set(0, reshape(y, shape));
}

constexpr OpDef arg_reduction(int32_t number, const char* name, const char* doc) {
  return {
      .number = number,
      .name = name,
      .family = "reduction",
      .doc = doc,
      .inputs = {in("x", kAnyNumericSet)},
      .attrs = {positional(optional(int_attr("axis", "left out: over the flattened tensor"))),
                kKeepdims},
      .outputs = {out("y", "i64")},
      .traits = kNoGradient,
      .infer = infer_arg,
      .batch = batch_arg,
  };
}
constexpr OpDef op_argmax = arg_reduction(kArgmax, "argmax",
                                          "Index of the largest element: the first of equal ones, "
                                          "the first NaN if there is one. An error over nothing.");
constexpr OpDef op_argmin = arg_reduction(kArgmin, "argmin",
                                          "Index of the smallest element: the first of equal ones, "
                                          "the first NaN if there is one. An error over nothing.");

// exp(x - y), and 0 where y is not finite: nothing but -inf has no gradient.
Value softmax_of(const Value& x, const Value& y, const Ints& axes) {
  const Value kept = with_reduced_axes(y, x.dims(), axes);
  const Value fine = isfinite(kept), low = full_like(x, {}, -INFINITY);
  return exp(where(fine, x - where(fine, kept, full_like(x, {}, 0)), low));
}

constexpr OpDef make_logsumexp() {
  OpDef op = reduction(
      kLogsumexp, "logsumexp", kAnyFloatSet, infer_same,
      "log(sum(exp(x))), without overflow; -inf, with gradient 0, over nothing but -inf.");
  op.vjp = [](Vjp& r) {
    const Ints axes = axes_of(r, r.rank());
    r.set(0, spread(r.g(), r.input_dims(0), axes) * softmax_of(r.input(0), r.output(0), axes));
  };
  op.saves = saves_xy;
  op.jvp = [](Jvp& r) {
    const Ints axes = axes_of(r, r.input(0).rank());
    r.set(0, sum(r.tangent(0) * softmax_of(r.input(0), r.output(), axes), axes, r.attrs.flag(1)));
  };
  return op;
}
constexpr OpDef op_logsumexp = make_logsumexp();

constexpr OpDef op_cumsum = {
    .number = kCumsum,
    .name = "cumsum",
    .family = "reduction",
    .doc = "Running sums along an axis, each including its own element. Integers wrap.",
    .inputs = {in("x", kAnyNumericSet)},
    .attrs = {positional(int_attr("axis", "along which to sum", -1))},
    .traits = kLinear,
    .infer =
        [](Infer& r) {
          r.axis(0, r.rank());
          infer_like_first(r);
        },
    // Sums from the other end: everything, less what comes before.
    .vjp =
        [](Vjp& r) {
          const int64_t axis[] = {r.attrs.number(0)};
          const Value g = wide(r.g());
          const Value others = sum(g, axis, true) - call(kCumsum, {g}, r.attrs.words());
          r.set(0, as_dtype(others + g, r.input_dtype(0)));
        },
    .batch =
        [](Batch& r) {
          const int64_t axis =
              normal_axis(r.op.name, "axis", r.attrs.number(0), r.logical_rank(0)) + 1;
          r.set(0, call(kCumsum, {r.input(0)}, Attrs().number(axis)));
        },
};

constexpr const OpDef* kOps[] = {&op_sum, &op_mean,   &op_prod,   &op_max,       &op_min,   &op_all,
                                 &op_any, &op_argmax, &op_argmin, &op_logsumexp, &op_cumsum};

}  // namespace

extern const OpFamily reduction_ops = kOps;

Value sum(const Value& x, std::span<const int64_t> axes, bool keepdims) {
  return call(kSum, {x}, Attrs().optional_list(axes).flag(keepdims));
}
Value sum_all(const Value& x) { return call(kSum, {x}); }
Value max(const Value& x, std::span<const int64_t> axes, bool keepdims) {
  return call(kMax, {x}, Attrs().optional_list(axes).flag(keepdims));
}

Value sum_to(const Value& x, const Dims& shape) {
  const Dims from = x.dims();
  if (from == shape) return x;
  Ints axes;
  const size_t extra = from.size() - shape.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (i < extra || (shape[i - extra] == Dim(1) && !(from[i] == Dim(1))))
      axes.push_back(static_cast<int64_t>(i));
  }
  const Value y = axes.empty() ? x : sum(x, axes, true);
  return reshape(y, shape);
}

}  // namespace dlcore
