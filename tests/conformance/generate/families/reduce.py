# SPDX-License-Identifier: Apache-2.0
"""Reductions and cumulative sums: ops 80 to 89, 94 and 163."""

import numpy as np

import special as sf
from dtypes import EPSILON, FLOATS, HALVES, HOLDERS, INTEGERS, MAIN, NUMERIC, WIDE, is_float
from operands import LAYOUTS, Operand, expanded
from suite import Suite

INF, NAN = np.inf, np.nan


def axes_of(attrs, rank):
    axes = attrs.get("axes")
    return tuple(range(rank)) if axes is None else tuple(a % rank if rank else a for a in axes)


def over_axes(function, widen=False):
    """A NumPy reduction as a definition with the attributes of the op."""

    def with_attrs(attrs):
        def define(x):
            if widen and x.dtype.kind != "f":
                x = x.astype(np.int64)
            return function(x, axis=axes_of(attrs, np.ndim(x)), keepdims=attrs.get("keepdims", False))

        return define

    return with_attrs


def mean(x, axis, keepdims):
    count = int(np.prod([x.shape[a] for a in axis], dtype=np.int64))
    return np.sum(x, axis=axis, keepdims=keepdims) / WIDE(count)


def extremum(function):
    def reduce(x, axis, keepdims):
        return function(x, axis=axis, keepdims=keepdims) if axis else x

    return reduce


# op: (definition by attributes, dtypes, dtype of the result of an integer)
OPS = {
    "sum": (over_axes(np.sum, True), ["bool"] + NUMERIC, "i64"),
    "prod": (over_axes(np.prod, True), ["bool"] + NUMERIC, "i64"),
    "mean": (over_axes(mean), FLOATS, None),
    "max": (over_axes(extremum(np.max)), NUMERIC, None),
    "min": (over_axes(extremum(np.min)), NUMERIC, None),
    "logsumexp": (over_axes(sf.logsumexp), FLOATS, None),
    "all": (over_axes(np.all), ["bool"], None),
    "any": (over_axes(np.any), ["bool"], None),
}
ATTRS = {"all": {}, "axis1": {"axes": [1]}, "last_kept": {"axes": [-1], "keepdims": True},
         "first": {"axes": [0]}, "outer": {"axes": [0, 2]}, "unordered_kept": {"axes": [-1, 0], "keepdims": True}}


def shared_evenly(suite, define, attrs, x):
    """The gradient of max or min: the elements that equal the extremum share its seed."""
    extrema = np.asarray(define(x))
    axes, rank = axes_of(attrs, np.ndim(x)), np.ndim(x)
    kept = [1 if a in axes else n for a, n in enumerate(np.shape(x))]
    seed = np.asarray(suite.seed(extrema.shape), np.float32).astype(np.float64).reshape(kept)
    chosen = x == extrema.reshape(kept)
    return chosen * seed / np.sum(chosen, axis=axes, keepdims=True) if rank else chosen * seed


def tolerance_of(op, dtype, wide_sum=1.0):
    if not is_float(dtype) or op in ("max", "min"):
        return {"ulp": 0}
    if dtype in HALVES:  # computed in f32 and rounded once
        return {"ulp": 0.51, "atol": 4 * EPSILON["f32"] * wide_sum}
    eps = EPSILON[dtype]
    if op == "logsumexp":
        return {"rtol": 6 * eps, "atol": 6 * eps}
    return {"rtol": 8 * eps, "atol": 4 * eps * wide_sum}


def draw(suite, op, dtype, shape):
    kind = op if op in ("prod", "all", "any") else ""
    return suite.remember((kind, dtype, str(shape)), lambda: draw_anew(suite.numbers, op, dtype, shape))


def draw_anew(numbers, op, dtype, shape):
    if op == "prod" and is_float(dtype):
        return numbers.spread(shape, 0.5, 1.8)
    if op in ("all", "any"):
        return numbers.whole(shape, 0, 2) > 0 if op == "all" else numbers.whole(shape, 0, 3) == 0
    return numbers.fitting(dtype, shape)


