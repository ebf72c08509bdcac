# SPDX-License-Identifier: Apache-2.0
"""take, take_along_axis, scatter_add and embedding: ops 132 to 138."""

import numpy as np

from dtypes import ALL, EPSILON, FLOATS, INTEGERS, MAIN, NUMERIC
from operands import LAYOUTS, Operand, expanded
from suite import Suite

HALVES = ["f16", "bf16"]


def options_for(dtype, smooth=True):
    return dict(differentiable=dtype in FLOATS, smooth=smooth)


# ---- Definitions, element by element -----------------------------------------------------------


def take(x, indices, axis=0):
    axis %= x.ndim
    before, after = x.shape[:axis], x.shape[axis + 1:]
    y = np.zeros(before + indices.shape + after, x.dtype)
    for a in np.ndindex(before):
        for i in np.ndindex(indices.shape):
            y[a + i] = x[a + (int(indices[i]) % x.shape[axis],)]
    return y


def take_along_axis(x, indices, axis=0):
    axis %= x.ndim
    others = list(np.broadcast_shapes(*[np.delete(np.array(v.shape), axis).tolist() for v in (x, indices)]))

    def spread(v):
        shape = others.copy()
        shape.insert(axis, v.shape[axis])
        return np.broadcast_to(v, shape)

    size, x, indices = x.shape[axis], spread(x), spread(indices)
    y = np.zeros(indices.shape, x.dtype)
    for at in np.ndindex(indices.shape):
        y[at] = x[at[:axis] + (int(indices[at]) % size,) + at[axis + 1:]]
    return y


def scatter_add(x, indices, updates, axis=0):
    axis %= x.ndim
    y = np.array(x)
    indices = np.broadcast_to(indices, updates.shape)
    for at in np.ndindex(updates.shape):
        to = at[:axis] + (int(indices[at]) % x.shape[axis],) + at[axis + 1:]
        with np.errstate(all="ignore"):
            y[to] = y[to] + updates[at]
    return y


# ---- Cases ---------------------------------------------------------------------------------------


def takes(suite):
    for dtype in ALL:
        def check(name, x, indices, axis=None, **more):
            attrs = {} if axis is None else {"axis": axis}
            suite.check(f"{dtype}/{name}", "take", [x, indices], lambda v, i: take(v, i, axis or 0), dtype, attrs,
                        **options_for(dtype) | more)

        def draw(shape):
            return suite.numbers.fitting(dtype, shape)

        table = draw([4, 3])
        check("default", Operand(table, dtype), Operand([2, 0, 3], "i64"))
        check("duplicates", Operand(table, dtype), Operand([1, 1, 3, 1], "i32"))
        check("negative", Operand(table, dtype), Operand([-1, -4, 2], "i64"))
        check("last_axis", Operand(table, dtype), Operand([2, 0, 1, 2], "i64"), -1)
        if dtype not in MAIN + HALVES:
            check("views", LAYOUTS["permuted_slice"](table, dtype), LAYOUTS["sliced"](np.array([3, 1]), "i64"))
            continue
        check("indices_rank0", Operand(table, dtype), Operand(2, "i64"))
        check("indices_rank2", Operand(table, dtype), Operand([[0, 3], [2, 2]], "i32"))
        check("rank1", Operand(table[:, 0], dtype), Operand([3, 0, 0], "i64"))
        check("rank1_rank0", Operand(table[:, 0], dtype), Operand(-2, "i64"))
        check("middle", Operand(draw([2, 3, 2]), dtype), Operand([[2], [0]], "i64"), 1)
        check("rank5", Operand(draw([2, 1, 3, 1, 2]), dtype), Operand([1, 1, 0], "i64"), 2)
        check("no_indices", Operand(table, dtype), Operand(np.zeros((0,), np.int64), "i64"))
        check("no_indices_rank2", Operand(table, dtype), Operand(np.zeros((2, 0), np.int64), "i64"), 1)
        check("empty_rows", Operand(np.zeros((4, 0)), dtype), Operand([1, 2], "i64"))
        check("empty_table", Operand(np.zeros((0, 3)), dtype), Operand(np.zeros((0,), np.int64), "i64"))
        for name, layout in LAYOUTS.items():
            check(name, layout(table, dtype), Operand([3, 0, -1], "i64"))
            check(f"{name}_last", layout(table, dtype), layout(np.array([[2, 0], [1, 1]]), "i32"), 1)
        check("expanded", expanded(table[:, :1], dtype, 1), Operand([2, 1], "i64"))
        check("expanded_axis", expanded(table[:1], dtype, 0, 4), expanded(np.array([[3, 0]]), "i64"))
        check("many", Operand(draw([50, 3]), dtype), Operand(suite.numbers.whole([300], -50, 49), "i8"),
              differentiable=False)
        check("many_outer", Operand(draw([60, 5]), dtype), Operand(suite.numbers.whole([7], -5, 4), "i32"), 1,
              differentiable=False)
    x = Operand(suite.numbers.fitting("f64", [3, 2]), "f64")
    for indices in INTEGERS:
        suite.check(f"index_{indices}", "take", [x, Operand([2, 0], indices)], lambda v, i: take(v, i), "f64",
                    **options_for("f64"))
    suite.check("index_u8_large", "take", [Operand(np.arange(300.0), "f32"), Operand([255, 200], "u8")],
                lambda v, i: take(v, i), "f32")


