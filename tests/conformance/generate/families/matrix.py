# SPDX-License-Identifier: Apache-2.0
"""matmul, linear and dense: ops 110, 111 and 115."""

import numpy as np

import special as sf
from dtypes import EPSILON, FLOATS, HALVES, HOLDERS, is_float
from operands import LAYOUTS, Operand, expanded
from suite import Suite

from . import unary

DTYPES = FLOATS + ["i32", "i64"]
SHAPES = {
    "square": ([3, 3], [3, 3]), "wide": ([2, 3], [3, 5]), "inner1": ([3, 1], [1, 2]), "vector_vector": ([4], [4]),
    "vector_matrix": ([3], [3, 2]), "matrix_vector": ([2, 3], [3]), "batch": ([2, 2, 3], [2, 3, 2]),
    "batch_left": ([2, 2, 3], [3, 2]), "batch_right": ([2, 3], [2, 3, 2]),
    "batch_broadcast": ([2, 1, 1, 2], [3, 2, 1]),
    "batch_vector": ([2, 2, 3], [3]), "vector_batch": ([3], [2, 3, 2]), "rank5": ([2, 1, 1, 2, 2], [1, 2, 1, 2, 1]),
    "empty_rows": ([0, 16], [16, 2]), "empty_columns": ([2, 3], [3, 0]), "empty_inner": ([2, 0], [0, 3]),
    "empty_batch": ([0, 2, 3], [3, 2]), "empty_vectors": ([0], [0]), "small": ([2, 2], [2, 2]),
}


def matmul(transpose_a=False, transpose_b=False):
    def define(a, b):
        a = np.swapaxes(a, -1, -2) if transpose_a and a.ndim > 1 else a
        b = np.swapaxes(b, -1, -2) if transpose_b and b.ndim > 1 else b
        return np.matmul(a, b)

    return define


def tolerance_of(dtype, inner, largest=9.0):
    if dtype in HALVES:  # summed in f32, then rounded once
        return {"ulp": 0.51, "atol": 4 * EPSILON["f32"] * max(inner, 1) * largest}
    if dtype not in FLOATS:
        return None
    return {"rtol": 4 * EPSILON[dtype], "atol": 4 * EPSILON[dtype] * max(inner, 1) * largest}


def matmul_cases(suite, dtype):
    def check(name, a, b, attrs=None, **more):
        attrs = attrs or {}
        inner = a.value.shape[-2 if attrs.get("transpose_a") else -1]
        suite.check(f"{dtype}/{name}", "matmul", [a, b], matmul(**attrs), dtype, attrs, wide=True,
                    tolerance=tolerance_of(dtype, inner),
                    **{"differentiable": is_float(dtype), "smooth": True, **more})

    def draw(shape):
        return suite.numbers.fitting(dtype, shape)

    for name, (sa, sb) in SHAPES.items():
        check(name, Operand(draw(sa), dtype), Operand(draw(sb), dtype))
    for name, attrs, sa, sb in [("ta", {"transpose_a": True}, [3, 2], [3, 4]),
                                ("tb", {"transpose_b": True}, [2, 3], [4, 3]),
                                ("ta_tb", {"transpose_a": True, "transpose_b": True}, [3, 2], [4, 3]),
                                ("tb_batch", {"transpose_b": True}, [2, 1, 2, 3], [2, 2, 3])]:
        check(name, Operand(draw(sa), dtype), Operand(draw(sb), dtype), attrs)
    for name, layout in LAYOUTS.items():
        check(f"{name}_left", layout(draw([2, 3]), dtype), Operand(draw([3, 4]), dtype))
        check(f"{name}_right", Operand(draw([2, 3]), dtype), layout(draw([3, 4]), dtype))
        check(f"{name}_both", layout(draw([2, 3]), dtype), layout(draw([4, 3]), dtype), {"transpose_b": True})
    check("expanded", expanded(draw([1, 3]), dtype, 0, 2), expanded(draw([3, 1]), dtype, 1, 4))
    check("expanded_inner", expanded(draw([2, 1]), dtype, 1, 3), expanded(draw([1, 4]), dtype, 0, 3))
    check("expanded_batch", expanded(draw([1, 2, 3]), dtype, 0, 2), Operand(draw([2, 3, 2]), dtype))
    check("permuted_batch", LAYOUTS["permuted"](draw([2, 2, 3]), dtype), LAYOUTS["permuted"](draw([3, 2]), dtype))
    check("tiles", Operand(draw([17, 33]), dtype), Operand(draw([33, 19]), dtype), differentiable=False)
    check("long_inner", Operand(draw([1, 300]), dtype), Operand(draw([300, 2]), dtype), differentiable=False)
    if is_float(dtype):
        # 0 * NaN and 0 * inf are NaN: nothing is skipped because a factor is 0.
        a = Operand([[0.0, 1.0], [1.0, 2.0], [np.inf, 0.0]], dtype)
        b = Operand([[np.nan, 1.0], [1.0, np.inf]], dtype)
        check("special", a, b, differentiable=False)
    else:
        high = np.iinfo(HOLDERS[dtype]).max
        check("wrap", Operand([[high, high]], dtype), Operand([[high, 2], [5, high]], dtype))


