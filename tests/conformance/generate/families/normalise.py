# SPDX-License-Identifier: Apache-2.0
"""softmax, log_softmax and layer_norm: ops 90, 91 and 95."""

import numpy as np

import special as sf
from dtypes import EPSILON, FLOATS, HALVES, WIDE
from operands import LAYOUTS, Operand, expanded
from suite import Suite

INF, NAN = np.inf, np.nan


def softmaxes(suite, dtypes=FLOATS):
    for op, function in {"softmax": sf.softmax, "log_softmax": sf.log_softmax}.items():
        for dtype in dtypes:
            eps = EPSILON[dtype]
            tolerance = {"rtol": 10 * eps, "atol": 0 if op == "softmax" else 4 * eps}
            if dtype in HALVES:  # computed in f32 and rounded once
                tolerance = {"ulp": 0.51, "atol": 1e-6}

            def check(name, operand, axis=-1, **more):
                attrs = {} if axis == -1 and name != "last" else {"axis": axis}
                suite.check(f"{dtype}/{name}", op, [operand], lambda x: function(x, axis), dtype, attrs, wide=True,
                            tolerance=tolerance, **{"differentiable": True, "smooth": True, **more})

            draw = suite.numbers.spread
            check("default_axis", Operand(draw([2, 5]), dtype))
            check("last", Operand(draw([2, 3, 2]), dtype), -1)
            check("first", Operand(draw([4, 3]), dtype), 0)
            check("middle", Operand(draw([2, 3, 2]), dtype), 1)
            for name, layout in LAYOUTS.items():
                check(name, layout(draw([3, 4]), dtype), 1)
            check("permuted_first", LAYOUTS["permuted"](draw([3, 4]), dtype), 0)
            check("expanded", expanded(draw([1, 4]), dtype))
            check("expanded_axis", expanded(draw([1, 4]), dtype), 0)
            check("rank5", Operand(draw([2, 1, 3, 1, 2]), dtype), 2)
            check("rank5_views", LAYOUTS["permuted_slice"](draw([2, 1, 3, 1, 2]), dtype), -3)
            check("one", Operand(draw([3, 1]), dtype))
            check("empty", Operand(np.zeros((0, 16)), dtype))
            check("empty_axis", Operand(np.zeros((3, 0)), dtype))
            check("long", Operand(draw([2, 131]), dtype), differentiable=False)
            check("tall", Operand(draw([131, 3]), dtype), 0, differentiable=False)
            plain = {"differentiable": False}
            # Case 1: no overflow whatever the size of the largest element, in every axis and rank.
            row = np.array([1000.0, 1001.0, -1000.0])
            check("case_1", Operand(row, dtype), **plain)
            scale = 60 if dtype == "f16" else 1e30
            check("case_1_rank2", Operand(np.stack([row, row - 3e4, row * scale, -row]), dtype), **plain)
            check("case_1_first_axis", Operand(np.stack([row, row - 3e4, -row], 1), dtype), 0, **plain)
            check("case_1_rank5", Operand(row.reshape(1, 1, 3, 1, 1), dtype), 2, **plain)
            check("case_1_permuted", LAYOUTS["permuted"](np.stack([row, row[::-1]]), dtype), **plain)
            check("case_1_minus_inf", Operand([[0.0, -INF, 1.0], [-INF, 5.0, -INF]], dtype), **plain)
            check("case_1_nan", Operand([[0.0, NAN, 1.0], [1.0, 2.0, 3.0]], dtype), **plain)
            with np.errstate(all="ignore"):
                check("case_1_gradient", Operand(np.stack([row, -row]), dtype), smooth=False)
        if dtypes is not FLOATS:
            continue
        x = Operand(np.zeros((2, 3)), "f32")
        suite.fail("axis", op, [x], {"axis": 2}, contains=["2"])
        suite.fail("axis_low", op, [x], {"axis": -3}, contains=["-3"])
        suite.fail("rank0", op, [Operand(1.0, "f32")], contains=["-1"])
        suite.fail("i32", op, [Operand([1], "i32")], contains=["i32"])


