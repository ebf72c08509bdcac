# SPDX-License-Identifier: Apache-2.0
"""Engine and contexts, and which context is current."""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
import weakref
from typing import Any, Iterator

from . import _dlcore as raw
from . import _log
from ._codes import DeadlineExceeded

_ISAS = {"best": raw.DLCORE_ISA_BEST, "baseline": raw.DLCORE_ISA_BASELINE, "avx2": raw.DLCORE_ISA_AVX2,
         "avx512": raw.DLCORE_ISA_AVX512, "avx512_bf16": raw.DLCORE_ISA_AVX512_BF16}


_engines: weakref.WeakValueDictionary[int, Engine] = weakref.WeakValueDictionary()  # by address


@raw.make_as
class Engine(raw.dlcore_engine):
    """Owner of devices, memory and threads. A process needs one, and has a default one.

    threads: including the calling one; 0: as many as the process may use
    memory_limit: bytes of tensors for each device; 0: none
    isa: an instruction set to keep to: "baseline", "avx2", "avx512"
    """

    __slots__ = ()

    def __init__(self, *, threads: int = 0, memory_limit: int = 0, isa: str = "best"):
        options = raw.dlcore_engine_options()
        options.threads, options.memory_limit, options.isa = threads, memory_limit, _ISAS.get(isa, -1)
        self._take(raw.dlcore_engine_open(options))
        _engines[raw.address(self)] = self
        _log.follow(self)

    @classmethod
    def open(cls, **options: Any) -> Engine:
        """The same as Engine(...)."""
        return cls(**options)

    def context(self, device: str = "cpu", seed: int = 0) -> Context:
        """A context of its own for one thread of work."""
        return Context(self, device, seed)

    @property
    def devices(self) -> list[str]:
        return [raw.dlcore_engine_device_name(self, index) for index in range(raw.dlcore_engine_device_count(self))]

    def load_plugin(self, path: str) -> None:
        """Adds the devices of a shared object."""
        raw.dlcore_engine_load_plugin(self, path)

    def statistics(self) -> raw.dlcore_engine_statistics:
        """Live handles by type, memory in use, threads; see dlcore_engine_statistics."""
        self.collect()
        statistics = raw.dlcore_engine_statistics()
        raw.dlcore_engine_get_statistics(self, statistics)
        return statistics

    def collect(self) -> None:
        """Lets go of functions that were given to modules which have gone."""
        raw.dlcore_engine_collect(self)

    def trim(self) -> None:
        """Gives cached memory back to the system."""
        raw.dlcore_engine_trim(self)

    @property
    def address(self) -> int:
        """Where it lies in the process, for the binding of another language; see adopt."""
        return raw.address(self)

    @classmethod
    def adopt(cls, address: int) -> Engine:
        """The engine that another binding of this process opened. It stays that binding's to close."""
        engine = raw.adopt(cls, address)
        _engines.setdefault(address, engine)
        return engine

    @property
    def itself(self) -> Engine:
        """The object that stands for the engine, when several do."""
        known = _engines.get(raw.address(self))
        return self if known is None or known.released else known

    def close(self) -> None:
        """Stops its threads. Closing it again does nothing."""
        self.release()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@raw.make_as
