# SPDX-License-Identifier: Apache-2.0
"""dlcore: a deep-learning engine. Tensors and ops are here; layers in nn, optimizers in optim, data sets in data.

Everything happens on a context. Each thread has a default one; `with Engine(...).context(...)` makes another
one current.
"""

from . import _dlcore as _raw
from ._checkpoint import Checkpoint
from ._codes import *
from ._context import Context, Engine, current, default_engine, inference, manual_seed
from ._errors import Error
from ._ops import *
from ._tensor import Tensor, tensor
from . import data, nn, optim


def __getattr__(name):
    """Says what a wrong but common name is called here."""
    if not name.startswith("_"):
        context = current()
        _raw.dlcore_catalogue_find(context._handle, _raw.DLCORE_CATALOGUE_OPS, name)
        try:
            context.check_ok()
        except NotFound as error:
            raise AttributeError(str(error)) from None
    raise AttributeError(f"module 'dlcore' has no attribute '{name}'")