def layer_norm(axis, epsilon, has_scale, has_bias):
    def statistics(x):
        axes = tuple(range(axis % x.ndim, x.ndim))
        mean = np.mean(x, axis=axes, keepdims=True)
        variance = np.mean((x - mean) ** 2, axis=axes, keepdims=True)
        return mean, 1 / np.sqrt(variance + WIDE(epsilon)), axes

    def define(x, *rest):
        mean, rstd, _ = statistics(x)
        y = (x - mean) * rstd
        if has_scale:
            y = y * rest[0]
        return y + rest[1] if has_bias else y

    def mean_of(x, *_):
        mean, _, axes = statistics(x)
        return np.squeeze(mean, axis=axes)

    def rstd_of(x, *_):
        _, rstd, axes = statistics(x)
        return np.squeeze(rstd, axis=axes)

    return define, mean_of, rstd_of


def layer_norms(suite, dtypes=FLOATS):
    for dtype in dtypes:
        eps = EPSILON[dtype]
        state = "f32" if dtype in HALVES else dtype

        def check(name, x, shape, scale=True, bias=True, axis=-1, epsilon=1e-5, statistics=False, spread=None,
                  **more):
            attrs = ({"axis": axis} if axis != -1 else {}) | ({"epsilon": epsilon} if epsilon != 1e-5 else {})
            tail = list(shape[axis % len(shape):])
            inputs = [x]
            if scale or bias:
                inputs.append(Operand(suite.numbers.spread(tail, 0.5, 2), dtype) if scale else None)
            if bias:
                inputs.append(Operand(suite.numbers.spread(tail), dtype))
            define, mean, rstd = layer_norm(axis, epsilon, scale, bias)
            extra = [(mean, state), (rstd, state)] if statistics else []
            tolerance = {"rtol": 32 * eps, "atol": 32 * eps * (spread or 1)}
            suite.check(f"{dtype}/{name}", "layer_norm", inputs, define, dtype, attrs, wide=True, extra=extra,
                        tolerance=tolerance, **{"differentiable": True, "smooth": True, **more})

        draw = suite.numbers.spread
        check("full", Operand(draw([3, 4]), dtype), [3, 4])
        check("small", Operand(draw([2, 2]), dtype), [2, 2])
        check("plain", Operand(draw([2, 5]), dtype), [2, 5], scale=False, bias=False)
        check("scale_only", Operand(draw([2, 5]), dtype), [2, 5], bias=False)
        check("bias_only", Operand(draw([2, 5]), dtype), [2, 5], scale=False)
        check("statistics", Operand(draw([2, 3, 4]), dtype), [2, 3, 4], axis=2, statistics=True)
        check("two_axes", Operand(draw([2, 3, 2]), dtype), [2, 3, 2], axis=1, statistics=True)
        check("all_axes", Operand(draw([3, 2]), dtype), [3, 2], axis=-2, statistics=True)
        check("rank1", Operand(draw([4]), dtype), [4])
        check("epsilon", Operand(draw([2, 4]), dtype), [2, 4], epsilon=0.5)
        for name, layout in LAYOUTS.items():
            check(name, layout(draw([3, 4]), dtype), [3, 4])
        check("expanded", expanded(draw([1, 4]), dtype), [3, 4])
        check("rank5", Operand(draw([2, 1, 3, 1, 2]), dtype), [2, 1, 3, 1, 2], axis=2)
        check("empty", Operand(np.zeros((0, 16)), dtype), [0, 16])
        check("long", Operand(draw([2, 131]), dtype), [2, 131], differentiable=False)
        check("constant_rows", Operand(np.full((2, 4), 2.5), dtype), [2, 4], differentiable=False)
        # The variance of numbers far from 0 needs a second pass.
        check("far_from_zero", Operand(draw([2, 8]) + (512.0 if dtype in HALVES else 4096.0), dtype), [2, 8], spread=4096.0, differentiable=False)
        check("nan", Operand([[1.0, NAN, 2.0], [1.0, 3.0, 2.0]], dtype), [2, 3], differentiable=False)
    if dtypes is not FLOATS:
        return
    x = Operand(np.zeros((2, 3)), "f32")
    wrong = Operand(np.zeros(4), "f32")
    suite.fail("scale_shape", "layer_norm", [x, wrong], contains=["[4]", "[3]"])
    suite.fail("bias_shape", "layer_norm", [x, None, wrong], contains=["[4]", "[3]"])
    suite.fail("axis", "layer_norm", [x], {"axis": 2}, contains=["2"])
    suite.fail("rank0", "layer_norm", [Operand(1.0, "f32")])
    suite.fail("i32", "layer_norm", [Operand([1, 2], "i32")], contains=["i32"])


def build():
    suite = Suite("normalise")
    softmaxes(suite)
    layer_norms(suite)
    return suite