class Context(raw.dlcore_context):
    """Execution state of one thread of work: device, random numbers, modes. In a `with` block it is the current
    one, and it is closed at the end."""

    __slots__ = ("_tokens",)

    _tokens: list[Any]

    def __init__(self, engine: Engine, device: str = "cpu", seed: int = 0):
        self._take(raw.dlcore_context_open(engine, device, seed, raw.DLCORE_CONTEXT_MANUAL))
        self._tokens = []

    @classmethod
    def open(cls, device: str = "cpu", seed: int = 0) -> Context:
        """A context on an engine of its own."""
        return cls(Engine(), device, seed)

    @property
    def engine(self) -> Engine:
        held: Any = self.context
        return raw.dlcore_context_engine(self) if held is None else held  # the context of a callback holds none

    @property
    def device(self) -> str:
        return raw.dlcore_context_device(self)

    @property
    def recording(self) -> bool:
        """Whether calls keep history for gradients."""
        return raw.dlcore_context_is_recording(self) == 1

    @property
    def training(self) -> bool:
        """Whether layers behave as in training."""
        return raw.dlcore_context_is_training(self) == 1

    def manual_seed(self, seed: int) -> None:
        """Starts the random numbers anew; models and loaders made from now on follow from it."""
        raw.dlcore_context_set_seed(self, seed)

    def cancel(self) -> None:
        """From any thread: the call that runs, or else the next one, raises Cancelled."""
        raw.dlcore_context_cancel(self)

    @contextlib.contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Calls in the block raise DeadlineExceeded once that time has passed."""
        raw.dlcore_context_set_deadline(self, max(0, round(seconds * 1000)))
        try:
            yield
        finally:
            try:
                raw.dlcore_context_set_deadline(self, -1)
            except DeadlineExceeded:  # it passed since the last call, and would have ended this one
                raw.dlcore_context_set_deadline(self, -1)

    def synchronize(self) -> None:
        """Waits until the device has done everything that this context gave it."""
        raw.dlcore_context_synchronize(self)

    @contextlib.contextmanager
    def no_grad(self) -> Iterator[None]:
        """Keeps no history."""
        recording = raw.dlcore_context_set_recording(self, 0)
        try:
            yield
        finally:
            raw.dlcore_context_set_recording(self, recording)

    @contextlib.contextmanager
    def inference(self) -> Iterator[None]:
        """Keeps no history, and layers behave as in use."""
        training = raw.dlcore_context_set_training(self, 0)
        try:
            with self.no_grad():
                yield
        finally:
            raw.dlcore_context_set_training(self, training)

    def close(self) -> None:
        """Ends it, at once or with the call that another thread is in. Closing it again does nothing."""
        self.release()

    def __enter__(self) -> Context:
        self._tokens.append(make_current(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())
        self.close()

    def __repr__(self) -> str:
        return "<closed context>" if self.released else f"<context on {self.device}>"


# (context, thread, task): values of context variables are inherited by tasks and by asyncio.to_thread, a context
# must not be: it serves one call at a time.
_current: contextvars.ContextVar[tuple[Context, int, Any]] = contextvars.ContextVar("dlcore.context")
_lock = threading.Lock()
_default_engine: Engine | None = None


def _task() -> Any:
    """The task of asyncio that runs, when there is one."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return None
    return asyncio.current_task()


def make_current(context: Context) -> contextvars.Token[Any]:
    task = _task()
    return _current.set((context, threading.get_ident(), None if task is None else weakref.ref(task)))


@contextlib.contextmanager
def on(context: Context) -> Iterator[None]:
    """Makes it the current one, and leaves it open."""
    token = make_current(context)
    try:
        yield
    finally:
        _current.reset(token)


def default_engine() -> Engine:
    """The engine of contexts that nobody opened, opened when it is first needed."""
    global _default_engine
    with _lock:
        if _default_engine is None or _default_engine.released:
            _default_engine = Engine()
        return _default_engine


def current() -> Context:
    """The innermost open `with` context of this thread or task, else a default one of its own."""
    try:
        context, thread, of = _current.get()
    except LookupError:
        context = Context(default_engine())
        make_current(context)
        return context
    task = _task()
    if thread == threading.get_ident() and (task is None if of is None else of() is task):
        return context
    context = Context(default_engine()) if context.released else Context(context.engine, context.device)
    make_current(context)
    return context


def serving(thing: Any) -> Context:
    """The context for calls on what is no tensor: the current one where it is of the same engine, so that several
    threads can use one model and a forward its variables; else the one that it was made on."""
    own: Context = thing.context
    if own.released:
        return current()
    if _current.get(None) is None:
        return own
    context = current()
    return context if context is own or _engine(context) == _engine(own) else own


def _engine(context: Context) -> int:
    engine = context.engine
    return 0 if engine.released else raw.address(engine)


@contextlib.contextmanager
def entered(context: Context) -> Iterator[None]:
    """Makes it the current one of a block without closing it at the end."""
    token = make_current(context)
    try:
        yield
    finally:
        _current.reset(token)


def manual_seed(seed: int) -> None:
    """Starts the current context's random numbers anew; models and loaders made from now on follow from it."""
    current().manual_seed(seed)


def inference() -> contextlib.AbstractContextManager[None]:
    """Keeps no history on the current context, and layers behave as in use."""
    return current().inference()


def no_grad() -> contextlib.AbstractContextManager[None]:
    """Keeps no history on the current context."""
    return current().no_grad()


def text_of(function: Any, context: Context, *arguments: Any) -> str:
    """What a function of the two-call pattern writes."""
    buffer = bytearray(function(context, *arguments, None))
    function(context, *arguments, buffer)
    return buffer[:-1].decode()
