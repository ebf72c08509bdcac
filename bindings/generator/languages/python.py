# SPDX-License-Identifier: Apache-2.0
"""Renders the generated part of the Python binding: its SWIG interface and its typed modules."""

import json
import keyword
import re

import catalogue
import ops

DIRECTORY = "bindings/python"
TYPES = {"int": "int", "bool": "bool", "dtype": "str", "float": "float", "string": "str",
         "ints": "Sequence[int]", "dims": "Sequence[int]"}
PACKERS = {"int": "integer", "bool": "boolean", "dtype": "dtype", "float": "real", "string": "string",
           "ints": "integers", "dims": "dims"}
WIDTH = 110


def generate(api, raw):
    """Path -> text."""
    entries = [entry for entry in catalogue.load(raw) if not entry.raw.get("hidden")]
    of = {family: [entry for entry in entries if entry.family == family] for family in ("op", "layer", "optimizer")}
    return {
        f"{DIRECTORY}/generated/dlcore.i": _render("python/dlcore.i.j2", **_interface(api)),
        f"{DIRECTORY}/dlcore/_codes.py": _render("python/codes.py.j2", codes=_codes(api)),
        f"{DIRECTORY}/dlcore/_ops.py": _render("python/ops.py.j2", entries=of["op"], is_method=_is_method, body=_op_body),
        f"{DIRECTORY}/dlcore/_layers.py": _render(
            "python/classes.py.j2", family="layer", module="_module", base="Module", imports="Module",
            entries=of["layer"], body=_layer_body),
        f"{DIRECTORY}/dlcore/_optimizers.py": _render(
            "python/classes.py.j2", family="optimizer", module="_optimizer", base="Optimizer", imports="Optimizer, Variable",
            entries=of["optimizer"], body=_optimizer_body),
    }


def _render(template, **values):
    text = ops.environment().get_template(template).render(
        signature=_signature, docstring=_docstring, **values)
    # A typing name is imported only where it is used.
    text = re.sub(r"^from typing import (.*)$", lambda match: _used(match[1], text), text, flags=re.MULTILINE)
    text = re.sub(r"\n\nfrom \. import _pack\n", "\n\nfrom . import _pack\n" if "_pack." in text else "\n\n", text)
    return re.sub(r"\n{4,}", "\n\n\n", text)


def _used(names, text):
    return "from typing import " + ", ".join(name for name in names.split(", ") if f"{name}[" in text)


# ---- SWIG


class _Unsupported(Exception):
    pass


def _interface(api):
    handles = {handle["name"] for handle in api["handles"]}
    callbacks = {callback["name"] for callback in api["callbacks"]}
    included = [header["name"] for header in api["headers"] if header["name"] not in ("dlcore.h", "plugin.h")]
    functions = {function["name"] for function in api["functions"]}
    rules, left_out, waits = {}, [], []
    for function in api["functions"]:
        try:
            found = list(_rules(function["parameters"], handles, callbacks))
        except _Unsupported as reason:
            left_out.append((function["name"], reason))
            continue
        for pattern, rule in found:
            if rules.setdefault(pattern, rule) != rule:
                raise catalogue.CatalogueError(f"{function['name']}: {pattern} crosses in two ways")
        if _executes(function):
            waits.append(function["name"])
    structs = [{"name": struct["name"], "initialised": f"{struct['name']}_init" in functions}
               for struct in api["structs"] if struct["header"] in included]
    return {"rules": sorted(rules.values()), "left_out": left_out, "waits": waits, "structs": structs,
            "included": included}


def _executes(function):
    parameters = function["parameters"]
    return (bool(parameters) and parameters[0]["type"]["c"] == "dlcore_context *" and function["class"] != "void"
            and "always_runs" not in function["traits"])


def _rules(parameters, handles, callbacks):
    """(what SWIG matches, how it crosses) for each parameter that is no plain value, string or handle."""
    for index, parameter in enumerate(parameters):
        if "type" not in parameter or parameter["type"]["base"] in callbacks:
            raise _Unsupported("takes a callback")
        following = parameters[index + 1] if index + 1 < len(parameters) else {"name": "", "type": {"c": ""}}
        base, out = parameter["type"]["base"], parameter.get("out", False)
        one, two = _declaration(parameter), _declaration(following)
        if "array" in parameter:
            if parameter["array"] != following["name"]:
                raise _Unsupported(f"{parameter['name']} stands apart from its length")
            if base in handles:
                yield f"{one}, {two}", f"%handles_{'out' if out else 'in'}({base}, {one}, {two})"
            elif base in ("void", "char"):
                yield f"{one}, {two}", f"%buffer_{'out' if out else 'in'}({one}, {two})"
            elif base == "int64_t" and not out:
                yield f"{one}, {two}", f"%integers_in({one}, {two})"
            else:
                raise _Unsupported(f"{parameter['name']} is an array of {base}")
        elif out and base in handles:
            yield one, f"%handle_out({base}, {one})"
        elif out:
            yield one, f"%integer_out({base}, {one})"
        elif base == "void":
            raise _Unsupported(f"the length of {parameter['name']} is not said")


