// SPDX-License-Identifier: Apache-2.0
// Losses.
#include "core/ops/families/common.h"

namespace dlcore {
namespace {

constexpr int32_t kCrossEntropy = 100, kCrossEntropyBackward = 101, kMseLoss = 102, kOneHot = 130;

constexpr AttrDef kReduction = string_attr("reduction", "over the rows", "mean", "mean|sum|none");

int class_axis(int rank) { return rank == 1 ? 0 : 1; }

Dims without_axis(const Dims& dims, int axis) {
  Dims rows = dims;
  rows.erase(static_cast<size_t>(axis));
  return rows;
}

// The shape of the rows; `logits` numbers that input, and the labels follow.
Dims rows_of(Infer& r, int logits) {
  r.need_rank(logits, 1);
  const Dims& dims = r.dims(logits);
  const int axis = class_axis(r.rank(logits));
  const Dims rows = without_axis(dims, axis);
  if (!(r.dims(logits + 1) == rows)) {
    r.refuse("labels is {}, expected {} for logits {}", r.math.text(r.dims(logits + 1)),
             r.math.text(rows), r.math.text(dims));
  }
  if (r.dim(logits, axis) == Dim(0))
    r.refuse("logits is {}: there are no classes", r.math.text(dims));
  const double smoothing = r.attrs.real(2);
  if (!(smoothing >= 0 && smoothing <= 1))
    r.refuse("label_smoothing is {}, expected 0 to 1", smoothing);
  return rows;
}

void infer_cross_entropy(Infer& r) {
  const Dims rows = rows_of(r, 0);
  r.set(0, r.dtype(0), r.attrs.text(0) == "none" ? rows : Dims{});
  r.set(1, wide_dtype(r.dtype(0)), rows);
}

constexpr FixedList<AttrDef, 6> kCrossEntropyAttrs = {
    kReduction,
    optional(
        int_attr("ignore_index", "rows with this label count neither in the loss nor in its mean")),
    float_attr("label_smoothing", "share of the target spread evenly over the classes, 0 to 1")};
constexpr InputDef kLabels = fixed_in("labels", kIndexSet, "[N, ...], the class of each row");

constexpr OpDef op_cross_entropy = {
    .number = kCrossEntropy,
    .name = "cross_entropy",
    .family = "loss",
    .doc =
        "-log softmax(logits) at the label, along the class axis (1, or 0 for a single row). With "
        "label smoothing e: "
        "(1 - e) times that plus e times the mean over all classes. A mean over no rows is 0. A "
        "label out of range is "
        "OUT_OF_RANGE.",
    .inputs = {in("logits", kAnyFloatSet, "[N, C, ...] or [C]"), kLabels},
    .attrs = kCrossEntropyAttrs,
    .outputs = {out("loss", "T", "rank 0, or the shape of labels for reduction none"),
                hidden_out("logsumexp", "of each row, f32 for half precision")},
    .infer = infer_cross_entropy,
    .vjp =
        [](Vjp& r) {
          if (!r.g(0)) return;
          r.set(0, call(kCrossEntropyBackward, {r.g(0), r.input(0), r.input(1), r.output(1)},
                        r.attrs.words()));
        },
    .saves = [](uint32_t) { return save_input(0) | save_input(1) | save_output(1); },
};

// logits' gradient in ops: (softmax(logits) - target) * weight of the row * g.
void compose_backward(Compose& r) {
  const Dtype dtype = r.input(1).dtype();
  const Value g = wide(r.input(0)), logits = wide(r.input(1));
  const int axis = class_axis(logits.rank());
  const double smoothing = r.attrs.real(2);
  const Dim classes = logits.dim(axis);
  Value labels = astype(r.input(2), DLCORE_I64), counted;
  if (r.attrs.has(1)) {
    counted = not_equal(labels, weak_int(r.ctx, r.attrs.number(1)));
    labels = where(counted, labels, zeros_like(labels));
  }
  if (classes.symbolic())
    fail(DLCORE_UNIMPLEMENTED, "cross_entropy: its derivative needs a known number of classes");
  Value target = call(kOneHot, {labels}, Attrs().number(classes.value).number(logits.dtype()));
  target = move_axis(target, target.rank() - 1, axis);
  if (smoothing > 0)
    target = target * (1 - smoothing) + smoothing / static_cast<double>(classes.value);
  Value row_g = g;
  if (r.attrs.text(0) == "mean") {
    Value count = counted ? astype(sum_all(counted), g.dtype()) : size_value(g, r.input(2).dims());
    row_g = g / maximum(count, weak(r.ctx, 1));
  }
  if (counted) row_g = where(counted, row_g, full_like(g, {}, 0));
  if (row_g.rank() > 0) row_g = expand_dims(row_g, axis);
  r.set(0, as_dtype((softmax(logits, axis) - target) * row_g, dtype));
}

constexpr OpDef op_cross_entropy_backward = {
    .number = kCrossEntropyBackward,
    .name = "cross_entropy_backward",
    .family = "loss",
    .doc = "Gradient of cross_entropy with respect to the logits.",
    .inputs = {in("g", kAnyFloatSet), in("logits", kAnyFloatSet), kLabels,
               fixed_in("logsumexp", kFloatSet)},
    .attrs = kCrossEntropyAttrs,
    .traits = kHidden,
    .key_input = 1,
    .infer =
        [](Infer& r) {
          const Dims rows = rows_of(r, 1);
          r.need_same(0, r.attrs.text(0) == "none" ? rows : Dims{});
          r.need_same(3, rows);
          need_wide(r, 1, {3});
          r.set(0, r.dtype(1), r.dims(1));
        },
    .compose = compose_backward,
};

constexpr OpDef op_mse_loss = {
    .number = kMseLoss,
    .name = "mse_loss",
    .family = "loss",
    .doc = "(prediction - target)^2, averaged, summed, or as it is. A mean over nothing is 0.",
    .inputs = {in("prediction", kAnyFloatSet), in("target", kAnyFloatSet)},
    .attrs = {kReduction},
    .infer =
        [](Infer& r) {
          r.need_same(1, r.dims(0));
          r.set(0, r.dtype(0), r.attrs.text(0) == "none" ? r.dims(0) : Dims{});
        },
    .compose =
        [](Compose& r) {
          const Dtype dtype = r.input(0).dtype();
          const Value squares = square(wide(r.input(0)) - wide(r.input(1)));
          if (r.attrs.text(0) == "none") return r.set(0, as_dtype(squares, dtype));
          const Value total = sum_all(squares);
          if (r.attrs.text(0) == "sum") return r.set(0, as_dtype(total, dtype));
          const Value count = maximum(size_value(total, squares.dims()), weak(r.ctx, 1));
          r.set(0, as_dtype(total / count, dtype));
        },
};

constexpr const OpDef* kOps[] = {&op_cross_entropy, &op_cross_entropy_backward, &op_mse_loss};

}  // namespace

extern const OpFamily loss_ops = kOps;

}  // namespace dlcore
