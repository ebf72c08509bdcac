# SPDX-License-Identifier: Apache-2.0
"""f16 and bf16 arithmetic: the cases of the other families, computed in f32 and rounded once."""

import math

import numpy as np

import philox
import special as sf
from dtypes import HALVES, WIDE, limits, to_dtype
from families import binary, compare, creation, matrix, unary
from operands import Operand, Weak
from suite import EXACT, Result, Suite

ROUNDED_ONCE = {"ulp": 0.51}  # half an ulp, and what f32 was off by


def arithmetic(suite):
    for op, (define, _, differentiable, ulp, wide) in binary.OPS.items():
        near = ROUNDED_ONCE["ulp"] if ulp else 0
        binary.shaped(suite, op, (define, HALVES, False, near, wide))
        for dtype in HALVES if differentiable and op != "remainder" else []:
            for shape in [[], [2, 3]]:
                pair = [Operand(x, dtype) for x in binary.operands(suite, op, dtype, (shape, shape))]
                suite.check(f"{dtype}/gradient_rank{len(shape)}", op, pair, define, dtype, tolerance={"ulp": near},
                            wide=wide, differentiable=True)
    binary.special_floats(suite, HALVES, ROUNDED_ONCE["ulp"])


def functions(suite):
    for op, spec in unary.OPS.items():
        ulp = ROUNDED_ONCE["ulp"] if spec.ulp else 0
        half = unary.Op(spec.define, HALVES, ulp, spec.low, spec.high, spec.points, spec.smooth)
        for dtype in HALVES:
            unary.shaped(suite, op, half, dtype, spec.define)
            unary.special_values(suite, op, half, dtype)
    kink = unary.Op(None, HALVES, smooth=False)
    slopes = unary.Op(None, HALVES, ROUNDED_ONCE["ulp"], smooth=False)
    for dtype in HALVES:
        for tag, attrs in {"both_": {"min": -1.0, "max": 2.0}, "tenth_": {"max": 0.1}}.items():
            bounds = {name: float(to_dtype(bound, dtype)) for name, bound in attrs.items()}
            unary.shaped(suite, "clip", kink, dtype, unary.clip_by(bounds), attrs, EXACT, tag)
        ends = Operand([np.inf, -np.inf, np.nan, 0.0, 5.0], dtype)
        suite.check(f"{dtype}/special", "clip", [ends], unary.clip_by({"min": -1.0, "max": 1.0}), dtype,
                    {"min": -1.0, "max": 1.0})
        unary.shaped(suite, "leaky_relu", slopes, dtype, lambda x: np.where(x > 0, x, x * WIDE(0.01)))
        near = ROUNDED_ONCE | {"atol": 2e-6}
        unary.shaped(suite, "gelu", unary.Op(None), dtype, sf.gelu_tanh, {"approximate": "tanh"}, near, "tanh_")


def comparisons(suite):
    for op, define in compare.COMPARISONS.items():
        compare.shaped(suite, op, define, HALVES)
    compare.special_floats(suite, HALVES)


def products(suite):
    for dtype in HALVES:
        matrix.matmul_cases(suite, dtype)
        matrix.linear_cases(suite, dtype)


def long_sums(suite):
    """Sums that an accumulator of 16 bits would lose: 1 + 1 + ... stops at 2048 in f16, at 256 in bf16."""
    for dtype in HALVES:
        ones = Operand(np.ones((2, 3000)), dtype)
        suite.check(f"{dtype}/ones", "matmul", [ones, Operand(np.ones((3000, 3)), dtype)], np.matmul, dtype)
        suite.check(f"{dtype}/ones", "linear", [ones, Operand(np.ones((1, 3000)), dtype)],
                    lambda x, w: np.matmul(x, w.T), dtype)


def made(suite):
    for dtype in HALVES:
        for name, (start, stop, step) in {"plain": (0, 5, 1), "down": (9, 0, -2), "empty": (5, 5, 1),
                                          "tenths": (0.0, 1.0, 0.1), "long": (-1.0, 60.0, 1)}.items():
            count = max(0, math.ceil((stop - start) / step))
            suite.add(f"{dtype}/{name}", "arange", [], {"start": start, "stop": stop, "step": step, "dtype": dtype},
                      [Result(start + np.arange(count) * float(step), dtype)])


