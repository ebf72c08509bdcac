# SPDX-License-Identifier: Apache-2.0
"""Tensors in safetensors files."""

from __future__ import annotations

import os
from typing import BinaryIO, Mapping

from . import _context
from . import _dlcore as raw
from ._dlcore import Tensor
from ._module import Source
from ._types import Path


def save(file: Path | BinaryIO, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors under their names; a file is replaced as a whole or not at all."""
    values = list(tensors.values())
    context = values[0].context if values else _context.current()
    if hasattr(file, "write"):
        raw.dlcore_archive_write(context, file.write, list(tensors), values)
    else:
        raw.dlcore_archive_save(context, os.fspath(file), list(tensors), values)


def load(source: Source) -> dict[str, Tensor]:
    """The tensors of a file, a buffer or an open file, by name."""
    context = _context.current()
    if isinstance(source, (bytes, bytearray, memoryview)):
        archive = raw.dlcore_archive_open_buffer(context, source)
    elif hasattr(source, "read"):
        archive = raw.dlcore_archive_open_stream(context, source.read)
    else:
        archive = raw.dlcore_archive_open(context, os.fspath(source))
    names = [raw.dlcore_archive_name(archive, index) for index in range(raw.dlcore_archive_count(archive))]
    return {name: raw.dlcore_archive_tensor(context, archive, name) for name in names}
