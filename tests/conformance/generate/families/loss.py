# SPDX-License-Identifier: Apache-2.0
"""cross_entropy and mse_loss: ops 100 and 102."""

import numpy as np

import special as sf
from dtypes import EPSILON, FLOATS, HALVES, WIDE
from operands import LAYOUTS, Operand, expanded
from suite import Suite


def cross_entropy(attrs):
    """-log p[label], mixed with the mean of -log p over the classes by label_smoothing. Szegedy et al.,
    arXiv:1512.00567, section 7; ignored rows count in neither."""
    smoothing = WIDE(attrs.get("label_smoothing", 0))
    ignored = attrs.get("ignore_index")
    reduction = attrs.get("reduction", "mean")

    def define(logits, labels):
        axis = 0 if logits.ndim == 1 else 1
        log_p = np.moveaxis(sf.log_softmax(logits, axis), axis, -1)
        losses = np.zeros(labels.shape, WIDE)
        counted = 0
        for row in np.ndindex(labels.shape):
            label = int(labels[row])
            if label == ignored:
                continue
            counted += 1
            loss = -(1 - smoothing) * log_p[row][label]
            if smoothing:
                loss -= smoothing * np.mean(log_p[row])
            losses[row] = loss
        if reduction == "none":
            return losses
        total = np.sum(losses)
        return total if reduction == "sum" else total / WIDE(counted) if counted else WIDE(0)

    return define


def cross_entropies(suite, dtypes=FLOATS):
    draw = suite.numbers.spread
    for dtype in dtypes:
        eps = EPSILON[dtype]
        state = "f32" if dtype in HALVES else dtype

        def check(name, logits, labels, attrs=None, label_dtype="i64", scale=8.0, extra=False, **more):
            attrs = attrs or {}
            labels = labels if isinstance(labels, Operand) else Operand(labels, label_dtype)
            axis = 0 if logits.value.ndim == 1 else 1
            hidden = [(lambda x, _: sf.logsumexp(x, (axis,)), state)] if extra else []
            suite.check(f"{dtype}/{name}", "cross_entropy", [logits, labels], cross_entropy(attrs), dtype, attrs,
                        wide=True, extra=hidden, tolerance={"rtol": 8 * eps, "atol": scale * eps},
                        **{"differentiable": True, "smooth": True, **more})

        for reduction in ["mean", "sum", "none"]:
            check(reduction, Operand(draw([4, 3]), dtype), [2, 0, 1, 1], {"reduction": reduction})
        for label_dtype in ["i32", "u8"]:
            check(f"labels_{label_dtype}", Operand(draw([3, 4]), dtype), [3, 0, 2], label_dtype=label_dtype)
        check("default", Operand(draw([2, 5]), dtype), [4, 0], extra=True)
        check("unbatched", Operand(draw([4]), dtype), 2)
        check("unbatched_none", Operand(draw([4]), dtype), 2, {"reduction": "none"})
        check("rank3", Operand(draw([2, 3, 2]), dtype), [[0, 2], [1, 1]], extra=True)
        check("rank5", Operand(draw([2, 3, 1, 2, 1]), dtype), np.array([0, 2, 1, 1]).reshape(2, 1, 2, 1),
              {"reduction": "none"})
        check("one_class", Operand(draw([3, 1]), dtype), [0, 0, 0])
        ignore = {"ignore_index": -100}
        check("ignored", Operand(draw([4, 3]), dtype), [2, -100, 1, -100], ignore)
        check("ignored_sum", Operand(draw([4, 3]), dtype), [2, -100, 1, -100], ignore | {"reduction": "sum"})
        check("ignored_none", Operand(draw([4, 3]), dtype), [2, -100, 1, -100], ignore | {"reduction": "none"})
        check("ignored_class", Operand(draw([4, 3]), dtype), [2, 1, 1, 0], {"ignore_index": 1})
        check("all_ignored", Operand(draw([2, 3]), dtype), [-100, -100], ignore)
        check("smoothing", Operand(draw([3, 4]), dtype), [3, 0, 2], {"label_smoothing": 0.125})
        check("smoothing_ignored", Operand(draw([4, 3]), dtype), [2, -100, 1, 0],
              ignore | {"label_smoothing": 0.25, "reduction": "mean"})
        check("no_rows", Operand(np.zeros((0, 16)), dtype), np.zeros(0, np.int64))
        check("no_rows_none", Operand(np.zeros((0, 16)), dtype), np.zeros(0, np.int64), {"reduction": "none"})
        for name, layout in LAYOUTS.items():
            check(name, layout(draw([4, 3]), dtype), LAYOUTS["sliced"](np.array([2, 0, 1, 1]), "i64"),
                  {"reduction": "none"})
        check("expanded", expanded(draw([1, 3]), dtype), expanded(np.array([1]), "i64"))
        check("long", Operand(draw([3, 131]), dtype), [130, 0, 64], differentiable=False)
        check("many_rows", Operand(draw([67, 3]), dtype), np.arange(67) % 3, differentiable=False)
        far = 6e4 if dtype == "f16" else 5e30
        huge = np.array([[1000.0, 1001.0, -1000.0], [-3e4, 0.0, 3e4], [far, -far, 0.0]])
        check("case_1", Operand(huge, dtype), [0, 1, 0], {"reduction": "none"}, differentiable=False)
        p = 1 / (1 + np.exp(1.0))
        infinite = Operand([[1.0, -np.inf, 2.0]], dtype)
        check("case_2_minus_inf", infinite, [0], smooth=False, seed=1.0, given=[np.array([[p - 1, 0, 1 - p]]), None])
    if dtypes is not FLOATS:
        return
    logits = Operand(np.zeros((4, 10)), "f32")
    out = dict(error="OUT_OF_RANGE")
    for label_dtype in ["i64", "i32", "u8"]:
        labels = Operand([0, 9, 1, 12], label_dtype)
        suite.fail(f"label_{label_dtype}", "cross_entropy", [logits, labels],
                   contains=["label 12 at row 3 is out of bounds for 10 classes"], **out)
    suite.fail("label_negative", "cross_entropy", [logits, Operand([0, -1, 1, 2], "i64")],
               contains=["label -1 at row 1 is out of bounds for 10 classes"], **out)
    suite.fail("label_beside_ignored", "cross_entropy", [logits, Operand([0, -100, 10, 2], "i64")],
               {"ignore_index": -100}, contains=["label 10 at row 2 is out of bounds for 10 classes"], **out)
    suite.fail("label_views", "cross_entropy", [LAYOUTS["permuted"](np.zeros((4, 10)), "f32"),
               LAYOUTS["sliced"](np.array([0, 1, 77, 88]), "i64")], {"reduction": "none"},
               contains=["label 77 at row 2 is out of bounds for 10 classes"], **out)
    suite.fail("label_shape", "cross_entropy", [logits, Operand([0, 1, 2], "i64")], contains=["[4, 10]", "[3]"])
    suite.fail("label_rank", "cross_entropy", [logits, Operand([[0], [1], [2], [3]], "i64")],
               contains=["[4, 10]", "[4, 1]"])
    suite.fail("label_dtype", "cross_entropy", [logits, Operand([0.0, 1, 2, 3], "f32")], contains=["f32"])
    suite.fail("logits_dtype", "cross_entropy", [Operand(np.zeros((1, 2)), "i32"), Operand([0], "i64")],
               contains=["i32"])
    suite.fail("logits_rank0", "cross_entropy", [Operand(0.0, "f32"), Operand(0, "i64")])
    suite.fail("reduction", "cross_entropy", [logits, Operand([0, 1, 2, 3], "i64")], {"reduction": "average"},
               contains=["reduction", "average"])