def draws(suite):
    """The numbers of f32, rounded, and still below the upper bound."""
    for dtype in HALVES:
        step = {"f16": 2.0**-11, "bf16": 2.0**-8}[dtype]  # between numbers just below 1
        for name, shape in creation.SHAPES.items():
            count, numbers = int(np.prod(shape, dtype=np.int64)), creation.KEYS["call"]
            key, attrs = Operand(np.array(numbers, np.int64), "i64"), {"shape": shape, "dtype": dtype}
            u = np.minimum(philox.uniform(numbers, count, "f32"), 1 - step).reshape(shape)
            suite.add(f"{dtype}/{name}", "random_uniform", [key], attrs, [Result(u, dtype, within=[0, 1])])
            # A width that is a power of two, and 6 - 8 step the largest number below 6.
            v = np.minimum(-2 + 8 * philox.uniform(numbers, count, "f32"), 6 - 8 * step).reshape(shape)
            suite.add(f"{dtype}/{name}_interval", "random_uniform", [key], attrs | {"low": -2, "high": 6},
                      [Result(v, dtype, within=[-2, 6])])
            z = philox.normal(numbers, count, "f32").reshape(shape)
            suite.add(f"{dtype}/{name}", "random_normal", [key], attrs, [Result(z, dtype)],
                      tolerance=ROUNDED_ONCE | {"atol": 3e-7})
        suite.add(f"{dtype}/below", "random_uniform", [], {"shape": [4096], "low": -1, "high": 0, "dtype": dtype},
                  [Result(None, dtype, [4096], within=[-1, 0])])
        x = Operand(suite.numbers.spread([3, 5]), dtype)
        key = Operand(np.array(creation.KEYS["small"], np.int64), "i64")
        suite.check(f"{dtype}/keep_all", "dropout", [x, key], lambda x, _: x, dtype, {"p": 0.0}, vmap=False)
        suite.check(f"{dtype}/drop_all", "dropout", [x, key], lambda x, _: np.zeros_like(x), dtype, {"p": 1.0},
                    vmap=False)


PROMOTIONS = {("f16", "bf16"): "f32", ("f16", "f32"): "f32", ("bf16", "f32"): "f32", ("f16", "f64"): "f64",
              ("bf16", "f64"): "f64", ("i32", "f16"): "f16", ("u8", "bf16"): "bf16"}


def promotion(suite):
    """f16 and bf16 together are f32: neither holds the other."""
    for (a, b), result in PROMOTIONS.items():
        x, y = suite.numbers.fitting(a, [2, 3]), suite.numbers.fitting(b, [2, 3])
        for pair, swapped in [([Operand(x, a), Operand(y, b)], ""), ([Operand(y, b), Operand(x, a)], "_swapped")]:
            suite.check(f"promote_{a}_{b}{swapped}", "add", pair, np.add, result)
            suite.check(f"promote_{a}_{b}{swapped}", "less", pair, np.less, "bool")
    for dtype in HALVES:
        x = Operand(suite.numbers.spread([2, 3]), dtype)
        for scalar in [Weak("i64", 3), Weak("f64", 0.1)]:
            value = float(to_dtype(scalar.value, dtype))
            for op, define in {"add": np.add, "multiply": np.multiply, "subtract": np.subtract}.items():
                suite.check(f"{dtype}/weak_{scalar.kind}_right", op, [x, scalar],
                            lambda a, _, f=define, v=value: f(a, v), dtype)
                suite.check(f"{dtype}/weak_{scalar.kind}_left", op, [scalar, x],
                            lambda _, a, f=define, v=value: f(v, a), dtype)
        huge = limits(dtype)[2]
        suite.check(f"{dtype}/overflow", "multiply", [Operand([huge, -huge], dtype), Weak("f64", 2.0)],
                    lambda a, _: a * np.inf, dtype)


def build():
    suite = Suite("half")
    for part in [arithmetic, functions, comparisons, products, long_sums, made, draws, promotion]:
        part(suite)
    return suite
