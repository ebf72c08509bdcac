# SPDX-License-Identifier: Apache-2.0
"""What all layers have in common, and variables. The layers themselves are in _layers, modules written in Python in
_custom_module."""

from __future__ import annotations

import io
from typing import Any, BinaryIO, Iterator, Sequence

from . import _context, _custom_module, _files
from . import _dlcore as raw
from ._codes import FailedPrecondition
from ._dlcore import Tensor
from ._files import Source
from ._types import Path


@raw.make_as
class Variable(raw.dlcore_variable):
    """A named cell that holds a tensor: a parameter, a running statistic, a learning rate."""

    __slots__ = ()

    def __init__(self, name: str, value: Tensor, *, trainable: bool = True):
        self._take(raw.dlcore_variable_create(value.context, name, value, int(trainable)))

    @property
    def name(self) -> str:
        return raw.dlcore_variable_name(self)

    @property
    def trainable(self) -> bool:
        return raw.dlcore_variable_is_trainable(self) == 1

    @trainable.setter
    def trainable(self, on: bool) -> None:
        raw.dlcore_variable_set_trainable(_context.serving(self), self, int(on))

    @property
    def value(self) -> Tensor:
        """What it holds. While recording, gradients with respect to a trainable one can be asked for."""
        return raw.dlcore_variable_read(_context.serving(self), self)

    def assign(self, value: Tensor) -> None:
        """Stores a value of the same dtype and shape, without its history."""
        raw.dlcore_variable_assign(_context.serving(self), self, value)

    def accumulate(self, value: Tensor) -> None:
        """Adds to the value."""
        raw.dlcore_variable_accumulate(_context.serving(self), self, value)

    @property
    def gradient(self) -> Tensor | None:
        """What backward added up; None when there is nothing."""
        return raw.dlcore_variable_gradient(_context.serving(self), self)

    @gradient.setter
    def gradient(self, value: Tensor | None) -> None:
        raw.dlcore_variable_set_gradient(_context.serving(self), self, value)

    def on(self, context: _context.Context) -> Variable:
        """The same variable for calls on another context of the engine."""
        return self._rebind(context)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_variable, (self.name, self.value, self.trainable)

    def __repr__(self) -> str:
        return "<released variable>" if self.released else f"<variable {self.name}>"