def takes_along(suite):
    for dtype in ALL:
        def check(name, x, indices, axis=None, **more):
            attrs = {} if axis is None else {"axis": axis}
            suite.check(f"{dtype}/{name}", "take_along_axis", [x, indices],
                        lambda v, i: take_along_axis(v, i, axis or 0), dtype, attrs, **options_for(dtype) | more)

        def draw(shape):
            return suite.numbers.fitting(dtype, shape)

        table = draw([3, 4])
        check("default", Operand(table, dtype), Operand([[2, 0, 1, 1], [0, 0, 2, -1]], "i64"))
        check("last_axis", Operand(table, dtype), Operand([[3, 1], [-4, 0], [2, 2]], "i32"), -1)
        check("views", LAYOUTS["permuted_slice"](table, dtype),
              LAYOUTS["permuted"](np.array([[3, 1], [0, 0], [2, 2]]), "i64"), 1)
        if dtype not in MAIN + HALVES:
            continue
        check("picked_labels", Operand(table, dtype), Operand([[3], [0], [1]], "i64"), 1)
        check("rank1", Operand(table[0], dtype), Operand([1, 1, -1], "i64"))
        check("middle", Operand(draw([2, 3, 2]), dtype), Operand([[[2, 0]], [[1, 1]]], "i64"), 1)
        check("indices_broadcast", Operand(draw([2, 3, 2]), dtype), Operand([[[2], [0], [0], [1]]], "i64"), 1)
        check("x_broadcast", Operand(draw([1, 3, 1]), dtype), Operand(suite.numbers.whole([2, 2, 3], -3, 2), "i64"),
              1, smooth=False)
        check("both_broadcast", Operand(draw([2, 3, 1]), dtype), Operand(suite.numbers.whole([1, 2, 2], -3, 2), "i64"),
              1)
        check("expanded", expanded(table[:1], dtype), expanded(np.array([[1], [0]]), "i64", 1, 4))
        check("rank5", Operand(draw([2, 1, 2, 1, 2]), dtype), Operand(suite.numbers.whole([2, 1, 3, 1, 2], -2, 1), "i64"),
              2)
        check("no_indices", Operand(table, dtype), Operand(np.zeros((0, 4), np.int64), "i64"))
        check("empty", Operand(np.zeros((0, 3)), dtype), Operand(np.zeros((0, 2), np.int64), "i64"), 1)
        check("many", Operand(draw([5, 40]), dtype), Operand(suite.numbers.whole([5, 300], -40, 39), "i8"), 1,
              differentiable=False)
        check("many_outer", Operand(draw([60, 6]), dtype), Operand(suite.numbers.whole([60, 2], -6, 5), "i32"), 1,
              differentiable=False)
    x = Operand(suite.numbers.fitting("f64", [3, 2]), "f64")
    for indices in INTEGERS:
        suite.check(f"index_{indices}", "take_along_axis", [x, Operand([[1], [0], [1]], indices)],
                    lambda v, i: take_along_axis(v, i, 1), "f64", {"axis": 1}, **options_for("f64"))


