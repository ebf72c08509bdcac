# SPDX-License-Identifier: Apache-2.0
"""Attributes as words; see "packed attributes" in dlcore/op.h. Each function returns a tuple of words."""

from __future__ import annotations

import operator
import struct

from . import _dlcore as raw
from ._codes import InvalidArgument


def integer(value):
    return (operator.index(value),)


def boolean(value):
    return (1 if value else 0,)


def real(value):
    return struct.unpack("q", struct.pack("d", value))


def dtype(name):
    return (dtype_number(name),)


def string(value):
    data = value.encode()
    count = (len(data) + 7) // 8
    return (len(data), *struct.unpack(f"{count}q", data.ljust(8 * count, b"\0")))


def integers(values):
    """A single one stands for a list of it."""
    values = [values] if hasattr(values, "__index__") else list(values)
    return (len(values), *map(operator.index, values))


def dims(values):
    count, *values = integers(values)
    return (count, *(word for value in values for word in (0, value)))  # 0: an integer, not a symbol


def optional(pack, value):
    return (0,) if value is None else (1, *pack(value))


def dtype_number(name: str) -> int:
    number = raw.dlcore_dtype_by_name(name)
    if number == raw.DLCORE_DTYPE_NONE:
        raise InvalidArgument(f"no dtype is called {name!r}")
    return number
