# SPDX-License-Identifier: Apache-2.0
"""Gradients of a definition by central differences of eighth order in extended precision.

With h = 2^-10 the truncation error is h^8 f^(9) / 630 and the rounding error about 2^-64 / h, so that
well-scaled functions are right to about 1e-15. Points must keep 4 h away from kinks and ties; there,
cases state the subgradient by hand.
"""

import numpy as np

from dtypes import WIDE

STEP = WIDE(2.0) ** -10
# Fornberg, "Generation of finite difference formulas", Math. Comp. 51 (1988), table 1.
WEIGHTS = [WIDE(4) / 5, -WIDE(1) / 5, WIDE(4) / 105, -WIDE(1) / 280]


def vector_jacobian(define, values, seed, index):
    """d <seed, define(values)> / d values[index], as float64."""
    seed = np.asarray(seed, WIDE)
    base = [np.array(v, WIDE) if np.issubdtype(np.asarray(v).dtype, np.floating) else v for v in values]
    point = base[index]
    gradient = np.zeros(point.shape, WIDE)
    for where in np.ndindex(point.shape):
        kept = point[where].copy()
        total = WIDE(0)
        for multiple, weight in enumerate(WEIGHTS, 1):
            with np.errstate(all="ignore"):
                point[where] = kept + multiple * STEP
                above = define(*base)
                point[where] = kept - multiple * STEP
                below = define(*base)
                total += weight * np.sum(seed * (above - below))
        point[where] = kept
        gradient[where] = total / STEP
    assert np.all(np.isfinite(gradient)), "the definition is not differentiable here: state the gradient"
    return gradient.astype(np.float64)
