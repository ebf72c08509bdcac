// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution and its derivatives. With y = conv2d(x, w) the number <g, y> is
// linear in each of g, x and w, and the three ops are its derivatives:
//   conv2d = d/dg,  conv2d_input_backward = d/dx,  conv2d_weight_backward = d/dw.
// So every derivative of each of them is one of them again.
#include <algorithm>
#include <array>

#include "core/ops/families/common.h"
#include "core/ops/window.h"

namespace dlcore {
namespace {

constexpr int32_t kConv2d = 112, kInputBackward = 113, kWeightBackward = 114;
enum : int { kStride, kPadding, kDilation, kGroups, kAutoPad, kSize };

// The 16-bit ones are accumulated in f32.
constexpr DtypeSet kConvolutionSet = kFloatSet | kHalfSet;
constexpr int64_t kLargest = INT32_MAX;  // of strides, paddings and dilations: sums do not overflow

// ---- Geometry

struct Window {
  WindowAxis axes[2];  // their kernels are those of the weight
  int64_t groups = 1;
  bool same = false;  // sizes follow from strides alone
};

void take_pair(const Infer& r, int attr, int64_t WindowAxis::*member, Window& w) {
  if (!r.attrs.has(attr)) return;
  const char* const name = r.op.attrs[static_cast<size_t>(attr)].name;
  const auto pair = read_pair(r.op.name, name, r.attrs.list(attr), 1, kLargest);
  for (size_t i = 0; i < 2; ++i) w.axes[i].*member = pair[i];
}

void take_padding(const Infer& r, Window& w) {
  const auto how = r.attrs.text(kAutoPad);
  w.same = how == "same_upper" || how == "same_lower";
  if (!r.attrs.has(kPadding)) return;
  const auto list = r.attrs.list(kPadding);
  const Margins margins = read_padding(r.op.name, list);
  for (int64_t v : list) {
    if (v < 0 || v > kLargest) r.refuse("padding is {}, expected 0 to {}", v, kLargest);
    if (v != 0 && how != "none")
      r.refuse("padding is {} and auto_pad is '{}', expected only one of them", v, how);
  }
  for (size_t i = 0; i < 2; ++i) {
    w.axes[i].before = margins.before[i];
    w.axes[i].after = margins.after[i];
  }
}

Window window_of(const Infer& r) {
  Window w;
  take_pair(r, kStride, &WindowAxis::stride, w);
  take_pair(r, kDilation, &WindowAxis::dilation, w);
  take_padding(r, w);
  w.groups = r.attrs.number(kGroups);
  if (w.groups < 1) r.refuse("groups is {}, expected 1 or more", w.groups);
  return w;
}

// Size of y along one axis.
Dim output_size(const Infer& r, const Window& w, size_t axis, Dim size, Dim kernel) {
  const char* const along = kAlongAxis[axis];
  if (kernel.symbolic())
    r.refuse("the kernel has {} {}, expected a known number", r.math.text(kernel), along);
  if (kernel.value < 1) r.refuse("the kernel has 0 {}, expected 1 or more", along);
  WindowAxis window = w.axes[axis];
  window.kernel = kernel.value;
  return count_windows(r.op.name, r.math, window, axis, w.same, size);
}

void need_rank4(const Infer& r, int input, const char* layout) {
  if (r.rank(input) == 4) return;
  r.refuse("{} is {}, expected {}", r.op.inputs[static_cast<size_t>(input)].name,
           r.math.text(r.dims(input)), layout);
}

// Shape of y for given shapes of x and w, which are checked.
Dims output_dims(const Infer& r, const Window& window, const Dims& x, const Dims& w) {
  if (!(x[1] == r.math.multiply(w[1], window.groups))) {
    r.refuse("x has {} channels, expected {}: weight is {} and groups is {}", r.math.text(x[1]),
             r.math.text(r.math.multiply(w[1], window.groups)), r.math.text(w), window.groups);
  }
  if (!w[0].symbolic() && w[0].value % window.groups != 0) {
    r.refuse("weight is {} with {} output channels, which {} groups do not divide", r.math.text(w),
             w[0].value, window.groups);
  }
  return {x[0], w[0], output_size(r, window, 0, x[2], w[2]), output_size(r, window, 1, x[3], w[3])};
}

constexpr const char* kImages = "[N, C, H, W]";
constexpr const char* kResults = "[N, O, OH, OW]";
constexpr const char* kWeights = "[O, C / groups, KH, KW]";

void infer_conv2d(Infer& r) {
  need_rank4(r, 0, kImages);
  need_rank4(r, 1, kWeights);
  const Dims y = output_dims(r, window_of(r), r.dims(0), r.dims(1));
  if (r.has(2)) r.need_same(2, {y[1]});
  r.set(0, r.dtype(0), y);
}

// The attribute that the derivatives have in addition, [H, W] or [KH, KW]; `otherwise` finds the
// size along one axis when it is left out.
template <class Otherwise>
std::array<Dim, 2> two_sizes(const Infer& r, const Otherwise& otherwise) {
  if (!r.attrs.has(kSize)) return {otherwise(0), otherwise(1)};
  const Dims size = r.attrs.dims(kSize);
  if (size.size() != 2) {
    r.refuse("{} is {}, expected 2 sizes", r.op.attrs[kSize].name, r.math.text(size));
  }
  return {size[0], size[1]};
}

void infer_input_backward(Infer& r) {
  need_rank4(r, 0, kResults);
  need_rank4(r, 1, kWeights);
  const Window window = window_of(r);
  const auto smallest = [&](size_t axis) {
    const Dim out = r.dim(0, static_cast<int>(axis) + 2);
    const WindowAxis& a = window.axes[axis];
    if (window.same) return r.math.multiply(out, a.stride);
    const Dim extent = r.math.add(
        r.math.multiply(r.math.subtract(r.dim(1, static_cast<int>(axis) + 2), 1), a.dilation), 1);
    const Dim padded = r.math.add(r.math.multiply(r.math.subtract(out, 1), a.stride), extent);
    return r.math.subtract(padded, a.before + a.after);
  };
  const auto size = two_sizes(r, smallest);
  const Dims x = {r.dim(0, 0), r.math.multiply(r.dim(1, 1), window.groups), size[0], size[1]};
  r.need_same(0, output_dims(r, window, x, r.dims(1)));
  r.set(0, r.dtype(0), x);
}

void infer_weight_backward(Infer& r) {
  need_rank4(r, 0, kResults);
  need_rank4(r, 1, kImages);
  const Window window = window_of(r);
  const auto largest = [&](size_t axis) {
    const int at = static_cast<int>(axis) + 2;
    const WindowAxis& a = window.axes[axis];
    const Dim reach = r.math.multiply(r.math.subtract(r.dim(0, at), 1), a.stride);
    const Dim padded = r.math.add(r.dim(1, at), a.before + a.after);
    const Dim extent = r.math.subtract(r.math.subtract(padded, reach), 1);
    return r.math.add(r.math.divide(extent, a.dilation), 1);
  };
  const auto size = two_sizes(r, largest);
  const Dims w = {r.dim(0, 1), r.math.divide(r.dim(1, 1), window.groups), size[0], size[1]};
  r.need_same(0, output_dims(r, window, r.dims(1), w));
  r.set(0, r.dtype(0), w);
}

// ---- The three ops as functions, with the attributes of any of them

// The attributes that all three have.
Attrs shared(const AttrReader& attrs, int64_t times_groups = 1) {
  Attrs result;
  size_t groups = 0;
  for (int i = 0; i < kSize; ++i) {
    if (i == kGroups) groups = result.words().size();
    if (i < kGroups && !attrs.has(i)) {
      result.absent();
    } else if (i < kGroups) {
      result.optional_list(attrs.list(i));
    } else if (i == kGroups) {
      result.number(attrs.number(i));
    } else {
      result.text(attrs.text(i));
    }
  }
  result.words()[groups] = checked_multiply(result.words()[groups], times_groups);
  return result;
}

Value convolve(const Value& x, const Value& w, const AttrReader& attrs) {
  return call(kConv2d, {x, w}, shared(attrs));
}
Value input_backward(const Value& g, const Value& w, const Dims& x, const AttrReader& attrs) {
  return call(kInputBackward, {g, w}, shared(attrs).present().dims(last_two(x)));
}
Value weight_backward(const Value& g, const Value& x, const Dims& w, const AttrReader& attrs) {
  return call(kWeightBackward, {g, x}, shared(attrs).present().dims(last_two(w)));
}

// Those of a call on examples as groups, which keeps its size.
Attrs grouped(const Batch& r) {
  Attrs attrs = shared(r.attrs, r.size);
  return r.attrs.has(kSize) ? attrs.present().dims(r.attrs.dims(kSize)) : attrs.absent();
}

constexpr SaveMask saves_the_other(uint32_t needs) {
  return ((needs & 1) != 0 ? save_input(1) : 0) | ((needs & 2) != 0 ? save_input(0) : 0);
}

// A bias, or its tangent, as something that is added to y.
Value per_channel(const Value& bias) { return reshape(bias, {1, bias.dim(0), 1, 1}); }

// ---- Vectorisation

// [B, N, ...] as [B N, ...], and back.
Value join_first(const Value& x) {
  Dims dims = x.dims();
  const Dim joined = DimMath(x.context()).multiply(dims[0], dims[1]);
  dims.erase(0);
  dims[0] = joined;
  return reshape(x, dims);
}
Value split_first(const Value& x, int64_t size, Dim rest) {
  Dims dims = x.dims();
  dims[0] = rest;
  dims.insert(0, size);
  return reshape(x, dims);
}

// [B, N, C, ...] as [N, B C, ...], and back: every example is a group of its own.
Value to_channels(const Value& x) {
  const Value moved = move_axis(x, 0, 1);
  Dims dims = moved.dims();
  const Dim joined = DimMath(x.context()).multiply(dims[1], dims[2]);
  dims.erase(1);
  dims[1] = joined;
  return reshape(moved, dims);
}
Value from_channels(const Value& x, int64_t size, Dim channels) {
  Dims dims = x.dims();
  dims[1] = channels;
  dims.insert(1, size);
  return move_axis(reshape(x, dims), 1, 0);
}

// Where there are no examples, one that only its shape matters of.
Value without_examples(const Value& x) {
  Dims dims = x.dims();
  dims.erase(0);
  return full_like(x, dims, 0);
}

void batch_conv2d(Batch& r) {
  const bool own_weights = r.batched(1) && r.size > 0;
  const bool own_bias = r.has(2) && r.batched(2);
  const Value bias = r.has(2) && !own_bias ? r.input(2) : Value();
  Value y;
  if (own_weights) {
    const Value x = to_channels(r.with_examples(0));
    y = call(kConv2d, {x, join_first(r.input(1))}, shared(r.attrs, r.size));
    y = from_channels(y, r.size, r.input(1).dim(1));
    if (bias) y = y + per_channel(bias);
  } else {
    const Value x = r.with_examples(0);
    const Value w = r.batched(1) ? without_examples(r.input(1)) : r.input(1);
    y = call(kConv2d, {join_first(x), w, bias}, r.attrs.words());
    y = split_first(y, r.size, x.dim(1));
  }
  if (own_bias) {
    y = y + reshape(r.input(2), {r.size, 1, r.input(2).dim(1), 1, 1});
  }
  r.set(0, y);
}

void batch_input_backward(Batch& r) {
  const Value g = r.with_examples(0);
  if (!r.batched(1) || r.size == 0) {
    const Value w = r.batched(1) ? without_examples(r.input(1)) : r.input(1);
    const Value dx = call(kInputBackward, {join_first(g), w}, r.attrs.words());
    return r.set(0, split_first(dx, r.size, g.dim(1)));
  }
  const Value dx = call(kInputBackward, {to_channels(g), join_first(r.input(1))}, grouped(r));
  const Dim channels = DimMath(r.ctx).multiply(r.input(1).dim(2), Dim(r.attrs.number(kGroups)));
  r.set(0, from_channels(dx, r.size, channels));
}

void batch_weight_backward(Batch& r) {
  const Value g = r.with_examples(0), x = r.with_examples(1);
  if (r.size == 0) {
    Dims dims =
        call(kWeightBackward, {without_examples(g), without_examples(x)}, r.attrs.words()).dims();
    dims.insert(0, 0);
    return r.set(0, full_like(g, dims, 0));
  }
  const Value dw = call(kWeightBackward, {to_channels(g), to_channels(x)}, grouped(r));
  r.set(0, split_first(dw, r.size, g.dim(2)));
}

// ---- The ops

constexpr AttrDef kStrideAttr =
    optional(ints_attr("stride", "steps of the window: rows and columns, or one for both; 1"));
constexpr AttrDef kPaddingAttr =
    optional(ints_attr("padding",
                       "zeros around x: one number, [rows, columns] or [top, left, bottom, "
                       "right]; 0"));
constexpr AttrDef kDilationAttr = optional(ints_attr(
    "dilation", "distance of the kernel's elements in x: rows and columns, or one for both; 1"));
constexpr AttrDef kGroupsAttr =
    int_attr("groups", "into which channels of x and of the result are split", 1);
constexpr AttrDef kAutoPadAttr = string_attr(
    "auto_pad",
    "instead of padding. same_upper, same_lower: so many zeros that OH is H / stride rounded up, "
    "an odd one at the end (upper) or in front (lower); valid: none",
    "none", "none|same_upper|same_lower|valid");

constexpr OpDef op_conv2d = {
    .number = kConv2d,
    .name = "conv2d",
    .family = "convolution",
    .doc =
        "y[n, o, i, j] = bias[o] + sum over c, a, b of weight[o, c, a, b] * "
        "x[n, C' + c, i stride - top + a dilation, j stride - left + b dilation], zero outside x, "
        "where C' is the first channel of the group of o. OH is (H + top + bottom - (KH - 1) "
        "dilation - 1) / stride + 1, rounded down, and OW likewise. As Conv of ONNX.",
    .inputs = {in("x", kConvolutionSet, kImages), in("weight", kConvolutionSet, kWeights),
               optional_in("bias", kConvolutionSet, "[O]")},
    .attrs = {kStrideAttr, kPaddingAttr, kDilationAttr, kGroupsAttr, kAutoPadAttr},
    .outputs = {out("y", "T", kResults)},
    .infer = infer_conv2d,
    .vjp =
        [](Vjp& r) {
          const Value& g = r.g();
          if (r.needs(0)) r.set(0, input_backward(g, r.input(1), r.input_dims(0), r.attrs));
          if (r.needs(1)) r.set(1, weight_backward(g, r.input(0), r.input_dims(1), r.attrs));
          const int64_t others[] = {0, 2, 3};
          if (r.needs(2)) r.set(2, sum(g, others, false));
        },
    .saves = saves_the_other,
    .jvp =
        [](Jvp& r) {
          if (r.moves(0)) r.add(0, convolve(r.tangent(0), r.input(1), r.attrs));
          if (r.moves(1)) r.add(0, convolve(r.input(0), r.tangent(1), r.attrs));
          if (r.moves(2)) r.add(0, broadcast_to(per_channel(r.tangent(2)), r.output().dims()));
        },
    .batch = batch_conv2d,
};

constexpr OpDef op_input_backward = {
    .number = kInputBackward,
    .name = "conv2d_input_backward",
    .family = "convolution",
    .doc = "Gradient of conv2d with respect to x of [.., H, W], for the gradient g of its result.",
    .inputs = {in("g", kConvolutionSet, kResults), in("weight", kConvolutionSet, kWeights)},
    .attrs = {kStrideAttr, kPaddingAttr, kDilationAttr, kGroupsAttr, kAutoPadAttr,
              optional(dims_attr("size", "[H, W] of x; left out: the smallest that fit"))},
    .outputs = {out("dx", "T", kImages)},
    .traits = kHidden,
    .infer = infer_input_backward,
    .vjp =
        [](Vjp& r) {
          const Value& u = r.g();
          if (r.needs(0)) r.set(0, convolve(u, r.input(1), r.attrs));
          if (r.needs(1)) r.set(1, weight_backward(r.input(0), u, r.input_dims(1), r.attrs));
        },
    .saves = saves_the_other,
    .jvp =
        [](Jvp& r) {
          const Dims x = r.output().dims();
          if (r.moves(0)) r.add(0, input_backward(r.tangent(0), r.input(1), x, r.attrs));
          if (r.moves(1)) r.add(0, input_backward(r.input(0), r.tangent(1), x, r.attrs));
        },
    .batch = batch_input_backward,
};

constexpr OpDef op_weight_backward = {
    .number = kWeightBackward,
    .name = "conv2d_weight_backward",
    .family = "convolution",
    .doc =
        "Gradient of conv2d with respect to a weight of [.., KH, KW], for the gradient g of its "
        "result.",
    .inputs = {in("g", kConvolutionSet, kResults), in("x", kConvolutionSet, kImages)},
    .attrs = {kStrideAttr, kPaddingAttr, kDilationAttr, kGroupsAttr, kAutoPadAttr,
              optional(dims_attr("kernel", "[KH, KW]; left out: the largest that fit"))},
    .outputs = {out("dw", "T", kWeights)},
    .traits = kHidden,
    .infer = infer_weight_backward,
    .vjp =
        [](Vjp& r) {
          const Value& v = r.g();
          if (r.needs(0)) r.set(0, convolve(r.input(1), v, r.attrs));
          if (r.needs(1)) r.set(1, input_backward(r.input(0), v, r.input_dims(1), r.attrs));
        },
    .saves = saves_the_other,
    .jvp =
        [](Jvp& r) {
          const Dims w = r.output().dims();
          if (r.moves(0)) r.add(0, weight_backward(r.tangent(0), r.input(1), w, r.attrs));
          if (r.moves(1)) r.add(0, weight_backward(r.input(0), r.tangent(1), w, r.attrs));
        },
    .batch = batch_weight_backward,
};

constexpr const OpDef* kOps[] = {&op_conv2d, &op_input_backward, &op_weight_backward};

}  // namespace

extern const OpFamily convolution_ops = kOps;

}  // namespace dlcore
