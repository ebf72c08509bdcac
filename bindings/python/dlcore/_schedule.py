# SPDX-License-Identifier: Apache-2.0
"""What all schedules have in common. The schedules themselves are in _schedules."""

from __future__ import annotations

from typing import Sequence

from . import _context
from . import _dlcore as raw
from ._module import Variable
from ._optimizer import Optimizer


class Schedule(raw.dlcore_schedule):
    """Sets the learning rates of an optimizer by the number of its own steps, from the rates that the groups had when
    it was made. Of several schedules of one optimizer the one that stepped last decides."""

    def _make(self, schedule: int, optimizer: Optimizer, words: Sequence[int]) -> None:
        """For the generated classes: makes schedule number `schedule` of the catalogue."""
        self._take(raw.dlcore_schedule_create(_context.serving(optimizer), schedule, optimizer, words))

    def step(self) -> None:
        """Adds 1 to the count, and sets the rate of every group to that of the new count."""
        raw.dlcore_schedule_step(_context.serving(self), self)

    @property
    def kind(self) -> str:
        """Name of the schedule in the catalogue."""
        return raw.dlcore_schedule_kind(self)

    @property
    def count(self) -> Variable:
        """Steps taken, an i64 variable of rank 0. Assign it to go on from elsewhere."""
        return raw.dlcore_schedule_count(_context.serving(self), self)

    def base_rate_of(self, group: int) -> Variable:
        """The rate that a group's rates are computed from, an f64 variable of rank 0."""
        return raw.dlcore_schedule_base_rate(_context.serving(self), self, group)


raw.make_as(Schedule)