def mean_squares(suite, dtypes=FLOATS):
    """A mean over nothing is 0, with gradient 0."""
    def by(attrs):
        def define(prediction, target):
            squares = (prediction - target) ** 2
            if attrs.get("reduction") == "none":
                return squares
            total = np.sum(squares)
            return total if attrs.get("reduction") == "sum" else total / max(squares.size, 1)

        return define

    for dtype in dtypes:
        eps = EPSILON[dtype]

        def check(name, prediction, target, attrs=None, **more):
            suite.check(f"{dtype}/{name}", "mse_loss", [prediction, target], by(attrs or {}), dtype, attrs, wide=True,
                        tolerance={"rtol": 8 * eps, "atol": 0},
                        **{"differentiable": True, "smooth": True, **more})

        def pair(shape):
            return [Operand(suite.numbers.spread(shape), dtype), Operand(suite.numbers.spread(shape, -2, 2), dtype)]

        check("default", *pair([2, 3]))
        for reduction in ["mean", "sum", "none"]:
            attrs = {"reduction": reduction}
            check(reduction, *pair([2, 3]), attrs)
            check(f"rank0_{reduction}", *pair([]), attrs)
            check(f"rank5_{reduction}", *pair([2, 1, 3, 1, 2]), attrs)
            check(f"empty_{reduction}", *pair([0, 16]), attrs)
            check(f"empty_rank1_{reduction}", *pair([0]), attrs)
        for name, layout in LAYOUTS.items():
            x, y = suite.numbers.spread([3, 4]), suite.numbers.spread([3, 4], -2, 2)
            check(name, layout(x, dtype), LAYOUTS["sliced"](y, dtype))
        check("expanded", expanded(suite.numbers.spread([1, 4]), dtype), Operand(suite.numbers.spread([3, 4]), dtype),
              {"reduction": "none"})
        check("equal", *[Operand([1.5, -2.0, 0.25], dtype)] * 2)
        check("long", *pair([131]), differentiable=False)
        check("nan", Operand([1.0, np.nan, 2.0], dtype), Operand([0.0, 1.0, np.inf], dtype), {"reduction": "none"},
              differentiable=False)
    if dtypes is not FLOATS:
        return
    x = Operand(np.zeros((2, 3)), "f32")
    suite.fail("shapes", "mse_loss", [x, Operand(np.zeros(3), "f32")], contains=["[2, 3]", "[3]"])
    suite.fail("i32", "mse_loss", [Operand([1, 2], "i32")] * 2, contains=["i32"])
    suite.fail("one_input", "mse_loss", [x])
    suite.fail("reduction", "mse_loss", [x, x], {"reduction": "average"}, contains=["reduction", "average"])


def build():
    suite = Suite("loss")
    cross_entropies(suite)
    mean_squares(suite)
    return suite
