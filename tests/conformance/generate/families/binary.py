# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic of two operands: ops 1 to 9."""

import numpy as np

from dtypes import FLOATS, HOLDERS, INTEGERS, MAIN, NUMERIC, WIDE, is_float, limits
from operands import Operand, expanded, offset, permuted, permuted_slice, sliced
from suite import Suite

INF, NAN = np.inf, np.nan


def power(a, b):
    return np.power(a, b)


def floor_divide(a, b):
    """The floor of the exact quotient."""
    if np.asarray(a).dtype.kind == "f":
        remainder = np.fmod(a, b)
        quotient = (a - remainder) / b
        return np.rint(np.where((remainder != 0) & ((remainder < 0) != (b < 0)), quotient - 1, quotient))
    return np.floor_divide(a, b)


# op: (definition, dtypes, differentiable, tolerance in ulp, computed in extended precision)
OPS = {
    "add": (np.add, NUMERIC, True, 0, False),
    "subtract": (np.subtract, NUMERIC, True, 0, False),
    "multiply": (np.multiply, NUMERIC, True, 0, False),
    "divide": (np.divide, FLOATS, True, 0, False),
    "pow": (power, NUMERIC, True, 4, True),
    "maximum": (np.maximum, NUMERIC, True, 0, False),
    "minimum": (np.minimum, NUMERIC, True, 0, False),
    "remainder": (np.remainder, NUMERIC, True, 0, False),
    "floor_divide": (floor_divide, NUMERIC, False, 0, False),
}
# Pairs of shapes: the same, one axis, leading axes, both sides, a scalar, rank 5, more than a vector.
SHAPES = {
    "same": ([2, 3], [2, 3]),
    "rows": ([3, 4], [1, 4]),
    "leading": ([2, 3, 2], [2]),
    "both": ([3, 1], [1, 4]),
    "rank0": ([], []),
    "scalar": ([], [5]),
    "rank5": ([2, 1, 3, 1, 2], [1, 2, 3, 2, 1]),
    "long": ([67], [67]),
    "empty": ([0, 16], [0, 16]),
    "empty_rank1": ([0], [0]),
    "empty_broadcast": ([2, 0], [1]),
    "empty_leading": ([3, 1, 4], [0, 4]),
}
SELECTED = ["both", "rank0", "rank5", "long", "empty_broadcast"]


def operands(suite, op, dtype, shapes):
    """Values within the domain of every op: positive bases, small exponents, divisors that are not 0."""
    kind = op == "pow"
    return suite.remember((dtype, str(shapes), kind), lambda: draw(suite.numbers, kind, dtype, shapes))


def draw(numbers, is_power, dtype, shapes):
    if is_float(dtype):
        a = numbers.spread(shapes[0], 0.5 if is_power else -3, 3, 0.25)
        b = numbers.spread(shapes[1], 0.6, 2.5, 0.7)
        return a, b if is_power else b * np.where(numbers.whole(shapes[1], 0, 1), 1, -1)
    a = numbers.fitting(dtype, shapes[0])
    if is_power:
        return a, numbers.whole(shapes[1], 0, 5).astype(HOLDERS[dtype])
    b = numbers.fitting(dtype, shapes[1])
    return a, np.where(b == 0, 7, b).astype(HOLDERS[dtype])


def remainder_gradients(suite, a, b):
    """a - b floor(a / b) is straight between its jumps: its slopes are 1 and -floor(a / b)."""
    a, b = (x.value.astype(WIDE) for x in (a, b))
    seed = np.asarray(suite.seed(np.broadcast_shapes(a.shape, b.shape)), np.float32).astype(WIDE)
    return [sum_to(seed, a.shape), sum_to(-np.floor(a / b) * seed, b.shape)]


def sum_to(values, shape):
    """Summed over the axes along which `shape` was broadcast."""
    added = np.ndim(values) - len(shape)
    repeated = tuple(i for i in range(np.ndim(values)) if i < added or shape[i - added] != np.shape(values)[i])
    return np.sum(values, axis=repeated).reshape(shape)


