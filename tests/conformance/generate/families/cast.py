# SPDX-License-Identifier: Apache-2.0
"""astype between all pairs of dtypes, copy, and the promotion of operands: ops 47 and 50."""

import numpy as np

from dtypes import ALL, FLOATS, HOLDERS, INTEGERS, is_float, promote, to_dtype
from operands import LAYOUTS, Operand, Weak, expanded
from suite import Result, Suite


def cast(values, source, target):
    """Truncates towards zero and saturates from float to integer, wraps between integers."""
    values = np.asarray(values)
    if target == "bool":
        return values != 0
    if is_float(target):
        if target in ("f16", "bf16"):
            return to_dtype(values.astype(np.float64), target)
        return values.astype(HOLDERS[target])
    if not is_float(source):
        return values.astype(HOLDERS[target])
    info = np.iinfo(HOLDERS[target])
    result = np.zeros(values.shape, object)
    for where, v in np.ndenumerate(values.astype(np.float64)):
        if np.isnan(v):
            result[where] = 0
        else:
            result[where] = info.min if v < info.min else info.max if v >= info.max else int(v)
    return result.astype(HOLDERS[target])


def points(dtype):
    if dtype == "bool":
        return np.array([True, False, True])
    if not is_float(dtype):
        info = np.iinfo(HOLDERS[dtype])
        return np.array([info.min, info.min + 1, 0, 1, 2, 100, info.max // 2, info.max - 1, info.max], HOLDERS[dtype])
    top = {"f16": 65504.0, "bf16": 3.3895313892515355e38}.get(dtype) or float(np.finfo(HOLDERS[dtype]).max)
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.0, -1.5, 2.5, -2.75, 127.5, 128.0, -128.5, -129.0,
              255.5, 256.0, 300.0, -1.0, 32767.5, 32768.0, -32769.0, 2147483648.0, -2147483904.0, 4e9, 9.3e18,
              -9.3e18, 1e-40, 1e-7, 65503.0, 65519.0, 65520.0, 70000.0, 1e300, top, -top]
    limit = {"f16": 65504.0, "bf16": 3e38, "f32": 3e38, "f64": np.inf}[dtype]
    return to_dtype([v for v in values if not np.isfinite(v) or abs(v) <= max(limit, 0)] + [top], dtype)


def safe_points(source, target):
    """Conversions of 64-bit integers to bf16 are asked for only where float64 holds the integer."""
    values = points(source)
    if source == "i64" and target == "bf16":
        return values[2:6]
    return values


def pairs(suite):
    for source in ALL:
        for target in ALL:
            def define(x, s=source, t=target):
                # `check` hands over float64: back to the dtype, where the values came from.
                return cast(x, s, t)

            attrs = {"dtype": target}
            options = dict(attrs=attrs)
            suite.check(f"{source}_to_{target}", "astype", [Operand(safe_points(source, target), source)], define,
                        target, **options)
    for source, target in [("f32", "i32"), ("i32", "f32"), ("f64", "f16"), ("f32", "bf16"), ("u8", "i64"),
                           ("bool", "f32"), ("f16", "f64"), ("i64", "bool"), ("bf16", "f32")]:
        def define(x, s=source, t=target):
            return cast(x, s, t)

        values = suite.numbers.fitting(source, [3, 4])
        for name, layout in LAYOUTS.items():
            suite.check(f"{source}_to_{target}/{name}", "astype", [layout(values, source)], define, target,
                        {"dtype": target})
        more = {"expanded": expanded(values[:1], source), "rank0": Operand(values[0, 0], source),
                "rank5": Operand(values.reshape(2, 1, 3, 1, 2), source), "empty": Operand(np.zeros((0, 16)), source),
                "long": Operand(suite.numbers.fitting(source, [131]), source)}
        for name, operand in more.items():
            suite.check(f"{source}_to_{target}/{name}", "astype", [operand], define, target, {"dtype": target})


def half_ties(suite):
    """Float64 numbers just beside the middle between two f16 or bf16 numbers: a detour over float32 would
    round them onto the middle and then to even."""
    one = 2.0**-40
    for target, gap in {"f16": 2.0**-10, "bf16": 2.0**-7}.items():
        middle = np.array([1 + gap / 2, 1 + 3 * gap / 2, 2 + gap])
        values = np.concatenate([middle, middle + one, middle - one, -middle, -middle - one])
        suite.check(f"f64_to_{target}/double_rounding", "astype", [Operand(values, "f64")],
                    lambda x, t=target: cast(x, "f64", t), target, {"dtype": target})
        least = 2.0**-24 if target == "f16" else 2.0**-133
        small = np.array([least, least / 2, least / 2 * (1 + one), 1.5 * least, 2.5 * least, -least / 2, least / 3])
        suite.check(f"f64_to_{target}/denormal", "astype", [Operand(small, "f64")],
                    lambda x, t=target: cast(x, "f64", t), target, {"dtype": target})
    near = np.array([2**24 + 1, 2**24 + 3, 2**53 + 1, 2**53 + 3, 2**62 + 2**38 + 1, -(2**24) - 1], np.int64)
    for target in FLOATS:
        suite.check(f"i64_to_{target}/rounding", "astype", [Operand(near, "i64")],
                    lambda x, t=target: x.astype(HOLDERS[t]), target, {"dtype": target})


def gradients(suite):
    for source in FLOATS:
        for target in FLOATS:
            x = suite.numbers.spread([2, 3])
            seed = suite.seed([2, 3])
            suite.check(f"{source}_to_{target}/gradient", "astype", [Operand(x, source)],
                        lambda x, t=target: x.astype(HOLDERS[t]), target, {"dtype": target}, differentiable=True,
                        seed=seed, given=[seed.astype(np.float32)], gradient_tolerance={"rtol": 0, "atol": 0})


def copy(suite):
    def same(x):
        return x

    for dtype in ALL:
        values = suite.numbers.fitting(dtype, [3, 4])
        options = dict(differentiable=dtype in FLOATS, smooth=True, flags={"signed_zero"})
        operands = {name: layout(values, dtype) for name, layout in LAYOUTS.items()}
        operands |= {"plain": Operand(values, dtype), "expanded": expanded(values[:1], dtype),
                     "rank0": Operand(values[0, 0], dtype), "rank5": Operand(values.reshape(2, 1, 3, 1, 2), dtype),
                     "empty": Operand(np.zeros((0, 16)), dtype), "empty_rank1": Operand(np.zeros(0), dtype),
                     "special": Operand(points(dtype), dtype),
                     "rank5_views": LAYOUTS["permuted_slice"](values.reshape(2, 1, 3, 1, 2), dtype)}
        for name, operand in operands.items():
            if name == "special":
                suite.check(f"{dtype}/{name}", "copy", [operand], same, dtype)
            else:
                suite.check(f"{dtype}/{name}", "copy", [operand], same, dtype, **options)


def promotion(suite):
    """Within a kind as the Array API standard says; a float beside an integer keeps its dtype."""
    numbers = INTEGERS + FLOATS
    for a in numbers:
        for b in numbers:
            if a == b:
                continue
            result = promote(a, b)
            x, y = suite.numbers.fitting(a, [2, 3]), suite.numbers.fitting(b, [3])
            if result in FLOATS:  # the integers are small: every float holds them
                define = np.add
            else:
                def define(x, y, d=HOLDERS[result]):
                    return np.add(x.astype(d), y.astype(d))

            suite.check(f"promote_{a}_{b}", "add", [Operand(x, a), Operand(y, b)], define, result,
                        differentiable=True)
    for a, b in [("u8", "i8"), ("i32", "f32"), ("f32", "f64"), ("i64", "i32")]:
        result = promote(a, b)
        x, y = suite.numbers.fitting(a, [2, 3]), suite.numbers.fitting(b, [2, 3])
        d = HOLDERS[result]
        suite.check(f"promote_{a}_{b}", "less", [Operand(x, a), Operand(y, b)],
                    lambda x, y, d=d: np.less(x.astype(d), y.astype(d)), "bool")
        suite.check(f"promote_{a}_{b}", "where", [Operand(suite.numbers.fitting("bool", [3]), "bool"), Operand(x, a),
                    Operand(y, b)], lambda c, x, y, d=d: np.where(c, x.astype(d), y.astype(d)), result)
        suite.check(f"promote_{a}_{b}", "concat", [Operand(x, a), Operand(y, b)],
                    lambda x, y, d=d: np.concatenate([x.astype(d), y.astype(d)]), result)
    for a, b in [("i32", "f32"), ("f32", "f64")]:
        x, y = suite.numbers.fitting(a, [2, 3]), suite.numbers.fitting(b, [3, 2])
        suite.check(f"promote_{a}_{b}", "matmul", [Operand(x, a), Operand(y, b)],
                    lambda x, y: x.astype(np.float64) @ y.astype(np.float64), promote(a, b),
                    tolerance={"rtol": 1e-6 if promote(a, b) == "f32" else 1e-14, "atol": 1e-6})


def weak_scalars(suite):
    """The strong operand decides the dtype; two weak ones stay weak."""
    for dtype in INTEGERS + FLOATS:
        x = suite.numbers.fitting(dtype, [2, 3])
        holder = HOLDERS[dtype]
        scalars = [Weak("i64", 3)] + ([Weak("f64", 0.1), Weak("f64", -2.5)] if dtype in FLOATS else [])
        for scalar in scalars:
            def value(s, h=holder):
                return np.asarray(s).astype(h).astype(np.float64 if h in (np.float32, np.float64) else h)

            tag = f"{dtype}/weak_{scalar.kind}_{scalar.value}"
            for op, define in {"add": np.add, "multiply": np.multiply, "maximum": np.maximum,
                               "subtract": np.subtract}.items():
                suite.check(f"{tag}_right", op, [Operand(x, dtype), scalar],
                            lambda a, b, f=define, v=value: f(a, v(b)), dtype)
                suite.check(f"{tag}_left", op, [scalar, Operand(x, dtype)],
                            lambda a, b, f=define, v=value: f(v(a), b), dtype)
            suite.check(f"{tag}_right", "less", [Operand(x, dtype), scalar], lambda a, b, v=value: a < v(b), "bool")
    flag = suite.numbers.fitting("bool", [4])
    suite.check("bool/weak_bool", "logical_and", [Operand(flag, "bool"), Weak("bool", True)], np.logical_and, "bool")
    for dtype in FLOATS:
        x = suite.numbers.spread([3])
        suite.check(f"{dtype}/weak_gradient", "multiply", [Operand(x, dtype), Weak("f64", 2.5)],
                    lambda a, b: a * b, dtype, differentiable=True, smooth=True)
        suite.check(f"{dtype}/weak_where", "where", [Operand([True, False, True], "bool"), Operand(x, dtype),
                    Weak("f64", 0.0)], lambda c, a, b: np.where(c, a, b), dtype)
    suite.add("weak_with_weak_i64", "add", [Weak("i64", 2), Weak("i64", 3)],
              outputs=[Result(np.int64(5), "i64", weak=True)])
    suite.add("weak_with_weak_f64", "multiply", [Weak("f64", 2.5), Weak("f64", 3.0)],
              outputs=[Result(7.5, "f64", weak=True)])
    suite.add("weak_of_weak", "negative", [Weak("f64", 2.5)], outputs=[Result(-2.5, "f64", weak=True)])
    for dtype in INTEGERS:
        x, info = Operand([[1, 2, 3]], dtype), np.iinfo(HOLDERS[dtype])
        for value in [300, -1] if dtype == "u8" else [] if dtype == "i64" else [info.min - 1, info.max + 1]:
            wrong = Weak("i64", int(value))
            for op, pair in {"add": [x, wrong], "multiply": [wrong, x], "less": [x, wrong]}.items():
                suite.fail(f"weak_{value}_{dtype}", op, pair, contains=[str(value), dtype])
        for op, pair in {"add": [x, Weak("f64", 0.5)], "multiply": [Weak("f64", 2.0), x]}.items():
            suite.fail(f"weak_float_{dtype}", op, pair, contains=[dtype])
    # A tensor of rank 0 is not a weak scalar.
    suite.check("strong_rank0", "add", [Operand([1.0, 2.0], "f32"), Operand(0.5, "f64")], np.add, "f64")


def build():
    suite = Suite("cast")
    for part in [pairs, half_ties, gradients, copy, promotion, weak_scalars]:
        part(suite)
    suite.fail("unknown_dtype", "astype", [Operand([1.0], "f32")], {"dtype": 99}, contains=["99"])
    suite.fail("missing_dtype", "astype", [Operand([1.0], "f32")], words=[])
    suite.fail("no_input", "copy", [])
    return suite
