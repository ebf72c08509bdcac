// SPDX-License-Identifier: Apache-2.0
// Random numbers: Philox 4x32-10 (Salmon et al. 2011) keyed by (seed, generator, call, element).
// Each is a pure function of its key; without one, the next call number of the context's generator
// is used up, whatever the size.
#include <cmath>

#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kUniform = 143, kNormal = 144, kBernoulli = 145, kIntegers = 146, kDropout = 152;

constexpr AttrDef kShape = required(dims_attr("shape", "of the result"));

void need_key(Infer& r) {
  const int key = r.input_count() - 1;
  if (r.has(key) && !(r.dims(key) == Dims{Dim(3)}))
    r.refuse("key is {}, expected [3]", r.math.text(r.dims(key)));
}
void need_float_dtype(Infer& r, int attr) {
  const Dtype d = r.attrs.dtype(attr);
  if (!contains(kAnyFloatSet, d))
    r.refuse("dtype is {}, expected {}", dtype_name(d), dtype_set_text(kAnyFloatSet));
}

constexpr OpDef op_uniform = {
    .number = kUniform,
    .name = "random_uniform",
    .family = "random",
    .doc = "Uniform in [low, high).",
    .inputs = {key_in()},
    .attrs = {kShape, float_attr("low", "inclusive"), float_attr("high", "exclusive", 1),
              dtype_attr("dtype", "a floating dtype")},
    .outputs = {out("y", "dtype")},
    .traits = kRandom | kNoGradient,
    .key_input = -1,
    .infer =
        [](Infer& r) {
          need_key(r);
          need_float_dtype(r, 3);
          const double low = r.attrs.real(1), high = r.attrs.real(2);
          if (!std::isfinite(low) || !std::isfinite(high) || low > high)
            r.refuse("low is {} and high {}", low, high);
          r.set(0, r.attrs.dtype(3), r.attrs.dims(0));
        },
};

constexpr OpDef op_normal = {
    .number = kNormal,
    .name = "random_normal",
    .family = "random",
    .doc = "Normally distributed, by the transform of Box and Muller.",
    .inputs = {key_in()},
    .attrs = {kShape, float_attr("mean", "of the distribution"),
              float_attr("std", "its standard deviation, 0 or more", 1),
              dtype_attr("dtype", "a floating dtype")},
    .outputs = {out("y", "dtype")},
    .traits = kRandom | kNoGradient,
    .key_input = -1,
    .infer =
        [](Infer& r) {
          need_key(r);
          need_float_dtype(r, 3);
          const double mean = r.attrs.real(1), deviation = r.attrs.real(2);
          if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation < 0)
            r.refuse("mean is {} and std {}", mean, deviation);
          r.set(0, r.attrs.dtype(3), r.attrs.dims(0));
        },
};

constexpr OpDef op_bernoulli = {
    .number = kBernoulli,
    .name = "random_bernoulli",
    .family = "random",
    .doc = "true with probability p.",
    .inputs = {key_in()},
    .attrs = {kShape, required(float_attr("p", "0 to 1"))},
    .outputs = {out("y", "bool")},
    .traits = kRandom | kNoGradient,
    .key_input = -1,
    .infer =
        [](Infer& r) {
          need_key(r);
          const double p = r.attrs.real(1);
          if (!(p >= 0 && p <= 1)) r.refuse("p is {}, expected 0 to 1", p);
          r.set(0, DLCORE_BOOL, r.attrs.dims(0));
        },
};

constexpr OpDef op_integers = {
    .number = kIntegers,
    .name = "random_integers",
    .family = "random",
    .doc = "Whole numbers, uniform in [low, high).",
    .inputs = {key_in()},
    .attrs = {kShape, required(int_attr("low", "inclusive")),
              required(int_attr("high", "exclusive"))},
    .outputs = {out("y", "i64")},
    .traits = kRandom | kNoGradient,
    .key_input = -1,
    .infer =
        [](Infer& r) {
          need_key(r);
          if (r.attrs.number(1) >= r.attrs.number(2))
            r.refuse("low is {} and high {}", r.attrs.number(1), r.attrs.number(2));
          r.set(0, DLCORE_I64, r.attrs.dims(0));
        },
};

constexpr OpDef op_dropout = {
    .number = kDropout,
    .name = "dropout",
    .family = "random",
    .doc = "Each element is 0 with probability p, else x / (1 - p) (Srivastava et al. 2014).",
    .inputs = {in("x", kAnyFloatSet), key_in()},
    .attrs = {positional(float_attr("p", "0 to 1", 0.5))},
    .traits = kRandom,
    .infer =
        [](Infer& r) {
          need_key(r);
          const double p = r.attrs.real(0);
          if (!(p >= 0 && p <= 1)) r.refuse("p is {}, expected 0 to 1", p);
          infer_like_first(r);
        },
    .compose =
        [](Compose& r) {
          const double p = r.attrs.real(0);
          const Value& x = r.input(0);
          const Attrs attrs = Attrs().dims(x.dims()).real(1 - p);
          Context::OnDevice on(r.ctx, *x.tensor().device);
          const Value mask =
              r.has(1) ? call(kBernoulli, {r.input(1)}, attrs) : create(r.ctx, kBernoulli, attrs);
          const double scale = p < 1 ? 1 / (1 - p) : 0;
          // Chosen, not multiplied by 0, so that an infinite element is dropped too.
          r.set(0, where(mask, x * scale, full_like(x, {}, 0)));
        },
};

constexpr const OpDef* kOps[] = {&op_uniform, &op_normal, &op_bernoulli, &op_integers, &op_dropout};

}  // namespace

extern const OpFamily random_ops = kOps;

Value random_uniform(Context& ctx, const Value& key, const Dims& shape, double low, double high,
                     Dtype dtype) {
  const Attrs attrs = Attrs().dims(shape).real(low).real(high).number(dtype);
  return key ? call(kUniform, {key}, attrs) : create(ctx, kUniform, attrs);
}
Value random_normal(Context& ctx, const Value& key, const Dims& shape, double mean,
                    double deviation, Dtype dtype) {
  const Attrs attrs = Attrs().dims(shape).real(mean).real(deviation).number(dtype);
  return key ? call(kNormal, {key}, attrs) : create(ctx, kNormal, attrs);
}
Value random_bernoulli(Context& ctx, const Dims& shape, double probability) {
  return create(ctx, kBernoulli, Attrs().dims(shape).real(probability));
}

Value advance_key(const Value& key, int64_t calls) {
  if (calls == 0) return key;
  const int64_t zero[] = {0}, two[] = {2}, three[] = {3}, axis[] = {0};
  const Value parts[] = {slice(key, zero, two, axis),
                         slice(key, two, three, axis) + weak_int(key.context(), calls)};
  return concat(parts, 0);
}

}  // namespace dlcore
