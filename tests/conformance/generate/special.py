# SPDX-License-Identifier: Apache-2.0
"""Functions of the op table in extended precision, from their definitions.

Extended precision (80 bits on x86-64) leaves the float64 result correct to about half an ulp, and does
not depend on which vector unit NumPy finds, so that the generated files are the same everywhere.
"""

import math

import numpy as np

from dtypes import WIDE

PI = WIDE("3.14159265358979323846264338327950288")


def _erf_series(x):
    """2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (2n+1)!!; all terms of one sign. Abramowitz & Stegun 7.1.6."""
    term = x.copy()
    total = x.copy()
    for n in range(1, 90):
        term = term * 2 * x * x / (2 * n + 1)
        total = total + term
    return 2 / np.sqrt(PI) * np.exp(-x * x) * total


def _erfc_fraction(x):
    """exp(-x^2) / (x + 1/2/(x + 1/(x + 3/2/(x + ...)))) / sqrt(pi) for x >= 2. A&S 7.1.14."""
    tail = x.copy()
    for n in range(160, 0, -1):
        tail = x + WIDE(n) / 2 / tail
    return np.exp(-x * x) / tail / np.sqrt(PI)


def erfc(x):
    x = np.asarray(x, WIDE)
    with np.errstate(all="ignore"):
        near = 1 - _erf_series(np.clip(x, -3, 2))
        magnitude = np.clip(np.abs(x), 2, 150)
        far = _erfc_fraction(magnitude)
    far = np.where(x < 0, 2 - far, far)
    result = np.where((x > -3) & (x < 2), near, far)
    return np.where(np.isnan(x), x, result)


def erf(x):
    x = np.asarray(x, WIDE)
    with np.errstate(all="ignore"):
        near = _erf_series(np.clip(x, -2, 2))
        far = np.copysign(1 - erfc(np.abs(x)), x)
    return np.where(np.abs(x) < 2, near, far)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x):
    """x Phi(x) with the normal distribution function. Hendrycks & Gimpel, arXiv:1606.08415."""
    x = np.asarray(x, WIDE)
    return x * erfc(-x / np.sqrt(WIDE(2))) / 2


def gelu_tanh(x):
    """The approximation in section 2 of the same paper."""
    x = np.asarray(x, WIDE)
    inner = np.sqrt(2 / PI) * (x + WIDE("0.044715") * x * x * x)
    return x / 2 * (1 + np.tanh(inner))


def logsumexp(x, axis, keepdims=False):
    x = np.asarray(x, WIDE)
    if x.size == 0 or any(x.shape[a] == 0 for a in axis):
        return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))
    peak = np.max(x, axis=axis, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0)
    total = np.log(np.sum(np.exp(x - peak), axis=axis, keepdims=True)) + peak
    return total if keepdims else np.squeeze(total, axis=axis)


def softmax(x, axis):
    x = np.asarray(x, WIDE)
    if x.size == 0:
        return x.copy()
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis):
    x = np.asarray(x, WIDE)
    if x.size == 0:
        return x.copy()
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def self_check():
    """The two forms of erf against the C library's."""
    for value in [-5.0, -2.5, -1.0, -1e-9, 0.0, 0.3, 1.9999, 2.0001, 4.0]:
        assert math.isclose(float(erf(WIDE(value))), math.erf(value), rel_tol=1e-15), value
        assert math.isclose(float(erfc(WIDE(value))), math.erfc(value), rel_tol=4e-15), value
