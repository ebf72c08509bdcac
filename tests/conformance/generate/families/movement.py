# SPDX-License-Identifier: Apache-2.0
"""Views, concatenation, padding and one_hot: ops 120 to 131."""

import numpy as np

from dtypes import ALL, FLOATS, MAIN
from operands import LAYOUTS, Operand, expanded, slice_attrs
from suite import Suite

TOO_MANY = [2, 2, 1, 2**61]  # case 6: the product is 2^63


def options_for(dtype):
    return dict(differentiable=dtype in FLOATS, smooth=True)


def view_cases():
    """(name, op, attributes, NumPy form, shape of the operand)"""
    yield "to_matrix", "reshape", {"shape": [3, 4]}, lambda x: x.reshape(3, 4), [2, 6]
    yield "inferred", "reshape", {"shape": [-1, 3]}, lambda x: x.reshape(-1, 3), [2, 6]
    yield "flat", "reshape", {"shape": [12]}, lambda x: x.reshape(12), [3, 4]
    yield "rank5", "reshape", {"shape": [1, 3, 1, 2, 2]}, lambda x: x.reshape(1, 3, 1, 2, 2), [3, 4]
    yield "to_rank0", "reshape", {"shape": []}, lambda x: x.reshape(()), [1, 1]
    yield "from_rank0", "reshape", {"shape": [1, 1]}, lambda x: x.reshape(1, 1), []
    yield "empty", "reshape", {"shape": [16, 0, 2]}, lambda x: x.reshape(16, 0, 2), [0, 16]
    yield "rank3", "permute_dims", {"axes": [2, 0, 1]}, lambda x: x.transpose(2, 0, 1), [2, 3, 2]
    yield "rank5", "permute_dims", {"axes": [4, 2, 0, 1, 3]}, lambda x: x.transpose(4, 2, 0, 1, 3), [2, 1, 3, 1, 2]
    yield "rank0", "permute_dims", {"axes": []}, lambda x: x, []
    yield "empty", "permute_dims", {"axes": [1, 0]}, lambda x: x.transpose(1, 0), [0, 16]
    yield "case_4_columns", "slice", slice_attrs([0, 1], [3, 3], [1, 1]), lambda x: x[:, 1:3], [3, 4]
    yield "steps", "slice", slice_attrs([0, 1], [3, 4], [2, 2]), lambda x: x[0:3:2, 1:4:2], [3, 4]
    yield "negative", "slice", slice_attrs([-2, -3], [3, -1], [1, 1]), lambda x: x[-2:3, -3:-1], [3, 4]
    yield "one_axis", "slice", {"starts": [1], "stops": [3], "axes": [-1]}, lambda x: x[:, 1:3], [3, 4]
    yield "nothing", "slice", slice_attrs([2, 0], [2, 4], [1, 1]), lambda x: x[2:2], [3, 4]
    yield "empty", "slice", slice_attrs([0, 2], [0, 16], [1, 3]), lambda x: x[0:0, 2:16:3], [0, 16]
    parts = slice_attrs([0, 0, 1, 0, 1], [2, 1, 3, 1, 2], [1] * 5)
    yield "rank5", "slice", parts, lambda x: x[:, :, 1:, :, 1:], [2, 1, 3, 1, 2]
    yield "new_axis", "broadcast_to", {"shape": [2, 3]}, lambda x: np.broadcast_to(x, [2, 3]), [3]
    yield "both", "broadcast_to", {"shape": [2, 3, 2]}, lambda x: np.broadcast_to(x, [2, 3, 2]), [3, 1]
    yield "rank0", "broadcast_to", {"shape": [2, 2]}, lambda x: np.broadcast_to(x, [2, 2]), []
    yield "to_rank0", "broadcast_to", {"shape": []}, lambda x: x, []
    yield "to_empty", "broadcast_to", {"shape": [0, 3]}, lambda x: np.broadcast_to(x, [0, 3]), [1, 3]
    wide = [2, 1, 3, 1, 2]
    yield "rank5", "broadcast_to", {"shape": wide}, lambda x: np.broadcast_to(x, wide), [1, 3, 1, 2]
    yield "first", "expand_dims", {"axis": 0}, lambda x: x[None], [2, 3]
    yield "last", "expand_dims", {"axis": -1}, lambda x: x[..., None], [2, 3]
    yield "rank0", "expand_dims", {"axis": 0}, lambda x: x[None], []
    yield "empty", "expand_dims", {"axis": 1}, lambda x: x[:, None], [0, 16]
    yield "all", "squeeze", {}, lambda x: x.reshape(2, 3), [2, 1, 3, 1, 1]
    yield "some", "squeeze", {"axes": [1, -1]}, lambda x: x.reshape(2, 3, 1), [2, 1, 3, 1, 1]
    yield "to_rank0", "squeeze", {}, lambda x: x.reshape(()), [1, 1]
    yield "empty", "squeeze", {"axes": [1]}, lambda x: x.reshape(0, 3), [0, 1, 3]


