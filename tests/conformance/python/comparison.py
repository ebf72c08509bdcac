# SPDX-License-Identifier: Apache-2.0
"""The corpus in NumPy, and when a result counts as right (see ../README.md)."""

import json
import math

import numpy as np

TYPES = {"bool": "?", "u8": "u1", "i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "f16": "<f2", "bf16": "<u2", "f32": "<f4",
         "f64": "<f8"}
FLOATS = {"f16": (10, -14, 65504.0), "bf16": (7, -126, math.ldexp(2 - 2**-7, 127)), "f32": (23, -126, None),
          "f64": (52, -1022, None)}


class Failure(Exception):
    pass


class Family:
    """The cases of a file, and its arrays: (dtype, shape, elements); those of bf16 as their bits."""

    def __init__(self, path):
        self.cases = json.loads(path.read_text(encoding="utf-8"))
        data = path.with_suffix(".safetensors").read_bytes()
        size = int.from_bytes(data[:8], "little")
        self.tensors = {}
        for key, entry in json.loads(data[8:8 + size]).items():
            begin, end = entry["data_offsets"]
            dtype = entry["dtype"].lower()
            elements = np.frombuffer(data, TYPES[dtype], offset=8 + size + begin, count=(end - begin) // np.dtype(TYPES[dtype]).itemsize)
            self.tensors[key] = dtype, tuple(entry["shape"]), elements


def numbers(dtype, elements):
    """Elements as float64, or as integers."""
    if dtype == "bf16":
        return (elements.astype("u4") << 16).view("f4").astype("f8")
    return elements.astype("f8" if dtype in FLOATS else "i8")


def spacing(values, dtype):
    """Distance to the next number of the dtype."""
    bits, least, _ = FLOATS[dtype]
    _, exponents = np.frexp(values)
    exponents = np.where(values == 0, least, np.maximum(exponents - 1, least))
    return np.ldexp(1.0, exponents - bits)


def rounded(values, dtype):
    """To the nearest number of the dtype, ties to even; as float64."""
    if dtype == "f64":
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "f32":
            return values.astype("f4").astype("f8")
        finite = np.isfinite(values)
        step = spacing(np.where(finite, values, 1.0), dtype)
        near = np.rint(values / step) * step
        largest = FLOATS[dtype][2]
        near = np.where(np.abs(near) > largest, np.copysign(np.inf, values), np.copysign(near, values))
        return np.where(finite, near, values)


def encode(values, dtype):
    """The elements of float64 numbers, which are rounded."""
    if dtype == "bf16":
        return (rounded(values, "bf16").astype("f4").view("u4") >> 16).astype("u2")
    with np.errstate(over="ignore"):
        return values.astype(TYPES[dtype])


def difference(got, expected, dtype, tolerance, signed_zero=False):
    """Text about the elements that are wrong; "" when there are none."""
    if got.shape != expected.shape:
        return f"has {got.size} elements, expected {expected.size}"
    if dtype not in FLOATS:
        right = got == expected
    else:
        near = rounded(expected, dtype)
        with np.errstate(all="ignore"):
            allowed = tolerance.get("atol", 0) + tolerance.get("rtol", 0) * np.abs(expected)
            finite = np.isfinite(got) & np.isfinite(expected)
            if tolerance.get("ulp"):
                allowed = allowed + tolerance["ulp"] * spacing(np.where(np.isfinite(expected), expected, 1.0), dtype)
            right = (got == near) | (finite & (np.abs(got - expected) <= allowed))
        right = np.where(np.isnan(got) | np.isnan(expected), np.isnan(got) & np.isnan(expected), right)
        if signed_zero:
            right &= ~((near == 0) & (np.signbit(got) != np.signbit(near)))
    wrong = np.flatnonzero(~right)
    if not wrong.size:
        return ""
    shown = "; ".join(f"element {i} is {got[i]!r}, expected {expected[i]!r}" for i in wrong[:4])
    return f"{wrong.size} of {got.size} elements differ; {shown}"
