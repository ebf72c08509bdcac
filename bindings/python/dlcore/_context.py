# SPDX-License-Identifier: Apache-2.0
"""Engine and contexts, and which context is current."""

from __future__ import annotations

import contextlib
import threading

from . import _dlcore as raw
from . import _errors
from ._codes import FailedPrecondition
from ._handle import Handle


class _Closable(Handle):
    __slots__ = ()

    def close(self) -> None:
        """Ends it; closing it again does nothing."""
        with contextlib.suppress(FailedPrecondition):
            self.release()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Engine(_Closable):
    """Owner of devices, memory and threads. A process needs one, and has a default one.

    threads: including the calling one; 0: as many as the process may use
    memory_limit: bytes of tensors for each device; 0: none
    """

    __slots__ = ()
    _give_back = staticmethod(raw.dlcore_engine_close)

    def __init__(self, threads: int = 0, memory_limit: int = 0):
        options = raw.dlcore_engine_options()
        options.threads, options.memory_limit = threads, memory_limit
        handle, error = raw.dlcore_engine_open(options)
        if error is not None:
            raise _errors.take(error)
        self._handle = handle

    def context(self, device: str = "cpu", seed: int = 0) -> Context:
        return Context(self, device, seed)

    def statistics(self):
        """Live handles by type, memory in use, threads; see dlcore_engine_statistics."""
        statistics = raw.dlcore_engine_statistics()
        raw.dlcore_engine_get_statistics(self._handle, statistics)
        return statistics


class Context(_Closable):
    """Execution state of one thread of work: device, random numbers, modes. In a `with` block it is the current
    one of its thread, and it is closed at the end."""

    __slots__ = ("engine",)
    _give_back = staticmethod(raw.dlcore_context_close)

    def __init__(self, engine: Engine, device: str = "cpu", seed: int = 0):
        handle, error = raw.dlcore_context_open(engine._handle, device, seed, raw.DLCORE_CONTEXT_MANUAL)
        if error is not None:
            raise _errors.take(error)
        self._handle, self.engine = handle, engine

    def __enter__(self):
        _local.stack.append(self)
        return self

    def __exit__(self, *_):
        _local.stack.remove(self)
        self.close()

    # What raw calls return is checked here: errors are taken off the context at once.

    def fail(self):
        error = raw.dlcore_context_take_error(self._handle)
        raise FailedPrecondition("the context is in use by another thread") if error is None else _errors.take(error)

    def made(self, handle):
        if handle is None:
            self.fail()
        return handle

    def check(self, status: int) -> None:
        if status:
            self.fail()

    def check_ok(self) -> None:
        if not raw.dlcore_ok(self._handle):
            self.fail()

    def text(self, function, *arguments) -> str:
        """By the two-call pattern."""
        size = function(self._handle, *arguments, None)
        if size < 0:
            self.fail()
        buffer = bytearray(size)
        function(self._handle, *arguments, buffer)
        return buffer[:-1].decode()


class _Local(threading.local):
    def __init__(self):
        self.stack = []


_local = _Local()
_lock = threading.Lock()
_default_engine: Engine | None = None


def default_engine() -> Engine:
    global _default_engine
    with _lock:
        if _default_engine is None:
            _default_engine = Engine()
        return _default_engine


def current() -> Context:
    """The innermost open `with` context of this thread, else a default one of its own."""
    if not _local.stack:
        _local.stack.append(Context(default_engine()))
    return _local.stack[-1]


def manual_seed(seed: int) -> None:
    """Starts the current context's random numbers anew; models and loaders made from now on follow from it."""
    context = current()
    context.check(raw.dlcore_context_set_seed(context._handle, seed))


@contextlib.contextmanager
def inference():
    """Keeps no history, and layers behave as in use."""
    context = current()
    recording = raw.dlcore_context_set_recording(context._handle, 0)
    training = raw.dlcore_context_set_training(context._handle, 0)
    try:
        yield
    finally:
        raw.dlcore_context_set_recording(context._handle, recording)
        raw.dlcore_context_set_training(context._handle, training)
