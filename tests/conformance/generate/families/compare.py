# SPDX-License-Identifier: Apache-2.0
"""Comparisons, logic and selection: ops 10 to 18, 43 to 46 and 49."""

import numpy as np

from dtypes import ALL, COMPARABLE, FLOATS, HOLDERS, INTEGERS, MAIN, limits
from operands import Operand, expanded, offset, permuted, permuted_slice, sliced
from suite import Suite

COMPARISONS = {
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}
LOGIC = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
SHAPES = {
    "same": ([2, 3], [2, 3]), "both": ([3, 1], [1, 4]), "rank0": ([], []), "scalar": ([5], []),
    "rank5": ([2, 1, 3, 1, 2], [1, 2, 3, 2, 1]), "long": ([67], [67]),
    "empty": ([0, 16], [0, 16]), "empty_broadcast": ([2, 0], [1]),
}


def pair_of(suite, dtype, shapes):
    """Two arrays with some equal elements."""
    return suite.remember((dtype, str(shapes)), lambda: draw_pair(suite.numbers, dtype, shapes))


def draw_pair(numbers, dtype, shapes):
    high = 1 if dtype == "bool" else 3
    shift = 0 if dtype in ("bool", "u8") else 1
    return [(numbers.whole(s, 0, high) - shift).astype(HOLDERS[dtype]) for s in shapes]


def shaped(suite, op, define, dtypes):
    for dtype in dtypes:
        for name, shapes in SHAPES.items():
            if dtype not in MAIN and name in ("same", "scalar", "empty"):
                continue
            a, b = pair_of(suite, dtype, shapes)
            suite.check(f"{dtype}/{name}", op, [Operand(a, dtype), Operand(b, dtype)], define, "bool")
        a, b = pair_of(suite, dtype, ([3, 4], [3, 4]))
        suite.check(f"{dtype}/permuted_sliced", op, [permuted(a, dtype), sliced(b, dtype)], define, "bool")
        a, b = pair_of(suite, dtype, ([1, 4], [3, 4]))
        suite.check(f"{dtype}/expanded_offset", op, [expanded(a, dtype), offset(b, dtype)], define, "bool")


def special_floats(suite, dtypes=FLOATS):
    for dtype in dtypes:
        tiny, _, huge = limits(dtype)
        points = [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, huge, 1.0]
        a, b = (np.array(m).ravel() for m in np.meshgrid(points, points))
        for op, define in COMPARISONS.items():
            pair = [Operand(a, dtype), Operand(b, dtype)]
            suite.check(f"{dtype}/special", op, pair, define, "bool")
        for op, define in {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}.items():
            suite.check(f"{dtype}/special", op, [Operand(points, dtype)], define, "bool")
            x = np.where(suite.numbers.whole([3, 5], 0, 2) == 0, np.nan, np.inf)
            suite.check(f"{dtype}/permuted_slice", op, [permuted_slice(x, dtype)], define, "bool")
            suite.check(f"{dtype}/expanded", op, [expanded(x[:1], dtype)], define, "bool")
            suite.check(f"{dtype}/rank0", op, [Operand(-np.inf, dtype)], define, "bool")
            suite.check(f"{dtype}/rank5", op, [Operand(x[:2, :4].reshape(1, 2, 2, 1, 2), dtype)], define, "bool")
            suite.check(f"{dtype}/empty", op, [Operand(np.zeros((0, 16)), dtype)], define, "bool")


def special(suite):
    special_floats(suite)
    for dtype in INTEGERS:
        info = np.iinfo(HOLDERS[dtype])
        points = np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], HOLDERS[dtype])
        a, b = (m.ravel() for m in np.meshgrid(points, points))
        for op, define in COMPARISONS.items():
            suite.check(f"{dtype}/limits", op, [Operand(a, dtype), Operand(b, dtype)], define, "bool")
    # Two integers of 64 bits that no float64 tells apart.
    near = np.array([2**62, 2**62 + 1], np.int64)
    for op, define in COMPARISONS.items():
        pair = [Operand(near, "i64"), Operand(near[::-1].copy(), "i64")]
        suite.check("i64/beyond_float64", op, pair, define, "bool")


