# SPDX-License-Identifier: Apache-2.0
"""NumPy's side of the benchmarks."""

import numpy

from common import Work, fill, serve


def names():
    return {"a": fill(1, 1, 16), "b": fill(2, 1, 16)}


serve(f"NumPy {numpy.__version__}", {
    "add16_c": lambda part: Work("a + b", names()),
    "mul_scalar16_c": lambda part: Work("a * 2.0", names()),
})
