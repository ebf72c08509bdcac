# SPDX-License-Identifier: Apache-2.0
"""Data sets and the batches they come in."""

from __future__ import annotations

import os
from typing import Callable, Iterator

from . import _context
from . import _dlcore as raw
from ._handle import Handle
from ._tensor import Tensor


class Dataset:
    """Samples and labels that are still to be cut into batches."""

    def __init__(self, opened: Callable):
        self._opened = opened

    def batch(self, size: int, shuffle: bool = False, prefetch: int = 0) -> Loader:
        """Batches of `size`, the last one of an epoch maybe smaller; shuffled anew in each epoch. `prefetch` of them
        are prepared ahead on a thread of the loader's own."""
        return Loader(self._opened, size, raw.DLCORE_LOADER_SHUFFLE if shuffle else 0, prefetch)


class Loader(Handle):
    """Each turn of a `for` loop over it is an epoch of pairs (samples, labels)."""

    __slots__ = ("context",)
    _give_back = staticmethod(raw.dlcore_loader_release)

    def __init__(self, opened: Callable, size: int, flags: int, prefetch: int = 0):
        self.context = _context.current()
        self._handle = self.context.made(opened(self.context._handle, size, flags))
        self.context.check(raw.dlcore_loader_set_prefetch(self.context._handle, self._handle, prefetch))

    @property
    def samples(self) -> int:
        """Samples in an epoch."""
        return raw.dlcore_loader_samples(self._handle)

    def __len__(self):
        """Batches in an epoch."""
        return raw.dlcore_loader_batches(self._handle)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        context, ended = self.context, False
        try:
            while not ended:
                more, x, y = raw.dlcore_loader_next(context._handle, self._handle)
                if more:
                    yield Tensor(context, x), Tensor(context, y)
                else:
                    context.check_ok()
                    ended = True
        finally:
            if not ended:  # left early: the next loop is the next epoch
                raw.dlcore_loader_seek(context._handle, self._handle, raw.dlcore_loader_epoch(self._handle) + 1, 0)


def source(name: str) -> Dataset:
    """The data set of a source like "idx:DIR/train"; see dlcore/data.h."""
    return Dataset(lambda context, *batches: raw.dlcore_loader_open(context, name, *batches))


def fashion_mnist(part: str) -> Dataset:
    """Fashion-MNIST, "train" or "test": f32 [N, 784] between 0 and 1, and i64 labels [N]."""
    return source(f"fashion-mnist:{part}")


def from_tensors(samples: Tensor, labels: Tensor) -> Dataset:
    """Samples [N, ...] and labels [N, ...] from memory."""
    return Dataset(lambda context, *batches: raw.dlcore_loader_from_tensors(
        context, samples._handle, labels._handle, *batches))


def set_directory(path: str | os.PathLike | None) -> None:
    """Where fashion_mnist looks first."""
    context = _context.current()
    directory = None if path is None else os.fspath(path)
    context.check(raw.dlcore_context_set_data_directory(context._handle, directory))