class Module(raw.dlcore_module):
    """A layer or a model. A program's own is a subclass whose __init__ sets modules and variables as attributes, and
    whose forward uses them:

        class Residual(nn.Module):
            def __init__(self, features):
                self.inner = nn.Linear(features, features)

            def forward(self, x):
                return x + self.inner(x).relu()

    It is saved, put inside others and frozen by snapshot like any other.
    """

    def __init__(self) -> None:
        pass

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "forward"):
            _custom_module.wrap_init(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        _custom_module.check_attribute(self, name, value)
        object.__setattr__(self, name, value)

    def _make(self, layer: int, children: Sequence[Module], words: Sequence[int]) -> None:
        """For the generated classes: makes layer number `layer` of the catalogue."""
        self._take(raw.dlcore_module_create(_context.current(), layer, children, words))
        self.__dict__["_recipe"] = (layer, tuple(children), tuple(words))

    def __call__(self, x: Any, *more: Any, **keywords: Any) -> Any:
        """What it makes of x. A forward that is written in Python may take and return anything, when it is called from
        Python."""
        if forward := getattr(self, "forward", None):
            if self.released:
                raise FailedPrecondition("module: it has been released")
            return forward(x, *more, **keywords)
        if more or keywords:
            raise TypeError(f"{type(self).__name__} takes one tensor")
        if not isinstance(x, Tensor):
            raise TypeError(f"{type(self).__name__}: expected a Tensor, found {type(x).__name__}")
        return raw.dlcore_module_call(x.context, self, x)

    @property
    def kind(self) -> str:
        """Name of the layer in the catalogue."""
        return raw.dlcore_module_kind(self)

    @property
    def children(self) -> tuple[Module, ...]:
        """The modules inside it, one level down."""
        recipe = self.__dict__.get("_recipe")
        if recipe or hasattr(self, "forward"):
            return recipe[1] if recipe else tuple(child for _, child in _custom_module.children_of(self.__dict__))
        return tuple(raw.dlcore_module_child(self, index) for index in range(raw.dlcore_module_child_count(self)))

    def __getitem__(self, index: int) -> Module:
        return self.children[index]

    def __len__(self) -> int:
        return len(self.children)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Module]:
        return iter(self.children)

    def named_variables(self) -> dict[str, Variable]:
        """All variables of the module and everything inside it by their path ("0.weight")."""
        context, found = _context.serving(self), {}
        for index in range(raw.dlcore_module_variable_count(self)):
            path = _context.text_of(raw.dlcore_module_variable_path, context, self, index)
            found[path] = raw.dlcore_module_variable(context, self, index)
        return found

    def variables(self) -> list[Variable]:
        """The same, running statistics included, in the order of their definition."""
        return [raw.dlcore_module_variable(_context.serving(self), self, index)
                for index in range(raw.dlcore_module_variable_count(self))]

    def parameters(self) -> list[Variable]:
        """The trainable variables of the module and everything inside it."""
        return [variable for variable in self.variables() if variable.trainable]

    def variable(self, path: str) -> Variable:
        """The variable at a path like "0.weight"."""
        return raw.dlcore_module_find(_context.serving(self), self, path)

    def state(self) -> dict[str, Tensor]:
        """The values of all variables by their path, without history."""
        with _context.serving(self).no_grad():
            return {path: variable.value for path, variable in self.named_variables().items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Assigns values by path. All must be there; nothing changes when one is not."""
        variables = self.named_variables()
        if variables.keys() != state.keys():
            raise KeyError(f"load_state: paths are {sorted(state)}, expected {sorted(variables)}")
        for path, variable in variables.items():
            variable.assign(state[path])

    def snapshot(self) -> Module:
        """A module that answers for ever as this one would now in inference mode, while training goes on. It may
        be used from all threads, each on a context of its own, and never changes."""
        return raw.dlcore_module_snapshot(_context.serving(self), self)

    def train(self, on: bool = True) -> Module:
        """Switches the module and everything inside it to training mode, or back."""
        raw.dlcore_module_set_training(_context.serving(self), self, int(on))
        return self

    def eval(self) -> Module:
        """Out of training mode."""
        return self.train(False)

    def save(self, file: Path | BinaryIO) -> None:
        """Saves all variables as safetensors; a file is replaced as a whole or not at all."""
        _files.save(file, (_context.serving(self), self), by_stream=raw.dlcore_module_write, by_path=raw.dlcore_module_save)

    def load(self, source: Source) -> None:
        """Loads what save wrote, from a path, a buffer or an open file; nothing changes on failure."""
        _files.load(source, (_context.serving(self), self), by_buffer=raw.dlcore_module_load_buffer,
                    by_stream=raw.dlcore_module_read, by_path=raw.dlcore_module_load)

    def to_bytes(self) -> bytes:
        """What save would write."""
        stream = io.BytesIO()
        self.save(stream)
        return stream.getvalue()

    def _blueprint(self) -> tuple[Any, ...]:
        """What a module like it is made from."""
        if hasattr(self, "forward"):
            return _custom_module.blueprint(self)
        recipe = self.__dict__.get("_recipe")
        if recipe is None:
            raise TypeError("a snapshot cannot be pickled; pickle the module, or to_bytes()")
        layer, children, words = recipe
        return type(self), layer, tuple(child._blueprint() for child in children), words

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, self._blueprint(), self.to_bytes()

    def __setstate__(self, state: bytes) -> None:
        self.load(state)

    def __repr__(self) -> str:
        if self.released:
            return "<released module>"
        inside = ", ".join(map(repr, self.children))
        count = sum(variable.value.size for variable in self.variables()) if not inside else 0
        return f"{self.kind}({inside or (f'{count} values' if count else '')})"


raw.make_as(Module)


def rebuild_variable(name: str, value: Tensor, trainable: bool) -> Variable:
    """What pickle calls."""
    return Variable(name, value, trainable=trainable)


def rebuild(cls: type[Module], *blueprint: Any) -> Module:
    """What pickle calls. Values are loaded into the whole, since paths are fixed when a part is first used."""
    if hasattr(cls, "forward"):
        return _custom_module.rebuild(cls, *blueprint)
    layer, children, words = blueprint
    module = cls.__new__(cls)
    module._make(layer, [rebuild(*child) for child in children], words)
    return module
