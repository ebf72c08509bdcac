# SPDX-License-Identifier: Apache-2.0
"""Optimizers."""

from ._optimizer import Optimizer
from ._optimizers import *
