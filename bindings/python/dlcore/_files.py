# SPDX-License-Identifier: Apache-2.0
"""What is saved and loaded: by a path, an open file, or a buffer to load from."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, Callable, Union

from ._types import Path

Source = Union[Path, bytes, bytearray, memoryview, BinaryIO]
Call = Callable[..., Any]  # of the C API; what is saved to or loaded from follows `of`, and may be followed by `more`


def save(file: Path | BinaryIO, of: tuple[Any, ...], *more: Any, by_stream: Call, by_path: Call) -> None:
    if hasattr(file, "write"):
        by_stream(*of, file.write, *more)
    else:
        by_path(*of, os.fspath(file), *more)


def load(source: Source, of: tuple[Any, ...], *, by_buffer: Call, by_stream: Call, by_path: Call) -> Any:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return by_buffer(*of, source)
    if hasattr(source, "read"):
        return by_stream(*of, source.read)
    return by_path(*of, os.fspath(source))
