# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of one operand: ops 20 to 42, 48, 51 and 52."""

import numpy as np

import special as sf
from dtypes import EPSILON, FLOATS, HOLDERS, INTEGERS, MAIN, NUMERIC, WIDE, is_float, limits, to_dtype
from operands import LAYOUTS, Operand, expanded
from suite import EXACT, Suite

INF, NAN = np.inf, np.nan


def relu(x):
    return np.where(x > 0, x, np.where(np.isnan(x), x, np.zeros_like(x)))


class Op:
    """`low`..`high` is where values are drawn from; `points` are further ones at which the result is defined."""

    def __init__(self, define, dtypes=FLOATS, ulp=0, low=-3.0, high=3.0, points=(), smooth=True):
        self.define, self.dtypes, self.ulp, self.smooth = define, dtypes, ulp, smooth
        self.low, self.high, self.points = low, high, list(points)
        self.wide = ulp > 0


ZEROS = [0.0, -0.0]
ENDS = [NAN, INF, -INF]
LARGE = [1.0, -1.0, 10.25, -10.25, 37.5, -37.5, 80.0, -80.0, 103.0, -103.0, 700.0, -700.0, 744.0, -744.0, 1e4, -1e4]
SMALL = [1e-3, -1e-3, 1e-8, -1e-8, 1e-20, -1e-20]
TURNS = [0.5, 1.5707964, 3.1415927, 6.2831855, -100.5, 1e3, 31415.926, -1e5]

OPS = {
    "negative": Op(np.negative, NUMERIC, points=ENDS + ZEROS),
    "abs": Op(np.abs, NUMERIC, points=ENDS + ZEROS, smooth=False),
    "sign": Op(np.sign, NUMERIC, points=ENDS + ZEROS + SMALL, smooth=False),
    "square": Op(np.square, NUMERIC, points=ENDS + ZEROS + SMALL + [1e19, 1e25, 1e160]),
    "reciprocal": Op(lambda x: 1 / x, low=0.5, points=ENDS + ZEROS + SMALL + [1e30]),
    "exp": Op(np.exp, ulp=4, points=ENDS + ZEROS + SMALL + LARGE + [88.5, 89.0, -87.5, 709.5, 710.0]),
    "expm1": Op(np.expm1, ulp=4, points=ENDS + ZEROS + SMALL + LARGE),
    "log": Op(np.log, ulp=4, low=0.3, points=ENDS + ZEROS + [1.0, 0.9999999, 1.0000002, 1e-30, 1e30, -1.0]),
    "log1p": Op(np.log1p, ulp=4, low=-0.7, points=ENDS + ZEROS + SMALL + [-1.0, -0.999, 1e30, -2.0]),
    "sqrt": Op(np.sqrt, low=0.3, points=ENDS + ZEROS + [1e-30, 1e30, -1.0]),
    "rsqrt": Op(lambda x: 1 / np.sqrt(x), ulp=2, low=0.3, points=[NAN, INF, 0.0, 1e-30, 1e30, -1.0]),
    "sin": Op(np.sin, ulp=4, points=ENDS + ZEROS + SMALL + TURNS),
    "cos": Op(np.cos, ulp=4, points=ENDS + ZEROS + SMALL + TURNS),
    "tanh": Op(np.tanh, ulp=4, points=ENDS + ZEROS + SMALL + LARGE),
    "sigmoid": Op(sf.sigmoid, ulp=4, points=ENDS + ZEROS + SMALL + LARGE),
    "relu": Op(relu, NUMERIC, points=ENDS + ZEROS + SMALL, smooth=False),
    "gelu": Op(sf.gelu, ulp=8, points=[NAN, INF] + ZEROS + SMALL + [5.0, -5.0, -9.5, -12.5, 20.0, 100.0]),
    "silu": Op(sf.silu, ulp=8, points=[NAN, INF] + ZEROS + SMALL + LARGE[:10]),
    "softplus": Op(sf.softplus, ulp=6, points=ENDS + ZEROS + SMALL + LARGE),
    "erf": Op(sf.erf, ulp=4, points=ENDS + ZEROS + SMALL + [1.9, -2.1, 3.9, -4.5, 6.0, 30.0, -30.0]),
    "floor": Op(np.floor, points=ENDS + ZEROS + [-0.5, 0.5, 1.5, 2.5, 1e10, -1e20, 8388607.5], smooth=False),
    "ceil": Op(np.ceil, points=ENDS + ZEROS + [-0.5, 0.5, 1.5, 2.5, 1e10, -1e20, 8388607.5], smooth=False),
    "round": Op(np.rint, points=ENDS + ZEROS + [-0.5, 0.5, 1.5, 2.5, -1.5, -2.5, 0.49999997, 8388607.5, 1e20],
                smooth=False),
}
# Where the sign of a zero follows from IEEE 754 itself.
SIGNED_ZERO = {"negative", "abs", "square", "sqrt", "floor", "ceil", "round"}