def shaped(suite, op, spec):
    define, dtypes, differentiable, ulp, wide = spec
    for dtype in dtypes:
        options = dict(tolerance={"ulp": ulp}, wide=wide, differentiable=differentiable,
                       smooth=op not in ("maximum", "minimum", "remainder"))

        def check(name, pair, **more):
            if op == "remainder" and dtype in FLOATS:
                more["given"] = remainder_gradients(suite, *pair)
            suite.check(f"{dtype}/{name}", op, pair, define, dtype, **{**options, **more})

        for name in SHAPES if dtype in MAIN else SELECTED:
            shapes = SHAPES[name]
            a, b = operands(suite, op, dtype, shapes)
            pair = [Operand(a, dtype), Operand(b, dtype)]
            long = {"differentiable": False} if name == "long" else {}
            check(name, pair, **long)
        a, b = operands(suite, op, dtype, ([3, 4], [3, 4]))
        views = [permuted(a, dtype), sliced(b, dtype)]
        check("permuted_sliced", views)
        a, b = operands(suite, op, dtype, ([3, 4], [3, 1]))
        views = [permuted_slice(a, dtype), expanded(b, dtype, 1, 4)]
        check("permuted_slice_expanded", views)
        if dtype not in MAIN:
            continue
        a, b = operands(suite, op, dtype, ([1, 4], [3, 4]))
        views = [expanded(a, dtype), offset(b, dtype)]
        check("expanded_offset", views)
        a, b = operands(suite, op, dtype, ([1, 2, 1, 3, 2], [2, 3, 2]))
        views = [expanded(a, dtype, 2, 2), permuted(b, dtype)]
        check("rank5_views", views)


def special_floats(suite, dtypes=FLOATS, power_ulp=4):
    """Every ordered pair of NaN, infinities, zeros, denormal and extreme numbers."""
    for dtype in dtypes:
        tiny, normal, huge = limits(dtype)
        points = [NAN, INF, -INF, 0.0, -0.0, tiny, -3 * tiny, normal, huge, -huge, 1.0, -2.0]
        a, b = (np.array(m).ravel() for m in np.meshgrid(points, points))
        for op in ["add", "subtract", "multiply", "divide", "maximum", "minimum"]:
            pair = [Operand(a, dtype), Operand(b, dtype)]
            suite.check(f"{dtype}/special", op, pair, OPS[op][0], dtype, vmap=False)
        pair = [Operand([5.0, -5.0, INF, -INF, 5.0, NAN, 5.0, 5.5, -5.5, 5.5, -5.5, 6.0, -6.0], dtype),
                Operand([INF, INF, 2.0, 2.0, 0.0, 1.0, NAN, 2.0, 2.0, -2.0, -2.0, 3.0, -3.0], dtype)]
        suite.check(f"{dtype}/special", "remainder", pair, np.remainder, dtype, vmap=False)
        pair = [Operand([NAN, 5.0, 5.5, -5.5, 5.5, -5.5, 6.0, -6.0, 0.0], dtype),
                Operand([1.0, NAN, 2.0, 2.0, -2.0, -2.0, 3.0, -3.0, 3.0], dtype)]
        suite.check(f"{dtype}/special", "floor_divide", pair, floor_divide, dtype, vmap=False)
        pair = [Operand([1.0, 0.3, 0.7, -1.0], dtype), Operand([0.1, 0.1, 0.1, 0.1], dtype)]
        suite.check(f"{dtype}/exact_quotient", "floor_divide", pair, floor_divide, dtype)
        pair = [Operand([0, 0, 0, 1, 1, NAN, NAN, INF, INF, -INF, -INF, -8, -8, 2, 2, 0.5, -2], dtype),
                Operand([0, 2, -1, NAN, INF, 0, 1, 2, -1, 3, 2, 3, 0.5, INF, -INF, INF, 2], dtype)]
        suite.check(f"{dtype}/special", "pow", pair, power, dtype, tolerance={"ulp": power_ulp}, wide=True)
        # The largest result that is finite, the smallest that is not 0, and one beyond each.
        top, bottom = {"f16": (15, -24), "bf16": (127, -133), "f32": (127, -149), "f64": (1023, -1074)}[dtype]
        pair = [Operand([2.0] * 4, dtype), Operand([top, top + 1, bottom, bottom - 2], dtype)]
        suite.check(f"{dtype}/extreme", "pow", pair, power, dtype, tolerance={"ulp": power_ulp}, wide=True)


