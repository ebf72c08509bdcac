# SPDX-License-Identifier: Apache-2.0
"""The parameters of a catalogue entry in the order of Python, with their types and defaults."""

import json
import keyword
from dataclasses import dataclass

import ops

TYPES = {"int": "SupportsIndex", "bool": "bool", "dtype": "Dtype", "float": "float", "string": "str",
         "ints": "Integers", "dims": "Integers"}
WIDTH = 110


@dataclass
class Parameter:
    name: str
    annotation: str
    default: str | None  # as Python writes it; None: required
    attr: object = None  # of the catalogue; None: an operand, a child, parameters
    index: int = -1  # of the attribute
    keyword: bool = False
    star: bool = False  # *children

    def text(self, annotated=True):
        name = f"*{self.name}" if self.star else self.name
        if not annotated:
            return name if self.default is None else f"{name}={self.default}"
        return f"{name}: {self.annotation}" + ("" if self.default is None else f" = {self.default}")


def safe(name):
    return f"{name}_" if keyword.iskeyword(name) else name


def parameters(entry):
    """Operands, positional attributes, keywords."""
    positional = []
    if entry.raw.get("children") == "one":
        positional.append(Parameter("child", "Module", None))
    if entry.family == "optimizer":
        positional.append(Parameter("parameters", "Parameters", None))
    if entry.family == "schedule":
        positional.append(Parameter("optimizer", "Optimizer", None))
    for item in entry.called_inputs:
        kind = "Sequence[Operand]" if item["variadic"] else "Operand | None" if item["optional"] else "Operand"
        positional.append(Parameter(safe(item["name"]), kind, "None" if item["optional"] else None))
    positional += [_of_attribute(attr, index) for index, attr in enumerate(entry.attrs) if attr.positional]
    # Python wants no parameter without a default behind one with a default.
    needed = max([index for index, one in enumerate(positional) if one.default is None], default=-1)
    for one in positional[: max(needed, 0)]:
        one.default = None
    keywords = [_of_attribute(attr, index) for index, attr in enumerate(entry.attrs) if not attr.positional]
    for one in keywords:
        one.keyword = True
    if entry.raw.get("children") == "list":
        return [*positional, Parameter("children", "Module", None, star=True), *keywords]
    return [*positional, *keywords]


def declared(entry, annotated=True, skip=0):
    """Texts for a parameter list, with the * before keywords."""
    found = parameters(entry)[skip:]
    texts = [one.text(annotated) for one in found]
    first = next((index for index, one in enumerate(found) if one.keyword), None)
    if first is not None and not any(one.star for one in found):
        texts.insert(first, "*")
    return texts


def _of_attribute(attr, index):
    kind = f"Literal[{', '.join(json.dumps(choice) for choice in attr.choices)}]" if attr.choices else TYPES[attr.kind]
    default = None
    if not attr.required:
        default = json.dumps(attr.default) if isinstance(attr.default, str) else repr(attr.default)
    return Parameter(safe(attr.name), f"{kind} | None" if attr.optional else kind, default, attr, index)


def is_method(entry):
    """Whether the first operand is always a tensor."""
    first = entry.called_inputs[0] if entry.called_inputs else {"variadic": True}
    return not first["variadic"] and not first["optional"]


def returns(entry):
    count = len(entry.visible_outputs)
    return "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"


def doc_lines(entry, width):
    """What it does, what each parameter means, the dtypes it is for."""
    lines = ops.wrap(entry.doc.strip(), width)
    docs = [(item["name"], item["doc"]) for item in entry.called_inputs] + [(a.name, a.doc) for a in entry.attrs]
    docs = [f"  {safe(name)}: {' '.join(doc.split())}" for name, doc in docs if doc]
    if docs:
        lines += ["", *(line for doc in docs for line in ops.wrap(doc, width))]
    if entry.family == "op" and entry.dtypes():
        lines += ["", *ops.wrap(f"{entry.dtypes()}.", width)]
    while lines and not lines[-1]:
        lines.pop()
    return lines
