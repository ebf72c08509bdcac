# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions: reverse mode, forward mode, vectorisation. All of them nest in any order."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from typing import Any, Callable, Iterator, Sequence, Union

from . import _context, _tree
from . import _dlcore as raw
from ._codes import InvalidArgument
from ._context import Context
from ._dlcore import Tensor

Function = Callable[..., Any]
Axes = Union[int, None, Sequence[Union[int, None]]]
_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("dlcore.inside_grad", default=False)


def gradients(outputs: Tensor | Sequence[Tensor], wrt: Sequence[Tensor], seeds: Sequence[Tensor | None] | None = None, *,
              create_graph: bool = False, retain_graph: bool = False, allow_unused: bool = False) -> list[Tensor | None]:
    """Gradients of the sum of <output, seed> with respect to watched tensors, variables' values or tensors on the way.

    seeds: one for each output; 1 for outputs of one element when left out
    create_graph: the gradients have history of their own
    retain_graph: the history may be used again
    allow_unused: a tensor without influence gets None instead of being an error
    """
    given = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    options = raw.dlcore_grad_options()
    options.create_graph, options.retain_graph, options.allow_unused = create_graph, retain_graph, allow_unused
    context = given[0].context if given else _context.current()
    return raw.dlcore_autograd_grad(context, given, wrt, seeds, options, len(wrt))


@contextlib.contextmanager
def _recording(context: Context) -> Iterator[None]:
    before = raw.dlcore_context_set_recording(context, 1)
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)
        raw.dlcore_context_set_recording(context, before)


def _leaf(x: Tensor) -> Tensor:
    """A tensor of its own, so that what else depends on x is told apart from what depends on the argument."""
    return raw.copy(x) if x.requires_grad else raw.dlcore_autograd_watch(x.context, x)


def _zeros(x: Tensor) -> Tensor:
    return raw.multiply(x, 0)


def _wrt(argnums: int | Sequence[int], arguments: Sequence[Any]) -> tuple[list[Tensor], Callable[..., Any]]:
    chosen = arguments[argnums] if isinstance(argnums, int) else tuple(arguments[place] for place in argnums)
    leaves, rebuild = _tree.flatten(chosen)
    if not leaves:
        raise InvalidArgument("grad: there is no tensor among the arguments it is for")
    return leaves, rebuild


def _with(arguments: Sequence[Any], argnums: int | Sequence[int], chosen: Any) -> list[Any]:
    replaced = list(arguments)
    for place, value in [(argnums, chosen)] if isinstance(argnums, int) else zip(argnums, chosen):
        replaced[place] = value
    return replaced


def value_and_grad(function: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False,
                   create_graph: bool | None = None) -> Function:
    """A function that returns what `function` returns, one element, and the gradient of it.

    argnums: the arguments, tensors or lists and dicts of them, that the gradient is with respect to
    has_aux: `function` returns a pair (element, anything else)
    create_graph: the gradient has history of its own; by itself inside of another derivative
    """

    @functools.wraps(function)
    def derivative(*arguments: Any, **keywords: Any) -> Any:
        given, rebuild = _wrt(argnums, arguments)
        again = _inside.get() or any(x.requires_grad for x in given) if create_graph is None else create_graph
        with _recording(given[0].context):
            leaves = [_leaf(x) for x in given]
            result = function(*_with(arguments, argnums, rebuild(leaves)), **keywords)
            value = result[0] if has_aux else result
            found: list[Tensor | None] = [None] * len(leaves)
            if not isinstance(value, Tensor):
                raise InvalidArgument(f"grad: the function returned {type(value).__name__}, expected a Tensor of one element")
            if value.requires_grad:
                found = gradients(value, leaves, create_graph=again, allow_unused=True)
        filled = [_zeros(x) if gradient is None else gradient for x, gradient in zip(given, found)]
        return (result if again else _detached(result)), rebuild(filled)

    return derivative


def _detached(result: Any) -> Any:
    """The history has been used: what is returned has none."""
    leaves, rebuild = _tree.flatten(result)
    return rebuild([raw.stop_gradient(leaf) for leaf in leaves])


def grad(function: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False,
         create_graph: bool | None = None) -> Function:
    """A function that returns the gradient of `function`; see value_and_grad. With has_aux a pair (gradient, aux)."""
    both = value_and_grad(function, argnums, has_aux=has_aux, create_graph=create_graph)

    @functools.wraps(function)
    def derivative(*arguments: Any, **keywords: Any) -> Any:
        value, gradient = both(*arguments, **keywords)
        return (gradient, value[1]) if has_aux else gradient

    return derivative


def vjp(function: Function, *primals: Any) -> tuple[Any, Function]:
    """(function(*primals), pullback): pullback(seed) gives the gradients of <result, seed> with respect to primals, and
    may be called again."""
    given, rebuild = _tree.flatten(primals)
    if not given:
        raise InvalidArgument("vjp: there is no tensor among the arguments")
    again = _inside.get() or any(x.requires_grad for x in given)
    with _recording(given[0].context):
        leaves = [_leaf(x) for x in given]
        result = function(*rebuild(leaves))
    outputs, _ = _tree.flatten(result)

    def pullback(seed: Any = None) -> Any:
        seeds = [None] * len(outputs) if seed is None else _tree.flatten(seed)[0]
        pairs = [(output, one) for output, one in zip(outputs, seeds, strict=True) if output.requires_grad]
        found: list[Tensor | None] = [None] * len(leaves)
        if pairs:
            found = gradients([output for output, _ in pairs], leaves, [one for _, one in pairs], create_graph=again,
                              retain_graph=True, allow_unused=True)
        filled = [_zeros(x) if gradient is None else gradient for x, gradient in zip(given, found)]
        gradient = rebuild(filled)
        return gradient[0] if len(primals) == 1 else gradient

    return result, pullback