def views(suite):
    for dtype in ALL:
        for name, op, attrs, form, shape in view_cases():
            if dtype not in MAIN and name not in ("rank5", "case_4_columns", "to_rank0", "empty", "steps"):
                continue
            values = suite.remember((dtype, str(shape)), lambda: suite.numbers.fitting(dtype, shape))
            suite.check(f"{dtype}/{name}", op, [Operand(values, dtype)], form, dtype, attrs, **options_for(dtype))
        cube = suite.remember((dtype, "cube"), lambda: suite.numbers.fitting(dtype, [3, 4]))
        for name, layout in LAYOUTS.items():
            if dtype not in MAIN and name != "permuted_slice":
                continue
            for op, attrs, form in [("reshape", {"shape": [2, 6]}, lambda x: x.reshape(2, 6)),
                                    ("permute_dims", {"axes": [1, 0]}, lambda x: x.T),
                                    ("slice", slice_attrs([1, 0], [3, 4], [1, 2]), lambda x: x[1:3, 0:4:2]),
                                    ("broadcast_to", {"shape": [2, 3, 4]}, lambda x: np.broadcast_to(x, [2, 3, 4])),
                                    ("expand_dims", {"axis": 1}, lambda x: x[:, None])]:
                suite.check(f"{dtype}/of_{name}", op, [layout(cube, dtype)], form, dtype, attrs, **options_for(dtype))
        suite.check(f"{dtype}/of_expanded", "reshape", [expanded(cube[:1], dtype)], lambda x: x.reshape(4, 3), dtype,
                    {"shape": [4, 3]}, **options_for(dtype))
        suite.check(f"{dtype}/plain", "stop_gradient", [Operand(cube, dtype)], lambda x: x, dtype)
    # Case 4 as it was reported, with the numbers 0 to 11.
    table = np.arange(12).reshape(3, 4)
    for dtype in [d for d in ALL if d != "bool"]:
        suite.check(f"{dtype}/case_4", "slice", [Operand(table, dtype)], lambda x: x[:, 1:3], dtype,
                    slice_attrs([0, 1], [3, 3], [1, 1]))


def joins(suite):
    for dtype in ALL:
        def check(name, op, operands, attrs, form):
            suite.check(f"{dtype}/{name}", op, operands, lambda *xs: form(xs), dtype, attrs, **options_for(dtype))

        def draw(shape):
            return suite.numbers.fitting(dtype, shape)

        def concat(axis):
            return lambda xs: np.concatenate(xs, axis=axis)

        pair = [Operand(draw([2, 3]), dtype), Operand(draw([1, 3]), dtype)]
        check("default", "concat", pair, {}, concat(0))
        check("last", "concat", [Operand(draw([2, 1]), dtype), Operand(draw([2, 2]), dtype)], {"axis": -1}, concat(1))
        check("one", "concat", pair[:1], {}, concat(0))
        three = [LAYOUTS["permuted"](draw([2, 3]), dtype), LAYOUTS["sliced"](draw([2, 2]), dtype),
                 expanded(draw([1, 1]), dtype, 0, 2)]
        check("three_views", "concat", three, {"axis": 1}, concat(1))
        check("rank5", "concat", [Operand(draw([2, 1, 3, 1, 2]), dtype), Operand(draw([2, 1, 1, 1, 2]), dtype)],
              {"axis": 2}, concat(2))
        check("empty_among", "concat", [Operand(draw([0, 3]), dtype), pair[0]], {}, concat(0))
        check("empty", "concat", [Operand(np.zeros((0, 16)), dtype)] * 2, {}, concat(0))
        check("default", "stack", [Operand(draw([3]), dtype), Operand(draw([3]), dtype)], {},
              lambda xs: np.stack(xs))
        check("last", "stack", [LAYOUTS["permuted"](draw([2, 3]), dtype), LAYOUTS["sliced"](draw([2, 3]), dtype)],
              {"axis": -1}, lambda xs: np.stack(xs, -1))
        check("rank0", "stack", [Operand(draw([]), dtype), Operand(draw([]), dtype)], {}, lambda xs: np.stack(xs))
        check("empty", "stack", [Operand(np.zeros((0, 16)), dtype)] * 2, {"axis": 1}, lambda xs: np.stack(xs, 1))


