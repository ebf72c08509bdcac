# SPDX-License-Identifier: Apache-2.0
"""What all optimizers have in common. The optimizers themselves are in _optimizers."""

from __future__ import annotations

from typing import Any, Callable, ClassVar, Iterable, Sequence, Union

from . import _context, _pack
from . import _dlcore as raw
from ._dlcore import Tensor
from ._module import Variable

Parameters = Union[Iterable[Variable], Iterable["dict[str, Any]"]]


class Optimizer(raw.dlcore_optimizer):
    """Updates variables from their gradients.

    parameters: variables, or groups with attributes of their own: [{"params": variables, "lr": 0.1}, ...]
    """

    _attributes: ClassVar[tuple[tuple[str, Callable[[Any, str], _pack.Words], Any], ...]] = ()

    def _make(self, optimizer: int, parameters: Parameters, words: Sequence[int]) -> None:
        """For the generated classes: makes optimizer number `optimizer` of the catalogue."""
        given: list[Any] = list(parameters)
        groups: list[dict[str, Any]] = given if given and isinstance(given[0], dict) else [{"params": given}]
        variables = [list(group["params"]) for group in groups]
        context = next((one.context for group in variables for one in group), None) or _context.current()
        self._take(raw.dlcore_optimizer_create(context, optimizer, (), words))
        for group, members in zip(groups, variables):
            raw.dlcore_optimizer_add_group(context, self, members, self._words_of(group, words))

    def _words_of(self, group: dict[str, Any], words: Sequence[int]) -> list[int]:
        """The optimizer's attributes, in places the group's own. Each takes one word."""
        own, packed = {**group}, list(words)
        del own["params"]
        for place, (name, pack, _) in enumerate(self._attributes):
            if name in own:
                packed[place:place + 1] = pack(own.pop(name), name)
        if own:
            names = [name for name, _, _ in self._attributes]
            raise TypeError(f"{type(self).__name__}: a group has {sorted(own)}, expected params and some of {names}")
        return packed

    def step(self, keep_gradients: bool = False) -> None:
        """Applies the gradients, and clears them unless told otherwise. It applies wholly or not at all."""
        (raw.dlcore_optimizer_step_keep if keep_gradients else raw.dlcore_optimizer_step)(_context.serving(self), self)

    def zero_gradients(self) -> None:
        """Forgets the gradients."""
        raw.dlcore_optimizer_zero_gradients(_context.serving(self), self)

    zero_grad = zero_gradients

    def clip_gradients(self, max_norm: float) -> Tensor:
        """Scales all gradients so that their norm together is at most max_norm; returns the norm before."""
        return raw.dlcore_optimizer_clip_gradients(_context.serving(self), self, max_norm)

    @property
    def groups(self) -> int:
        """Number of parameter groups."""
        return raw.dlcore_optimizer_group_count(self)

    def learning_rate_of(self, group: int) -> Variable:
        """The learning rate of a group, an f64 variable of rank 0."""
        return raw.dlcore_optimizer_learning_rate(_context.serving(self), self, group)

    @property
    def learning_rate(self) -> float:
        """Of the first group; assigning sets it for all groups."""
        return self.learning_rate_of(0).value.item()

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        rate = raw.dlcore_tensor_scalar_f64(_context.serving(self), value)
        for group in range(self.groups):
            self.learning_rate_of(group).assign(rate)

    def variables(self) -> list[Variable]:
        """All state: learning rates, step counts, moments."""
        return [raw.dlcore_optimizer_variable(_context.serving(self), self, index)
                for index in range(raw.dlcore_optimizer_variable_count(self))]


raw.make_as(Optimizer)