def matmuls(suite):
    for dtype in DTYPES:
        matmul_cases(suite, dtype)
    a = Operand(np.zeros((2, 3)), "f32")
    b = Operand(np.zeros((4, 3)), "f32")
    suite.fail("inner", "matmul", [a, b], contains=["[2, 3]", "[4, 3]", "transpose_b"])
    suite.fail("inner_transposed", "matmul", [a, b], {"transpose_a": True}, contains=["[2, 3]", "[4, 3]"])
    suite.fail("inner_vectors", "matmul", [Operand([1.0], "f32"), Operand([1.0, 2], "f32")], contains=["[1]", "[2]"])
    suite.fail("batch", "matmul", [Operand(np.zeros((2, 1, 3)), "f32"), Operand(np.zeros((4, 3, 1)), "f32")],
               contains=["[2, 1, 3]", "[4, 3, 1]"])
    suite.fail("rank0", "matmul", [Operand(1.0, "f32"), b], contains=["[]"])
    suite.fail("bool", "matmul", [Operand([[True]], "bool")] * 2, contains=["bool"])


def linear_cases(suite, dtype):
    def define(x, w, *bias):
        y = np.matmul(x, np.swapaxes(w, 0, 1))
        return y + bias[0] if bias and bias[0] is not None else y

    def check(name, x, w, bias=None, **more):
        inputs = [x, w] if bias is None else [x, w, bias]
        suite.check(f"{dtype}/{name}", "linear", inputs, define, dtype, wide=True,
                    tolerance=tolerance_of(dtype, w.value.shape[1]),
                    **{"differentiable": is_float(dtype), "smooth": True, **more})

    draw = suite.numbers.spread
    check("bias", Operand(draw([2, 3]), dtype), Operand(draw([4, 3]), dtype), Operand(draw([4]), dtype))
    check("small", Operand(draw([2, 2]), dtype), Operand(draw([2, 2]), dtype), Operand(draw([2]), dtype))
    check("no_bias", Operand(draw([2, 3]), dtype), Operand(draw([4, 3]), dtype))
    check("rank1", Operand(draw([3]), dtype), Operand(draw([2, 3]), dtype), Operand(draw([2]), dtype))
    check("rank3", Operand(draw([2, 2, 3]), dtype), Operand(draw([2, 3]), dtype), Operand(draw([2]), dtype))
    check("rank5", Operand(draw([2, 1, 2, 1, 3]), dtype), Operand(draw([2, 3]), dtype))
    for name, layout in LAYOUTS.items():
        check(f"{name}_x", layout(draw([2, 3]), dtype), Operand(draw([4, 3]), dtype), Operand(draw([4]), dtype))
        check(f"{name}_w", Operand(draw([2, 3]), dtype), layout(draw([4, 3]), dtype), layout(draw([4]), dtype))
    check("expanded", expanded(draw([1, 3]), dtype), Operand(draw([2, 3]), dtype),
          expanded(draw([1]), dtype, 0, 2))
    check("permuted_rank3", LAYOUTS["permuted"](draw([2, 2, 3]), dtype), Operand(draw([2, 3]), dtype))
    check("empty", Operand(np.zeros((0, 16)), dtype), Operand(draw([2, 16]), dtype), Operand(draw([2]), dtype))
    check("empty_inner", Operand(np.zeros((2, 0)), dtype), Operand(np.zeros((3, 0)), dtype),
          Operand(draw([3]), dtype))
    check("empty_outer", Operand(draw([2, 3]), dtype), Operand(np.zeros((0, 3)), dtype))
    check("tiles", Operand(draw([17, 33]), dtype), Operand(draw([19, 33]), dtype), Operand(draw([19]), dtype),
          differentiable=False)


