# SPDX-License-Identifier: Apache-2.0
"""max_pool2d and avg_pool2d: ops 170 and 172."""

import numpy as np

from dtypes import EPSILON, FLOATS
from operands import LAYOUTS, Operand, expanded
from suite import Suite

INF, NAN = np.inf, np.nan
DTYPES = FLOATS + ["f16", "bf16"]


# ---- Definitions -----------------------------------------------------------------------------------


def pair(value):
    return list(value) if len(value) == 2 else [value[0]] * 2


class Axis:
    """Windows along one axis: how many, and the positions that each has in x, inside and outside."""

    def __init__(self, size, kernel, stride, dilation, before, after, ceil):
        covered = (kernel - 1) * dilation + 1
        room = size + before + after - covered
        self.count = (-(-room // stride) if ceil else room // stride) + 1
        while ceil and (self.count - 1) * stride >= size + before:
            self.count -= 1
        self.size, self.after = size, after
        self.windows = [[o * stride - before + i * dilation for i in range(kernel)] for o in range(self.count)]

    def inside(self, window):
        return [p for p in self.windows[window] if 0 <= p < self.size]

    def declared(self, window):
        """Positions in x or in the padding that was asked for."""
        return [p for p in self.windows[window] if p < self.size + self.after]


def axes_of(shape, attrs):
    kernel = pair(attrs["kernel"])
    stride = pair(attrs.get("stride", kernel))
    dilation = pair(attrs.get("dilation", [1]))
    padding = list(attrs.get("padding", [0]))
    padding = padding * 4 if len(padding) == 1 else padding * 2 if len(padding) == 2 else padding
    automatic = attrs.get("auto_pad", "none")
    axes = []
    for i in range(2):
        before, after = padding[i], padding[i + 2]
        if automatic.startswith("same"):
            count = -(-shape[-2 + i] // stride[i])
            total = max(0, (count - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - shape[-2 + i])
            before, after = total // 2, total - total // 2
            if automatic == "same_lower":
                before, after = after, before
        axes.append(Axis(shape[-2 + i], kernel[i], stride[i], dilation[i], before, after, attrs.get("ceil_mode", False)))
    return axes


def windows_of(shape, attrs):
    """(position of the result, positions in the plane in row-major order, divisor of the mean)"""
    rows, columns = axes_of(shape, attrs)
    counts = attrs.get("count_include_pad", True)
    for i in range(rows.count):
        for j in range(columns.count):
            places = [(p, q) for p in rows.inside(i) for q in columns.inside(j)]
            divisor = len(rows.declared(i)) * len(columns.declared(j)) if counts else len(places)
            yield (i, j), places, divisor


def shape_of(shape, attrs):
    rows, columns = axes_of(shape, attrs)
    return tuple(shape[:-2]) + (rows.count, columns.count)


def winner(values):
    """The first NaN, else the first of the largest."""
    nans = np.flatnonzero(np.isnan(values))
    return int(nans[0]) if len(nans) else int(np.argmax(values))


def max_pool(attrs):
    def define(x):
        y = np.zeros(shape_of(x.shape, attrs), x.dtype)
        for plane in np.ndindex(x.shape[:-2]):
            for at, places, _ in windows_of(x.shape, attrs):
                values = [x[plane + p] for p in places]
                y[plane + at] = values[winner(np.array(values, np.float64))]
        return y

    return define


def max_pool_gradient(suite, attrs, x):
    """The gradient goes to the first winner, whatever differences would say."""
    seed = np.asarray(suite.seed(shape_of(x.shape, attrs)), np.float32).astype(np.float64)
    gradient = np.zeros(x.shape)
    for plane in np.ndindex(x.shape[:-2]):
        for at, places, _ in windows_of(x.shape, attrs):
            gradient[plane + places[winner(np.array([x[plane + p] for p in places], np.float64))]] += seed[plane + at]
    return gradient


def avg_pool(attrs):
    def define(x):
        y = np.zeros(shape_of(x.shape, attrs), x.dtype)
        for plane in np.ndindex(x.shape[:-2]):
            for at, places, divisor in windows_of(x.shape, attrs):
                y[plane + at] = sum((x[plane + p] for p in places), x.dtype.type(0)) / divisor
        return y

    return define


# ---- Cases -------------------------------------------------------------------------------------------


# name: (shape, attributes), for both ops where the attributes allow it
GEOMETRIES = {
    "k2": ([1, 1, 4, 4], {"kernel": [2]}),
    "k2_odd": ([2, 1, 5, 3], {"kernel": [2]}),
    "k2_wide": ([1, 2, 4, 70], {"kernel": [2, 2], "stride": [2, 2]}),
    "k2_narrow": ([3, 1, 2, 2], {"kernel": [2]}),
    "k2_one_column": ([1, 1, 4, 3], {"kernel": [2]}),
    "k3_s1": ([1, 1, 4, 5], {"kernel": [3], "stride": [1]}),
    "k3_s2_p1": ([1, 2, 5, 6], {"kernel": [3], "stride": [2], "padding": [1]}),
    "k3_s2_p1_wide": ([1, 1, 3, 75], {"kernel": [3], "stride": [2], "padding": [1, 1]}),
    "k3_s1_wide": ([1, 1, 3, 40], {"kernel": [2, 3], "stride": [1, 1], "padding": [0, 1]}),
    "rectangle": ([1, 1, 5, 6], {"kernel": [3, 2], "stride": [1, 3]}),
    "stride_past_kernel": ([1, 1, 7, 8], {"kernel": [2, 1], "stride": [3, 4]}),
    "stride_past_x": ([1, 1, 3, 3], {"kernel": [2], "stride": [100]}),
    "four_sides": ([1, 1, 3, 4], {"kernel": [4, 3], "stride": [1], "padding": [0, 1, 2, 0]}),
    "ceil": ([1, 1, 5, 6], {"kernel": [2, 3], "stride": [2, 2], "ceil_mode": True}),
    "ceil_padded": ([1, 1, 6, 5], {"kernel": [3, 2], "stride": [2, 3], "padding": [1, 1], "ceil_mode": True}),
    "ceil_small": ([1, 1, 1, 2], {"kernel": [2, 3], "stride": [2, 2], "ceil_mode": True}),
    "ceil_huge_kernel": ([1, 1, 3, 4], {"kernel": [5000, 5000], "stride": [5000], "ceil_mode": True}),
    "global": ([2, 1, 3, 5], {"kernel": [3, 5]}),
    "k1": ([1, 2, 2, 3], {"kernel": [1]}),
    "k1_s2": ([1, 1, 4, 5], {"kernel": [1], "stride": [2]}),
    "rank2": ([4, 4], {"kernel": [2]}),
    "rank3": ([2, 4, 4], {"kernel": [2, 3], "stride": [1]}),
    "rank5": ([2, 1, 2, 2, 3], {"kernel": [2]}),
    "no_planes": ([0, 3, 4, 4], {"kernel": [2]}),
    "no_channels": ([2, 0, 4, 4], {"kernel": [2]}),
    "same_upper": ([1, 1, 4, 5], {"kernel": [3], "stride": [2], "auto_pad": "same_upper"}),
    "same_lower": ([1, 1, 4, 5], {"kernel": [3], "stride": [2], "auto_pad": "same_lower"}),
    "same_s1": ([1, 1, 3, 4], {"kernel": [2, 4], "stride": [1], "auto_pad": "same_upper"}),
    "same_no_need": ([1, 1, 5, 4], {"kernel": [1], "stride": [3], "auto_pad": "same_lower"}),
    "valid": ([1, 1, 4, 5], {"kernel": [3], "stride": [2], "auto_pad": "valid"}),
}
DILATED = {
    "dilated": ([1, 1, 5, 6], {"kernel": [2, 3], "stride": [1], "dilation": [2]}),
    "dilated_padded": ([1, 2, 6, 5], {"kernel": [3, 2], "stride": [2, 1], "padding": [2, 1], "dilation": [2, 3]}),
    "dilated_same": ([1, 1, 6, 7], {"kernel": [3], "stride": [2], "dilation": [2], "auto_pad": "same_lower"}),
    "dilated_past_x": ([1, 1, 4, 4], {"kernel": [1], "dilation": [2**62]}),
}


def max_pools(suite):
    for dtype in DTYPES:
        def check(name, operand, attrs, given=None, **more):
            options = dict(differentiable=dtype in FLOATS, smooth=given is None, given=given) | more
            suite.check(f"{dtype}/{name}", "max_pool2d", [operand], max_pool(attrs), dtype, attrs, **options)

        for name, (shape, attrs) in (GEOMETRIES | DILATED).items():
            values = suite.numbers.spread(shape)
            check(name, Operand(values, dtype), attrs, given=None if values.size <= 100 else
                  [max_pool_gradient(suite, attrs, Operand(values, dtype).value.astype(np.float64))])
        values = suite.numbers.spread([2, 1, 4, 3])
        for name, layout in LAYOUTS.items():
            check(name, layout(values, dtype), {"kernel": [2], "stride": [1, 2], "padding": [1]})
            check(f"{name}_k2", layout(values, dtype), {"kernel": [2]})
        tied = {"kernel": [2], "stride": [1], "padding": [1]}
        special = {
            "expanded": (expanded(values[:, :, :1], dtype, 2), {"kernel": [2]}),
            "ties": (Operand([[[1.0, 2.0, 2.0], [2.0, 2.0, 1.0], [2.0, 0.0, 1.0]]], dtype), tied),
            "ties_k2": (Operand([[1.0, 2.0, 5.0, 5.0], [2.0, 2.0, 5.0, 5.0]], dtype), {"kernel": [2]}),
            "minus_inf": (Operand(np.full((2, 4, 5), -INF), dtype), {"kernel": [3], "stride": [2], "padding": [1]}),
            "minus_inf_k2": (Operand(np.full((2, 4, 5), -INF), dtype), {"kernel": [2]}),
            "inf": (Operand([[-INF, INF], [INF, 3.0]], dtype), {"kernel": [2]}),
            "zeros": (Operand([[-0.0, 0.0], [0.0, -0.0]], dtype), {"kernel": [2]}),
            "nan": (Operand([[1.0, NAN, 2.0, 3.0], [5.0, 1.0, 4.0, 0.0], [NAN, NAN, INF, 2.0], [9.0, NAN, NAN, 1.0]],
                            dtype), {"kernel": [2]}),
            "nan_overlapping": (Operand([[1.0, NAN, 2.0, 3.0], [5.0, 1.0, 4.0, NAN], [7.0, 8.0, INF, 2.0]], dtype), tied),
        }
        for name, (operand, attrs) in special.items():
            check(name, operand, attrs, [max_pool_gradient(suite, attrs, operand.value.astype(np.float64))])
        # Case 7: no window lies in the padding.
        line = np.arange(1.0, 6.0).reshape(1, 1, 1, 5)
        check("case_7", Operand(line, dtype),
              {"kernel": [1, 2], "stride": [1, 2], "padding": [0, 1], "ceil_mode": True})
        check("case_7_rows", Operand(line.reshape(1, 1, 5, 1), dtype),
              {"kernel": [2, 1], "stride": [2, 1], "padding": [1, 0], "ceil_mode": True})
        check("case_7_shape", Operand(-suite.numbers.spread([1, 1, 6, 7], 1, 9), dtype),
              {"kernel": [1], "stride": [2], "ceil_mode": True})
        # Case 8: the odd cell of the padding.
        square = np.arange(1.0, 17.0).reshape(1, 1, 4, 4)
        for name in ["same_upper", "same_lower"]:
            check(f"case_8_{name}", Operand(square, dtype), {"kernel": [3], "stride": [2], "auto_pad": name})
    assert np.array_equal(max_pool({"kernel": [1, 2], "stride": [1, 2], "padding": [0, 1], "ceil_mode": True})(line),
                          [[[[1, 3, 5]]]])
    assert shape_of((6, 7), {"kernel": [1], "stride": [2], "ceil_mode": True}) == (3, 4)
    for name, answer in {"same_upper": [[11, 12], [15, 16]], "same_lower": [[6, 8], [14, 16]]}.items():
        assert np.array_equal(max_pool({"kernel": [3], "stride": [2], "auto_pad": name})(square), [[answer]])


def avg_pools(suite):
    for dtype in DTYPES:
        eps = EPSILON[dtype]
        tolerance = {"rtol": 4 * eps, "atol": 4 * eps} if dtype in FLOATS else {"ulp": 1}

        def check(name, operand, attrs, **more):
            options = dict(differentiable=dtype in FLOATS and operand.value.size <= 100, smooth=True) | more
            suite.check(f"{dtype}/{name}", "avg_pool2d", [operand], avg_pool(attrs), dtype, attrs, tolerance=tolerance,
                        **options)

        for name, (shape, attrs) in GEOMETRIES.items():
            values = suite.numbers.spread(shape)
            check(name, Operand(values, dtype), attrs)
            if "padding" in attrs or "auto_pad" in attrs or "ceil_mode" in attrs:
                check(f"{name}_inside", Operand(values, dtype), attrs | {"count_include_pad": False})
        values = suite.numbers.spread([2, 1, 4, 3])
        for name, layout in LAYOUTS.items():
            check(name, layout(values, dtype), {"kernel": [2], "stride": [1, 2], "padding": [1]})
        check("expanded", expanded(values[:, :, :1], dtype, 2), {"kernel": [2]})
        check("inf_and_nan", Operand([[1.0, INF, 2.0, 3.0], [NAN, 1.0, 4.0, -INF], [7.0, 8.0, 0.5, 2.0]], dtype),
              {"kernel": [2], "stride": [1]}, differentiable=False)
        # More than 256 elements in a window are summed in f64.
        check("large_window", Operand(suite.numbers.spread([1, 1, 30, 41]), dtype), {"kernel": [20, 30], "stride": [7]},
              differentiable=False)
        # Case 7: what ceil_mode adds counts nowhere.
        line = np.arange(1.0, 6.0).reshape(1, 1, 1, 5)
        for counted in [True, False]:
            check(f"case_7_{counted}", Operand(line, dtype),
                  {"kernel": [1, 2], "stride": [1, 2], "padding": [0, 1], "ceil_mode": True,
                   "count_include_pad": counted})
        for name in ["same_upper", "same_lower"]:
            check(f"case_8_{name}", Operand(np.arange(1.0, 17.0).reshape(1, 1, 4, 4), dtype),
                  {"kernel": [3], "stride": [2], "auto_pad": name, "count_include_pad": False})


def wrong_inputs(suite):
    x = Operand(np.zeros((1, 1, 4, 5)), "f32")

    def fail(name, attrs, *contains, operand=x, ops=("max_pool2d", "avg_pool2d"), **more):
        for op in ops:
            suite.fail(name, op, [operand], attrs, contains=contains, **more)

    fail("kernel_missing", {}, "kernel")
    fail("kernel_count", {"kernel": [1, 2, 3]}, "3")
    fail("kernel_empty", {"kernel": []}, "0")
    fail("kernel_zero", {"kernel": [2, 0]}, "0")
    fail("kernel_negative", {"kernel": [-1]}, "-1")
    fail("kernel_large", {"kernel": [5, 1]}, "5", "4")
    fail("kernel_huge", {"kernel": [2**62]}, str(2**62))
    fail("stride_zero", {"kernel": [2], "stride": [0]}, "stride is 0")
    fail("stride_negative", {"kernel": [2], "stride": [1, -1]}, "stride is -1")
    fail("stride_count", {"kernel": [2], "stride": [1, 1, 1]}, "3")
    fail("padding_large", {"kernel": [3], "padding": [2]}, "padding is 2", "1")
    fail("padding_negative", {"kernel": [3], "padding": [0, -1]}, "-1")
    fail("padding_count", {"kernel": [2], "padding": [1, 1, 1]}, "3")
    fail("padding_overflow", {"kernel": [2**63 - 1], "padding": [2**62]}, str(2**62))
    fail("padding_twice", {"kernel": [3], "padding": [1], "auto_pad": "same_upper"}, "same_upper")
    fail("auto_pad", {"kernel": [3], "auto_pad": "same"}, "same")
    fail("ceil_overflow", {"kernel": [1], "stride": [2**63 - 1], "ceil_mode": True})
    fail("rank1", {"kernel": [1]}, "[4]", operand=Operand(np.zeros(4), "f32"))
    fail("rank0", {"kernel": [1]}, "[]", operand=Operand(1.0, "f32"))
    fail("no_rows", {"kernel": [1]}, "0 rows", operand=Operand(np.zeros((1, 1, 0, 4)), "f32"))
    fail("no_columns", {"kernel": [2], "padding": [1]}, "0 columns", operand=Operand(np.zeros((1, 1, 4, 0)), "f32"))
    fail("i32", {"kernel": [2]}, "i32", operand=Operand(np.zeros((1, 1, 4, 4), np.int32), "i32"))
    fail("dilation_zero", {"kernel": [2], "dilation": [0]}, "dilation is 0", ops=["max_pool2d"])
    fail("dilation_large", {"kernel": [2], "dilation": [1, 5]}, "6", "5", ops=["max_pool2d"])
    fail("dilation_overflow", {"kernel": [3], "dilation": [2**62]}, ops=["max_pool2d"])
    # A kernel of two elements on both sides of x: nothing but padding.
    fail("dilation_around", {"kernel": [2], "stride": [1], "padding": [3], "dilation": [6]}, "6", "padding",
         operand=Operand(np.zeros((1, 1, 3, 3)), "f32"), ops=["max_pool2d"])
    plane = expanded(np.zeros((1, 1)), "f32", 0, 2**31)
    fail("plane_too_large", {"kernel": [2**31, 1]}, str(2**31), operand=plane, ops=["max_pool2d"])


def build():
    suite = Suite("pooling")
    for part in [max_pools, avg_pools, wrong_inputs]:
        part(suite)
    return suite
