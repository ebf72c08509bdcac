# SPDX-License-Identifier: Apache-2.0
"""What all optimizers have in common. The optimizers themselves are in _optimizers."""

from __future__ import annotations

from typing import Iterable, Sequence

from . import _context
from . import _dlcore as raw
from ._handle import Handle
from ._module import Variable


class Optimizer(Handle):
    """Updates variables from their gradients."""

    __slots__ = ("context",)
    _give_back = staticmethod(raw.dlcore_optimizer_release)

    def __init__(self, optimizer: int, parameters: Iterable[Variable], words: Sequence[int]):
        variables = list(parameters)
        self.context = context = variables[0].context if variables else _context.current()
        self._handle = context.made(raw.dlcore_optimizer_create(context._handle, optimizer, [], words))
        handles = [variable._handle for variable in variables]
        context.check(raw.dlcore_optimizer_add_group(context._handle, self._handle, handles, []))

    def step(self) -> None:
        """Applies the gradients, and clears them."""
        self.context.check(raw.dlcore_optimizer_step(self.context._handle, self._handle))

    def zero_gradients(self) -> None:
        """Forgets the gradients."""
        self.context.check(raw.dlcore_optimizer_zero_gradients(self.context._handle, self._handle))
