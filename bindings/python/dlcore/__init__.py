# SPDX-License-Identifier: Apache-2.0
"""dlcore: a deep-learning engine. Tensors, ops and transforms are here; layers in nn, optimizers in optim, data sets in
data.

Everything happens on a context. Each thread and each task of asyncio has a default one; `with Engine(...).context(...)`
makes another one current.
"""

import os as _os
import threading as _threading
import typing as _typing

from . import _codes, _context, _errors, _ops, _tensor
from . import _dlcore as _raw

_raw.set_hooks(error=_errors.make, current=_context.current, describe=_errors.describe, tensor=_tensor.HOOKS)
_raw.set_main_thread(_threading.main_thread().ident or 0)
_os.register_at_fork(after_in_child=lambda: _raw.set_main_thread(_threading.get_ident()))

from . import data, nn, optim
from ._archive import load, save
from ._autograd import grad, gradcheck, gradients, hessian, jacobian, jvp, value_and_grad, vjp, vmap
from ._checkpoint import Checkpoint
from ._codes import *
from ._compile import Compiled, compile
from ._context import Context, Engine, current, default_engine, inference, manual_seed, no_grad
from ._custom_op import Op, call, custom_op
from ._dlcore import Tensor
from ._errors import Error
from ._graph import Executable, Graph, capture, constant
from ._module import Variable
from ._ops import *
from ._progress import progress
from ._sharing import from_dlpack
from ._tensor import tensor
from ._types import Dtype

__version__ = "{}.{}.{}".format(*(lambda n: (n // 1000000, n // 1000 % 1000, n % 1000))(_raw.dlcore_version()))

__all__ = [
    "Checkpoint", "Compiled", "Context", "Dtype", "Engine", "Error", "Executable", "Graph", "Op", "Tensor", "Variable",
    "call", "capture", "compile", "constant", "current", "custom_op", "data", "default_engine", "from_dlpack", "grad",
    "gradcheck", "gradients", "hessian", "inference", "jacobian", "jvp", "load", "manual_seed", "nn", "no_grad", "optim",
    "progress", "save", "tensor", "value_and_grad", "vjp", "vmap",
]
__all__ += _codes.__all__
__all__ += _ops.__all__


if not _typing.TYPE_CHECKING:  # type checkers know the names there are

    def __getattr__(name: str) -> object:
        """Says what a wrong but common name is called here."""
        if not name.startswith("_"):
            try:
                _raw.dlcore_catalogue_find(current(), _raw.DLCORE_CATALOGUE_OPS, name)
            except NotFound as error:
                raise AttributeError(str(error)) from None
        raise AttributeError(f"module 'dlcore' has no attribute '{name}'")
