# SPDX-License-Identifier: Apache-2.0
"""The corpus driver's way from an op's name to the generated method."""

import catalogue

from .calls import Call


def files(raw):
    calls = [Call(entry) for entry in catalogue.load(raw) if entry.family == "op" and not entry.raw.get("hidden")]
    return {"tests/conformance/rust/src/generated.rs": ("corpus.rs.j2", {
        "calls": calls, "needs": _needs, "types": _types, "short": _short, "long": _long, "inputs": _inputs,
        "value": _value})}


def _needs(call):
    kinds = ["Rest" if item["variadic"] else "Maybe" if item["optional"] else "One" for item in call.inputs]
    return ", ".join(f"Need::{kind}" for kind in kinds)


def _types(call):
    return ", ".join(f'("{attr.attr.name}", "{"|".join(attr.attr.choices) or attr.kind}", {str(attr.attr.required).lower()})'
                     for attr in call.attrs)


def _inputs(call):
    """Operands beside the receiver."""
    if call.takes_scalar:
        return []
    given = []
    for index, item in enumerate(call.inputs):
        if index == 0 and call.is_method:
            continue
        given.append(f"&x.rest({index})" if item["variadic"]
                     else f"x.maybe({index})" if item["optional"] else f"x.one({index})")
    return given


def _value(attr):
    """An attribute of the case as an argument, its default when the case has none."""
    get = f'a.{"choice" if attr.enum else attr.kind}("{attr.attr.name}")'
    if attr.optional or attr.attr.required:
        return get if attr.optional else f"{get}.unwrap()"
    default = attr.default
    if attr.attr.is_list:
        default = f"vec!{attr.attr.default}"
    return f"{get}.unwrap_or({default})"


def _receiver(call):
    return "x.one(0)." if call.is_method else "Tensor::" if call.inputs else "dl."


def _short(call):
    arguments = _inputs(call) + [_value(attr) for attr in call.positional]
    if call.takes_scalar:
        return f"ops::{call.name}(x.operand(0), x.operand(1))"
    return f"{_receiver(call)}{call.name}({', '.join(arguments)})"


def _long(call):
    return _short(call).replace(f"{call.name}(", f"{call.name}_with(", 1)[:-1]
