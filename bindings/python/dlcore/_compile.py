# SPDX-License-Identifier: Apache-2.0
"""Functions that are captured once for each kind of arguments, and then run as graphs."""

from __future__ import annotations

import functools
import logging
from typing import Any, Callable, Generic, ParamSpec, TypeVar

from . import _context, _tree
from ._codes import FailedPrecondition, InvalidArgument, Unimplemented
from ._graph import capture

_P = ParamSpec("_P")
_R = TypeVar("_R")
_log = logging.getLogger("dlcore.compile")
_REASONS = (FailedPrecondition, InvalidArgument, Unimplemented, TypeError, ValueError)


class Compiled(Generic[_P, _R]):
    """A function that runs as a graph, with the bits of the eager calls. It is captured anew for arguments of other
    dtypes and shapes, for other values of those that are no tensors, in other modes and on other engines. What cannot
    be captured, as a function that looks at elements, runs eagerly; a warning of the logger "dlcore.compile" says why,
    and so does explain()."""

    def __init__(self, function: Callable[_P, _R]):
        functools.update_wrapper(self, function)
        self._function = function
        self._programs: dict[Any, Any] = {}
        self._explained: list[str] = []

    def __call__(self, *arguments: _P.args, **keywords: _P.kwargs) -> _R:
        leaves, rebuild = _tree.flatten((arguments, keywords))
        context = leaves[0].context if leaves else _context.current()
        if any(leaf.is_symbolic for leaf in leaves):  # inside of another capture
            return self._function(*arguments, **keywords)
        key = (context.engine.address, context.device, context.recording, context.training,
               _tree.signature((arguments, keywords)))
        try:
            program = self._programs.get(key)
        except TypeError as error:
            raise TypeError(f"{self._name}: an argument that is no tensor cannot be told from others: {error}") from None
        if program is None:
            program = self._programs[key] = self._capture(leaves, rebuild, context)
        if program is _EAGER:
            return self._function(*arguments, **keywords)
        executable, n_outputs, rebuild_outputs = program
        result: _R = rebuild_outputs(executable.run(leaves, n_outputs))
        return result

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", "function")

    def _capture(self, leaves: list[Any], rebuild: Callable[[list[Any]], Any], context: _context.Context) -> Any:
        described = ", ".join(f"{leaf.dtype} {list(leaf.shape)}" for leaf in leaves)
        described += f"; {'training' if context.training else 'inference'}"
        counted: list[int] = []

        def traced(*symbols: Any) -> Any:
            arguments, keywords = rebuild(list(symbols))
            result = self._function(*arguments, **keywords)
            counted.append(len(_tree.flatten(result)[0]))
            return result

        try:
            graph, rebuild_outputs = capture(traced, *leaves, name=self._name)
            executable = graph.compile()
        except _REASONS as error:
            self._explained.append(f"{described}: runs eagerly: {error}")
            _log.warning("%s runs eagerly for %s: %s", self._name, described, error)
            return _EAGER
        self._explained.append(f"{described}: a graph of {len(graph)} nodes")
        _log.info("%s captured for %s: %d nodes", self._name, described, len(graph))
        return executable, counted[0], rebuild_outputs

    def explain(self) -> str:
        """A line for each kind of arguments so far: the graph that it runs as, or why there is none."""
        return "\n".join(self._explained) or "not called yet"


_EAGER = object()


def compile(function: Callable[_P, _R]) -> Compiled[_P, _R]:
    """Decorator: the function runs as a graph; see Compiled."""
    return Compiled(function)