def scatter_adds(suite):
    # Every sum is rounded to the size of what is added.
    tolerances = {"f16": {"ulp": 1}, "bf16": {"ulp": 1}} | {
        dtype: {"rtol": 4 * EPSILON[dtype], "atol": 8 * EPSILON[dtype]} for dtype in FLOATS}

    def check(name, x, indices, updates, axis=None, **more):
        attrs = {} if axis is None else {"axis": axis}
        dtype = x.dtype
        options = dict(tolerance=tolerances.get(dtype)) | options_for(dtype) | more
        suite.check(f"{dtype}/{name}", "scatter_add", [x, indices, updates],
                    lambda v, i, u: scatter_add(v, i, u, axis or 0), dtype, attrs, **options)

    for dtype in NUMERIC + HALVES:
        def draw(shape):
            return suite.numbers.fitting(dtype, shape)

        table = draw([3, 2])
        pair = Operand(draw([2, 2]), dtype)
        check("default", Operand(table, dtype), Operand([[2, 0], [0, 1]], "i64"), pair)
        check("duplicates", Operand(table, dtype), Operand([[1, 1], [-2, 1]], "i32"), pair)
        check("rows", Operand(table, dtype), Operand([[2], [-1]], "i64"), pair)
        check("last_axis", Operand(table, dtype), Operand([[1, 0, 1], [0, 0, 0], [-1, 1, 0]], "i64"),
              Operand(draw([3, 3]), dtype), -1, smooth=False)
        wide = draw([4, 20])
        check("wide_rows", Operand(wide, dtype), Operand([[3], [0], [3], [3], [-4]], "i64"),
              Operand(draw([5, 20]), dtype), differentiable=False)
        # The same bits whether the indices are repeated by the op or by a view.
        check("wide_repeated", Operand(wide, dtype), expanded(np.array([[3], [0], [3], [3], [-4]]), "i64", 1, 20),
              Operand(draw([5, 20]), dtype), differentiable=False)
        if dtype not in MAIN + HALVES:
            continue
        check("rank1", Operand(table[:, 0], dtype), Operand([2, 2, 0], "i64"), Operand(draw([3]), dtype))
        check("middle", Operand(draw([2, 3, 2]), dtype), Operand([[[2, 0]], [[1, 1]]], "i64"),
              Operand(draw([2, 1, 2]), dtype), 1, smooth=False)
        check("views", LAYOUTS["permuted_slice"](table, dtype), LAYOUTS["sliced"](np.array([[1, 0], [0, 0]]), "i64"),
              LAYOUTS["permuted"](draw([2, 2]), dtype))
        check("wide_views", LAYOUTS["permuted"](wide, dtype), Operand([[1], [1]], "i64"),
              LAYOUTS["permuted_slice"](draw([2, 20]), dtype), differentiable=False)
        check("expanded", expanded(table[:1], dtype), Operand([[1, 2], [0, 1]], "i64"), expanded(draw([1, 2]), dtype, 0, 2))
        check("nothing", Operand(table, dtype), Operand(np.zeros((0, 2), np.int64), "i64"),
              Operand(np.zeros((0, 2)), dtype))
        check("empty", Operand(np.zeros((3, 0)), dtype), Operand(np.zeros((2, 0), np.int64), "i64"),
              Operand(np.zeros((2, 0)), dtype))
    # Integers wrap.
    for dtype, top in {"u8": 255, "i8": 127, "i16": 2**15 - 1, "i32": 2**31 - 1, "i64": 2**63 - 1}.items():
        check("wraps", Operand([top, 0], dtype), Operand([0], "i64"), Operand([1], dtype))
    for indices in INTEGERS:
        suite.check(f"index_{indices}", "scatter_add",
                    [Operand([0.5, 1.0], "f64"), Operand([1, 0, 1], indices), Operand([1.0, 2.0, 4.0], "f64")],
                    scatter_add, "f64", **options_for("f64"))
    # Many small ones into one place: f16 and bf16 are summed in f32.
    for dtype, step in {"f16": 2.0**-11, "bf16": 2.0**-8}.items():
        check("accumulator", Operand([1.0], dtype), Operand(np.zeros(64, np.int64), "i64"),
              Operand(np.full(64, step), dtype))