def case_11_nan_either_side(suite):
    for dtype in FLOATS:
        for shape in [[], [4], [2, 3], [1, 2, 1, 2, 2]]:
            ten, nan = np.full(shape, 10.0), np.full(shape, NAN)
            for op in ["maximum", "minimum"]:
                for side, pair in {"left": (nan, ten), "right": (ten, nan)}.items():
                    suite.check(f"{dtype}/case_11_nan_{side}_rank{len(shape)}", op,
                                [Operand(x, dtype) for x in pair], OPS[op][0], dtype)


def case_9_ties(suite):
    """A tie gives half of the gradient to each side."""
    for dtype in FLOATS:
        for op in ["maximum", "minimum"]:
            for shape in [[], [3], [2, 3], [2, 1, 2, 1, 2]]:
                values = suite.numbers.spread(shape)
                half = np.full(shape, 0.5)
                suite.check(f"{dtype}/case_9_tie_rank{len(shape)}", op,
                            [Operand(values, dtype), Operand(values, dtype)], OPS[op][0], dtype,
                            differentiable=True, seed=np.ones(shape), given=[half, half])
            suite.check(f"{dtype}/case_9_tie_broadcast", op,
                        [Operand([[1.0, 2.0], [1.0, 0.0]], dtype), Operand([1.0], dtype)], OPS[op][0],
                        dtype, differentiable=True, seed=np.ones((2, 2)),
                        given=[np.array([[0.5, 1], [0.5, 0]] if op == "maximum" else [[0.5, 0], [0.5, 1]]),
                               np.array([2.0] if op == "maximum" else [2.0])])


def case_3_broadcast_gradient(suite):
    """The sum of (label - a - b)^2: its outer derivative 2 (label - a - b) is the seed."""
    for dtype in FLOATS:
        a = np.arange(1.0, 13).reshape(3, 4)
        b = np.arange(1.0, 5).reshape(1, 4)
        label = np.arange(100.0, 112).reshape(3, 4)
        seed = 2 * (label - a - b)
        db = np.array([[-588.0, -582, -576, -570]])
        suite.check(f"{dtype}/case_3", "subtract", [Operand(label - a, dtype), Operand(b, dtype)],
                    np.subtract, dtype, differentiable=True, seed=seed, given=[seed, db])


def pow_at_zero(suite):
    """d x**0 / dx, d 0**y / dy and d 0**0 are 0 rather than 0 * inf."""
    for dtype in FLOATS:
        x, y = [0.0, 0.0, 2.0, 0.0, 0.0], [0.0, 2.0, 0.0, 3.0, 1.0]
        suite.check(f"{dtype}/subgradient_at_zero", "pow", [Operand(x, dtype), Operand(y, dtype)], power,
                    dtype, tolerance={"ulp": 4}, wide=True, differentiable=True, seed=np.ones(5),
                    given=[np.array([0.0, 0, 0, 0, 1]), np.array([0.0, 0, np.log(WIDE(2)), 0, 0])])
        negative = [Operand([-2.0, -0.5, -3.0], dtype), Operand([2.0, 3.0, 1.0], dtype)]
        suite.check(f"{dtype}/negative_base", "pow", negative, power, dtype, tolerance={"ulp": 4}, wide=True)