def logical_not(suite):
    x = suite.numbers.fitting("bool", [3, 4])
    for name, operand in {"plain": Operand(x, "bool"), "permuted_slice": permuted_slice(x, "bool"),
                          "expanded": expanded(x[:1], "bool"), "offset": offset(x, "bool"),
                          "rank0": Operand(True, "bool"), "empty": Operand(np.zeros((0, 16)), "bool"),
                          "rank5": Operand(x.reshape(1, 3, 2, 1, 2), "bool"),
                          "long": Operand(suite.numbers.fitting("bool", [67]), "bool")}.items():
        suite.check(f"bool/{name}", "logical_not", [operand], np.logical_not, "bool")
    suite.fail("f32", "logical_not", [Operand([1.0], "f32")], contains=["f32"])


def where(suite):
    def define(c, a, b):
        return np.where(c, a, b)

    for dtype in ALL:
        options = dict(differentiable=dtype in FLOATS, smooth=True)
        shapes = {"same": ([2, 3],) * 3, "broadcast": ([3, 1], [4], [2, 1, 1]), "rank0": ([], [], []),
                  "rank5": ([2, 1, 1, 2, 1], [1, 3, 1, 1, 2], [2, 3, 1, 1, 1]), "scalar_sides": ([5], [], []),
                  "empty": ([0, 16], [16], []), "long": ([67],) * 3}
        for name, (sc, sa, sb) in shapes.items():
            c = suite.numbers.fitting("bool", sc)
            a, b = suite.numbers.fitting(dtype, sa), suite.numbers.fitting(dtype, sb)
            operands = [Operand(c, "bool"), Operand(a, dtype), Operand(b, dtype)]
            suite.check(f"{dtype}/{name}", "where", operands, define, dtype, **options)
        c = suite.numbers.fitting("bool", [3, 4])
        a, b = suite.numbers.fitting(dtype, [1, 4]), suite.numbers.fitting(dtype, [3, 4])
        operands = [permuted(c, "bool"), expanded(a, dtype), permuted_slice(b, dtype)]
        suite.check(f"{dtype}/views", "where", operands, define, dtype, **options)
    for dtype in FLOATS:
        # What is not selected has gradient 0 even when it is not finite.
        operands = [Operand([True, False, True], "bool"), Operand([1.0, np.nan, np.inf], dtype),
                    Operand([np.nan, 2.0, np.nan], dtype)]
        suite.check(f"{dtype}/special", "where", operands, define, dtype, differentiable=True,
                    seed=[0.5, 0.25, 2.0], given=[None, np.array([0.5, 0, 2.0]), np.array([0, 0.25, 0])])
    one = Operand([1.0], "f32")
    suite.fail("condition_dtype", "where", [one, one, one], contains=["f32", "bool"])
    suite.fail("shapes", "where", [Operand([True, False], "bool"), Operand([1.0, 2, 3], "f32"), one],
               contains=["[2]", "[3]"])


def build():
    suite = Suite("compare")
    for op, define in COMPARISONS.items():
        shaped(suite, op, define, COMPARABLE)
        suite.fail("shapes", op, [Operand([1.0, 2, 3], "f32"), Operand([1.0, 2], "f32")], contains=["[3]", "[2]"])
    for op, define in LOGIC.items():
        shaped(suite, op, define, ["bool"])
        for dtype in ["f32", "i32", "u8"]:
            one = Operand([1], dtype)
            suite.fail(dtype, op, [one, one], contains=[dtype])
        suite.fail("shapes", op, [Operand([True] * 3, "bool"), Operand([True] * 2, "bool")], contains=["[3]", "[2]"])
    for op in ["isnan", "isinf", "isfinite"]:
        suite.fail("i32", op, [Operand([1], "i32")], contains=["i32"])
    special(suite)
    logical_not(suite)
    where(suite)
    return suite