def linears(suite):
    for dtype in FLOATS:
        linear_cases(suite, dtype)
    x, w = Operand(np.zeros((2, 3)), "f32"), Operand(np.zeros((4, 3)), "f32")
    suite.fail("inner", "linear", [x, Operand(np.zeros((4, 5)), "f32")], contains=["[2, 3]", "[4, 5]"])
    suite.fail("bias", "linear", [x, w, Operand(np.zeros(3), "f32")], contains=["[3]", "4"])
    suite.fail("weight_rank", "linear", [x, Operand(np.zeros(3), "f32")], contains=["[3]"])
    suite.fail("rank0", "linear", [Operand(1.0, "f32"), w], contains=["[]"])
    suite.fail("i32", "linear", [Operand(np.zeros((2, 3)), "i32"), Operand(np.zeros((4, 3)), "i32")],
               contains=["i32"])


ACTIVATIONS = {"none": lambda x: x, "relu": unary.relu, "sigmoid": sf.sigmoid, "tanh": np.tanh, "silu": sf.silu,
               "gelu": sf.gelu}
# Those that kernels have loops of their own for: few rows, few columns, neither, and both in the other order.
DENSE_SHAPES = {"few_rows": (1, 40, 37), "few_columns": (130, 7, 9), "tiles": (37, 70, 33), "blocks": (15, 33, 600)}


def dense_cases(suite, dtype):
    def check(name, x, w, bias=None, activation="none", **more):
        define = ACTIVATIONS[activation]
        tolerance = tolerance_of(dtype, w.value.shape[1])
        if dtype in HALVES:  # rounded before and after
            tolerance["ulp"] = 2.5
        else:
            tolerance["rtol"] = 16 * EPSILON[dtype]
        suite.check(f"{dtype}/{name}", "dense", [x, w] if bias is None else [x, w, bias],
                    lambda x, w, *b: define(np.matmul(x, np.swapaxes(w, 0, 1)) + (b[0] if b else 0)), dtype,
                    {"activation": activation}, wide=True, tolerance=tolerance,
                    **{"differentiable": True, "smooth": activation != "relu", **more})

    draw = suite.numbers.spread
    for activation in ACTIVATIONS:
        check(activation, Operand(draw([2, 3]), dtype), Operand(draw([4, 3]), dtype), Operand(draw([4]), dtype), activation)
        check(f"{activation}_no_bias", Operand(draw([2, 1, 2]), dtype), Operand(draw([3, 2]), dtype), None, activation)
    for name, (rows, outputs, inner) in DENSE_SHAPES.items():
        if dtype in HALVES:
            continue
        check(name, Operand(draw([rows, inner]), dtype), Operand(draw([outputs, inner]), dtype),
              Operand(draw([outputs]), dtype), "silu", differentiable=False)
    for name, layout in LAYOUTS.items():
        check(f"{name}_x", layout(draw([2, 3]), dtype), Operand(draw([4, 3]), dtype), Operand(draw([4]), dtype), "tanh")
        check(f"{name}_w", Operand(draw([2, 3]), dtype), layout(draw([4, 3]), dtype), layout(draw([4]), dtype), "tanh")
    check("empty", Operand(np.zeros((0, 16)), dtype), Operand(draw([2, 16]), dtype), Operand(draw([2]), dtype), "silu")
    check("empty_inner", Operand(np.zeros((2, 0)), dtype), Operand(np.zeros((3, 0)), dtype), Operand(draw([3]), dtype),
          "sigmoid")


def denses(suite):
    for dtype in FLOATS:
        dense_cases(suite, dtype)
    x, w = Operand(np.zeros((2, 3)), "f32"), Operand(np.zeros((4, 3)), "f32")
    suite.fail("activation", "dense", [x, w], {"activation": "relu6"}, contains=["activation", "relu6"])
    suite.fail("inner", "dense", [x, Operand(np.zeros((4, 5)), "f32")], {"activation": "relu"}, contains=["[2, 3]", "[4, 5]"])


def build():
    suite = Suite("matrix")
    matmuls(suite)
    linears(suite)
    denses(suite)
    return suite
