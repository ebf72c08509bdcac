# SPDX-License-Identifier: Apache-2.0
"""Layers and models; `functional` has the ops."""

from . import _ops as functional
from ._layers import *
from ._module import Module, Variable
