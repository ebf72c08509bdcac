# SPDX-License-Identifier: Apache-2.0
"""What all layers have in common, and variables. The layers themselves are in _layers."""

from __future__ import annotations

import os
from typing import Sequence

from . import _context
from . import _dlcore as raw
from ._handle import Handle
from ._tensor import Tensor


class Variable(Handle):
    """A named cell that holds a tensor: a parameter."""

    __slots__ = ("context",)
    _give_back = staticmethod(raw.dlcore_variable_release)

    def __init__(self, context, borrowed):
        raw.dlcore_variable_retain(borrowed)
        self._handle, self.context = borrowed, context

    @property
    def name(self) -> str:
        return raw.dlcore_variable_name(self._handle)

    @property
    def trainable(self) -> bool:
        return raw.dlcore_variable_is_trainable(self._handle) == 1

    @property
    def value(self) -> Tensor:
        context = self.context
        return Tensor(context, context.made(raw.dlcore_variable_read(context._handle, self._handle)))

    @property
    def gradient(self) -> Tensor | None:
        """What backward added up; None when there is nothing."""
        handle = raw.dlcore_variable_gradient(self.context._handle, self._handle)
        self.context.check_ok()
        return None if handle is None else Tensor(self.context, handle)


class Module(Handle):
    """A layer or a model."""

    __slots__ = ("context",)
    _give_back = staticmethod(raw.dlcore_module_release)

    def __init__(self, layer: int, children: Sequence[Module], words: Sequence[int]):
        self.context = context = _context.current()
        handles = [child._handle for child in children]
        self._handle = context.made(raw.dlcore_module_create(context._handle, layer, handles, words))

    def __call__(self, x: Tensor) -> Tensor:
        context = x.context
        return Tensor(context, context.made(raw.dlcore_module_call(context._handle, self._handle, x._handle)))

    def parameters(self) -> list[Variable]:
        """The trainable variables of the module and everything inside it."""
        context, count = self.context, raw.dlcore_module_variable_count(self._handle)
        variables = [Variable(context, context.made(raw.dlcore_module_variable(context._handle, self._handle, index)))
                     for index in range(count)]
        return [variable for variable in variables if variable.trainable]

    def snapshot(self) -> Module:
        """A module that answers for ever as this one would now in inference mode, while training goes on. It may
        be used from all threads, each on a context of its own, and never changes."""
        frozen = Module.__new__(Module)
        frozen.context = self.context
        frozen._handle = self.context.made(raw.dlcore_module_snapshot(self.context._handle, self._handle))
        return frozen

    def train(self, on: bool = True) -> None:
        """Switches the module and everything inside it to training mode, or back."""
        raw.dlcore_module_set_training(self.context._handle, self._handle, int(on))

    def save(self, path: str | os.PathLike) -> None:
        """Saves all variables as safetensors; the file is replaced as a whole or not at all."""
        self.context.check(raw.dlcore_module_save(self.context._handle, self._handle, os.fspath(path)))

    def load(self, path: str | os.PathLike) -> None:
        """Loads what save wrote; nothing changes on failure."""
        self.context.check(raw.dlcore_module_load(self.context._handle, self._handle, os.fspath(path)))
