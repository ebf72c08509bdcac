# SPDX-License-Identifier: Apache-2.0
"""How far a loop is: a bar on a terminal, a line at the end elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, Generic, Iterable, Iterator, TextIO, TypeVar

_T = TypeVar("_T")
_WIDTH = 24
_PERIOD = 0.1  # seconds between two pictures


class progress(Generic[_T]):
    """Iterates over `items` and shows how far it is.

        for x, y in (bar := dl.progress(loader, "epoch 1")):
            bar.note(loss=step(x, y))

    Notes are shown beside the bar; what is noted is turned into text only when it is shown.
    """

    def __init__(self, items: Iterable[_T], title: str = "", *, file: TextIO | None = None):
        self._items, self._title = items, title
        self._file = sys.stdout if file is None else file
        self._live = self._file.isatty()
        self._notes: dict[str, Any] = {}

    def note(self, **notes: Any) -> None:
        """What to show beside the bar from now on."""
        self._notes.update(notes)

    def __iter__(self) -> Iterator[_T]:
        total = len(self._items) if hasattr(self._items, "__len__") else None  # type: ignore[arg-type]
        start = shown = time.monotonic()
        done = 0
        try:
            for item in self._items:
                done += 1
                yield item
                del item  # nothing of a turn is held while the next one is made
                now = time.monotonic()
                if self._live and now - shown >= _PERIOD:
                    shown = now
                    self._show(done, total, now - start)
        finally:
            end = "\r\033[K" if self._live else ""
            taken = time.monotonic() - start
            print(f"{end}{self._head()}{self._text_of_notes()}  {done / (taken + 1e-9):.0f}/s  {taken:.1f} s",
                  file=self._file, flush=True)

    def _head(self) -> str:
        return self._title and f"{self._title} "

    def _text_of_notes(self) -> str:
        return "".join(f" {name} {_text(value)} " for name, value in self._notes.items())

    def _show(self, done: int, total: int | None, taken: float) -> None:
        rate = done / (taken + 1e-9)
        bar = ""
        if total:
            filled = min(_WIDTH, _WIDTH * done // total)
            left = max(0.0, (total - done) / (rate + 1e-9))
            bar = f"[{'=' * filled}{' ' * (_WIDTH - filled)}] {min(100, 100 * done // total):3d}%  {left:3.0f} s left"
        print(f"\r{self._head()}{bar}  {rate:.0f}/s {self._text_of_notes()}", end="\033[K", file=self._file, flush=True)


def _text(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.4f}" if isinstance(value, float) else str(value)
