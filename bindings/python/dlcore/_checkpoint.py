# SPDX-License-Identifier: Apache-2.0
"""The whole state of a training in one file."""

from __future__ import annotations

import os
import warnings

from . import _context
from . import _dlcore as raw
from ._handle import Handle
from ._module import Module, Variable
from ._optimizer import Optimizer
from .data import Loader


class Checkpoint(Handle):
    """What belongs to a training, each object under a name: models, optimizers, loaders, single variables. The
    generator of the context belongs to it always.

        checkpoint = Checkpoint(model=model, adam=adam, data=loader)
        checkpoint.save("training.safetensors")

    A program that makes the same objects in the same way, loads the file and goes on has the bits of the one that
    saved it. Gradients are not kept: save between a step and the next backward.
    """

    __slots__ = ("context",)
    _give_back = staticmethod(raw.dlcore_checkpoint_release)

    def __init__(self, **objects: Module | Optimizer | Loader | Variable):
        self.context = context = _context.current()
        self._handle = context.made(raw.dlcore_checkpoint_create(context._handle))
        for name, item in objects.items():
            self.add(name, item)

    def add(self, name: str, item: Module | Optimizer | Loader | Variable) -> None:
        """`name` holds no "/"."""
        adders = ((Module, raw.dlcore_checkpoint_add_module), (Optimizer, raw.dlcore_checkpoint_add_optimizer),
                  (Loader, raw.dlcore_checkpoint_add_loader), (Variable, raw.dlcore_checkpoint_add_variable))
        for kind, adder in adders:
            if isinstance(item, kind):
                return self.context.check(adder(self.context._handle, self._handle, name, item._handle))
        raise TypeError(f"{name} is a {type(item).__name__}, expected a Module, Optimizer, Loader or Variable")

    def __setitem__(self, key: str, text: str) -> None:
        """A text that is saved with the rest."""
        self.context.check(raw.dlcore_checkpoint_set_text(self.context._handle, self._handle, key, text))

    def __getitem__(self, key: str) -> str:
        text = raw.dlcore_checkpoint_text(self._handle, key)
        if text is None:
            raise KeyError(key)
        return text

    def save(self, path: str | os.PathLike) -> None:
        """The file is replaced as a whole or not at all."""
        self.context.check(raw.dlcore_checkpoint_save(self.context._handle, self._handle, os.fspath(path)))

    def load(self, path: str | os.PathLike) -> None:
        """Loads what save wrote; nothing changes on failure. Warns when version, device or instruction set are
        others, so that what follows may differ in its last bits."""
        self.context.check(raw.dlcore_checkpoint_load(self.context._handle, self._handle, os.fspath(path)))
        if warning := raw.dlcore_checkpoint_warning(self._handle):
            warnings.warn(f"{os.fspath(path)}: {warning}", stacklevel=2)
