# SPDX-License-Identifier: Apache-2.0
"""Layers and models; `functional` has the ops."""

from . import _layers
from . import _ops as functional
from ._layers import *
from ._module import Module, Variable

__all__ = ["Module", "Variable", "functional"]
__all__ += _layers.__all__
