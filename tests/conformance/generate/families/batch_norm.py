# SPDX-License-Identifier: Apache-2.0
"""batch_norm: op 97."""

import numpy as np

from dtypes import EPSILON, FLOATS, WIDE
from operands import LAYOUTS, Operand, expanded
from suite import Suite

NAN = np.nan


def batch_norm(training, epsilon, present):
    """Ioffe and Szegedy, arXiv:1502.03167, algorithms 1 and 2: the biased variance, over all axes but 1."""
    def statistics(x, rest):
        given = dict(zip(present, rest))
        shape = [1, -1] + [1] * (x.ndim - 2)
        if training:
            axes = tuple(a for a in range(x.ndim) if a != 1)
            mean = np.mean(x, axis=axes)
            variance = np.mean((x - mean.reshape(shape)) ** 2, axis=axes)
        else:
            mean, variance = given["mean"], given["variance"]
        return mean, variance, given, shape

    def define(x, *rest):
        mean, variance, given, shape = statistics(x, [r for r in rest if r is not None])
        y = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + WIDE(epsilon))
        if "scale" in given:
            y = y * given["scale"].reshape(shape)
        return y + given["bias"].reshape(shape) if "bias" in given else y

    def mean_of(x, *rest):
        return statistics(x, [r for r in rest if r is not None])[0]

    def variance_of(x, *rest):
        return statistics(x, [r for r in rest if r is not None])[1]

    return define, mean_of, variance_of


def cases(suite, dtype, differentiable=True):
    eps = EPSILON[dtype]
    state = "f32" if dtype in ("f16", "bf16") else dtype
    draw = suite.numbers.spread

    def check(name, x, training=True, scale=True, bias=True, epsilon=1e-5, spread=1.0, **more):
        attrs = ({"training": True} if training else {}) | ({"epsilon": epsilon} if epsilon != 1e-5 else {})
        channels = [x.value.shape[1]]
        wanted = {"scale": (scale, draw(channels, 0.5, 2), dtype), "bias": (bias, draw(channels), dtype),
                  "mean": (not training, draw(channels, -1, 1), state),
                  "variance": (not training, draw(channels, 0.5, 3), state)}
        inputs = [Operand(values, kind) if used else None for used, values, kind in wanted.values()]
        while inputs and inputs[-1] is None:
            inputs.pop()
        define, mean, variance = batch_norm(training, epsilon, [k for k, w in wanted.items() if w[0]])
        tolerance = {"rtol": 32 * eps, "atol": 32 * eps * spread}
        suite.check(f"{dtype}/{name}", "batch_norm", [x, *inputs], define, dtype, attrs, wide=True,
                    extra=[(mean, state), (variance, state)], tolerance=tolerance,
                    **{"differentiable": differentiable, "smooth": True, **more})

    for training in [True, False]:
        tag = "training" if training else "inference"
        check(f"{tag}_rank2", Operand(draw([4, 3]), dtype), training)
        check(f"{tag}_small", Operand(draw([2, 2]), dtype), training)
        check(f"{tag}_rank3", Operand(draw([2, 3, 4]), dtype), training)
        check(f"{tag}_rank4", Operand(draw([2, 2, 3, 2]), dtype), training)
        check(f"{tag}_rank5", Operand(draw([2, 2, 1, 3, 2]), dtype), training)
        check(f"{tag}_plain", Operand(draw([3, 2]), dtype), training, scale=False, bias=False)
        check(f"{tag}_scale_only", Operand(draw([3, 2]), dtype), training, bias=False)
        check(f"{tag}_bias_only", Operand(draw([3, 2]), dtype), training, scale=False)
        check(f"{tag}_epsilon", Operand(draw([3, 2]), dtype), training, epsilon=0.5)
        check(f"{tag}_one_example", Operand(draw([1, 2, 5]), dtype), training)
        check(f"{tag}_one_channel", Operand(draw([4, 1]), dtype), training)
        for name, layout in LAYOUTS.items():
            check(f"{tag}_{name}", layout(draw([3, 2, 4]), dtype), training)
        check(f"{tag}_no_channels", Operand(np.zeros((3, 0, 2)), dtype), training)
        long = {"differentiable": False}
        check(f"{tag}_planes", Operand(draw([3, 2, 67]), dtype), training, **long)
        check(f"{tag}_planes_permuted", LAYOUTS["permuted"](draw([2, 3, 79]), dtype), training, **long)
        check(f"{tag}_two_blocks", Operand(draw([2, 1, 600]), dtype), training, **long)
        check(f"{tag}_tall", Operand(draw([131, 3]), dtype), training, **long)
        check(f"{tag}_nan", Operand([[1.0, NAN], [2.0, 3.0], [0.0, 1.0]], dtype), training, **long)
    check("inference_empty", Operand(np.zeros((0, 3, 2)), dtype), False, differentiable=False)
    check("inference_one_value", Operand(draw([1, 3]), dtype), False)
    check("constant", Operand(np.full((4, 2), 2.5), dtype), differentiable=False)
    check("expanded", expanded(draw([1, 3, 4]), dtype))
    # The variance of numbers far from 0 needs a second pass.
    check("far_from_zero", Operand(draw([8, 2]) + 512.0, dtype), spread=512.0, differentiable=False)


def wrong_inputs(suite):
    def fail(name, inputs, training=True, contains=(), **attrs):
        suite.fail(name, "batch_norm", inputs, {"training": training, **attrs}, contains=contains)

    x = Operand(np.zeros((2, 3)), "f32")
    three, four = Operand(np.ones(3), "f32"), Operand(np.ones(4), "f32")
    fail("one_value", [Operand(np.zeros((1, 3)), "f32")], contains=["more than one value per channel", "[1, 3]"])
    fail("one_value_rank4", [Operand(np.zeros((1, 3, 1, 1)), "f32")], contains=["more than one value per channel"])
    fail("no_values", [Operand(np.zeros((0, 3)), "f32")], contains=["more than one value per channel", "[0, 3]"])
    fail("rank1", [Operand(np.zeros(3), "f32")])
    fail("rank0", [Operand(0.0, "f32")])
    fail("scale_shape", [x, four], contains=["[4]", "[3]"])
    fail("bias_shape", [x, three, four], contains=["[4]", "[3]"])
    fail("mean_shape", [x, None, None, four, three], False, contains=["[4]", "[3]"])
    fail("variance_shape", [x, None, None, three, four], False, contains=["[4]", "[3]"])
    fail("no_mean", [x], False, contains=["mean"])
    fail("no_variance", [x, None, None, three], False, contains=["variance"])
    fail("mean_dtype", [x, None, None, Operand(np.ones(3), "f64"), three], False, contains=["f64", "f32"])
    fail("epsilon", [x], True, contains=["epsilon"], epsilon=-1.0)
    fail("i32", [Operand([[1, 2], [3, 4]], "i32")], contains=["i32"])


def build():
    suite = Suite("batch_norm")
    for dtype in FLOATS:
        cases(suite, dtype)
    wrong_inputs(suite)
    return suite