def pads(suite):
    def by(attrs):
        def define(x):
            rank = x.ndim
            widths = list(zip(attrs["pads"][:rank], attrs["pads"][rank:]))
            return np.pad(x, widths, constant_values=float(attrs.get("value", 0))) if rank else x

        return define

    for dtype in ALL:
        def check(name, operand, attrs, **more):
            suite.check(f"{dtype}/{name}", "pad", [operand], by(attrs), dtype, attrs, **options_for(dtype) | more)

        values = suite.numbers.fitting(dtype, [2, 3])
        value = {} if dtype == "bool" else {"value": 2.0}
        check("default", Operand(values, dtype), {"pads": [1, 0, 0, 2]})
        check("value", Operand(values, dtype), {"pads": [0, 1, 2, 1]} | value)
        check("none", Operand(values, dtype), {"pads": [0] * 4})
        check("permuted_slice", LAYOUTS["permuted_slice"](values, dtype), {"pads": [1, 1, 1, 1]} | value)
        check("expanded", expanded(values[:1], dtype), {"pads": [0, 1, 0, 0]})
        check("empty", Operand(np.zeros((0, 3)), dtype), {"pads": [1, 0, 1, 0]} | value)
        check("rank0", Operand(values[0, 0], dtype), {"pads": []})
        check("rank5", Operand(values.reshape(2, 1, 3, 1, 1), dtype), {"pads": [0, 1, 0, 0, 1, 0, 0, 1, 0, 0]})
        if dtype in FLOATS:
            check("minus_inf", Operand(values, dtype), {"pads": [1, 0, 0, 0], "value": "-inf"}, differentiable=False)


def one_hots(suite):
    def by(depth):
        def define(x):
            return (np.asarray(x)[..., None].astype(np.int64) % depth) == np.arange(depth)

        return define

    def check(name, operand, depth, dtype=None):
        attrs = {"depth": depth} | ({"dtype": dtype} if dtype else {})
        suite.check(name, "one_hot", [operand], by(depth), dtype or "f32", attrs)

    for indices in ["i64", "i32", "u8"]:
        check(f"{indices}/plain", Operand([0, 2, 1, 2], indices), 3)
        check(f"{indices}/rank0", Operand(1, indices), 4)
        check(f"{indices}/empty", Operand(np.zeros((0, 2)), indices), 3)
        check(f"{indices}/permuted", LAYOUTS["permuted"](np.array([[0, 1, 2], [2, 2, 0]]), indices), 3)
        check(f"{indices}/expanded", expanded(np.array([[1, 0]]), indices), 2)
        check(f"{indices}/rank4", Operand(np.array([0, 1, 1, 0]).reshape(2, 1, 2, 1), indices), 2)
        suite.fail(f"index_{indices}", "one_hot", [Operand([0, 9, 1, 12], indices)], {"depth": 10},
                   contains=["index 12 at element 3 is out of bounds for depth 10"], error="OUT_OF_RANGE")
        if indices != "u8":
            check(f"{indices}/negative", Operand([-1, -3, 2], indices), 3)
            suite.fail(f"index_low_{indices}", "one_hot", [Operand([0, -11], indices)], {"depth": 10},
                       contains=["index -11 at element 1 is out of bounds for depth 10"], error="OUT_OF_RANGE")
    for dtype in [d for d in ALL if d not in ("f16", "bf16")]:
        check(f"to_{dtype}", Operand([0, 2], "i64"), 3, dtype)
    suite.fail("dtype", "one_hot", [Operand([0.0], "f32")], {"depth": 3}, contains=["f32"])
    suite.fail("depth", "one_hot", [Operand([0], "i64")], {"depth": -1}, contains=["-1"])
    suite.fail("case_6_too_many_elements", "one_hot", [Operand([0, 1, 0, 1], "i64")], {"depth": 2**61})


