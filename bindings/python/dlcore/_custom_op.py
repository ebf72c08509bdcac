# SPDX-License-Identifier: Apache-2.0
"""Ops written in Python, and ops of other languages in the same process."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Sequence, Union

from . import _context
from . import _dlcore as raw
from ._codes import InvalidArgument
from ._dlcore import Tensor

Kind = Union[Tensor, "tuple[str, Sequence[int]]"]  # like an input, or (dtype, shape)


class Op:
    """An op of a program's own. It is registered with an engine when it is first called there, and can then be called
    by its name from every language of the process; see call."""

    def __init__(self, name: str, forward: Callable[..., Any], backward: Callable[..., Any] | None,
                 infer: Callable[..., Any] | None, n_inputs: int, n_outputs: int, n_attrs: int):
        self.name, self.n_inputs, self.n_outputs, self.n_attrs = name, n_inputs, n_outputs, n_attrs
        self._functions = (self._infer, self._forward, self._backward if backward else None)
        self._numbers: weakref.WeakKeyDictionary[_context.Engine, int] = weakref.WeakKeyDictionary()
        self._given: dict[str, Any] = {"forward": forward, "backward": backward, "infer": infer}
        self.__doc__ = forward.__doc__

    def register(self, context: _context.Context) -> int:
        """Its number on the context's engine. ALREADY_EXISTS says that the engine has another op of that name."""
        engine = context.engine.itself
        if (number := self._numbers.get(engine)) is None:
            number = raw.dlcore_op_register(context, self.name, self.n_inputs, self.n_outputs, self.n_attrs, self._functions)
            self._numbers[engine] = number
        return number

    def __call__(self, *inputs: Any, attrs: Sequence[int] = ()) -> Any:
        if len(inputs) != self.n_inputs or len(attrs) != self.n_attrs:
            raise InvalidArgument(f"{self.name}: {len(inputs)} inputs and {len(attrs)} attributes were given, expected "
                                  f"{self.n_inputs} and {self.n_attrs}")
        context = next((x.context for x in inputs if isinstance(x, Tensor)), None) or _context.current()
        return raw.op(context, self.register(context), inputs, attrs, self.n_outputs)

    # ---- What the engine calls

    def _attrs(self, call: Any) -> list[int]:
        return [raw.dlcore_op_call_attr(call, index) for index in range(self.n_attrs)]

    def _inputs(self, call: Any) -> list[Tensor]:
        return [raw.dlcore_op_call_input(call, index) for index in range(self.n_inputs)]

    def _infer(self, context: _context.Context, call: Any) -> None:
        inputs = self._inputs(call)
        infer = self._given["infer"]
        kinds = [inputs[0]] * self.n_outputs if infer is None else _listed(infer(*inputs, *self._attrs(call)))
        for index, kind in enumerate(_counted(kinds, self.n_outputs, self.name, "infer")):
            if isinstance(kind, Tensor):
                raw.dlcore_op_call_set_output_like(call, index, kind)
            else:
                dtype, shape = kind
                raw.dlcore_op_call_set_output_type(call, index, raw.dlcore_dtype_by_name(dtype), shape)

    def _forward(self, context: _context.Context, call: Any) -> None:
        with _context.entered(context):
            made = _listed(self._given["forward"](*self._inputs(call), *self._attrs(call)))
        for index, value in enumerate(_counted(made, self.n_outputs, self.name, "forward")):
            raw.dlcore_op_call_set_output(call, index, need_tensor(value, self.name))

    def _backward(self, context: _context.Context, call: Any) -> None:
        outputs = [raw.dlcore_op_call_output(call, index) for index in range(self.n_outputs)]
        gradients = [raw.dlcore_op_call_gradient(call, index) for index in range(self.n_outputs)]
        with _context.entered(context):
            made = _listed(self._given["backward"](_alone(gradients), *self._inputs(call), _alone(outputs), *self._attrs(call)))
        for index, value in enumerate(_counted(made, self.n_inputs, self.name, "backward")):
            if value is not None and raw.dlcore_op_call_needs_gradient(call, index):
                raw.dlcore_op_call_set_input_gradient(call, index, value)


def need_tensor(value: Any, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: forward returned {type(value).__name__}, expected a Tensor")
    return value


def _listed(value: Any) -> list[Any]:
    kind = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)  # (dtype, shape)
    return list(value) if isinstance(value, (list, tuple)) and not kind else [value]


def _alone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _counted(values: list[Any], count: int, name: str, function: str) -> list[Any]:
    if len(values) != count:
        raise InvalidArgument(f"{name}: {function} returned {len(values)} values, expected {count}")
    return values


def custom_op(name: str, *, backward: Callable[..., Any] | None = None, infer: Callable[..., Any] | None = None,
              n_inputs: int = 1, n_outputs: int = 1, n_attrs: int = 0) -> Callable[[Callable[..., Any]], Op]:
    """Makes an op of a function of tensors. The op can be captured, differentiated and called from other languages.

        def slope(gradient, x, y):
            return gradient * y * (1 - y)

        @dl.custom_op("my_sigmoid", backward=slope)
        def my_sigmoid(x):
            return 1 / (1 + dl.exp(-x))

    The function gets `n_inputs` tensors and `n_attrs` integers, and returns `n_outputs` tensors.

    backward: (gradient, *inputs, output, *attrs) -> the gradient of each input, None for none; with several outputs
        gradient and output are lists. Written in ops it is itself differentiable.
    infer: (*inputs, *attrs) -> for each output one of the inputs, to be like it, or (dtype, shape). It must not look at
        elements. Without it the outputs are like the first input.
    """
    return lambda forward: Op(name, forward, backward, infer, n_inputs, n_outputs, n_attrs)


def call(name: str, *inputs: Any, attrs: Sequence[int] = (), n_outputs: int = 1) -> Any:
    """Calls an op by its name: one of the catalogue with packed attributes, or one that a program of whatever language
    has registered with this engine."""
    context = next((x.context for x in inputs if isinstance(x, Tensor)), None) or _context.current()
    number = raw.dlcore_catalogue_find(context, raw.DLCORE_CATALOGUE_OPS, name)
    return raw.op(context, number, inputs, attrs, n_outputs)
