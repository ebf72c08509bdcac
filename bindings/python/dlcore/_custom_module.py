# SPDX-License-Identifier: Apache-2.0
"""Modules whose forward is written in Python: how a subclass of Module becomes one of the engine's."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from . import _context
from . import _dlcore as raw
from ._codes import FailedPrecondition
from ._custom_op import need_tensor

if TYPE_CHECKING:
    from ._module import Module


class Body:
    """What the engine's module calls. It has the attributes of the Python object, but does not hold the object: that
    would keep both alive for ever."""

    def __init__(self, module: Module):
        self.kind, self.attributes, self.address = type(module), module.__dict__, 0

    def __call__(self, context: _context.Context, lent: Any, call: Any) -> None:
        x = raw.dlcore_op_call_input(call, 0)
        whole = raw.address(lent) == self.address
        attributes = self.attributes if whole else mirrored(self.attributes, context, lent)
        module = alike(self.kind, lent._rebind(context), attributes)
        with _context.entered(context):
            raw.dlcore_op_call_set_output(call, 0, need_tensor(module.forward(x), self.kind.__name__))


def alike(kind: type[Module], handle: Any, attributes: dict[str, Any]) -> Any:
    """An object of that class for a handle, which it takes over."""
    module = kind.__new__(kind)
    module._take(handle)
    object.__setattr__(module, "__dict__", attributes)
    return module


def mirrored(attributes: dict[str, Any], context: _context.Context, snapshot: Any) -> dict[str, Any]:
    """The attributes as a snapshot has them: its own children and variables in the places of the module's."""
    from ._module import Module, Variable

    places: dict[str, Any] = {}
    for index, (name, child) in enumerate(children_of(attributes)):
        handle = raw.dlcore_module_child(snapshot, index)._rebind(context)
        inner = mirrored(child.__dict__, context, handle) if hasattr(child, "forward") else child.__dict__
        places[name] = alike(type(child), handle, inner)
    found = {**attributes}
    for name, value in attributes.items():
        if isinstance(value, Module):
            found[name] = places[name]
        elif isinstance(value, Variable):
            found[name] = raw.dlcore_module_find(context, snapshot, value.name).on(context)
        elif _is_list(value):
            found[name] = type(value)(places[f"{name}_{place}"] for place in range(len(value)))
    return found


def _is_list(value: Any) -> bool:
    from ._module import Module

    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, Module) for item in value)


def children_of(attributes: dict[str, Any]) -> list[tuple[str, Module]]:
    """The modules among the attributes, in the order they were set, by their names in paths. Those of a list are
    numbered: blocks_0, blocks_1."""
    from ._module import Module

    found: list[tuple[str, Module]] = []
    for name, value in attributes.items():
        if isinstance(value, Module):
            found.append((name, value))
        elif _is_list(value) and name != "_recipe":
            found += [(f"{name}_{place}", item) for place, item in enumerate(value)]
    return found


def define(module: Module) -> None:
    """Makes it one of the engine's, now that its attributes are there."""
    from ._module import Variable

    context, attributes = _context.current(), module.__dict__
    children = children_of(attributes)
    variables = [value for value in attributes.values() if isinstance(value, Variable)]
    body = Body(module)
    raw.dlcore_engine_collect(context.engine)  # of modules that have gone
    module._take(raw.dlcore_module_define(context, type(module).__name__, [child for _, child in children],
                                          ",".join(name for name, _ in children) or None, variables, body))
    body.address = raw.address(module)


def wrap_init(cls: type[Module]) -> None:
    """Lets `define` follow the outermost __init__ of a class with a forward."""
    init = cls.__init__

    @functools.wraps(init)
    def __init__(self: Module, *arguments: Any, **keywords: Any) -> None:
        init(self, *arguments, **keywords)
        if type(self) is cls and self.released:
            define(self)

    cls.__init__ = __init__  # type: ignore[method-assign]


def check_attribute(module: Module, name: str, value: Any) -> None:
    """Children and variables are those that __init__ has set."""
    from ._module import Module, Variable

    if not module.released and (isinstance(value, (Module, Variable)) or _is_list(value)):
        raise FailedPrecondition(f"{type(module).__name__}: {name} is set after __init__; a module's parts are fixed then")


def blueprint(module: Module) -> tuple[Any, ...]:
    """What a module like it is made from, for pickle."""
    parts = []
    for name, value in module.__dict__.items():
        if _is_list(value):
            parts.append((name, "modules", type(value)([item._blueprint() for item in value])))
        elif hasattr(value, "_blueprint"):
            parts.append((name, "module", value._blueprint()))
        else:
            parts.append((name, "value", value))
    return type(module), parts


def rebuild(cls: type[Module], parts: list[tuple[str, str, Any]]) -> Module:
    """What pickle calls."""
    from ._module import rebuild as rebuild_module

    module = cls.__new__(cls)
    for name, kind, value in parts:
        if kind == "modules":
            value = type(value)(rebuild_module(*item) for item in value)
        elif kind == "module":
            value = rebuild_module(*value)
        module.__dict__[name] = value
    define(module)
    return module
