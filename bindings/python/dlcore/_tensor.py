# SPDX-License-Identifier: Apache-2.0
"""Making tensors, and what Tensor has beside the methods that are compiled in."""

from __future__ import annotations

import struct
from typing import Any, Iterator

from . import _dlcore as raw
from . import _indexing, _sharing
from ._codes import InvalidArgument
from ._context import Context, current, text_of
from ._dlcore import Tensor
from ._types import Dtype

# Codes of the struct module.
_FORMATS = {"bool": "?", "u8": "B", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "f16": "e", "f32": "f", "f64": "d"}


def tensor(data: Any, dtype: Dtype | None = None, *, context: Context | None = None) -> Tensor:
    """A tensor with a copy of `data`: a number, nested lists, an object with the buffer protocol (a NumPy array, with
    whatever strides), or an array of another library (DLPack). Without a dtype numbers become bool, i64 or f32."""
    context = current() if context is None else context
    if isinstance(data, Tensor):
        return data if dtype is None else data.astype(dtype)
    made = None
    if not isinstance(data, (list, tuple, int, float)):
        made = _from_array(data, dtype, context)
    if made is None:
        made = _from_lists(data, dtype, context)
    return made if dtype in (None, made.dtype) else made.astype(dtype)


def _from_array(data: Any, dtype: str | None, context: Context) -> Tensor | None:
    try:
        made = raw.from_buffer(context, data)
    except InvalidArgument:
        if dtype not in _sharing.NUMPY or not hasattr(data, "astype"):
            raise
        return raw.from_buffer(context, data.astype(_sharing.NUMPY[dtype]))
    if made is None and hasattr(data, "__dlpack__"):
        return _sharing.from_dlpack(data, copy=True, context=context)
    if made is None and hasattr(data, "__array__"):
        return raw.from_buffer(context, data.__array__())
    return made


def _from_lists(data: Any, dtype: str | None, context: Context) -> Tensor:
    shape: list[int] = []
    row = data
    while isinstance(row, (list, tuple)):
        shape.append(len(row))
        row = row[0] if row else None
    elements = list(_flat(data, shape))
    if dtype not in _FORMATS:
        kinds = {type(element) for element in elements}
        dtype = "bool" if kinds == {bool} else "i64" if kinds and kinds <= {bool, int} else "f32"
    try:
        packed = struct.pack(f"{len(elements)}{_FORMATS[dtype]}", *elements)
    except (struct.error, OverflowError) as error:
        raise InvalidArgument(f"tensor: an element does not fit {dtype}: {error}") from None
    return raw.dlcore_tensor_create(context, raw.dlcore_dtype_by_name(dtype), shape, packed)


def _flat(data: Any, shape: list[int]) -> Iterator[Any]:
    if not shape:
        if isinstance(data, (list, tuple)) or not hasattr(data, "__float__") and not hasattr(data, "__index__"):
            raise InvalidArgument(f"tensor: rows differ, or an element is no number: found {data!r:.60}")
        yield data.item() if hasattr(data, "item") else data
        return
    if not isinstance(data, (list, tuple)) or len(data) != shape[0]:
        raise InvalidArgument(f"tensor: rows differ: expected a list of {shape[0]}, found {data!r:.60}")
    for row in data:
        yield from _flat(row, shape[1:])


# ---- Methods and properties of Tensor ---------------------------------------------------------


def backward(self: Tensor) -> None:
    """Adds the gradients of this one element to those of the variables it depends on."""
    raw.dlcore_backward(self.context, self)


def watch(self: Tensor) -> Tensor:
    """A leaf with the same values: gradients with respect to it can be asked for."""
    return raw.dlcore_autograd_watch(self.context, self)


def detach(self: Tensor) -> Tensor:
    """The same values without history."""
    return raw.stop_gradient(self)


def on(self: Tensor, context: Context) -> Tensor:
    """The same tensor for calls on another context of the engine."""
    return self._rebind(context)


def to(self: Tensor, device: str) -> Tensor:
    """The same values on another device of the engine."""
    return raw.dlcore_tensor_to_device(self.context, self, device)


def transposed(self: Tensor) -> Tensor:
    """The axes in reverse order; a view."""
    return self.permute_dims(tuple(range(self.ndim))[::-1])


def matrix_transposed(self: Tensor) -> Tensor:
    """The last two axes swapped; a view."""
    rank = self.ndim
    if rank < 2:
        raise InvalidArgument(f"mT: the tensor has {rank} axes, expected at least 2")
    return self.permute_dims((*range(rank - 2), rank - 1, rank - 2))


def rebuild(dtype: str, shape: tuple[int, ...], data: bytes) -> Tensor:
    """What pickle calls."""
    return raw.dlcore_tensor_create(current(), raw.dlcore_dtype_by_name(dtype), shape, data)


def reduce(self: Tensor) -> tuple[Any, ...]:
    return rebuild, (self.dtype, self.shape, self.tobytes())


def represent(self: Tensor) -> str:
    if self.released or self.context.released:
        return "<released tensor>"
    if self.is_symbolic:
        return f"<symbolic tensor {self.dtype} {list(self.shape)}>"
    return text_of(raw.dlcore_tensor_to_string, self.context, self)


def represent_html(self: Tensor) -> str:
    """For notebooks."""
    from html import escape

    head, _, elements = represent(self).partition("\n")
    return f"<div><code>{escape(head)}</code><pre>{escape(elements)}</pre></div>"


def iterate(self: Tensor) -> Iterator[Tensor]:
    return (self[index] for index in range(len(self)))


def real(self: Tensor) -> float:
    return float(self.item())


def integer(self: Tensor) -> int:
    return int(self.item())


def index(self: Tensor) -> int:
    if self.size != 1 or self.dtype == "bool" or self.dtype in ("f16", "bf16", "f32", "f64"):
        raise TypeError(f"a tensor {self.dtype} {list(self.shape)} is no index, expected one integer")
    return self.item()


HOOKS = {"getitem": _indexing.getitem, "repr": represent, "iter": iterate, "float": real, "int": integer,
         "index": index, "item": Tensor.item}

for _name, _object in {
    "backward": backward, "watch": watch, "detach": detach, "on": on, "to": to, "__bytes__": Tensor.tobytes, "T": property(transposed),
    "mT": property(matrix_transposed), "__reduce__": reduce, "_repr_html_": represent_html, **_sharing.METHODS,
    "__doc__": "An immutable array of one dtype. Ops on it run on its context.",
}.items():
    raw.extend(Tensor, _name, _object)
