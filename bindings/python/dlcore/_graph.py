# SPDX-License-Identifier: Apache-2.0
"""Programs as data: what the same calls append to while they are captured."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

from . import _context, _tree
from . import _dlcore as raw
from ._codes import InvalidArgument
from ._dlcore import Tensor
from ._module import Variable


@raw.make_as
class Executable(raw.dlcore_executable):
    """A graph made ready for a device. It may be run from any number of threads and contexts at once."""

    __slots__ = ()

    def run(self, inputs: Sequence[Tensor], n_outputs: int) -> list[Tensor]:
        """Computes, and updates the variables of the graph all together."""
        context = inputs[0].context if inputs else _context.serving(self)
        return raw.dlcore_executable_run(context, self, inputs, n_outputs)


@raw.make_as
class Graph(raw.dlcore_graph):
    """A captured program. str() is its text, which parse turns into the same graph again."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Graph:
        return raw.dlcore_graph_parse(_context.current(), text.encode())

    def __str__(self) -> str:
        return _context.text_of(raw.dlcore_graph_to_text, _context.serving(self), self)

    def __len__(self) -> int:
        """Number of nodes."""
        return raw.dlcore_graph_node_count(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph.parse, (str(self),)

    def verify(self) -> None:
        raw.dlcore_graph_verify(_context.serving(self), self)

    def apply(self, name: str) -> Graph:
        """A new graph, after the pass of that name: "dce", "cse"."""
        return raw.dlcore_graph_apply(_context.serving(self), self, name)

    def compile(self, variables: Sequence[Variable] | None = None) -> Executable:
        """Makes it executable. Its state is bound to variables by name, or to those that it was captured with."""
        return raw.dlcore_graph_compile(_context.serving(self), self, variables)


def constant(x: Tensor) -> Tensor:
    """A tensor with elements as a constant of the graph that is being captured."""
    return raw.dlcore_capture_constant(x.context, x)


@contextlib.contextmanager
def _capturing(context: _context.Context, name: str) -> Iterator[None]:
    raw.dlcore_capture_begin(context, name)
    try:
        yield
    except BaseException:
        raw.dlcore_capture_abort(context)
        raise


def capture(function: Callable[..., Any], *inputs: Any, name: str | None = None) -> tuple[Graph, Callable[[list[Any]], Any]]:
    """Runs a function of tensors once to record what it does; variables do not change. Returns the graph and what puts
    its outputs into the form that the function returned.

    inputs: tensors, whose dtypes and shapes count, or texts like "f32 [B, 784]" with symbols for sizes that may vary
    """
    given = [x for x in inputs if isinstance(x, Tensor)]
    context = given[0].context if given else _context.current()
    called = _identifier(str(name or getattr(function, "__name__", "graph")))
    with _capturing(context, called):
        symbols = [_input(context, f"x{place}", x) for place, x in enumerate(inputs)]
        outputs, rebuild = _tree.flatten(function(*symbols))
        return raw.dlcore_capture_end(context, outputs), rebuild


def _identifier(name: str) -> str:
    text = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name).strip("_")
    return text if text[:1].isalpha() else f"graph_{text}".rstrip("_")


def _input(context: _context.Context, name: str, like: Any) -> Tensor:
    dtype: str
    if isinstance(like, Tensor):
        dtype, shape = like.dtype, str(list(like.shape))
    elif isinstance(like, str):
        dtype, _, shape = like.partition(" ")
    else:
        raise InvalidArgument(f"capture: {name} is a {type(like).__name__}, expected a Tensor or a text like 'f32 [B, 784]'")
    return raw.dlcore_capture_input(context, name, raw.dlcore_dtype_by_name(dtype), shape)
