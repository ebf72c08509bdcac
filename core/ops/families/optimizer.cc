// SPDX-License-Identifier: Apache-2.0
// Updates of parameters, one op for each optimizer; outputs may take over the memory of what they
// update.
#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kSgdUpdate = 160, kAdamUpdate = 161, kGlobalNorm = 163;

// State is f32 beside parameters of half precision: small steps would be lost in their own dtype.
void infer_update(Infer& r, int outputs) {
  const Dtype state = wide_dtype(r.dtype(0));
  r.need_same(1, r.dims(0));
  for (int i = 0; i < outputs; ++i) {
    const int input = i == 0 ? 0 : i + 1;
    if (r.has(input)) r.need_same(input, r.dims(0));
    r.set(i, i == 0 ? r.dtype(0) : state, r.dims(0));
    if (i == 0 || !r.has(input) || r.dtype(input) == state) continue;
    r.refuse("{} is {}, expected {} beside a parameter of {}", r.op.inputs[input].name,
             dtype_name(r.dtype(input)), dtype_name(state), dtype_name(r.dtype(0)));
  }
  for (int rate = outputs + 1; rate < r.input_count(); ++rate) r.need_same(rate, {});
}

constexpr const char* kState = "f32 beside half precision, else the dtype of param";
constexpr InputDef kRate = fixed_in("lr", kFloatSet, "the learning rate, rank 0");

constexpr OpDef op_sgd_update = {
    .number = kSgdUpdate,
    .name = "sgd_update",
    .family = "optimizer",
    .doc =
        "g = grad + weight_decay * param; velocity = momentum * velocity + (1 - dampening) * g; "
        "param -= lr * velocity, "
        "or, with nesterov, lr * (g + momentum * velocity). Without momentum param -= lr * g.",
    .inputs = {in("param", kAnyFloatSet), in("grad", kAnyFloatSet),
               fixed_in("velocity", kFloatSet, kState), kRate},
    .attrs = {float_attr("momentum", ""), float_attr("dampening", ""), bool_attr("nesterov", ""),
              float_attr("weight_decay", "")},
    .outputs = {out("param"), out("velocity")},
    .traits = kHidden | kNoGradient,
    .infer = [](Infer& r) { infer_update(r, 2); },
};

constexpr OpDef op_adam_update = {
    .number = kAdamUpdate,
    .name = "adam_update",
    .family = "optimizer",
    .doc =
        "Kingma and Ba 2015 (arXiv:1412.6980), Algorithm 1: epsilon is added to the root and not "
        "scaled. Decoupled weight "
        "decay as in Loshchilov and Hutter 2019 (arXiv:1711.05101), else it is added to the "
        "gradient.",
    .inputs = {in("param", kAnyFloatSet), in("grad", kAnyFloatSet),
               fixed_in("m", kFloatSet, kState), fixed_in("v", kFloatSet, kState), kRate,
               fixed_in("step", dtype_set(DLCORE_I64), "1 at the first update, rank 0")},
    .attrs = {float_attr("beta1", "", 0.9), float_attr("beta2", "", 0.999),
              float_attr("epsilon", "", 1e-8), float_attr("weight_decay", ""),
              bool_attr("decoupled", "")},
    .outputs = {out("param"), out("m"), out("v")},
    .traits = kHidden | kNoGradient,
    .infer = [](Infer& r) { infer_update(r, 3); },
};

constexpr OpDef op_global_norm = {
    .number = kGlobalNorm,
    .name = "global_norm",
    .family = "optimizer",
    .doc =
        "The Euclidean norm over all elements of all tensors together, without overflow on the "
        "way; f32 for half precision.",
    .inputs =
        {{.name = "xs", .doc = "tensors of any shape", .dtypes = kAnyFloatSet, .variadic = true}},
    .outputs = {out("y", "T, f32 for half precision")},
    .infer = [](Infer& r) { r.set(0, wide_dtype(r.dtype(0)), {}); },
    .vjp =
        [](Vjp& r) {  // x / norm, and 0 at 0
          const Value norm = r.output(0), zero = equal(norm, zeros_like(norm));
          const Value scale =
              where(zero, zeros_like(norm), r.g() / where(zero, full_like(norm, {}, 1), norm));
          for (int i = 0; i < r.input_count(); ++i) {
            if (r.needs(i)) r.set(i, as_dtype(wide(r.input(i)) * scale, r.input_dtype(i)));
          }
        },
    .saves = [](uint32_t) { return save_input(0) | save_output(0); },
};

constexpr const OpDef* kOps[] = {&op_sgd_update, &op_adam_update, &op_global_norm};

}  // namespace

extern const OpFamily optimizer_ops = kOps;

}  // namespace dlcore