def _declaration(parameter):
    text = parameter["type"]["c"]
    return f"{text}{'' if text.endswith('*') else ' '}{parameter['name']}"


def _codes(api):
    values = next(enum["values"] for enum in api["enums"] if enum["alias"] == "dlcore_status")
    return [{"name": value["name"].removeprefix("DLCORE_").title().replace("_", ""), "value": value["value"]}
            for value in values if value["value"] != 0]


# ---- Python


def _name(name):
    return f"{name}_" if keyword.iskeyword(name) else name


def _parameters(entry):
    """Declarations of parameters, in the order of Python."""
    positional = {"none": [], "one": [("child", "Module", None)], "list": []}[entry.raw.get("children", "none")]
    if entry.family == "optimizer":
        positional.append(("parameters", "Iterable[Variable]", None))
    for item in entry.called_inputs:
        kind = "Sequence[Operand]" if item["variadic"] else "Operand | None" if item["optional"] else "Operand"
        positional.append((_name(item["name"]), kind, "None" if item["optional"] else None))
    positional += [_declared(attr) for attr in entry.attrs if attr.positional]
    # Python wants no parameter without a default behind one with a default.
    needed = max([index for index, (_, _, default) in enumerate(positional) if default is None], default=-1)
    declared = [_text(name, kind, None if index < needed else default)
                for index, (name, kind, default) in enumerate(positional)]
    keywords = [_text(*_declared(attr)) for attr in entry.attrs if not attr.positional]
    if entry.raw.get("children") == "list":
        return [*declared, "*children: Module", *keywords]
    return [*declared, "*", *keywords] if keywords else declared


def _declared(attr):
    kind = f"Literal[{', '.join(json.dumps(choice) for choice in attr.choices)}]" if attr.choices else TYPES[attr.kind]
    if attr.required:
        return _name(attr.name), kind, None
    default = json.dumps(attr.default) if isinstance(attr.default, str) else repr(attr.default)
    return _name(attr.name), f"{kind} | None" if attr.optional else kind, default


def _text(name, kind, default):
    return f"{name}: {kind}" if default is None else f"{name}: {kind} = {default}"


def _signature(entry):
    if entry.family == "op":
        returns = "Tensor" if len(entry.visible_outputs) == 1 else "list[Tensor]"
        return ops.fill(f"def {_name(entry.function)}(", _parameters(entry), f") -> {returns}:")
    return ops.fill("    def __init__(", ["self", *_parameters(entry)], ") -> None:")


def _docstring(entry, indent):
    lines = ops.wrap(entry.doc.strip(), WIDTH - len(indent))
    docs = [(item["name"], item["doc"]) for item in entry.called_inputs] + [(a.name, a.doc) for a in entry.attrs]
    docs = [f"  {_name(name)}: {' '.join(doc.split())}" for name, doc in docs if doc]
    if docs:
        lines += ["", *(line for doc in docs for line in ops.wrap(doc, WIDTH - len(indent)))]
    if entry.family == "op":
        lines += ["", *ops.wrap(f"{entry.dtypes()}." if entry.dtypes() else "", WIDTH - len(indent))]
    while lines and not lines[-1]:
        lines.pop()
    lines[0] = f'"""{lines[0]}'
    lines = [line.replace("\\", "\\\\") for line in lines]
    lines = [*lines[:-1], f'{lines[-1]}"""'] if len(lines) == 1 else [*lines, '"""']
    return "\n".join(f"{indent}{line}" if line else "" for line in lines)


def _words(entry):
    """The attributes, packed: items of a list."""
    return [f"*_pack.optional(_pack.{PACKERS[attr.kind]}, {_name(attr.name)})" if attr.optional
            else f"*_pack.{PACKERS[attr.kind]}({_name(attr.name)})" for attr in entry.attrs]


def _is_method(entry):
    first = entry.called_inputs[0] if entry.called_inputs else {"variadic": True}
    return not first["variadic"] and not first["optional"]


def _op_body(entry):
    inputs = ", ".join(("*" if item["variadic"] else "") + _name(item["name"]) for item in entry.called_inputs)
    outputs = "" if len(entry.visible_outputs) == 1 else f", {len(entry.visible_outputs)}"
    return ops.fill(f"    return call({entry.number}, [{inputs}], [", _words(entry), f"]{outputs})")


def _layer_body(entry):
    children = {"none": "[]", "one": "[child]", "list": "children"}[entry.children]
    return ops.fill(f"        super().__init__({entry.number}, {children}, [", _words(entry), "])")


def _optimizer_body(entry):
    return ops.fill(f"        super().__init__({entry.number}, parameters, [", _words(entry), "])")