def shaped(suite, op, spec, dtype, define, attrs=None, tolerance=None, tag=""):
    def draw(shape):
        key = (dtype, str(shape), spec.low, spec.high)
        return suite.remember(key, lambda: suite.numbers.fitting(dtype, shape, spec.low, spec.high, 0.27))

    options = dict(attrs=attrs, wide=spec.wide, differentiable=is_float(dtype), smooth=spec.smooth,
                   tolerance=tolerance or {"ulp": spec.ulp})
    prefix = f"{dtype}/{tag}"
    for name, shape in {"plain": [2, 3], "rank0": [], "rank5": [2, 1, 3, 1, 2], "empty": [0, 16],
                        "empty_rank1": [0]}.items():
        suite.check(prefix + name, op, [Operand(draw(shape), dtype)], define, dtype, **options)
    for name, layout in LAYOUTS.items():
        if dtype not in MAIN and name in ("permuted", "offset"):
            continue
        suite.check(prefix + name, op, [layout(draw([3, 4]), dtype)], define, dtype, **options)
    suite.check(prefix + "expanded", op, [expanded(draw([1, 4]), dtype)], define, dtype, **options)
    suite.check(prefix + "rank5_views", op, [LAYOUTS["permuted_slice"](draw([2, 1, 3, 1, 2]), dtype)],
                define, dtype, **options)
    options["differentiable"] = False
    long = [131 if dtype == "f32" else 67]
    suite.check(prefix + "long", op, [Operand(draw(long), dtype)], define, dtype, **options)


def special_values(suite, op, spec, dtype):
    tiny, normal, huge = limits(dtype)
    points = list(spec.points)
    if op not in ("rsqrt", "reciprocal"):
        points += [tiny, 7 * tiny, normal]
    if op in SIGNED_ZERO | {"relu", "sign"}:
        points += [huge, -huge, -tiny]
    flags = {"signed_zero"} if op in SIGNED_ZERO else ()
    values = to_dtype(np.array(points), dtype)
    suite.check(f"{dtype}/special", op, [Operand(values, dtype)], spec.define, dtype, wide=spec.wide,
                tolerance={"ulp": spec.ulp}, flags=flags)
    if op in ("sin", "cos"):
        far = Operand([1e10, -3e15, 1e22, 1e30], dtype)
        suite.check(f"{dtype}/huge", op, [far], spec.define, dtype, wide=True, tolerance={"ulp": 4})


def integer_limits(suite):
    for dtype in INTEGERS:
        info = np.iinfo(HOLDERS[dtype])
        x = np.array([info.min, info.min + 1, 0, 1, 12, info.max - 1, info.max], HOLDERS[dtype])
        for op, spec in OPS.items():
            if dtype in spec.dtypes:
                suite.check(f"{dtype}/wrap", op, [Operand(x, dtype)], spec.define, dtype)


def kinks(suite):
    """Subgradients where the derivative does not exist."""
    for dtype in FLOATS:
        def at(name, op, x, seed, gradient, attrs=None, define=None):
            suite.check(f"{dtype}/{name}", op, [Operand(x, dtype)], define or OPS[op].define, dtype, attrs,
                        differentiable=True, seed=seed, given=[np.array(gradient, np.float64)],
                        tolerance={"ulp": 4} if op == "log" else EXACT)

        at("subgradient_at_zero", "abs", [0.0, -1.0, 2.0], [1, 1, 1], [0, -1, 1])
        at("subgradient_at_zero", "relu", [0.0, -1.0, 2.0], [1, 1, 1], [0, 0, 1])
        at("subgradient_at_zero", "sign", [0.0, -1.0, 2.0], [1, 1, 1], [0, 0, 0])
        at("masked_at_zero", "sqrt", [0.0, 4.0], [0, 1], [0, 0.25])
        at("case_11_gradient_rank1", "relu", [NAN, -1.0, 2.0], [1, 1, 1], [NAN, 0, 1])


def case_11(suite):
    """NaN survives relu and clip, in every place of arrays of every rank."""
    for dtype in FLOATS:
        for shape in [[3], [1, 3], [2, 3], [1, 3, 1, 1, 1]]:
            x = np.broadcast_to(np.array([NAN, -1.0, 2.0]).reshape([3 if n == 3 else 1 for n in shape]), shape)
            suite.check(f"{dtype}/case_11_rank{len(shape)}_{np.size(x)}", "relu", [Operand(x, dtype)], relu, dtype)
            for attrs in [{"min": -0.5, "max": 1.0}, {"min": 0.0}, {"max": 0.0}]:
                tag = "_".join(attrs)
                suite.check(f"{dtype}/case_11_{tag}_rank{len(shape)}_{np.size(x)}", "clip", [Operand(x, dtype)],
                            clip_by(attrs), dtype, attrs)
        suite.check(f"{dtype}/case_11_rank0", "relu", [Operand(NAN, dtype)], relu, dtype)
        suite.check(f"{dtype}/case_11_rank0", "clip", [Operand(NAN, dtype)], clip_by({"min": 0.0}), dtype,
                    {"min": 0.0})


