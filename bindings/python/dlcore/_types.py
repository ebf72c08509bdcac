# SPDX-License-Identifier: Apache-2.0
"""Names for the types of arguments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, Sequence, SupportsIndex, Union

if TYPE_CHECKING:
    from types import EllipsisType

    from ._dlcore import Tensor

Dtype = Literal["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]
Integers = Union[SupportsIndex, Sequence[SupportsIndex]]
Operand = Union["Tensor", bool, int, float]
Path = Union[str, "os.PathLike[str]"]
Index = Union[SupportsIndex, slice, None, "EllipsisType", "Tensor", "list[Any]", "tuple[Any, ...]"]
