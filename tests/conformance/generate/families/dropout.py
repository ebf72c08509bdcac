# SPDX-License-Identifier: Apache-2.0
"""dropout (op 152)."""

import numpy as np

import philox
from dtypes import FLOATS
from operands import LAYOUTS, Operand, expanded
from suite import Result, Suite

INF, NAN = np.inf, np.nan
KEY = [7, 0, 3]


def build():
    """Where a draw of random_bernoulli(key, shape of x, 1 - p) is true x / (1 - p), elsewhere 0."""
    suite = Suite("dropout")
    draw = suite.numbers.spread
    key = Operand(np.array(KEY, np.int64), "i64")

    def by(p):
        def define(x, _):
            kept = (philox.uniform(KEY, x.size, "f32") < 1 - p).reshape(x.shape)
            with np.errstate(all="ignore"):
                return np.where(kept, x * (1 / (np.ones((), x.dtype) - p)), np.zeros_like(x))

        return define

    for dtype in FLOATS:
        def check(name, x, p=0.25, keyed=key, **more):
            attrs = {} if name == "default" else {"p": p}
            # vmap of a random op draws for each example anew, which a loop with one key does not.
            suite.check(f"{dtype}/{name}", "dropout", [x, keyed], by(p), dtype, attrs, wide=True, vmap=False,
                        tolerance={"ulp": 2}, **{"differentiable": True, "smooth": True, **more})

        check("default", Operand(draw([3, 4]), dtype), 0.5)
        for p in [0.0, 0.1, 0.25, 0.875, 1.0]:
            check(f"p_{p}", Operand(draw([3, 4]), dtype), p)
        for name, shape in {"rank0": [], "rank5": [2, 1, 3, 1, 2], "empty": [0, 16], "empty_rank1": [0]}.items():
            check(name, Operand(draw(shape), dtype))
        for name, layout in LAYOUTS.items():
            check(name, layout(draw([3, 4]), dtype))
        check("expanded", expanded(draw([1, 4]), dtype))
        check("strided_key", Operand(draw([4]), dtype), keyed=LAYOUTS["sliced"](np.array(KEY, np.int64), "i64"))
        check("long", Operand(draw([131]), dtype), differentiable=False)
        # What is dropped is 0 whatever it was.
        infinite = Operand([INF, -INF, NAN, 1.0] * 4, dtype)
        for p in [0.5, 1.0]:
            check(f"infinite_p_{p}", infinite, p, differentiable=False)
        ones = Operand(np.ones(64), dtype)
        suite.add(f"{dtype}/without_key", "dropout", [ones], {"p": 0.5}, [Result(None, dtype, [64], within=[0, 2.5])])
        x = draw([5])
        suite.add(f"{dtype}/without_key_p_0", "dropout", [Operand(x, dtype), None], {"p": 0.0}, [Result(x, dtype)])
        suite.add(f"{dtype}/without_key_p_1", "dropout", [Operand(x, dtype)], {"p": 1.0}, [Result(0 * x, dtype)])
    x = Operand([1.0, 2.0], "f32")
    for name, p in {"low": -0.5, "high": 1.5, "nan": "nan"}.items():
        suite.fail(f"p_{name}", "dropout", [x, key], {"p": p}, contains=["p is"])
    suite.fail("key_dtype", "dropout", [x, Operand([1.0, 2, 3], "f32")], contains=["f32"])
    suite.fail("key_shape", "dropout", [x, Operand([1, 2], "i64")], contains=["[2]"])
    suite.fail("i32", "dropout", [Operand([1], "i32"), key], contains=["i32"])
    suite.fail("no_input", "dropout", [])
    return suite