@contextlib.contextmanager
def _level(context: Context, opened: raw.dlcore_transform) -> Iterator[raw.dlcore_transform]:
    try:
        yield opened
    finally:
        raw.dlcore_transform_close(context, opened)
        opened.release()


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """(function(*primals), its derivative in the direction of tangents), in one pass forwards."""
    points, rebuild = _tree.flatten(tuple(primals))
    directions, _ = _tree.flatten(tuple(tangents))
    if len(points) != len(directions) or not points:
        raise InvalidArgument(f"jvp: there are {len(directions)} tangents, expected {len(points)}, at least one")
    context = points[0].context
    with _level(context, raw.dlcore_jvp_open(context)) as level:
        lifted = [raw.dlcore_jvp_lift(context, level, x, t) for x, t in zip(points, directions)]
        outputs, rebuild_result = _tree.flatten(function(*rebuild(lifted)))
        values = [raw.dlcore_jvp_primal(context, level, y) for y in outputs]
        rates = [raw.dlcore_jvp_tangent(context, level, y) for y in outputs]
    return rebuild_result(values), rebuild_result(rates)


def vmap(function: Function, in_axes: Axes = 0, out_axes: int = 0) -> Function:
    """`function`, written for one example, for many at once.

    in_axes: the axis of the examples in each argument, None for one that all share
    out_axes: the axis of the examples in what is returned
    """

    @functools.wraps(function)
    def vectorised(*arguments: Any) -> Any:
        axes = [in_axes] * len(arguments) if isinstance(in_axes, int) or in_axes is None else list(in_axes)
        if len(axes) != len(arguments):
            raise InvalidArgument(f"vmap: in_axes has {len(axes)} entries, expected {len(arguments)}")
        mapped = [(x, axis) for argument, axis in zip(arguments, axes) if axis is not None
                  for x in _tree.flatten(argument)[0]]
        sizes = {_size(x, axis) for x, axis in mapped}
        if len(sizes) != 1:
            raise InvalidArgument(f"vmap: numbers of examples are {sorted(sizes)}, expected one number")
        context = mapped[0][0].context
        with _level(context, raw.dlcore_vmap_open(context, sizes.pop())) as level:
            lifted = [_lifted(context, level, argument, axis) for argument, axis in zip(arguments, axes)]
            outputs, rebuild = _tree.flatten(function(*lifted))
            return rebuild([raw.dlcore_vmap_lower(context, level, y, out_axes) for y in outputs])

    return vectorised


def _size(x: Tensor, axis: int) -> int:
    if not -x.ndim <= axis < x.ndim:
        raise InvalidArgument(f"vmap: axis is {axis}, but the tensor is {list(x.shape)}")
    return x.shape[axis]


def _lifted(context: Context, level: raw.dlcore_transform, argument: Any, axis: int | None) -> Any:
    if axis is None:
        return argument
    leaves, rebuild = _tree.flatten(argument)
    return rebuild([raw.dlcore_vmap_lift(context, level, x, axis) for x in leaves])


def _basis(x: Tensor) -> Tensor:
    """One unit tensor for each element of x, along a new first axis."""
    with _context.entered(x.context):
        return raw.reshape(raw.eye(x.size, dtype=x.dtype), (x.size, *x.shape))


def jacobian(function: Function, argnum: int = 0) -> Function:
    """A function that returns all derivatives of `function`, a tensor of the shape result + argument."""

    @functools.wraps(function)
    def derivative(*arguments: Any) -> Tensor:
        x = arguments[argnum]

        def along(direction: Tensor) -> Tensor:
            return jvp(lambda point: function(*_with(arguments, argnum, point)), (x,), (direction,))[1]

        columns = vmap(along)(_basis(x))
        shape = columns.shape[1:]
        last = raw.permute_dims(columns, (*range(1, len(shape) + 1), 0))
        return raw.reshape(last, (*shape, *x.shape))

    return derivative


def hessian(function: Function, argnum: int = 0) -> Function:
    """A function that returns all second derivatives of `function`, which returns one element: a tensor of the shape
    argument + argument."""
    return jacobian(grad(function, argnum), argnum)


def gradcheck(function: Function, *inputs: Tensor, order: int = 1, tolerance: float = 0.0) -> None:
    """Compares the derivatives of `function` with differences at f64 inputs; raises FailedPrecondition where they are
    not the same within tolerance * max(1, |difference|), 0 standing for 1e-6 and at order 2 for 1e-5."""

    def checked(context: Context, points: list[Tensor]) -> Tensor:
        with _context.entered(context):
            return function(*points)

    raw.dlcore_gradcheck(inputs[0].context if inputs else _context.current(), checked, inputs, order, tolerance)