def integer_limits(suite):
    """Case 6: nothing overflows with a signal; results wrap to the width of the dtype."""
    for dtype in INTEGERS:
        info = np.iinfo(HOLDERS[dtype])
        low, high = int(info.min), int(info.max)
        points = np.array([low, low + 1, 0, 1, 2, high - 1, high], HOLDERS[dtype])
        a, b = (m.ravel() for m in np.meshgrid(points, points))
        for op in ["add", "subtract", "multiply", "maximum", "minimum"]:
            pair = [Operand(a, dtype), Operand(b, dtype)]
            suite.check(f"{dtype}/wrap", op, pair, OPS[op][0], dtype)
        divisor = np.where(b == 0, 3, b).astype(b.dtype)
        minus = low and np.array([-1, -1, -2, -2], HOLDERS[dtype])
        for op, at_limit in {"floor_divide": low, "remainder": 0}.items():
            # NumPy's own answer at INT_MIN / -1 is right for these two ops; it is stated, not trusted.
            found = OPS[op][0](a, divisor)
            if low:
                found = np.where((a == low) & (divisor == -1), at_limit, found).astype(b.dtype)
                pair = [Operand(np.array([low, 7, -7, 7], HOLDERS[dtype]), dtype), Operand(minus, dtype)]
                answer = np.array([at_limit, -7 if op == "floor_divide" else 0,
                                   3 if op == "floor_divide" else -1,
                                   -4 if op == "floor_divide" else -1], HOLDERS[dtype])
                suite.check(f"{dtype}/case_6_limit", op, pair, lambda *_, r=answer: r, dtype, vmap=False)
            pair = [Operand(a, dtype), Operand(divisor, dtype)]
            suite.check(f"{dtype}/limits", op, pair, lambda *_, r=found: r, dtype, vmap=False)
        base = np.array([low, high, 3, 2, 0, 0, 1], HOLDERS[dtype])
        exponent = np.array([3, 3, 41 if dtype != "i8" else 9, 9, 0, 5, high], HOLDERS[dtype])
        modulus, answers = 1 << info.bits, []
        for x, y in zip(base.tolist(), exponent.tolist()):
            r = pow(x, y, modulus)
            answers.append(r - modulus if r > high else r)
        answer = np.array(answers, HOLDERS[dtype])
        suite.check(f"{dtype}/wrap", "pow", [Operand(base, dtype), Operand(exponent, dtype)],
                    lambda *_, r=answer: r, dtype, vmap=False)


def wrong_inputs(suite):
    f = Operand([[1.0, 2, 3], [4, 5, 6]], "f32")
    for op, spec in OPS.items():
        suite.fail("shapes", op, [f, Operand([1.0, 2, 3, 4], "f32")], contains=["[2, 3]", "[4]"])
        suite.fail("shapes_rank3", op, [Operand(np.zeros((2, 1, 3)), "f32"), Operand(np.zeros((2, 2, 2)), "f32")],
                   contains=["[2, 1, 3]", "[2, 2, 2]"])
        suite.fail("empty_against_two", op, [Operand(np.zeros((0, 3)), "f32"), f], contains=["[0, 3]", "[2, 3]"])
        suite.fail("bool", op, [Operand([True], "bool"), Operand([True], "bool")], contains=["bool"])
        suite.fail("one_input", op, [f])
        suite.fail("three_inputs", op, [f, f, f])
        suite.fail("absent_input", op, [f, None])
        if "i32" not in spec[1]:
            for dtype in INTEGERS:
                one = Operand([1], dtype)
                suite.fail(dtype, op, [one, one], contains=[dtype])
    for dtype in INTEGERS:
        one, zero = Operand([1, 0], dtype), Operand([1, 0], dtype)
        for op in ["remainder", "floor_divide"]:
            suite.fail(f"case_6_by_zero_{dtype}", op, [one, zero], contains=["division by zero", "element 1"])
            wide = [Operand(np.full((2, 3), 5), dtype), Operand([1, 2, 0], dtype)]
            suite.fail(f"case_6_by_zero_broadcast_{dtype}", op, wide, contains=["division by zero", "element 2"])
            views = [expanded([[4, 5]], dtype), permuted(np.array([[1, 1], [1, 1], [0, 0]]), dtype)]
            suite.fail(f"case_6_by_zero_views_{dtype}", op, views, contains=["division by zero", "element 4"])
        if dtype != "u8":
            suite.fail(f"negative_exponent_{dtype}", "pow", [Operand([2, 2], dtype), Operand([1, -1], dtype)],
                       contains=["-1"])
    tall = Operand([[1.0]], "f32", [["broadcast_to", {"shape": [2**40, 1]}]])
    flat = Operand([[1.0]], "f32", [["broadcast_to", {"shape": [1, 2**40]}]])
    for op in ["add", "multiply", "maximum"]:
        suite.fail("case_6_too_many_elements", op, [tall, flat], contains=["1099511627776"])


def build():
    suite = Suite("binary")
    for op, spec in OPS.items():
        shaped(suite, op, spec)
    for part in [special_floats, case_11_nan_either_side, case_9_ties, case_3_broadcast_gradient,
                 pow_at_zero, integer_limits, wrong_inputs]:
        part(suite)
    return suite
