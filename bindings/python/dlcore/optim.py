# SPDX-License-Identifier: Apache-2.0
"""Optimizers, and schedules of their learning rates."""

from . import _optimizers, _schedules
from ._optimizer import Optimizer
from ._optimizers import *
from ._schedule import Schedule
from ._schedules import *

__all__ = ["Optimizer", "Schedule"]
__all__ += _optimizers.__all__
__all__ += _schedules.__all__
