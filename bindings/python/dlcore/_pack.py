# SPDX-License-Identifier: Apache-2.0
"""Attributes as words; see "packed attributes" in dlcore/op.h. Each function returns a tuple of words."""

from __future__ import annotations

import operator
import struct
from typing import Any, Callable, Iterable, SupportsFloat, SupportsIndex

from . import _dlcore as raw
from ._codes import InvalidArgument

Words = tuple[int, ...]


def integer(value: SupportsIndex) -> Words:
    return (operator.index(value),)


def boolean(value: object) -> Words:
    return (1 if value else 0,)


def real(value: SupportsFloat) -> Words:
    return struct.unpack("q", struct.pack("d", value))


def dtype(name: str) -> Words:
    number = raw.dlcore_dtype_by_name(name)
    if number == raw.DLCORE_DTYPE_NONE:
        raise InvalidArgument(f"no dtype is called {name!r}")
    return (number,)


def string(value: str) -> Words:
    data = value.encode()
    count = (len(data) + 7) // 8
    return (len(data), *struct.unpack(f"{count}q", data.ljust(8 * count, b"\0")))


def integers(values: SupportsIndex | Iterable[SupportsIndex]) -> Words:
    """A single one stands for a list of it."""
    items = list(values) if isinstance(values, Iterable) else [values]
    return (len(items), *map(operator.index, items))


def dims(values: SupportsIndex | Iterable[SupportsIndex]) -> Words:
    count, *items = integers(values)
    return (count, *(word for value in items for word in (0, value)))  # 0: an integer, not a symbol


def optional(pack: Callable[[Any], Words], value: Any) -> Words:
    return (0,) if value is None else (1, *pack(value))
