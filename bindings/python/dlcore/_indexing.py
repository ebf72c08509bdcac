# SPDX-License-Identifier: Apache-2.0
"""x[...] as calls of ops: views for integers, slices, None and Ellipsis; copies for lists and tensors of indices or of
booleans, and for steps backwards. Neighbouring lists or tensors of indices are broadcast, and pick single elements."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from . import _context
from . import _dlcore as raw
from ._codes import InvalidArgument, OutOfRange

if TYPE_CHECKING:
    from ._dlcore import Tensor


def getitem(x: Tensor, index: Any) -> Tensor:
    items = _without_ellipsis(x, index if isinstance(index, tuple) else (index,))
    group = _gathered(items)
    starts: list[int] = []
    stops: list[int] = []
    axes: list[int] = []
    steps: list[int] = []
    dropped: list[int] = []
    added: list[int] = []
    reversed_runs: list[tuple[int, Any]] = []
    gathers: list[tuple[int, Any]] = []
    group_rank = max((1 if _is_boolean(item) else _rank(item) for item in group), default=0)
    axis = out = 0  # of x; of the result
    for item in items:
        if item is None:
            added.append(out)
            out += 1
        elif isinstance(item, slice):
            low, high, step = item.start, item.stop, 1 if item.step is None else operator.index(item.step)
            if step < 0:
                reversed_runs.append((axis - len(dropped), list(range(*item.indices(x.shape[axis])))))
            elif (low, high, step) != (None, None, 1):
                starts.append(0 if low is None else operator.index(low))
                stops.append(2**63 - 1 if high is None else operator.index(high))
                axes.append(axis)
                steps.append(_step(step))
            axis, out = axis + 1, out + 1
        elif _is_integer(item):
            at = _position(item, x, axis)
            starts.append(at)
            stops.append(at + 1)
            axes.append(axis)
            steps.append(1)
            dropped.append(axis)
            axis += 1
        else:
            out += 0 if gathers else group_rank
            gathers.append((axis - len(dropped), item))
            axis += _mask_rank(item)
    if axes:
        x = raw.slice(x, starts, stops, axes=axes, steps=steps)
    if dropped:
        x = raw.squeeze(x, dropped)
    for at, item in reversed_runs:
        x = _gather(x, at, item)
    if len(gathers) > 1:
        x = _gather_together(x, gathers[0][0], [item for _, item in gathers])
    elif gathers:
        x = _gather(x, *gathers[0])
    for at in added:
        x = raw.expand_dims(x, at)
    return x


def _gathered(items: tuple[Any, ...]) -> list[Any]:
    """The lists and tensors. NumPy moves the axes of those that stand apart to the front; nobody expects it, so it is
    refused."""
    advanced = [place for place, item in enumerate(items) if item is not None and not isinstance(item, slice)]
    gathers = [items[place] for place in advanced if not _is_integer(items[place])]
    if len(gathers) > 1 and any(map(_is_boolean, gathers)):
        raise InvalidArgument("getitem: a mask beside another list or tensor of indices; index in two steps")
    if gathers and advanced[-1] - advanced[0] != len(advanced) - 1:
        raise InvalidArgument("getitem: integers, lists and tensors of indices stand apart; index in two steps")
    return gathers


def _rank(item: Any) -> int:
    rank = 0
    while isinstance(item, (list, tuple)):
        item, rank = (item[0] if item else None), rank + 1
    if not rank and not hasattr(item, "shape"):
        raise TypeError(f"an index is an integer, a slice, None, ..., a list or a tensor, found {type(item).__name__}")
    return rank or len(item.shape)


def _step(step: int) -> int:
    if step == 0:
        raise ValueError("slice step cannot be zero")
    return step


def _is_integer(item: Any) -> bool:
    if isinstance(item, bool):
        raise InvalidArgument("getitem: a bool is no index; a mask is a list or a tensor of them")
    return hasattr(item, "__index__") and not getattr(item, "shape", ())


def _is_boolean(item: Any) -> bool:
    while isinstance(item, (list, tuple)) and item:
        item = item[0]
    return isinstance(item, bool) or str(getattr(item, "dtype", "")) == "bool"


def _mask_rank(item: Any) -> int:
    """How many axes it takes: a mask as many as it has, integers and lists of indices one."""
    if _is_integer(item):
        return 1
    rank = _rank(item)
    return rank if _is_boolean(item) else 1


def _position(item: Any, x: Tensor, axis: int) -> int:
    at, size = operator.index(item), x.shape[axis]
    if size >= 0 and not -size <= at < size:
        raise OutOfRange(f"getitem: index is {at}, expected {-size} to {size - 1} along axis {axis}")
    return at % size if size > 0 else at


def _without_ellipsis(x: Tensor, items: tuple[Any, ...]) -> tuple[Any, ...]:
    taken = sum(0 if item is None or item is Ellipsis else 1 if isinstance(item, slice) else _mask_rank(item)
                for item in items)
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise InvalidArgument("getitem: more than one ellipsis")
    if taken > x.ndim:
        raise InvalidArgument(f"getitem: {taken} indices for a tensor of {x.ndim} axes")
    if not places:
        return items
    at = places[0]
    return (*items[:at], *[slice(None)] * (x.ndim - taken), *items[at + 1:])


def _gather(x: Tensor, axis: int, item: Any) -> Tensor:
    return _select(x, axis, item) if _is_boolean(item) else raw.take(x, _indices(x, item), axis)


def _indices(x: Tensor, item: Any) -> Tensor:
    from ._tensor import tensor

    indices = item if isinstance(item, raw.Tensor) else tensor(item, "i64" if item == [] else None, context=x.context)
    if indices.dtype in ("f16", "bf16", "f32", "f64"):
        raise InvalidArgument(f"getitem: indices are {indices.dtype}, expected integers")
    return indices


def _gather_together(x: Tensor, axis: int, items: list[Any]) -> Tensor:
    """Along one axis that stands for those of the lists, whose indices are first checked and counted from the start."""
    sizes = x.shape[axis:axis + len(items)]
    if min(sizes) < 0:
        raise InvalidArgument(f"getitem: lists of indices along axes of unknown sizes, {list(sizes)}; index in two steps")
    with _context.on(x.context):
        ranges = [raw.arange(0, size) for size in sizes]
    checked = [raw.take(all_of, _indices(x, item), 0) for all_of, item in zip(ranges, items)]
    places = checked[0]
    for size, own in zip(sizes[1:], checked[1:]):
        places = places * size + own
    x = raw.reshape(x, (*x.shape[:axis], math.prod(sizes), *x.shape[axis + len(items):]))
    return raw.take(x, places, axis)


def _select(x: Tensor, axis: int, item: Any) -> Tensor:
    """Where a mask holds. How many that are is read from the mask, so there is no such thing in a captured graph."""
    from ._tensor import tensor

    mask = item if isinstance(item, raw.Tensor) else tensor(item, context=x.context)
    rank, shape = mask.ndim, x.shape
    if mask.shape != shape[axis:axis + rank]:
        raise InvalidArgument(f"getitem: the mask is {list(mask.shape)}, expected {list(shape[axis:axis + rank])}")
    places = [place for place, byte in enumerate(mask.tobytes()) if byte]
    if rank != 1:
        x = raw.reshape(x, (*shape[:axis], mask.size, *shape[axis + rank:]))
    return raw.take(x, tensor(places, "i64", context=x.context), axis)
