# SPDX-License-Identifier: Apache-2.0
"""Elements shared with other libraries by DLPack, and with NumPy by the buffer protocol."""

from __future__ import annotations

from typing import Any

from . import _dlcore as raw
from ._codes import InvalidArgument
from ._context import Context, current
from ._dlcore import Tensor

CPU = (1, 0)  # kDLCPU
NUMPY = {"bool": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16",
         "f32": "float32", "f64": "float64"}


def from_dlpack(array: Any, *, copy: bool = True, context: Context | None = None) -> Tensor:
    """The elements of another library's array, by DLPack. With copy=False they are shared: the caller promises that
    nobody writes to them."""
    try:
        capsule = array.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library from before DLPack 1.0
        capsule = array.__dlpack__()
    return raw.from_dlpack(current() if context is None else context, capsule, not copy)


def to_dlpack(self: Tensor, *, stream: Any = None, max_version: tuple[int, int] | None = None,
              dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
    """For the from_dlpack of other libraries. Those from before DLPack 1.0, which cannot be told that the elements are
    read-only, get a copy unless copy=False says that they will not write."""
    if stream not in (None, -1):
        raise InvalidArgument(f"__dlpack__: stream is {stream}, expected None: the elements are on the host")
    if dl_device not in (None, CPU):
        raise BufferError(f"the tensor is on device {CPU}, not on {dl_device}")
    versioned = max_version is not None and max_version >= (1, 0)
    return raw.to_dlpack(self, versioned, copy or (copy is None and not versioned))


def dlpack_device(self: Tensor) -> tuple[int, int]:
    return CPU


def numpy(self: Tensor, copy: bool = False) -> Any:
    """A NumPy array: a read-only one that shares the elements, or a copy. There is none for bf16; use astype."""
    import numpy as np

    if self.dtype not in NUMPY:
        raise InvalidArgument(f"numpy: it has no dtype for {self.dtype}; convert with astype")
    array = np.asarray(memoryview(self))  # type: ignore[arg-type]
    return array.copy() if copy else array


def to_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """For NumPy."""
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"an array of {dtype} would be a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


METHODS = {"numpy": numpy, "__array__": to_array, "__dlpack__": to_dlpack, "__dlpack_device__": dlpack_device,
           "__array_ufunc__": None}  # None: NumPy leaves operators with its arrays to us