def wrong_inputs(suite):
    x = Operand(np.zeros((2, 3)), "f32")
    one = Operand(np.zeros((1, 1)), "f32")

    def fail(name, op, attrs, *contains, operands=(x,), **more):
        suite.fail(name, op, list(operands), attrs, contains=contains, **more)

    fail("count", "reshape", {"shape": [4, 2]}, "[2, 3]", "[4, 2]")
    fail("two_inferred", "reshape", {"shape": [-1, -1]})
    fail("inferred_remainder", "reshape", {"shape": [-1, 4]}, "[2, 3]")
    fail("negative", "reshape", {"shape": [-2, -3]}, "-2")
    fail("case_6_too_many_elements", "reshape", {"shape": TOO_MANY}, operands=[one])
    fail("rank17", "reshape", {"shape": [1] * 15 + [2, 3]}, "17")
    fail("axes_count", "permute_dims", {"axes": [0]})
    fail("axis_twice", "permute_dims", {"axes": [0, 0]}, "0")
    fail("axis", "permute_dims", {"axes": [0, 2]}, "2")
    fail("step_zero", "slice", slice_attrs([0, 0], [2, 3], [1, 0]), "0")
    fail("axis", "slice", {"starts": [0], "stops": [1], "axes": [2]}, "2")
    fail("lengths", "slice", {"starts": [0, 0], "stops": [1]})
    fail("too_many", "slice", {"starts": [0] * 3, "stops": [1] * 3})
    fail("shape", "broadcast_to", {"shape": [2, 4]}, "[2, 3]", "[2, 4]")
    fail("rank", "broadcast_to", {"shape": [3]}, "[2, 3]", "[3]")
    fail("case_6_too_many_elements", "broadcast_to", {"shape": TOO_MANY}, operands=[one])
    fail("axis", "expand_dims", {"axis": 3}, "3")
    fail("axis_low", "expand_dims", {"axis": -4}, "-4")
    fail("size", "squeeze", {"axes": [1]}, "1", "3")
    fail("axis", "squeeze", {"axes": [2]}, "2")
    fail("shapes", "concat", {}, "[2, 3]", "[2, 2]", operands=[x, Operand(np.zeros((2, 2)), "f32")])
    fail("ranks", "concat", {}, "[2, 3]", "[3]", operands=[x, Operand(np.zeros(3), "f32")])
    fail("axis", "concat", {"axis": 2}, "2", operands=[x, x])
    fail("rank0", "concat", {}, operands=[Operand(1.0, "f32")] * 2)
    fail("nothing", "concat", {}, operands=[])
    fail("shapes", "stack", {}, "[2, 3]", "[3]", operands=[x, Operand(np.zeros(3), "f32")])
    fail("axis", "stack", {"axis": 3}, "3", operands=[x, x])
    fail("nothing", "stack", {}, operands=[])
    fail("count", "pad", {"pads": [1, 1]}, "2")
    fail("negative", "pad", {"pads": [0, -1, 0, 0]}, "-1")
    fail("case_6_too_many_elements", "pad", {"pads": [0, 2**62, 2**61, 2**62]})
    fail("words_of_dims", "reshape", None, words=[2, 0, 6])
    fail("words_kind", "reshape", None, words=[1, 7, 6])


def build():
    suite = Suite("movement")
    for part in [views, joins, pads, one_hots, wrong_inputs]:
        part(suite)
    return suite