def clip_by(attrs):
    def define(x):
        y = x
        if "min" in attrs:
            y = np.maximum(y, np.asarray(attrs["min"]).astype(y.dtype))
        if "max" in attrs:
            y = np.minimum(y, np.asarray(attrs["max"]).astype(y.dtype))
        return y

    return define


def with_attributes(suite):
    kink = Op(None, NUMERIC, smooth=False)
    for dtype in NUMERIC:
        low = 1.0 if dtype == "u8" else -1.0
        bounds = {"both_": {"min": low, "max": 2.0}, "min_": {"min": low}, "max_": {"max": 1.0}, "none_": {}}
        for tag, attrs in bounds.items():
            if tag == "both_" or dtype in ("f32", "i32", "f64"):
                shaped(suite, "clip", kink, dtype, clip_by(attrs), attrs, EXACT, tag)
    for dtype in FLOATS:
        infinite = [INF, -INF, NAN, 0.0, 5.0]
        suite.check(f"{dtype}/special", "clip", [Operand(infinite, dtype)], clip_by({"min": -1.0, "max": 1.0}), dtype,
                    {"min": -1.0, "max": 1.0})
        suite.check(f"{dtype}/open_ends", "clip", [Operand(infinite, dtype)], lambda x: x, dtype,
                    {"min": "-inf", "max": "inf"})

        def leaky(slope):
            return lambda x: np.where(x > 0, x, x * WIDE(slope))

        slopes = Op(None, FLOATS, 2, smooth=False)
        shaped(suite, "leaky_relu", slopes, dtype, leaky(0.01))
        shaped(suite, "leaky_relu", slopes, dtype, leaky(0.25), {"negative_slope": 0.25}, EXACT, "quarter_")
        suite.check(f"{dtype}/special", "leaky_relu", [Operand([NAN, INF, 0.0, -1.0, 1.0], dtype)], leaky(0.25),
                    dtype, {"negative_slope": 0.25})
        def elu(alpha):
            return lambda x: np.where(x > 0, x, WIDE(alpha) * np.expm1(np.minimum(x, 0)))

        bends = Op(None, FLOATS, 6, smooth=False)
        shaped(suite, "elu", bends, dtype, elu(1.0))
        shaped(suite, "elu", bends, dtype, elu(0.5), {"alpha": 0.5}, tag="half_")
        suite.check(f"{dtype}/special", "elu", [Operand(ENDS + ZEROS + [1e4, -1e4, 800.0], dtype)], elu(2.0), dtype,
                    {"alpha": 2.0}, {"ulp": 4})
        # 1 + tanh(u) cancels for negative x: the error is absolute, in units of |x|.
        near = {"rtol": 8 * EPSILON[dtype], "atol": 8 * EPSILON[dtype]}
        shaped(suite, "gelu", Op(None), dtype, sf.gelu_tanh, {"approximate": "tanh"}, near, "tanh_")
        suite.check(f"{dtype}/none", "gelu", [Operand(suite.numbers.spread([2, 3]), dtype)], sf.gelu, dtype,
                    {"approximate": "none"}, {"ulp": 8}, wide=True, differentiable=True, smooth=True)


def wrong_inputs(suite):
    f = Operand([1.0, 2.0], "f32")
    for op, spec in OPS.items():
        suite.fail("bool", op, [Operand([True], "bool")], contains=["bool"])
        suite.fail("two_inputs", op, [f, f])
        if "i32" not in spec.dtypes and op not in ("floor", "ceil", "round"):
            for dtype in INTEGERS:
                suite.fail(dtype, op, [Operand([1], dtype)], contains=[dtype])
    suite.fail("approximate", "gelu", [f], {"approximate": "quick"}, contains=["approximate", "quick"])
    suite.fail("attribute_words", "gelu", [f], words=[-1], contains=[])
    suite.fail("attribute_words_long", "gelu", [f], words=[2**40, 0])
    suite.fail("attribute_words_truncated", "clip", [f], words=[1])
    suite.fail("attribute_words_presence", "clip", [f], words=[2, 0, 0])
    suite.fail("attribute_words_extra", "relu", [f], words=[0])


def build():
    suite = Suite("unary")
    for op, spec in OPS.items():
        for dtype in spec.dtypes:
            shaped(suite, op, spec, dtype, spec.define)
            if dtype in FLOATS:
                special_values(suite, op, spec, dtype)
    # Integers are their own floor, ceiling and nearest integer.
    for op in ["floor", "ceil", "round"]:
        for dtype in INTEGERS:
            values = suite.numbers.fitting(dtype, [2, 3])
            suite.check(f"{dtype}/identity", op, [Operand(values, dtype)], lambda x: x, dtype)
    for part in [integer_limits, kinks, case_11, with_attributes, wrong_inputs]:
        part(suite)
    return suite