def shaped(suite, op, dtypes=None):
    by_attrs, plain, widened = OPS[op]
    for dtype in dtypes or plain:
        result = dtype if is_float(dtype) or widened is None else widened
        options = dict(wide=True, differentiable=is_float(dtype), smooth=op not in ("max", "min"))

        def check(name, operand, attrs, **more):
            total = float(np.sum(np.abs(operand.value.astype(np.float64)))) or 1.0
            if op in ("max", "min") and name.startswith("expanded"):
                more["given"] = [shared_evenly(suite, by_attrs(attrs), attrs, operand.value)]
            suite.check(f"{dtype}/{name}", op, [operand], by_attrs(attrs), result, attrs,
                        tolerance=tolerance_of(op, dtype, total), **{**options, **more})

        for name, attrs in ATTRS.items():
            if dtype not in MAIN and name in ("last_kept", "first", "outer"):
                continue
            check(f"rank3_{name}", Operand(draw(suite, op, dtype, [2, 3, 4]), dtype), attrs)
        values = draw(suite, op, dtype, [3, 4])
        for name, layout in LAYOUTS.items():
            if dtype not in MAIN and name in ("permuted", "offset"):
                continue
            check(name, layout(values, dtype), {"axes": [0]})
            if name.startswith("permuted"):
                check(f"{name}_last", layout(values, dtype), {"axes": [1]})
        check("expanded", expanded(values[:1], dtype), {})
        check("rank0", Operand(draw(suite, op, dtype, []), dtype), {})
        if dtype in MAIN:
            check("expanded_first", expanded(values[:1], dtype), {"axes": [0], "keepdims": True})
            check("small", Operand(draw(suite, op, dtype, [2, 3]), dtype), {"axes": [1]})
            check("no_axes", Operand(draw(suite, op, dtype, [3]), dtype), {"axes": []})
            check("size1_axis", Operand(draw(suite, op, dtype, [3, 1]), dtype), {"axes": [1]})
        check("rank5", Operand(draw(suite, op, dtype, [2, 1, 3, 1, 2]), dtype), {"axes": [1, -1]})
        check("rank5_views", LAYOUTS["permuted_slice"](draw(suite, op, dtype, [2, 1, 3, 1, 2]), dtype),
              {"axes": [0, 2, 4]})
        # An empty result is a result; so is one made of nothing where there is a neutral element.
        check("empty_result", Operand(np.zeros((0, 16)), dtype), {"axes": [1]})
        if dtype in MAIN:
            check("empty_result_kept", Operand(np.zeros((2, 0, 3)), dtype), {"axes": [0], "keepdims": True})
        if op not in ("max", "min"):
            # A mean of nothing is NaN, and so is its derivative in any direction.
            forward = op != "mean"
            check("empty", Operand(np.zeros((0, 16)), dtype), {"axes": [0]}, forward=forward)
            check("empty_all", Operand(np.zeros(0), dtype), {}, forward=forward)
        else:
            for attrs in [{"axes": [0]}, {}]:
                suite.fail(f"empty_{dtype}_{len(attrs)}", op, [Operand(np.zeros((0, 3)), dtype)], attrs,
                           contains=["empty"])
        long = 1003 if dtype == "f32" else 131
        check("long", Operand(draw(suite, op, dtype, [long]), dtype), {}, differentiable=False)
        if dtype in ("f32", "i32", "bool"):
            check("tall", Operand(draw(suite, op, dtype, [40, 19]), dtype), {"axes": [0]}, differentiable=False)
            check("tall_permuted", LAYOUTS["permuted"](draw(suite, op, dtype, [19, 40]), dtype), {"axes": [1]},
                  differentiable=False)


def special_values(suite, dtypes=FLOATS):
    for dtype in dtypes:
        rows = np.array([[1.0, NAN, 2.0], [INF, 1.0, 2.0], [-INF, 1.0, 2.0], [INF, -INF, 0.0], [NAN, INF, 0.0]])
        for op in ["sum", "mean", "prod", "max", "min"]:
            define, attrs = OPS[op][0], {"axes": [1]}
            if op == "prod":
                rows_of = np.array([[1.0, NAN, 2.0], [INF, 1.0, 2.0], [-INF, 1.0, 2.0], [INF, 0.0, 1.0]])
            else:
                rows_of = rows
            suite.check(f"{dtype}/special", op, [Operand(rows_of, dtype)], define(attrs), dtype, attrs,
                        tolerance=tolerance_of(op, dtype))
        for at in range(0, 40, 13):
            x = suite.numbers.spread([40])
            x[at] = NAN
            for op in ["max", "min"]:
                suite.check(f"{dtype}/case_11_nan_at_{at}", op, [Operand(x, dtype)], OPS[op][0]({}), dtype)
        # The largest partial sum stays finite although the numbers are huge and cancel.
        rows = np.array([[-INF, -INF], [INF, -INF], [NAN, 1.0], [1000.0, 1001.0], [-1000.0, -1001.0], [1.0, 2.0]])
        suite.check(f"{dtype}/special", "logsumexp", [Operand(rows, dtype)], OPS["logsumexp"][0]({"axes": [1]}),
                    dtype, {"axes": [1]}, wide=True, tolerance=tolerance_of("logsumexp", dtype))


