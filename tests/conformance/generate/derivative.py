# SPDX-License-Identifier: Apache-2.0
"""Gradients of a definition by central differences of eighth order in extended precision.

With h = 2^-10 the truncation error is h^8 f^(9) / 630 and the rounding error about 2^-64 / h, so that
well-scaled functions are right to about 1e-15. Points must keep 4 h away from kinks, ties and jumps; there,
cases state the gradient by hand. Second differences of two widths agree only where there is none.
"""

import numpy as np

from dtypes import WIDE

STEP = WIDE(2.0) ** -10
# Fornberg, "Generation of finite difference formulas", Math. Comp. 51 (1988), table 1.
WEIGHTS = [WIDE(4) / 5, -WIDE(1) / 5, WIDE(4) / 105, -WIDE(1) / 280]


def slope(along):
    """The derivative at 0 of a function of the distance, whose elements must be smooth within 4 h."""
    middle, total, curvatures = along(WIDE(0)), WIDE(0), []
    for multiple, weight in enumerate(WEIGHTS, 1):
        width = multiple * STEP
        above, below = along(width), along(-width)
        total = total + weight * (above - below)
        curvatures.append((above - 2 * middle + below) / (width * width))
    spread = np.max(curvatures, axis=0) - np.min(curvatures, axis=0)
    largest = np.max(np.abs(curvatures), axis=0)
    assert np.all(spread <= WIDE(0.01) * (1 + largest)), "a kink, tie or jump: state the gradient"
    return total / STEP


def vector_jacobian(define, values, seed, index):
    """d <seed, define(values)> / d values[index], as float64."""
    seed = np.asarray(seed, WIDE)
    base = [np.array(v, WIDE) if np.issubdtype(np.asarray(v).dtype, np.floating) else v for v in values]
    point = base[index]
    gradient = np.zeros(point.shape, WIDE)
    for where in np.ndindex(point.shape):
        kept = point[where].copy()

        def along(distance):
            point[where] = kept + distance
            # The product is a new array: what a definition returns may be a view of its input.
            return seed * define(*base)

        with np.errstate(all="ignore"):
            gradient[where] = np.sum(slope(along))
        point[where] = kept
    assert np.all(np.isfinite(gradient)), "the definition is not differentiable here: state the gradient"
    return gradient.astype(np.float64)
