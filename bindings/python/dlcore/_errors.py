# SPDX-License-Identifier: Apache-2.0
"""Exceptions that carry the engine's errors."""

from __future__ import annotations


class Error(Exception):
    """A failure of the engine; its subclasses stand for the status codes. `__cause__` is what led to it.

    code: the status code
    op: name of the op that failed, "" when the failing call was none
    """

    code = 2
    op = ""
    _by_code: dict[int, type[Error]] = {}

    def __init_subclass__(cls) -> None:
        if cls.code not in Error._by_code:
            Error._by_code[cls.code] = cls
            cls.__module__ = "dlcore"


def make(code: int, message: str, op: str, cause: BaseException | None) -> Error:
    """The exception for an error of the engine."""
    error = Error._by_code.get(code, Error)(message)
    error.op = op
    error.__cause__ = cause
    return error


def describe(exception: BaseException) -> tuple[int, str]:
    """Code and text by which the engine learns what a callback raised."""
    if isinstance(exception, Error):
        return exception.code, str(exception)
    text = f"{type(exception).__name__}: {exception}" if str(exception) else type(exception).__name__
    interrupted = not isinstance(exception, Exception)
    return 1 if interrupted else 2, text.replace("\0", "?")