def case_2_logsumexp(suite, dtypes=FLOATS):
    """-inf where all terms are, with gradient 0, over dtypes, ranks and axes."""
    for dtype in dtypes:
        tolerance = tolerance_of("logsumexp", dtype)
        for shape, axes in [([2], None), ([1, 2], [1]), ([2, 3], [0]), ([2, 1, 2, 1, 2], [0, 4]), ([], None)]:
            attrs = {} if axes is None else {"axes": axes}
            tag = "x".join(map(str, shape)) or "rank0"
            suite.check(f"{dtype}/case_2_all_minus_inf_of_{tag}", "logsumexp",
                        [Operand(np.full(shape, -INF), dtype)], OPS["logsumexp"][0](attrs), dtype, attrs, wide=True,
                        differentiable=True, given=[np.zeros(shape)], tolerance=tolerance)
        x = np.array([[-INF, -INF], [1.0, 2.0], [-INF, 3.0]])
        p = 1 / (1 + np.exp(1.0))
        rows = {"axes": [1]}
        suite.check(f"{dtype}/case_2_rows", "logsumexp", [Operand(x, dtype)], OPS["logsumexp"][0](rows), dtype,
                    rows, wide=True, differentiable=True, seed=np.ones(3), tolerance=tolerance,
                    given=[np.array([[0, 0], [p, 1 - p], [0, 1]])])


def ties(suite, dtypes=FLOATS):
    """Case 9: equal extrema share the gradient evenly."""
    for dtype in dtypes:
        for op, sign in {"max": 1.0, "min": -1.0}.items():
            def check(name, x, attrs, gradient, seed):
                suite.check(f"{dtype}/case_9_{name}", op, [Operand(sign * np.array(x), dtype)], OPS[op][0](attrs),
                            dtype, attrs, differentiable=True, seed=seed, given=[np.array(gradient)])

            check("rank1", [0.6, 0.6, 0.3], {}, [0.5, 0.5, 0], 1.0)
            check("rank2_rows", [[0.6, 0.6, 0.3], [1, 1, 1], [1, 2, 3]], {"axes": [1]},
                  [[0.5, 0.5, 0], [2 / 3] * 3, [0, 0, 3.0]], [1.0, 2.0, 3.0])
            check("rank2_all", [[2, 1], [2, 2]], {}, [[1 / 3, 0], [1 / 3, 1 / 3]], 1.0)
            check("rank3_kept", [[[1, 5]], [[1, 4]]], {"axes": [0], "keepdims": True},
                  [[[0.5, 1]], [[0.5, 0]]], [[[1, 1]]])
            check("rank0", 0.6, {}, 2.0, 2.0)
        # The derivative of a product needs no division by a factor that is 0; its second is not promised there.
        for name, x in {"one_zero": [2.0, 0.0, 3.0], "two_zeros": [0.0, 5.0, 0.0]}.items():
            suite.check(f"{dtype}/gradient_{name}", "prod", [Operand(x, dtype)], OPS["prod"][0]({}), dtype, wide=True,
                        differentiable=True, tolerance=tolerance_of("prod", dtype))


def integer_sums(suite):
    for dtype in INTEGERS:
        info = np.iinfo(HOLDERS[dtype])
        high = np.full(40, info.max, HOLDERS[dtype])
        low = np.array([info.min] * 7 + [info.max] * 3, HOLDERS[dtype])
        for op in ["sum", "prod"]:
            for name, x in {"high": high, "low": low}.items():
                exact, modulus = 0 if op == "sum" else 1, 1 << 64
                for v in x.tolist():
                    exact = (exact + v if op == "sum" else exact * v) % modulus
                answer = np.int64(exact - modulus if exact >= 1 << 63 else exact)
                suite.check(f"{dtype}/limits_{name}", op, [Operand(x, dtype)], lambda _, r=answer: r, "i64")
        for op in ["max", "min"]:
            suite.check(f"{dtype}/limits", op, [Operand(low, dtype)], OPS[op][0]({}), dtype)


