# SPDX-License-Identifier: Apache-2.0
"""Attributes as words; see "packed attributes" in dlcore/op.h. Each function takes a value and what it is called, and
returns a tuple of words."""

from __future__ import annotations

import operator
import struct
from typing import Any, Callable, Iterable, SupportsFloat, SupportsIndex

from . import _dlcore as raw
from ._codes import InvalidArgument

Words = tuple[int, ...]


def _convert(convert: Callable[[Any], Any], value: object, name: str) -> Any:
    try:
        return convert(value)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def _float(value: Any) -> float:
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _encoded(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"must be str, not {type(value).__name__}")
    return value.encode()


def integer(value: SupportsIndex, name: str) -> Words:
    return (_convert(operator.index, value, name),)


def boolean(value: object, name: str) -> Words:
    return (1 if _convert(bool, value, name) else 0,)


def real(value: SupportsFloat, name: str) -> Words:
    return struct.unpack("q", struct.pack("d", _convert(_float, value, name)))


def dtype(value: str, name: str) -> Words:
    _convert(_encoded, value, name)
    number = raw.dlcore_dtype_by_name(value)
    if number == raw.DLCORE_DTYPE_NONE:
        raise InvalidArgument(f"{name}: no dtype is called {value!r}")
    return (number,)


def string(value: str, name: str) -> Words:
    data = _convert(_encoded, value, name)
    count = (len(data) + 7) // 8
    return (len(data), *struct.unpack(f"{count}q", data.ljust(8 * count, b"\0")))


def integers(values: SupportsIndex | Iterable[SupportsIndex], name: str) -> Words:
    """A single one stands for a list of it."""
    items = list(values) if isinstance(values, Iterable) else [values]
    return (len(items), *(_convert(operator.index, item, name) for item in items))


def dims(values: SupportsIndex | Iterable[SupportsIndex], name: str) -> Words:
    count, *items = integers(values, name)
    return (count, *(word for value in items for word in (0, value)))  # 0: an integer, not a symbol


def optional(pack: Callable[[Any, str], Words], value: Any, name: str) -> Words:
    return (0,) if value is None else (1, *pack(value, name))