def embeddings(suite):
    for dtype in FLOATS + HALVES:
        def check(name, weight, indices, padding=None, **more):
            attrs = {} if padding is None else {"padding_idx": padding}
            suite.check(f"{dtype}/{name}", "embedding", [weight, indices], lambda w, i: take(w, i), dtype, attrs,
                        **options_for(dtype) | more)

        table = suite.numbers.fitting(dtype, [4, 3])
        weight = Operand(table, dtype)
        check("default", weight, Operand([1, 3, 1], "i64"))
        check("rank0", weight, Operand(2, "i32"))
        check("rank2", weight, Operand([[0, -1], [2, 2]], "i64"))
        check("views", LAYOUTS["permuted_slice"](table, dtype), LAYOUTS["permuted"](np.array([[0, 3], [2, 2]]), "i64"))
        check("empty", weight, Operand(np.zeros((2, 0), np.int64), "i64"))
        for name, padding in {"padding": 1, "padding_negative": -3}.items():
            indices = np.array([1, 3, -3, 0])
            seed = np.asarray(suite.seed((4, 3)), np.float32).astype(np.float64)
            given = np.zeros((4, 3))
            for row, index in enumerate(indices):
                if index % 4 != 1:
                    given[index % 4] += seed[row]
            # Differences do not know that the row is held.
            check(name, weight, Operand(indices, "i64"), padding, given=[given, None], smooth=False)
    x = Operand(np.zeros((3, 2)), "f32")
    suite.fail("weight_rank", "embedding", [Operand(np.zeros(3), "f32"), Operand([0], "i64")], contains=["[3]", "[V, D]"])
    suite.fail("padding", "embedding", [x, Operand([0], "i64")], {"padding_idx": 3}, contains=["3", "-3 to 2"])
    suite.fail("padding_low", "embedding", [x, Operand([0], "i64")], {"padding_idx": -4}, contains=["-4"])
    suite.fail("i32", "embedding", [Operand(np.zeros((3, 2), np.int32), "i32"), Operand([0], "i64")], contains=["i32"])
    for indices in ["i64", "i32"]:
        for index in [3, -4]:
            suite.add(f"error/index_{index}_{indices}", "embedding", [x, Operand([0, index], indices)],
                      error="OUT_OF_RANGE", contains=[f"index {index} at element 1", "size 3"])


