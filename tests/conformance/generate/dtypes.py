# SPDX-License-Identifier: Apache-2.0
"""The ten dtypes: how NumPy holds them, how values are rounded to them, how they are stored.

NumPy has no bf16, so its values are held as float32 numbers that bf16 represents exactly.
"""

import numpy as np

WIDE = np.longdouble  # what definitions compute in

HOLDERS = {
    "bool": np.bool_, "u8": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64,
}
INTEGERS = ["u8", "i8", "i16", "i32", "i64"]
FLOATS = ["f32", "f64"]
HALVES = ["f16", "bf16"]
NUMERIC = INTEGERS + FLOATS
COMPARABLE = ["bool"] + NUMERIC
MAIN = ["bool", "i32", "f32", "f64"]  # these get every shape and layout, the others a selection
ALL = COMPARABLE + HALVES

EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}


def is_float(dtype):
    return dtype in EPSILON


def limits(dtype):
    """The smallest number above 0, the smallest normal one and the largest."""
    if dtype == "bf16":
        return 2.0**-133, 2.0**-126, (2.0 - 2.0**-7) * 2.0**127
    info = np.finfo(HOLDERS[dtype])
    return float(info.smallest_subnormal), float(info.tiny), float(info.max)


def round_binary(values, precision, min_exponent, largest):
    """Float64 numbers rounded to nearest even in a binary format, without an intermediate format."""
    values = np.asarray(values, np.float64)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(values)
        quantum = np.ldexp(1.0, np.maximum(exponent, min_exponent + 1) - precision)
        rounded = np.rint(values / quantum) * quantum
    rounded = np.where(np.isfinite(values), rounded, values)
    overflow = np.isfinite(values) & (np.abs(rounded) > largest)
    return np.where(overflow, np.copysign(np.inf, values), rounded)


def to_dtype(values, dtype):
    """Values in the holder of `dtype`; floats are rounded to nearest even, integers must fit."""
    if dtype == "bf16":
        return round_binary(values, 8, -126, (2.0 - 2.0**-7) * 2.0**127).astype(np.float32)
    if dtype == "f16":
        return round_binary(values, 11, -14, 65504.0).astype(np.float16)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(HOLDERS[dtype])


def to_bytes(values, dtype):
    values = np.ascontiguousarray(values)
    if dtype == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    return values.astype(HOLDERS[dtype]).tobytes()


def promote(a, b):
    """The dtype of the Array API standard within a kind; the float's when only one is a float."""
    if a == b:
        return a
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    result = np.result_type(HOLDERS[a], HOLDERS[b])
    return next(name for name, holder in HOLDERS.items() if np.dtype(holder) == result)
