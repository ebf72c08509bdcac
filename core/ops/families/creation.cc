// SPDX-License-Identifier: Apache-2.0
// Ops that make tensors from nothing, on the context's device.
#include <cmath>

#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kFull = 140, kArange = 141, kEye = 142, kSizeOf = 151;

constexpr OpDef op_full = {
    .number = kFull,
    .name = "full",
    .family = "creation",
    .doc = "One value everywhere.",
    .attrs = {required(dims_attr("shape", "of the result")),
              positional(float_attr("value", "of every element")),
              dtype_attr("dtype", "of the result")},
    .outputs = {out("y", "dtype")},
    .traits = kNoGradient,
    .key_input = -1,
    .infer = [](Infer& r) { r.set(0, r.attrs.dtype(2), r.attrs.dims(0)); },
};

constexpr OpDef op_arange = {
    .number = kArange,
    .name = "arange",
    .family = "creation",
    .doc = "start, start + step, ... before stop.",
    .attrs = {positional(float_attr("start", "the first value")),
              required(float_attr("stop", "the bound, not included")),
              positional(float_attr("step", "not 0", 1)),
              dtype_attr("dtype", "of the result", DLCORE_I64)},
    .outputs = {out("y", "dtype")},
    .traits = kNoGradient,
    .key_input = -1,
    .infer =
        [](Infer& r) {
          const double start = r.attrs.real(0), stop = r.attrs.real(1), step = r.attrs.real(2);
          const double count = std::ceil((stop - start) / step);
          if (!(step != 0) || !std::isfinite(start) || !std::isfinite(stop) ||
              !std::isfinite(step)) {
            r.refuse(
                "start is {}, stop {} and step {}, expected finite values and a step that is not 0",
                start, stop, step);
          }
          if (count > 1e15) r.refuse("{} elements from {} to {} by {}", count, start, stop, step);
          if (!contains(kAnyNumericSet, r.attrs.dtype(3)))
            r.refuse("dtype is {}, expected {}", dtype_name(r.attrs.dtype(3)),
                     dtype_set_text(kAnyNumericSet));
          r.set(0, r.attrs.dtype(3), {Dim(count > 0 ? static_cast<int64_t>(count) : 0)});
        },
};

constexpr OpDef op_eye = {
    .number = kEye,
    .name = "eye",
    .family = "creation",
    .doc = "1 on the diagonal of an n by m matrix, 0 elsewhere.",
    .attrs = {required(int_attr("n", "rows")), optional(int_attr("m", "columns; n when left out")),
              dtype_attr("dtype", "of the result")},
    .outputs = {out("y", "dtype")},
    .traits = kNoGradient,
    .key_input = -1,
    .infer =
        [](Infer& r) {
          const int64_t n = r.attrs.number(0), m = r.attrs.has(1) ? r.attrs.number(1) : n;
          if (n < 0 || m < 0) r.refuse("the matrix would be {} by {}", n, m);
          r.set(0, r.attrs.dtype(2), {Dim(n), Dim(m)});
        },
};

constexpr OpDef op_size_of = {
    .number = kSizeOf,
    .name = "size_of",
    .family = "creation",
    .doc = "The product of sizes, as a scalar of rank 0: how rules divide by a symbolic size.",
    .attrs = {required(dims_attr("shape", "the sizes")), dtype_attr("dtype", "of the result")},
    .outputs = {out("y", "dtype")},
    .traits = kHidden | kNoGradient,
    .key_input = -1,
    .infer = [](Infer& r) { r.set(0, r.attrs.dtype(1), {}); },
    .compose =
        [](Compose& r) {
          const Dim n = r.math.product(r.attrs.dims(0));
          r.set(0, full(r.ctx, {}, static_cast<double>(n.value), r.attrs.dtype(1)));
        },
};

constexpr const OpDef* kOps[] = {&op_full, &op_arange, &op_eye, &op_size_of};

}  // namespace

extern const OpFamily creation_ops = kOps;

Value full(Context& ctx, const Dims& shape, double value, Dtype dtype) {
  return create(ctx, kFull, Attrs().dims(shape).real(value).number(dtype));
}
Value full_like(const Value& like, const Dims& shape, double value) {
  Context::OnDevice on(like.context(), *like.tensor().device);
  return full(like.context(), shape, value, like.dtype());
}
Value zeros_like(const Value& like) { return full_like(like, like.dims(), 0); }

Value size_value(const Value& like, const Dims& dims) {
  Context& ctx = like.context();
  const Dim n = DimMath(ctx).product(dims);
  if (!n.symbolic()) return weak(ctx, static_cast<double>(n.value));
  return create(ctx, kSizeOf, Attrs().dims({n}).number(like.dtype()));
}

}  // namespace dlcore
