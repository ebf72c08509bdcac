# SPDX-License-Identifier: Apache-2.0
"""Inputs of cases: a row-major base array, and the view ops that lead from it to the operand."""

import numpy as np

from dtypes import HOLDERS, is_float, to_dtype

POISON = 99  # fills what a view must skip


def slice_attrs(starts, stops, steps):
    return {"starts": list(starts), "stops": list(stops), "steps": list(steps)}


def apply_view(array, op, attrs):
    """What the view op of that name does, as a NumPy view."""
    if op == "permute_dims":
        return np.transpose(array, attrs["axes"])
    if op == "slice":
        parts = zip(attrs["starts"], attrs["stops"], attrs["steps"])
        return array[tuple(slice(*p) for p in parts)]
    if op == "broadcast_to":
        return np.broadcast_to(array, attrs["shape"])
    raise ValueError(op)


class Operand:
    """An input tensor. `value` is what the op sees, in the holder of `dtype`."""

    def __init__(self, base, dtype, recipe=()):
        self.dtype = dtype
        self.base = np.ascontiguousarray(to_dtype(base, dtype)).reshape(np.shape(base))
        self.recipe = list(recipe)
        view = self.base
        for op, attrs in self.recipe:
            view = apply_view(view, op, attrs)
        size = self.base.itemsize
        self.value = view
        self.strides = [s // size for s in view.strides]
        start = view.__array_interface__["data"][0] - self.base.__array_interface__["data"][0]
        self.offset = start // size if view.size else 0

    @property
    def is_float(self):
        return is_float(self.dtype)


class Weak:
    """A scalar of the host language: it takes the dtype of the operand it meets."""

    def __init__(self, kind, value):
        self.kind, self.value, self.dtype, self.is_float = kind, value, kind, False


def expanded(values, dtype, axis=0, count=3):
    """`values` repeated along a new size of `axis` (which must be 1) by stride 0."""
    shape = list(np.shape(values))
    shape[axis] = count
    return Operand(values, dtype, [["broadcast_to", {"shape": shape}]])


def permuted(values, dtype):
    """`values` laid out with its axes in reverse order of storage."""
    axes = list(range(np.ndim(values)))[::-1]
    return Operand(np.transpose(values, axes), dtype, [["permute_dims", {"axes": axes}]])


def sliced(values, dtype, step=2, start=1):
    """`values` as every `step`-th element, from `start` on, of the first and last axis of a larger array."""
    values = np.asarray(values)
    shape = list(values.shape)
    starts, steps = [0] * values.ndim, [1] * values.ndim
    for axis in {0, values.ndim - 1}:
        shape[axis] = start + step * shape[axis]
        starts[axis], steps[axis] = start, step
    base = np.full(shape, POISON, values.dtype)
    base[tuple(slice(*p) for p in zip(starts, shape, steps))] = values
    return Operand(base, dtype, [["slice", slice_attrs(starts, shape, steps)]])


def offset(values, dtype):
    """`values` as the last rows of a larger array: contiguous, but not at the start of the storage."""
    values = np.asarray(values)
    base = np.concatenate([np.full((2,) + values.shape[1:], POISON, values.dtype), values])
    starts = [2] + [0] * (values.ndim - 1)
    return Operand(base, dtype, [["slice", slice_attrs(starts, base.shape, [1] * values.ndim)]])


def permuted_slice(values, dtype):
    """Sliced with a step, then permuted."""
    axes = list(range(np.ndim(values)))[::-1]
    inner = sliced(np.transpose(values, axes), dtype)
    return Operand(inner.base, dtype, inner.recipe + [["permute_dims", {"axes": axes}]])


LAYOUTS = {"permuted": permuted, "sliced": sliced, "offset": offset, "permuted_slice": permuted_slice}


class Numbers:
    """Values for one family, the same in every run. All differ from each other and from halves of integers."""

    def __init__(self, seed):
        self.random = np.random.Generator(np.random.Philox(key=seed))

    def spread(self, shape, low=-3.0, high=3.0, shift=0.3):
        count = int(np.prod(shape, dtype=np.int64))
        order = np.argsort(self.random.random(count), kind="stable") if count else np.zeros(0, np.int64)
        return (low + (high - low) * (order + shift) / max(count, 1)).reshape(shape)

    def whole(self, shape, low, high):
        """Integers in [low, high]."""
        return self.random.integers(low, high + 1, size=shape, dtype=np.int64)

    def fitting(self, dtype, shape, low=-3.0, high=3.0, shift=0.3):
        """Small values that suit the dtype: spread floats, integers (not below 0 for u8), booleans."""
        if is_float(dtype):
            return self.spread(shape, low, high, shift)
        if dtype == "bool":
            return self.whole(shape, 0, 1).astype(np.bool_)
        least = 0 if dtype == "u8" else -9
        return self.whole(shape, least, 9).astype(HOLDERS[dtype])
