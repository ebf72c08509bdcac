// SPDX-License-Identifier: Apache-2.0
// Pooling over windows of the last two axes. Axes before them are planes, whatever they mean, so
// that [N, C, H, W] and [C, H, W] both serve.
#include "core/ops/families/pooling.h"

#include <algorithm>

#include "core/ops/families/common.h"
#include "core/ops/window.h"

namespace dlcore {
namespace {

constexpr int32_t kTakeAlongAxis = 133, kMaxPool = 170, kMaxPoolBackward = 171, kAvgPool = 172,
                  kAvgPoolBackward = 173;
constexpr DtypeSet kPoolDtypes = kFloatSet | kHalfSet;

// Attributes that are in the same place in every op here.
enum : int { kKernel, kStride, kPadding };

// ---- Windows

enum class Padding { kGiven, kSameUpper, kSameLower };

struct Window {
  WindowAxis axes[2];
  Padding padding = Padding::kGiven;
  bool ceil = false;
};

template <class... Args>
[[noreturn]] void refuse(const char* op, fmt::format_string<Args...> format, Args&&... args) {
  invalid("{}: {}", op, formatted(format, std::forward<Args>(args)...));
}

void take_pair(const char* op, const char* name, std::span<const int64_t> list,
               int64_t WindowAxis::*member, Window& w) {
  const auto pair = read_pair(op, name, list, 1, INT64_MAX);
  for (size_t i = 0; i < 2; ++i) w.axes[i].*member = pair[i];
}

void take_padding(const char* op, std::span<const int64_t> list, Window& w) {
  const Margins margins = read_padding(op, list);
  for (size_t i = 0; i < 2; ++i) {
    WindowAxis& a = w.axes[i];
    a.before = margins.before[i];
    a.after = margins.after[i];
    const int64_t most = a.covered() / 2;
    for (const int64_t value : {a.before, a.after}) {
      if (value >= 0 && value <= most) continue;
      refuse(op, "padding is {} for {} {}, expected 0 to {}, half of what the kernel covers", value,
             kAlongAxis[i], i == 0 ? "above or below" : "beside", most);
    }
  }
}

// Places of the attributes that the ops do not share; -1 where one has none.
struct Places {
  int dilation, ceil, auto_pad;
};
constexpr Places kMaxPlaces = {3, 4, 5}, kAvgPlaces = {-1, 3, 5}, kAvgBackwardPlaces = {-1, 3, -1};

Window window_of(const char* op, const AttrReader& attrs, Places places) {
  Window w;
  take_pair(op, "kernel", attrs.list(kKernel), &WindowAxis::kernel, w);
  for (WindowAxis& e : w.axes) e.stride = e.kernel;
  if (attrs.has(kStride)) take_pair(op, "stride", attrs.list(kStride), &WindowAxis::stride, w);
  if (places.dilation >= 0 && attrs.has(places.dilation))
    take_pair(op, "dilation", attrs.list(places.dilation), &WindowAxis::dilation, w);
  for (const WindowAxis& e : w.axes) e.covered();  // fits
  w.ceil = attrs.flag(places.ceil);
  const std::string_view automatic = places.auto_pad < 0 ? "none" : attrs.text(places.auto_pad);
  if (automatic == "same_upper") w.padding = Padding::kSameUpper;
  if (automatic == "same_lower") w.padding = Padding::kSameLower;
  if (attrs.has(kPadding)) {
    if (automatic != "none")
      refuse(op, "padding is given and auto_pad is {}, expected one of them", automatic);
    take_padding(op, attrs.list(kPadding), w);
  }
  return w;
}

// The padding of "same" written out, for a size that is known.
WindowAxis resolved(const Window& w, size_t axis, int64_t size) {
  WindowAxis e = w.axes[axis];
  if (w.padding == Padding::kGiven) return e;
  const int64_t count = checked_add(size, e.stride - 1) / e.stride;
  const int64_t needed = checked_add(checked_multiply(count - 1, e.stride), e.covered());
  const int64_t total = std::max<int64_t>(0, needed - size);
  e.before = w.padding == Padding::kSameUpper ? total / 2 : total - total / 2;
  e.after = total - e.before;
  return e;
}

// Number of windows along one axis. None starts in the padding behind x, and each holds an element
// of x.
Dim window_count(const OpDef& op, const DimMath& math, const Window& w, size_t axis, Dim size) {
  if (size.symbolic()) {
    const bool same = w.padding != Padding::kGiven;
    if (w.ceil && !same) {
      fail(DLCORE_UNIMPLEMENTED, "{}: ceil_mode with a symbolic number of {}", op.name,
           kAlongAxis[axis]);
    }
    return count_windows(op.name, math, w.axes[axis], axis, same, size);
  }
  if (size.value == 0) refuse(op.name, "x has 0 {}, expected 1 or more", kAlongAxis[axis]);
  WindowAxis a = resolved(w, axis, size.value);
  if (a.before > 0 && size.value < a.dilation) {
    refuse(op.name, "x has {} {} and dilation is {}: a window may lie in the padding", size.value,
           kAlongAxis[axis], a.dilation);
  }
  if (w.ceil) a.after = checked_add(a.after, a.stride - 1);  // for a window that reaches past it
  const int64_t count = count_windows(op.name, math, a, axis, false, size).value;
  const bool starts_behind = w.ceil && (count - 1) * a.stride >= size.value + a.before;
  return starts_behind ? count - 1 : count;
}

// What the derivative of a pooling that has the attribute auto_pad needs.
void resolve_padding(const OpDef& op, Window& w, const Dims& size) {
  if (w.padding == Padding::kGiven) return;
  for (size_t i = 0; i < 2; ++i) {
    if (size[i].symbolic()) {
      fail(DLCORE_UNIMPLEMENTED, "{}: its derivative with auto_pad and a symbolic number of {}",
           op.name, kAlongAxis[i]);
    }
    w.axes[i] = resolved(w, i, size[i].value);
  }
  w.padding = Padding::kGiven;
}

// Sizes of the windows' axes in place of x's.
Dims pooled(const Infer& r, const Window& w, const Dims& x) {
  const size_t rank = x.size();
  Dims y = x;
  for (size_t i = 0; i < 2; ++i) {
    Dim& d = y[rank - 2 + i];
    d = window_count(r.op, r.math, w, i, d);
  }
  return y;
}

void need_planes(const Infer& r, int input) {
  if (r.rank(input) >= 2) return;
  r.refuse("{} is {}, expected [..., H, W]", r.op.inputs[static_cast<size_t>(input)].name,
           r.math.text(r.dims(input)));
}

Dims with_last_two(const Dims& dims, const Dims& last) {
  Dims result = dims;
  for (size_t i = 0; i < 2; ++i) result[dims.size() - 2 + i] = last[i];
  return result;
}

// The attribute `size` of the backward ops.
Dims size_attr(const Infer& r, int index) {
  const Dims size = r.attrs.dims(index);
  if (size.size() != 2 || size[0] == Dim(0) || size[1] == Dim(0))
    r.refuse("size is {}, expected [H, W] of 1 or more", r.math.text(size));
  return size;
}

// ---- max_pool2d

// One row of elements for each plane.
Value flat_planes(const Value& x) {
  const DimMath math(x.context());
  Dims dims = x.dims();
  const Dim count = math.multiply(dims[dims.size() - 2], dims[dims.size() - 1]);
  dims.erase(dims.size() - 1);
  dims[dims.size() - 1] = count;
  return reshape(x, dims);
}

// The elements of x that the windows' indices name.
Value picked(const Value& x, const Value& indices) {
  const Value flat =
      call(kTakeAlongAxis, {flat_planes(x), flat_planes(indices)}, Attrs().number(-1));
  return reshape(flat, indices.dims());
}

constexpr OpDef op_max_pool2d = {
    .number = kMaxPool,
    .name = "max_pool2d",
    .family = "pooling",
    .doc =
        "The largest element of each window over the last two axes. Padding never wins. The first "
        "in row-major order of equal elements is the one that gets the gradient; a NaN in the "
        "window is its result. OH = (H + padding - dilation * (kernel - 1) - 1) / stride + 1, "
        "rounded down, and up for ceil_mode, in which no window starts in the padding behind x.",
    .inputs = {in("x", kPoolDtypes, "[..., H, W], as [N, C, H, W]")},
    .attrs = max_pool_attrs(),
    .outputs = {out("y", "T", "[..., OH, OW]"),
                {.name = "indices",
                 .doc = "of the winners in their planes",
                 .dtype = "i32",
                 .hidden = true}},
    .infer =
        [](Infer& r) {
          need_planes(r, 0);
          const Window w = window_of(r.op.name, r.attrs, kMaxPlaces);
          const Dims size = last_two(r.dims());
          const Dims y = pooled(r, w, r.dims());
          if (!size[0].symbolic() && !size[1].symbolic() &&
              checked_multiply(size[0].value, size[1].value) > INT32_MAX) {
            r.refuse("x is {}, expected planes of fewer than 2^31 elements", r.math.text(r.dims()));
          }
          r.set(0, r.dtype(), y);
          r.set(1, DLCORE_I32, y);
        },
    .vjp =
        [](Vjp& r) {
          if (!r.g(0)) return;
          r.set(0, call(kMaxPoolBackward, {r.g(0), r.output(1)},
                        Attrs().dims(last_two(r.input_dims(0)))));
        },
    .saves = [](uint32_t) { return save_output(1); },
    .jvp = [](Jvp& r) { r.set(0, picked(r.tangent(0), r.output(1))); },
    .batch =
        [](Batch& r) {
          const Value x[] = {r.input(0)};
          std::vector<Value> y = call_all(kMaxPool, x, r.attrs.words(), 2);
          for (int i = 0; i < 2; ++i) r.set(i, y[static_cast<size_t>(i)]);
        },
};

constexpr OpDef op_max_pool2d_backward = {
    .number = kMaxPoolBackward,
    .name = "max_pool2d_backward",
    .family = "pooling",
    .doc =
        "Zeros [..., H, W] with the elements of g added at their indices in the plane, in their "
        "order, f16 and bf16 in f32.",
    .inputs = {in("g", kPoolDtypes, "[..., OH, OW]"),
               fixed_in("indices", dtype_set(DLCORE_I32), "of the same shape")},
    .attrs = {required(dims_attr("size", "[H, W] of the result"))},
    .traits = kHidden,
    .infer =
        [](Infer& r) {
          need_planes(r, 0);
          r.need_same(1, r.dims(0));
          r.set(0, r.dtype(), with_last_two(r.dims(0), size_attr(r, 0)));
        },
    .vjp = [](Vjp& r) { r.set(0, picked(r.g(), r.input(1))); },
    .saves = [](uint32_t) { return save_input(1); },
    .jvp =
        [](Jvp& r) {
          r.set(0, call(kMaxPoolBackward, {r.tangent(0), r.input(1)}, r.attrs.words()));
        },
    .batch =
        [](Batch& r) {
          r.set(0,
                call(kMaxPoolBackward, {r.with_examples(0), r.with_examples(1)}, r.attrs.words()));
        },
};

// ---- avg_pool2d

constexpr int kAvgCount = 4, kAvgSize = 5;

// The attributes that forward and backward share, with the padding written out.
Attrs average_attrs(const Window& w, bool counts_padding) {
  const WindowAxis &rows = w.axes[0], &columns = w.axes[1];
  const int64_t kernel[] = {rows.kernel, columns.kernel}, stride[] = {rows.stride, columns.stride},
                padding[] = {rows.before, columns.before, rows.after, columns.after};
  Attrs attrs;
  attrs.list(kernel).optional_list(stride).optional_list(padding);
  attrs.flag(w.ceil).flag(counts_padding);
  return attrs;
}

constexpr OpDef op_avg_pool2d = {
    .number = kAvgPool,
    .name = "avg_pool2d",
    .family = "pooling",
    .doc =
        "The mean of each window over the last two axes, in which padding is 0. OH = (H + padding "
        "- kernel) / stride + 1, rounded down, and up for ceil_mode, in which no window starts in "
        "the padding behind x.",
    .inputs = {in("x", kPoolDtypes, "[..., H, W], as [N, C, H, W]")},
    .attrs = avg_pool_attrs(),
    .outputs = {out("y", "T", "[..., OH, OW]")},
    .traits = kLinear,
    .infer =
        [](Infer& r) {
          need_planes(r, 0);
          const Window w = window_of(r.op.name, r.attrs, kAvgPlaces);
          r.set(0, r.dtype(), pooled(r, w, r.dims()));
        },
    .vjp =
        [](Vjp& r) {
          Window w = window_of(r.op().name, r.attrs, kAvgPlaces);
          const Dims size = last_two(r.input_dims(0));
          resolve_padding(r.op(), w, size);
          r.set(0, call(kAvgPoolBackward, {r.g()},
                        average_attrs(w, r.attrs.flag(kAvgCount)).dims(size)));
        },
    .batch = [](Batch& r) { r.set(0, call(kAvgPool, {r.input(0)}, r.attrs.words())); },
};

constexpr OpDef op_avg_pool2d_backward = {
    .number = kAvgPoolBackward,
    .name = "avg_pool2d_backward",
    .family = "pooling",
    .doc = "The gradient of avg_pool2d: each element of g spread evenly over its window.",
    .inputs = {in("g", kPoolDtypes, "[..., OH, OW]")},
    .attrs = {avg_pool_attrs()[0], avg_pool_attrs()[1], avg_pool_attrs()[2], avg_pool_attrs()[3],
              avg_pool_attrs()[4], required(dims_attr("size", "[H, W] of the result"))},
    .traits = kHidden | kLinear,
    .infer =
        [](Infer& r) {
          need_planes(r, 0);
          const Window w = window_of(r.op.name, r.attrs, kAvgBackwardPlaces);
          const Dims x = with_last_two(r.dims(), size_attr(r, kAvgSize));
          r.need_same(0, pooled(r, w, x));
          r.set(0, r.dtype(), x);
        },
    .vjp =
        [](Vjp& r) {
          const Window w = window_of(r.op().name, r.attrs, kAvgBackwardPlaces);
          r.set(0, call(kAvgPool, {r.g()}, average_attrs(w, r.attrs.flag(kAvgCount))));
        },
    .batch = [](Batch& r) { r.set(0, call(kAvgPoolBackward, {r.input(0)}, r.attrs.words())); },
};

constexpr const OpDef* kOps[] = {&op_max_pool2d, &op_max_pool2d_backward, &op_avg_pool2d,
                                 &op_avg_pool2d_backward};

}  // namespace

extern const OpFamily pooling_ops = kOps;

void check_max_pool(const AttrReader& attrs, const char* what) {
  window_of(what, attrs, kMaxPlaces);
}
void check_avg_pool(const AttrReader& attrs, const char* what) {
  window_of(what, attrs, kAvgPlaces);
}

}  // namespace dlcore
