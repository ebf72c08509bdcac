# SPDX-License-Identifier: Apache-2.0
"""What all objects of the engine have in common: one reference, given back once."""

from __future__ import annotations

from ._codes import FailedPrecondition


class Handle:
    """Owns one reference to an object of the engine, and gives it back when it is collected or released."""

    __slots__ = ("_handle", "__weakref__")

    def __getattr__(self, name):  # only reached when the attribute is missing
        kind = type(self).__name__
        if name == "_handle":
            raise FailedPrecondition(f"{kind.lower()}: it has been released")
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")

    def release(self) -> None:
        """Gives the object back now. It cannot be used any more, nor released again."""
        handle = self._handle
        try:
            del self._handle  # of two threads only one gets past this
        except AttributeError:
            return
        self._give_back(handle)

    def __del__(self):
        try:
            handle = object.__getattribute__(self, "_handle")
        except AttributeError:
            return
        self._give_back(handle)
