# SPDX-License-Identifier: Apache-2.0
"""Tensors, and the call of an op. The ops themselves are in _ops, which also adds them to Tensor as methods."""

from __future__ import annotations

import struct
from typing import Sequence, Union

from . import _context
from . import _dlcore as raw
from ._codes import InvalidArgument
from ._context import Context
from ._handle import Handle
from ._pack import dtype_number

# Codes of the struct module and the buffer protocol.
_FORMATS = {"bool": "?", "u8": "B", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "f16": "e", "f32": "f", "f64": "d"}
_DTYPES = {format: dtype for dtype, format in _FORMATS.items()}
_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "matmul": "matmul",
}
_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}


class Tensor(Handle):
    """An immutable array of one dtype. Ops on it run on the context that made it."""

    __slots__ = ("context",)
    _give_back = staticmethod(raw.dlcore_tensor_release)

    def __init__(self, context: Context, handle):
        self._handle, self.context = handle, context

    @property
    def dtype(self) -> str:
        return raw.dlcore_dtype_name(raw.dlcore_tensor_dtype(self._handle))

    @property
    def shape(self) -> tuple[int, ...]:
        handle = self._handle
        return tuple(raw.dlcore_tensor_dim(handle, axis) for axis in range(raw.dlcore_tensor_rank(handle)))

    @property
    def size(self) -> int:
        return raw.dlcore_tensor_count(self._handle)

    def backward(self) -> None:
        """Adds the gradients of this one element to those of the variables it depends on."""
        self.context.check(raw.dlcore_backward(self.context._handle, self._handle))

    def tobytes(self) -> bytearray:
        """All elements in row-major order."""
        dtype = raw.dlcore_tensor_dtype(self._handle)
        data = bytearray(self.size * raw.dlcore_dtype_size(dtype))
        self.context.check(raw.dlcore_tensor_read(self.context._handle, self._handle, dtype, data))
        return data

    def _elements(self):
        exact = self.astype("f32") if self.dtype == "bf16" else self
        return struct.unpack(f"{exact.size}{_FORMATS[exact.dtype]}", exact.tobytes())

    def item(self):
        """The only element, as a Python number."""
        if self.size != 1:
            raise InvalidArgument(f"item: the tensor is {list(self.shape)}, expected one element")
        return self._elements()[0]

    def tolist(self):
        """Nested lists of Python numbers; a number for rank 0."""
        return _nested(iter(self._elements()), self.shape)

    def numpy(self):
        """A NumPy array with a copy of the elements."""
        import numpy

        if self.dtype not in _FORMATS:
            raise InvalidArgument(f"numpy: it has no dtype for {self.dtype}; convert with astype")
        return numpy.frombuffer(self.tobytes(), _FORMATS[self.dtype]).reshape(self.shape)

    def __repr__(self):
        return self.context.text(raw.dlcore_tensor_to_string, self._handle)

    def __bool__(self):
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __neg__(self):
        return self.negative()

    __hash__ = object.__hash__  # == compares elements


Operand = Union[Tensor, bool, int, float]
_WEAK = ((bool, raw.dlcore_tensor_weak_bool), (int, raw.dlcore_tensor_weak_i64), (float, raw.dlcore_tensor_weak_f64))


def _add_operators():
    def binary(name):
        return (lambda x, y: getattr(Tensor, name)(x, y)), (lambda x, y: getattr(Tensor, name)(y, x))

    for operator, name in _OPERATORS.items():
        forward, reflected = binary(name)
        setattr(Tensor, f"__{operator}__", forward)
        setattr(Tensor, f"__r{operator}__", reflected)
    for operator, name in _COMPARISONS.items():
        setattr(Tensor, f"__{operator}__", binary(name)[0])


_add_operators()


def _operand(context: Context, value) -> Tensor | None:
    """Numbers become weak scalars."""
    if value is None or isinstance(value, Tensor):
        return value
    for kind, make in _WEAK:
        if isinstance(value, kind):
            return Tensor(context, context.made(make(context._handle, value)))
    raise TypeError(f"expected a Tensor or a number, found {type(value).__name__}")


def call(op: int, inputs: Sequence[Operand | None], words: Sequence[int], outputs: int = 1):
    """Runs an op by its number."""
    context = next((x.context for x in inputs if isinstance(x, Tensor)), None) or _context.current()
    operands = [_operand(context, x) for x in inputs]  # they live until the call is over
    handles = [raw.dlcore_tensor_none() if x is None else x._handle for x in operands]
    status, results = raw.dlcore_op_invoke(context._handle, op, handles, words, outputs, 0)
    context.check(status)
    tensors = [Tensor(context, handle) for handle in results]
    return tensors[0] if outputs == 1 else tensors


def tensor(data, dtype: str | None = None) -> Tensor:
    """A tensor with a copy of `data`: a number, nested lists, or an object with the buffer protocol (a NumPy
    array). Without a dtype numbers become bool, i64 or f32."""
    context = _context.current()
    shape, found, elements = _from_buffer(data) or _from_lists(data, dtype)
    made = Tensor(context, context.made(
        raw.dlcore_tensor_create(context._handle, dtype_number(found), shape, elements)))
    return made if dtype in (None, found) else made.astype(dtype)


def _nested(elements, shape):
    return [_nested(elements, shape[1:]) for _ in range(shape[0])] if shape else next(elements)


def _from_buffer(data):
    try:
        view = memoryview(data)
    except TypeError:
        return None
    code = {"l": "q", "L": "Q"}.get(view.format, view.format) if view.itemsize == 8 else view.format
    if code not in _DTYPES:
        raise InvalidArgument(f"tensor: elements of the format {view.format!r} have no dtype here")
    return view.shape, _DTYPES[code], view.tobytes()


def _from_lists(data, dtype):
    shape, row = [], data
    while isinstance(row, (list, tuple)):
        shape.append(len(row))
        row = row[0] if row else None
    elements = list(_flat(data, shape))
    if dtype not in _FORMATS:
        kinds = {type(element) for element in elements}
        dtype = "bool" if kinds == {bool} else "i64" if kinds and kinds <= {bool, int} else "f32"
    try:
        return shape, dtype, struct.pack(f"{len(elements)}{_FORMATS[dtype]}", *elements)
    except (struct.error, OverflowError) as error:
        raise InvalidArgument(f"tensor: an element does not fit {dtype}: {error}") from None


def _flat(data, shape):
    if not shape:
        yield data
        return
    if not isinstance(data, (list, tuple)) or len(data) != shape[0]:
        raise InvalidArgument(f"tensor: rows differ: expected a list of {shape[0]}, found {data!r}")
    for row in data:
        yield from _flat(row, shape[1:])
