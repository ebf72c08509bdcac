# SPDX-License-Identifier: Apache-2.0
"""f16 and bf16 along axes: reductions, softmax, normalisation and losses, in f32 and rounded once."""

import numpy as np

from dtypes import HALVES
from families import batch_norm, loss, normalise, reduce
from operands import Operand
from suite import Suite


def reductions(suite):
    for op in ["sum", "prod", "mean", "max", "min", "logsumexp"]:
        reduce.shaped(suite, op, HALVES)
    for part in [reduce.special_values, reduce.case_2_logsumexp, reduce.ties, reduce.arg_extrema, reduce.cumsum,
                 reduce.global_norm]:
        part(suite, HALVES)


def long_sums(suite):
    """Sums that an accumulator of 16 bits would lose: 1 + 1 + ... stops at 2048 in f16, at 256 in bf16."""
    for dtype in HALVES:
        ones = Operand(np.ones((2, 3000)), dtype)
        for op, attrs in {"sum": {"axes": [1]}, "mean": {}}.items():
            suite.check(f"{dtype}/ones", op, [ones], reduce.OPS[op][0](attrs), dtype, attrs)
        suite.check(f"{dtype}/ones_columns", "sum", [Operand(np.ones((3000, 4)), dtype)],
                    reduce.OPS["sum"][0]({"axes": [0]}), dtype, {"axes": [0]})
        suite.check(f"{dtype}/ones", "cumsum", [ones], lambda x: np.cumsum(x, axis=-1, dtype=np.float64), dtype)
        suite.check(f"{dtype}/flat", "softmax", [Operand(np.zeros((2, 4099)), dtype)],
                    lambda x: np.full(x.shape, 1 / 4099), dtype)


def build():
    suite = Suite("half_rows")
    reductions(suite)
    long_sums(suite)
    for part in [normalise.softmaxes, normalise.layer_norms, loss.cross_entropies, loss.mean_squares]:
        part(suite, HALVES)
    for dtype in HALVES:
        batch_norm.cases(suite, dtype)
    return suite
