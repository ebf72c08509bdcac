# SPDX-License-Identifier: Apache-2.0
"""Optimizers."""

from . import _optimizers
from ._optimizer import Optimizer
from ._optimizers import *

__all__ = ["Optimizer"]
__all__ += _optimizers.__all__
