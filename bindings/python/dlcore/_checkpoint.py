# SPDX-License-Identifier: Apache-2.0
"""The whole state of a training in one file."""

from __future__ import annotations

import warnings
from typing import BinaryIO, Union

from . import _context, _files
from . import _dlcore as raw
from ._files import Source
from ._module import Module, Variable
from ._optimizer import Optimizer
from ._schedule import Schedule
from ._types import Path
from .data import Loader

Part = Union[Module, Optimizer, Schedule, Loader, Variable]


class Checkpoint(raw.dlcore_checkpoint):
    """What belongs to a training, each object under a name: models, optimizers, schedules, loaders, single variables.
    The generator of the context belongs to it always.

        checkpoint = Checkpoint(model=model, adam=adam, data=loader)
        checkpoint.save("training.safetensors")

    A program that makes the same objects in the same way, loads the file and goes on has the bits of the one that
    saved it. Gradients are not kept: save between a step and the next backward.
    """

    def __init__(self, **parts: Part):
        self._take(raw.dlcore_checkpoint_create(_context.current()))
        for name, part in parts.items():
            self.add(name, part)

    def add(self, name: str, part: Part) -> None:
        """`name` holds no "/"."""
        adders = ((Module, raw.dlcore_checkpoint_add_module), (Optimizer, raw.dlcore_checkpoint_add_optimizer),
                  (Schedule, raw.dlcore_checkpoint_add_schedule), (Loader, raw.dlcore_checkpoint_add_loader),
                  (Variable, raw.dlcore_checkpoint_add_variable))
        for kind, adder in adders:
            if isinstance(part, kind):
                adder(_context.serving(self), self, name, part)
                return
        raise TypeError(f"{name} is a {type(part).__name__}, expected a Module, Optimizer, Schedule, Loader or Variable")

    def __setitem__(self, key: str, text: str) -> None:
        """A text that is saved with the rest."""
        raw.dlcore_checkpoint_set_text(_context.serving(self), self, key, text)

    def __getitem__(self, key: str) -> str:
        text = raw.dlcore_checkpoint_text(self, key)
        if text is None:
            raise KeyError(key)
        return text

    def save(self, file: Path | BinaryIO) -> None:
        """A file is replaced as a whole or not at all."""
        _files.save(file, (_context.serving(self), self), by_stream=raw.dlcore_checkpoint_write, by_path=raw.dlcore_checkpoint_save)

    def load(self, source: Source) -> None:
        """Loads what save wrote, from a path, a buffer or an open file; nothing changes on failure. Warns when
        version, device or instruction set are others, so that what follows may differ in its last bits."""
        _files.load(source, (_context.serving(self), self), by_buffer=raw.dlcore_checkpoint_load_buffer,
                    by_stream=raw.dlcore_checkpoint_read, by_path=raw.dlcore_checkpoint_load)
        if warning := raw.dlcore_checkpoint_warning(self):
            warnings.warn(f"checkpoint: {warning}", stacklevel=2)
