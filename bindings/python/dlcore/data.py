# SPDX-License-Identifier: Apache-2.0
"""Data sets and the batches they come in."""

from __future__ import annotations

import os
from typing import Callable, Iterator

from . import _context
from . import _dlcore as raw
from ._dlcore import Tensor
from ._types import Path

__all__ = ["Dataset", "Loader", "source", "fashion_mnist", "from_tensors", "set_directory"]


class Dataset:
    """Samples and labels that are still to be cut into batches."""

    def __init__(self, opened: Callable[[_context.Context, int, int], Loader]):
        self._opened = opened

    def batch(self, size: int, shuffle: bool = False, prefetch: int = 0) -> Loader:
        """Batches of `size`, the last one of an epoch maybe smaller; shuffled anew in each epoch. `prefetch` of them
        are prepared ahead on a thread of the loader's own."""
        loader = self._opened(_context.current(), size, raw.DLCORE_LOADER_SHUFFLE if shuffle else 0)
        if prefetch:
            raw.dlcore_loader_set_prefetch(loader.context, loader, prefetch)
        return loader


@raw.make_as
class Loader(raw.dlcore_loader):
    """Each `for` loop over it is an epoch of pairs (samples, labels). A loop that was left early, or a checkpoint that
    was loaded, is continued by the next one where it stands."""

    __slots__ = ()

    @property
    def samples(self) -> int:
        """Samples in an epoch."""
        return raw.dlcore_loader_samples(self)

    @property
    def epoch(self) -> int:
        """Number of the epoch it stands in, from 0 on."""
        return raw.dlcore_loader_epoch(self)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return raw.dlcore_loader_batches(self)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        context = _context.serving(self)
        while True:
            more, x, y = raw.dlcore_loader_next(context, self)
            if not more:
                return
            yield x, y
            del x, y  # before the next batch is made

    def seek(self, epoch: int, batch: int = 0) -> None:
        """Stands in front of that batch of that epoch."""
        raw.dlcore_loader_seek(_context.serving(self), self, epoch, batch)


def source(name: str) -> Dataset:
    """The data set of a source like "idx:DIR/train"; see dlcore/data.h."""
    return Dataset(lambda context, *batches: raw.dlcore_loader_open(context, name, *batches))


def fashion_mnist(part: str) -> Dataset:
    """Fashion-MNIST, "train" or "test": f32 [N, 784] between 0 and 1, and i64 labels [N]."""
    return source(f"fashion-mnist:{part}")


def from_tensors(samples: Tensor, labels: Tensor) -> Dataset:
    """Samples [N, ...] and labels [N, ...] from memory."""
    return Dataset(lambda context, *batches: raw.dlcore_loader_from_tensors(context, samples, labels, *batches))


def set_directory(path: Path | None) -> None:
    """Where fashion_mnist looks first."""
    raw.dlcore_context_set_data_directory(_context.current(), None if path is None else os.fspath(path))
