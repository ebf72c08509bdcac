# SPDX-License-Identifier: Apache-2.0
"""conv2d: op 112. Its hidden derivatives are reached through gradients, forward mode and gradcheck."""

import numpy as np

from dtypes import EPSILON, FLOATS
from operands import LAYOUTS, Operand, expanded
from suite import Suite


def pair(value, otherwise):
    values = otherwise if value is None else value
    return (values[0], values[-1])


def padding(shape, kernel, stride, dilation, attrs):
    """Zeros (before, after) along rows and columns."""
    how = attrs.get("auto_pad", "none")
    if how in ("none", "valid"):
        given = attrs.get("padding", [0])
        top, left, bottom, right = given if len(given) == 4 else pair(given, [0]) * 2
        return [(top, bottom), (left, right)]
    result = []
    for size, k, s, d in zip(shape, kernel, stride, dilation):
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        less = total // 2
        result.append((less, total - less) if how == "same_upper" else (total - less, less))
    return result


def conv2d(attrs):
    """The sum of the definition, one product for each tap of the kernel."""
    stride, dilation = pair(attrs.get("stride"), [1]), pair(attrs.get("dilation"), [1])
    groups = attrs.get("groups", 1)

    def define(x, w, bias=None):
        (n, _, *size), (outputs, channels, *kernel) = x.shape, w.shape
        zeros = padding(size, kernel, stride, dilation, attrs)
        padded = np.pad(x, [(0, 0), (0, 0), *zeros])
        out = [(p - (k - 1) * d - 1) // s + 1 for p, k, s, d in zip(padded.shape[2:], kernel, stride, dilation)]
        y = np.zeros((n, outputs, *out), np.result_type(x, w))
        per_group = outputs // groups
        for g in range(groups):
            inside = padded[:, g * channels:(g + 1) * channels]
            for a, b in np.ndindex(*kernel):
                met = inside[:, :, a * dilation[0]:, b * dilation[1]:]
                met = met[:, :, :(out[0] - 1) * stride[0] + 1:stride[0], :(out[1] - 1) * stride[1] + 1:stride[1]]
                met = met[:, :, :out[0], :out[1]]
                weights = w[g * per_group:(g + 1) * per_group, :, a, b]
                y[:, g * per_group:(g + 1) * per_group] += np.einsum("nchw,oc->nohw", met, weights)
        return y if bias is None else y + bias[:, None, None]

    return define


def tolerance_of(dtype, inner):
    return {"rtol": 4 * EPSILON[dtype], "atol": 4 * EPSILON[dtype] * max(inner, 1) * 9.0}


# Name: (x, weight, attributes).
CASES = {
    "plain": ([2, 3, 5, 6], [4, 3, 3, 2], {}),
    "stride": ([1, 2, 7, 8], [3, 2, 3, 3], {"stride": [2]}),
    "stride_rows_columns": ([1, 2, 7, 8], [2, 2, 2, 3], {"stride": [3, 2]}),
    "stride_beyond_kernel": ([1, 2, 9, 8], [2, 2, 2, 2], {"stride": [4, 3]}),
    "padding": ([1, 2, 4, 4], [3, 2, 3, 3], {"padding": [1]}),
    "padding_rows_columns": ([1, 2, 4, 3], [2, 2, 3, 3], {"padding": [1, 2]}),
    "padding_asymmetric": ([1, 2, 4, 3], [2, 2, 3, 2], {"padding": [0, 1, 2, 3]}),
    "padding_beyond_kernel": ([1, 1, 2, 2], [1, 1, 1, 2], {"padding": [3, 2]}),
    "stride_padding": ([2, 2, 5, 6], [3, 2, 3, 3], {"stride": [2, 3], "padding": [1, 0, 2, 1]}),
    "dilation": ([1, 2, 7, 7], [2, 2, 3, 3], {"dilation": [2]}),
    "dilation_rows_columns": ([1, 2, 8, 7], [2, 2, 3, 2], {"dilation": [3, 2], "padding": [2, 1]}),
    "dilation_stride": ([1, 2, 9, 8], [2, 2, 3, 3], {"dilation": [2, 3], "stride": [2], "padding": [1, 2]}),
    "dilation_stride_coprime": ([1, 1, 11, 9], [1, 1, 3, 3], {"dilation": [3, 2], "stride": [2, 3], "padding": [2]}),
    "dilation_stride_common": ([1, 1, 13, 13], [2, 1, 2, 3], {"dilation": [4, 6], "stride": [6, 4], "padding": [3]}),
    "groups": ([2, 4, 4, 4], [6, 2, 2, 2], {"groups": 2}),
    "groups_stride": ([1, 6, 5, 5], [3, 2, 3, 3], {"groups": 3, "stride": [2], "padding": [1]}),
    "depthwise": ([2, 3, 5, 5], [3, 1, 3, 3], {"groups": 3, "padding": [1]}),
    "depthwise_multiplier": ([1, 2, 5, 4], [6, 1, 3, 2], {"groups": 2, "stride": [2, 1], "padding": [1]}),
    "pointwise": ([2, 3, 3, 4], [5, 3, 1, 1], {}),
    "pointwise_stride": ([1, 3, 5, 4], [2, 3, 1, 1], {"stride": [2]}),
    "whole": ([2, 2, 3, 4], [3, 2, 3, 4], {}),
    "kernel_beyond_x": ([1, 2, 2, 1], [2, 2, 5, 4], {"padding": [2, 2]}),
    "one_position": ([3, 2, 1, 1], [2, 2, 3, 3], {"padding": [1]}),
    "row_kernel": ([1, 2, 3, 7], [2, 2, 1, 4], {"padding": [0, 2]}),
    "same_upper": ([1, 2, 4, 5], [2, 2, 3, 2], {"auto_pad": "same_upper"}),
    "same_upper_stride": ([1, 2, 5, 6], [2, 2, 3, 4], {"auto_pad": "same_upper", "stride": [2, 3]}),
    "same_lower": ([1, 2, 4, 5], [2, 2, 2, 4], {"auto_pad": "same_lower"}),
    "same_lower_stride": ([1, 2, 5, 6], [2, 2, 4, 3], {"auto_pad": "same_lower", "stride": [2, 1], "dilation": [1, 2]}),
    "same_stride_beyond_kernel": ([1, 1, 5, 7], [1, 1, 1, 2], {"auto_pad": "same_upper", "stride": [3]}),
    "valid": ([1, 2, 4, 5], [2, 2, 3, 2], {"auto_pad": "valid"}),
    # Few enough elements for gradcheck of second order.
    "small": ([1, 1, 2, 2], [2, 1, 2, 1], {}),
    "small_padding": ([1, 1, 2, 2], [1, 1, 2, 2], {"padding": [1, 0]}),
    "small_stride": ([1, 1, 3, 2], [1, 1, 2, 2], {"stride": [2, 1], "padding": [1]}),
    "small_groups": ([1, 2, 1, 2], [2, 1, 1, 2], {"groups": 2}),
    "small_dilation": ([1, 1, 3, 2], [1, 1, 2, 1], {"dilation": [2, 1]}),
    "empty_batch": ([0, 2, 4, 4], [3, 2, 3, 3], {"padding": [1]}),
    "empty_channels": ([2, 0, 3, 3], [2, 0, 2, 2], {}),
    "empty_outputs": ([2, 2, 3, 3], [0, 2, 2, 2], {}),
    "empty_image": ([1, 2, 0, 3], [2, 2, 2, 2], {"padding": [1]}),
    "empty_same": ([1, 2, 0, 3], [2, 2, 2, 2], {"auto_pad": "same_upper"}),
}

# Larger ones, whose gradients would take differences long to find: each crosses what kernels are cut by.
LARGE = {
    "tiles": ([2, 5, 13, 14], [33, 5, 3, 3], {"padding": [1]}),
    "tiles_stride": ([1, 20, 17, 19], [17, 20, 3, 3], {"padding": [1], "stride": [2]}),
    "long_inner": ([1, 40, 6, 5], [3, 40, 3, 3], {"padding": [1]}),
    "far_padding": ([1, 1, 2, 3], [2, 1, 3, 2], {"padding": [40, 70], "stride": [37, 50]}),
}


def check(suite, dtype, name, x, w, bias, attrs, **more):
    inputs = [x, w] if bias is None else [x, w, bias]
    inner = int(np.prod(w.value.shape[1:], dtype=np.int64))
    suite.check(f"{dtype}/{name}", "conv2d", inputs, conv2d(attrs), dtype, attrs, wide=True,
                tolerance=tolerance_of(dtype, inner), **{"differentiable": True, "smooth": True, **more})


def values(suite, dtype):
    draw = suite.numbers.spread

    def make(shape):
        return Operand(suite.remember((dtype, *shape), lambda: draw(shape)), dtype)

    for name, (x, w, attrs) in CASES.items():
        small = name.startswith("small")
        check(suite, dtype, name, make(x), make(w), None if small else make([w[0]]), attrs)
    for name, (x, w, attrs) in LARGE.items():
        check(suite, dtype, name, make(x), make(w), make([w[0]]), attrs, differentiable=False)
    attrs = {"padding": [1], "stride": [1, 2]}
    x, w, bias = [2, 2, 4, 5], [3, 2, 3, 2], [3]
    check(suite, dtype, "no_bias", make(x), make(w), None, attrs)
    for name, layout in LAYOUTS.items():
        check(suite, dtype, f"{name}_x", layout(draw(x), dtype), make(w), make(bias), attrs)
        check(suite, dtype, f"{name}_weight", make(x), layout(draw(w), dtype), layout(draw(bias), dtype), attrs)
    last = np.moveaxis(draw(x), 1, 3)
    channels_last = Operand(last, dtype, [["permute_dims", {"axes": [0, 3, 1, 2]}]])
    check(suite, dtype, "channels_last", channels_last, make(w), make(bias), attrs)
    check(suite, dtype, "expanded", expanded(draw([2, 1, 4, 5]), dtype, 1, 2), expanded(draw([1, 2, 3, 2]), dtype, 0, 3),
          expanded(draw([1]), dtype, 0, 3), attrs)
    # The zeros around x are zeros, and are multiplied; what is outside the window is not met.
    x = np.ones((1, 1, 3, 3))
    x[0, 0, 0, 0], x[0, 0, 2, 2] = np.inf, np.nan
    check(suite, dtype, "special_x", Operand(x, dtype), Operand(np.ones((1, 1, 2, 2)), dtype), None,
          {"padding": [1, 0]}, differentiable=False)
    w = np.ones((1, 1, 2, 2))
    w[0, 0, 0, 1] = np.inf
    check(suite, dtype, "special_weight", Operand(np.ones((1, 1, 2, 3)), dtype), Operand(w, dtype), None,
          {"padding": [1]}, differentiable=False)


def halves(suite):
    """Accumulated in f32: an element is off by one rounding to the dtype."""
    for dtype in ["f16", "bf16"]:
        for name in ["plain", "stride_padding", "dilation_stride", "groups_stride", "depthwise", "pointwise",
                     "one_position", "same_lower", "empty_batch", "empty_channels"]:
            x, w, attrs = CASES[name]
            inputs = [Operand(suite.numbers.spread(shape, -1, 1), dtype) for shape in (x, w, [w[0]])]
            tolerance = {"rtol": EPSILON[dtype], "atol": 2.0**-20}
            suite.check(f"{dtype}/{name}", "conv2d", inputs, conv2d(attrs), dtype, attrs, wide=True,
                        tolerance=tolerance, vmap=False)
        for name, layout in LAYOUTS.items():
            attrs = {"padding": [1]}
            inputs = [layout(suite.numbers.spread(shape, -1, 1), dtype) for shape in ([2, 2, 4, 5], [3, 2, 3, 2])]
            suite.check(f"{dtype}/{name}", "conv2d", inputs, conv2d(attrs), dtype, attrs, wide=True,
                        tolerance={"rtol": EPSILON[dtype], "atol": 2.0**-20}, vmap=False)


def errors(suite):
    def zeros(*shape):
        return Operand(np.zeros(shape), "f32")

    def fail(name, contains, x=(1, 2, 4, 4), w=(2, 2, 3, 3), bias=None, **attrs):
        inputs = [zeros(*x), zeros(*w)] + ([] if bias is None else [zeros(*bias)])
        suite.fail(name, "conv2d", inputs, attrs, contains=contains)

    fail("rank_x", ["x is [2, 4, 4]", "[N, C, H, W]"], x=(2, 4, 4))
    fail("rank_weight", ["weight is [2, 3, 3]", "[O, C / groups, KH, KW]"], w=(2, 3, 3))
    fail("channels", ["x has 2 channels", "expected 3", "[2, 3, 3, 3]"], w=(2, 3, 3, 3))
    fail("channels_groups", ["x has 2 channels", "expected 4", "groups is 2"], groups=2)
    fail("groups_outputs", ["3 output channels", "2 groups"], w=(3, 1, 3, 3), groups=2)
    fail("groups_zero", ["groups is 0", "expected 1 or more"], groups=0)
    fail("groups_negative", ["groups is -1"], groups=-1)
    fail("bias", ["bias is [3]", "[2]"], bias=(3,))
    fail("bias_rank", ["bias is [1, 2]", "[2]"], bias=(1, 2))
    fail("stride_zero", ["stride is 0", "expected 1"], stride=[0])
    fail("stride_negative", ["stride is -2"], stride=[1, -2])
    fail("stride_entries", ["stride has 3 entries", "expected 1 or 2"], stride=[1, 1, 1])
    fail("stride_none", ["stride has 0 entries"], stride=[])
    fail("stride_large", ["stride is 9223372036854775807"], stride=[2**63 - 1])
    fail("dilation_zero", ["dilation is 0", "expected 1"], dilation=[1, 0])
    fail("dilation_large", ["the kernel covers 4294967295 rows"], dilation=[2**31 - 1, 1])
    fail("padding_negative", ["padding is -1", "expected 0"], padding=[-1])
    fail("padding_entries", ["padding has 3 entries", "expected 1, 2", "4"], padding=[1, 1, 1])
    fail("padding_and_auto_pad", ["padding is 1", "auto_pad is 'same_upper'"], padding=[1], auto_pad="same_upper")
    fail("auto_pad", ["auto_pad", "'same'"], auto_pad="same")
    fail("kernel_rows", ["the kernel covers 5 rows", "x has 4"], w=(2, 2, 5, 3))
    fail("kernel_columns", ["the kernel covers 7 columns", "x has 6"], w=(2, 2, 3, 7), padding=[0, 1])
    fail("kernel_dilated", ["the kernel covers 7 rows", "x has 4"], dilation=[3, 1])
    fail("kernel_empty", ["the kernel has 0 columns"], w=(2, 2, 3, 0))
    suite.fail("i32", "conv2d", [Operand(np.zeros((1, 1, 2, 2)), "i32")] * 2, contains=["i32"])


def build():
    suite = Suite("convolution")
    for dtype in FLOATS:
        values(suite, dtype)
    halves(suite)
    errors(suite)
    return suite
