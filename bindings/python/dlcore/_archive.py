# SPDX-License-Identifier: Apache-2.0
"""Tensors in safetensors files."""

from __future__ import annotations

from typing import BinaryIO, Mapping

from . import _context, _files
from . import _dlcore as raw
from ._dlcore import Tensor
from ._files import Source
from ._types import Path


def save(file: Path | BinaryIO, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors under their names; a file is replaced as a whole or not at all."""
    values = list(tensors.values())
    context = values[0].context if values else _context.current()
    _files.save(file, (context,), list(tensors), values, by_stream=raw.dlcore_archive_write, by_path=raw.dlcore_archive_save)


def load(source: Source) -> dict[str, Tensor]:
    """The tensors of a file, a buffer or an open file, by name."""
    context = _context.current()
    archive = _files.load(source, (context,), by_buffer=raw.dlcore_archive_open_buffer,
                          by_stream=raw.dlcore_archive_open_stream, by_path=raw.dlcore_archive_open)
    names = [raw.dlcore_archive_name(archive, index) for index in range(raw.dlcore_archive_count(archive))]
    return {name: raw.dlcore_archive_tensor(context, archive, name) for name in names}
