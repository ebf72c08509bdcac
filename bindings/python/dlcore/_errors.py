# SPDX-License-Identifier: Apache-2.0
"""Exceptions that carry the engine's errors."""

from __future__ import annotations

from . import _dlcore as raw


class Error(Exception):
    """A failure of the engine; its subclasses stand for the status codes. `__cause__` is the error that led to it.

    code: the status code
    op: name of the op that failed, "" when the failing call was none
    """

    code = raw.DLCORE_UNKNOWN
    op = ""


def from_handle(handle) -> Error:
    """The exception for an error of the engine, which stays the caller's."""
    from ._codes import BY_CODE

    error = BY_CODE.get(raw.dlcore_error_code(handle), Error)(raw.dlcore_error_message(handle))
    error.op = raw.dlcore_error_op(handle)
    if (cause := raw.dlcore_error_cause(handle)) is not None:
        error.__cause__ = from_handle(cause)
    return error


def take(handle) -> Error:
    """The same for an error that the caller owns, which is released."""
    try:
        return from_handle(handle)
    finally:
        raw.dlcore_error_release(handle)