def arg_extrema(suite, dtypes=NUMERIC):
    for op, function in {"argmax": np.argmax, "argmin": np.argmin}.items():
        def by(attrs, function=function):
            def define(x):
                kept = attrs.get("keepdims", False)
                if attrs.get("axis") is None:
                    return np.asarray(function(x)).reshape([1] * np.ndim(x) if kept else [])
                return function(x, axis=attrs["axis"], keepdims=kept)

            return define

        for dtype in dtypes:
            def check(name, operand, attrs):
                suite.check(f"{dtype}/{name}", op, [operand], by(attrs), "i64", attrs)

            values = suite.numbers.fitting(dtype, [3, 4])
            cube = suite.numbers.fitting(dtype, [2, 3, 4])
            check("flat", Operand(cube, dtype), {})
            check("axis1", Operand(cube, dtype), {"axis": 1})
            check("last_kept", Operand(cube, dtype), {"axis": -1, "keepdims": True})
            check("first", Operand(cube, dtype), {"axis": 0})
            for name, layout in LAYOUTS.items():
                check(name, layout(values, dtype), {"axis": 1})
            check("permuted_flat", LAYOUTS["permuted"](values, dtype), {})
            check("flat_kept", Operand(values, dtype), {"keepdims": True})
            check("expanded", expanded(values[:1], dtype), {"axis": 0})
            check("rank0", Operand(values[0, 0], dtype), {})
            check("rank5", Operand(cube.reshape(2, 1, 3, 1, 4), dtype), {"axis": 2})
            check("long", Operand(suite.numbers.fitting(dtype, [131]), dtype), {})
            check("first_of_equals", Operand(np.array([1, 5, 5, 1, 5, 1]), dtype), {})
            check("empty_result", Operand(np.zeros((0, 16)), dtype), {"axis": 1})
            suite.fail(f"empty_{dtype}", op, [Operand(np.zeros((2, 0)), dtype)], {"axis": 1}, contains=["empty"])
        for dtype in filter(is_float, dtypes):
            rows = np.array([[1.0, NAN, NAN, 9.0], [INF, -INF, INF, -INF], [0.0, -0.0, 0.0, -0.0]])
            suite.check(f"{dtype}/special", op, [Operand(rows, dtype)], by({"axis": 1}), "i64", {"axis": 1})
            # More than one block; the extreme and the NaN behind equal ones.
            long = np.where(np.arange(1100) % 7 == 3, 1.0, -1.0) * (1 if op == "argmax" else -1)
            suite.check(f"{dtype}/long_equals", op, [Operand(long, dtype)], by({}), "i64")
            for at in [0, 511, 512, 1099]:
                broken = long.copy()
                broken[at] = NAN
                suite.check(f"{dtype}/long_nan_at_{at}", op, [Operand(broken, dtype)], by({}), "i64")
        if dtypes is not NUMERIC:
            continue
        x = Operand(np.zeros((2, 3)), "f32")
        suite.fail("axis", op, [x], {"axis": 2}, contains=["2"])
        suite.fail("axis_low", op, [x], {"axis": -3}, contains=["-3"])
        suite.fail("bool", op, [Operand([True], "bool")], contains=["bool"])


def cumsum(suite, dtypes=NUMERIC):
    def by(axis):
        return lambda x: np.cumsum(x, axis=axis, dtype=x.dtype)

    for dtype in dtypes:
        def check(name, operand, axis):
            attrs = {} if axis == -1 and name == "default" else {"axis": axis}
            total = float(np.sum(np.abs(operand.value.astype(np.float64)))) or 1.0
            suite.check(f"{dtype}/{name}", "cumsum", [operand], by(axis), dtype, attrs, wide=True,
                        tolerance=tolerance_of("sum", dtype, total), differentiable=is_float(dtype), smooth=True)

        values = suite.numbers.fitting(dtype, [3, 4])
        check("default", Operand(values, dtype), -1)
        check("first", Operand(values, dtype), 0)
        check("middle", Operand(suite.numbers.fitting(dtype, [2, 3, 2]), dtype), 1)
        check("small", Operand(suite.numbers.fitting(dtype, [5]), dtype), 0)
        for name, layout in LAYOUTS.items():
            check(name, layout(values, dtype), 1)
        check("expanded", expanded(values[:1], dtype), 0)
        check("rank5", Operand(values.reshape(2, 1, 3, 1, 2), dtype), -3)
        check("empty", Operand(np.zeros((0, 16)), dtype), 0)
        check("empty_axis", Operand(np.zeros((3, 0)), dtype), 1)
        if dtype in INTEGERS:
            check("wrap", Operand(np.full(5, np.iinfo(HOLDERS[dtype]).max, HOLDERS[dtype]), dtype), 0)
        else:
            suite.check(f"{dtype}/special", "cumsum", [Operand([1.0, INF, 2.0, -INF, 1.0], dtype)], by(0), dtype)
    if dtypes is not NUMERIC:
        return
    x = Operand(np.zeros((2, 3)), "f32")
    suite.fail("axis", "cumsum", [x], {"axis": 2}, contains=["2"])
    suite.fail("axis_low", "cumsum", [x], {"axis": -3}, contains=["-3"])
    suite.fail("rank0", "cumsum", [Operand(1.0, "f32")], {"axis": 0}, contains=["0"])


