# SPDX-License-Identifier: Apache-2.0
"""Classes written in Python: one for each layer, optimizer and schedule."""

import ops

from .signature import WIDTH, declared, doc_lines, parameters

PACKERS = {"int": "integer", "bool": "boolean", "dtype": "dtype", "float": "real", "string": "string",
           "ints": "integers", "dims": "dims"}


def signature(entry):
    return ops.fill("    def __init__(", ["self", *declared(entry)], ") -> None:")


def docstring(entry):
    lines = doc_lines(entry, WIDTH - 4)
    lines[0] = f'"""{lines[0]}'
    lines = [line.replace("\\", "\\\\") for line in lines]
    lines = [*lines[:-1], f'{lines[-1]}"""'] if len(lines) == 1 else [*lines, '"""']
    return "\n".join(f"    {line}" if line else "" for line in lines)


def body(entry):
    children = {"none": "()", "one": "(child,)", "list": "children"}
    of = {"optimizer": "parameters", "schedule": "optimizer"}.get(entry.family) or children[entry.children]
    return ops.fill(f"        self._make({entry.number}, {of}, [", _words(entry), "])")


def packers(entry):
    """For groups of an optimizer: name and packing function of each attribute, in order."""
    items = [f'("{one.name}", {_packer(one.attr)}, {one.default})' for one in _attributes(entry)]
    return ops.fill("    _attributes = (", [*items, ""], ")").replace(", )", ",)")


def _attributes(entry):
    return sorted((one for one in parameters(entry) if one.attr), key=lambda one: one.index)


def _packer(attr):
    return f"_pack.{PACKERS[attr.kind]}"


def _words(entry):
    """The attributes, packed: items of a list."""
    return [f"*_pack.optional({_packer(one.attr)}, {one.name}, \"{one.name}\")" if one.attr.optional
            else f"*{_packer(one.attr)}({one.name}, \"{one.name}\")" for one in _attributes(entry)]