def out_of_range(suite):
    table = np.zeros((3, 4))

    def fail(name, op, operands, index, position, size, axis=0):
        suite.fail(name, op, operands, {"axis": axis}, error="OUT_OF_RANGE",
                   contains=[f"index {index} at element {position} is out of bounds for size {size}"])

    for dtype in ["f32", "f16", "i8", "f64"]:
        x = Operand(table, dtype)
        for indices in INTEGERS:
            for index in [3, 100] + ([] if indices == "u8" else [-4, -128]):
                list_ = Operand([0, index, 1, 5], indices)
                fail(f"{dtype}_{indices}_{index}", "take", [x, list_], index, 1, 3)
                rows = Operand([[0], [index]], indices)
                fail(f"{dtype}_{indices}_{index}", "scatter_add", [x, rows, Operand(np.zeros((2, 4)), dtype)], index, 1,
                     3)
                along = Operand([[0, 1, 2, 0], [2, 0, index, 77]], indices)
                fail(f"{dtype}_{indices}_{index}", "take_along_axis", [x, along], index, 6, 3)
                fail(f"{dtype}_{indices}_{index}_elements", "scatter_add",
                     [x, along, Operand(np.zeros((2, 4)), dtype)], index, 6, 3)
    x = Operand(table, "f32")
    for index in [2**63 - 1, -(2**63)]:
        fail(f"extreme_{index}", "take", [x, Operand([index], "i64")], index, 0, 3)
        fail(f"extreme_{index}", "take_along_axis", [x, Operand([[index]], "i64")], index, 0, 3)
        fail(f"extreme_{index}", "scatter_add", [x, Operand([[index]], "i64"), Operand(np.zeros((1, 4)), "f32")], index,
             0, 3)
    fail("last_axis", "take", [x, Operand([[0, 1], [2, 4]], "i64")], 4, 3, 4, -1)
    # Also where the result would be empty.
    nothing, row = Operand(np.zeros((0, 4)), "f32"), Operand([[0]], "i64")
    for name, op, operands in [
            ("empty_table", "take", [nothing, Operand([0], "i64")]),
            ("empty_table_rank0", "take", [nothing, Operand(0, "i64")]),
            ("empty_table_empty_rows", "take", [Operand(np.zeros((0, 0)), "f32"), Operand([0], "i64")]),
            ("empty_table", "take_along_axis", [nothing, row]),
            ("empty_table_empty_rows", "take_along_axis", [Operand(np.zeros((0, 0)), "f32"), row]),
            ("empty_table", "scatter_add", [nothing, row, Operand(np.zeros((1, 4)), "f32")]),
            ("empty_table", "embedding", [nothing, Operand([0], "i64")])]:
        suite.fail(name, op, operands, error="OUT_OF_RANGE", contains=["out of bounds for size 0"])
    fail("view", "take", [x, LAYOUTS["permuted_slice"](np.array([[0, 9], [1, 0]]), "i64")], 9, 1, 3)
    fail("broadcast", "take_along_axis", [x, Operand([[0], [9]], "i64")], 9, 1, 3)
    far = np.zeros(3000, np.uint8)
    far[2001] = far[2900] = 3
    fail("far", "take", [x, Operand(far, "u8")], 3, 2001, 3)


def wrong_inputs(suite):
    x = Operand(np.zeros((2, 3)), "f32")
    one = Operand([0], "i64")

    def fail(name, op, operands, *contains, **attrs):
        suite.fail(name, op, operands, attrs, contains=contains)

    fail("rank0", "take", [Operand(1.0, "f32"), one], "rank 0")
    fail("axis", "take", [x, one], "2", axis=2)
    fail("axis_low", "take", [x, one], "-3", axis=-3)
    fail("float_index", "take", [x, Operand([0.0], "f32")], "f32")
    fail("bool_index", "take", [x, Operand([True], "bool")], "bool")
    fail("rank17", "take", [Operand(np.zeros([1] * 9), "f32"), Operand(np.zeros([1] * 9, np.int64), "i64")], "17")
    fail("ranks", "take_along_axis", [x, one], "[1]", "[2, 3]")
    fail("shapes", "take_along_axis", [x, Operand(np.zeros((1, 2), np.int64), "i64")], "[1, 2]", "[1, 3]")
    fail("rank0", "take_along_axis", [Operand(1.0, "f32"), Operand(0, "i64")], "rank 0")
    fail("axis", "take_along_axis", [x, Operand([[0]], "i64")], "2", axis=2)
    fail("float_index", "take_along_axis", [x, Operand([[0.0]], "f64")], "f64")
    fail("ranks", "scatter_add", [x, one, x], "[1]", "[2, 3]")
    fail("updates", "scatter_add", [x, Operand([[0]], "i64"), x], "[2, 3]", "[1, 3]")
    fail("shapes", "scatter_add", [x, Operand([[0, 0]], "i64"), Operand(np.zeros((1, 3)), "f32")], "[1, 2]", "[2, 3]")
    fail("rank0", "scatter_add", [Operand(1.0, "f32"), Operand(0, "i64"), Operand(1.0, "f32")], "rank 0")
    fail("bool", "scatter_add", [Operand([True], "bool"), one, Operand([True], "bool")], "bool")


def build():
    suite = Suite("indexing")
    for part in [takes, takes_along, scatter_adds, embeddings, out_of_range, wrong_inputs]:
        part(suite)
    return suite