def global_norm(suite, dtypes=FLOATS):
    """The root of the sum of squares, without squaring what would overflow or vanish (case 12)."""
    def define(*xs):
        return np.sqrt(sum(np.sum(x * x) for x in xs))

    for dtype in dtypes:
        result = "f32" if dtype in HALVES else dtype

        def check(name, operands, **more):
            tolerance = {"rtol": 16 * EPSILON[result], "atol": 0}
            suite.check(f"{dtype}/{name}", "global_norm", operands, define, result, wide=True, tolerance=tolerance,
                        **more)

        small = [Operand(suite.numbers.spread(s), dtype) for s in ([2, 3], [4], [])]
        check("several", small, differentiable=True, smooth=True)
        check("one", small[:1], differentiable=True, smooth=True)
        check("views", [LAYOUTS["permuted_slice"](suite.numbers.spread([3, 4]), dtype),
                        expanded(suite.numbers.spread([1, 2]), dtype)], differentiable=True)
        check("empty_among", [small[0], Operand(np.zeros((0, 16)), dtype)])
        check("all_empty", [Operand(np.zeros(0), dtype)])
        check("long", [Operand(suite.numbers.spread([131]), dtype), Operand(suite.numbers.spread([67]), dtype)])
        check("at_zero", [Operand(np.zeros(3), dtype)], differentiable=True, given=[np.zeros(3)])
        huge, tiny = {"f16": (6e4, 6e-8), "f64": (1e200, 1e-200)}.get(dtype, (1e20, 1e-30))
        for name, size in {"huge": huge, "tiny": tiny}.items():
            check(f"case_12_{name}_fifty_pairs", [Operand([size, size], dtype)] * 50)
            check(f"case_12_{name}_rank2", [Operand(np.full((10, 10), size), dtype)])
            check(f"case_12_{name}_mixed", [Operand(np.full((4, 5), size), dtype), Operand(1.0, dtype)])
        check("nan", [Operand([1.0, NAN], dtype), Operand(2.0, dtype)])
        check("inf", [Operand([1.0, -INF], dtype), Operand(2.0, dtype)])
    suite.fail("i32", "global_norm", [Operand([1, 2], "i32")], contains=["i32"])


def wrong_inputs(suite):
    x = Operand(np.zeros((2, 3)), "f32")
    flag = Operand(np.zeros((2, 3)), "bool")
    for op, (_, dtypes, _) in OPS.items():
        operand = flag if dtypes == ["bool"] else x
        suite.fail("axis", op, [operand], {"axes": [2]}, contains=["2"])
        suite.fail("axis_low", op, [operand], {"axes": [0, -3]}, contains=["-3"])
        suite.fail("axis_twice", op, [operand], {"axes": [1, -1]}, contains=["1"])
        suite.fail("axis_of_rank0", op, [Operand(0.0, operand.dtype)], {"axes": [0]}, contains=["0"])
        suite.fail("two_inputs", op, [operand, operand])
        suite.fail("attribute_words", op, [operand], words=[1, -5])
        suite.fail("attribute_words_long", op, [operand], words=[1, 2**61])
        for wrong in sorted({"f32", "bool", "i32"} - set(dtypes)):
            suite.fail(f"dtype_{wrong}", op, [Operand([1], wrong)], contains=[wrong])


def build():
    suite = Suite("reduce")
    for op in OPS:
        shaped(suite, op)
    for part in [special_values, case_2_logsumexp, ties, integer_sums, arg_extrema, cumsum, global_norm,
                 wrong_inputs]:
        part(suite)
    return suite
