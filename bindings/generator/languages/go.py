# SPDX-License-Identifier: Apache-2.0
"""Renders the generated part of the Go binding: the raw functions, and one for each op, layer, optimizer and schedule."""

import re
import textwrap

import catalogue
import go_declarations
import ops
from go_declarations import camel, render

DIRECTORY = "bindings/go"
WIDTH = 100
WORDS = """break case chan const continue default defer else fallthrough for func go goto if import interface map
package range return select struct switch type var""".split()
# The Go type of an attribute, as a parameter or as the underlying type of its option.
TYPES = {"int": "int", "bool": "bool", "dtype": "DType", "float": "float64", "string": "string", "ints": "[]int",
         "dims": "[]int"}
# Functions and options of each family. Families of one package share their options.
FUNCTIONS = {"op": "ops", "layer": "nn/layers", "optimizer": "optim/optimizers", "schedule": "optim/schedules"}
OPTIONS = {"ops_options": ("dlcore", ["op"]), "nn/layers_options": ("nn", ["layer"]),
           "optim/options": ("optim", ["optimizer", "schedule"])}
INITIALS = {"dtype": "DType", "lr": "LR"}


def generate(api, raw):
    """Path -> text."""
    entries = [entry for entry in catalogue.load(raw) if not entry.raw.get("hidden")]
    files = go_declarations.generate(api, f"{DIRECTORY}/internal/raw")
    files[f"{DIRECTORY}/codes_gen.go"] = render("codes.go.j2", **_codes(api))
    for family, path in FUNCTIONS.items():
        files[f"{DIRECTORY}/{path}_gen.go"] = _family(family, [entry for entry in entries if entry.family == family])
    for path, (package, families) in OPTIONS.items():
        files[f"{DIRECTORY}/{path}_gen.go"] = _options(package, [entry for entry in entries if entry.family in families])
    files["tests/conformance/go/calls_gen.go"] = _calls([entry for entry in entries if entry.family == "op"])
    return files


def comment(text):
    lines = []
    for line in text.split("\n"):
        # gofmt wants the lines of a list indented by four.
        lines += textwrap.wrap(line, WIDTH - 3, subsequent_indent="    " if line.startswith("  - ") else "",
                               break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(f"// {line}".rstrip() for line in lines)


def _codes(api):
    """Constants, and rows of the map from constants to names, of status codes and of dtypes."""
    tables = {}
    for alias, table, kind in (("dlcore_status", "code", "Code"), ("dlcore_dtype", "dtype", "DType")):
        values = next(enum["values"] for enum in api["enums"] if enum["alias"] == alias)
        values = [(_constant(alias, value["name"]), value) for value in values if value["value"] != 0]
        tables[f"{table}s"] = [(name, f"{kind} = {value['value']}") for name, value in values]
        tables[f"{table}_names"] = [(f"{name}:", f'"{_text(alias, value["name"])}",') for name, value in values]
    return tables


def _text(alias, name):
    """As the library says it."""
    name = name.removeprefix("DLCORE_")
    return name.lower() if alias == "dlcore_dtype" else name


def _constant(alias, name):
    text = _text(alias, name)
    if alias == "dlcore_dtype":
        return text.upper() if any(c.isdigit() for c in text) else text.capitalize()
    return camel(text.lower())


# ---- Options: a named type for each attribute, whose values are the options


def _is_option(entry, attr):
    """What has a default may be left out. A positional one of an op or a layer is still a parameter."""
    if entry.family in ("optimizer", "schedule"):
        return not attr.required
    return not attr.positional or attr.optional


def _is_dtype(family, attr):
    """The option of an op's attribute `dtype` is a DType itself."""
    return family == "op" and attr.kind == "dtype" and attr.name == "dtype"


def _type(family, attr):
    return "dlcore.DType" if family != "op" and attr.kind == "dtype" else TYPES[attr.kind]


def _key(attr):
    return attr.name, attr.kind, tuple(attr.choices)


def _option_names(entries):
    """An option is shared by all entries that have the same attribute; where kinds differ, each entry's name leads."""
    kinds = {}
    for entry in entries:
        for attr in entry.attrs:
            if _is_option(entry, attr):
                kinds.setdefault(attr.name, {}).setdefault(_key(attr), []).append(entry)
    names = {}
    for name, by_key in kinds.items():
        for key, users in by_key.items():
            plain = "".join(INITIALS.get(part, camel(part)) for part in name.split("_"))
            names[key] = plain if len(by_key) == 1 else f"{_title(users[0])}{plain}"
    return names


def _options(package, entries):
    names = _option_names(entries)
    options = {}
    for entry in entries:
        for attr in entry.attrs:
            if _is_option(entry, attr):
                option = options.setdefault(names[_key(attr)], {"attr": attr, "uses": []})
                option["uses"].append({"entry": _title(entry), "doc": " ".join(attr.doc.split()),
                                       "default": _default_text(attr), "options": _options_type(entry),
                                       "assign": _assign(entry, attr)})
    family = entries[0].family
    described = [{"name": name, "type": _type(family, option["attr"]), "uses": option["uses"],
                  "declared": not _is_dtype(family, option["attr"]),
                  "constants": [(f"{name}{camel(choice)}", f'{name} = "{choice}"') for choice in option["attr"].choices],
                  "doc": comment(_option_doc(name, option))} for name, option in options.items()]
    with_options = [{"title": _title(entry), "interface": _interface(entry), "options": _options_type(entry),
                     "fields": [_field_of(entry, attr) for attr in entry.attrs if _is_option(entry, attr)],
                     } for entry in entries if _has_options(entry)]
    for entry in with_options:
        entry["declared"] = [(field["name"], field["type"]) for field in entry["fields"]]
    return render("options.go.j2", package=package, options=described, entries=with_options,
                  imports=any(option["type"].startswith("dlcore.") for option in described))


def _option_doc(name, option):
    """One line where all users say the same."""
    texts = {}
    for use in option["uses"]:
        said = "; ".join(part for part in (use["doc"], use["default"]) if part)
        texts.setdefault(said, []).append(use["entry"])
    if len(texts) == 1:
        (said, users), = texts.items()
        return f"{name} is an option of {_enumerate(users)}" + (f": {said}." if said else ".")
    return f"{name} is an option.\n\n" + "\n".join(
        f"  - {_enumerate(users)}" + (f": {said}" if said else "") for said, users in texts.items())


def _enumerate(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _default_text(attr):
    if attr.default is None:
        return "absent by default"
    if isinstance(attr.default, bool):
        return f"by default {str(attr.default).lower()}"
    return f"by default {attr.default}"


def _has_options(entry):
    return any(_is_option(entry, attr) for attr in entry.attrs)


def _title(entry):
    return camel(entry.name)


def _unexported(entry):
    return re.sub(r"^[A-Z]+(?![a-z])|^[A-Z]", lambda match: match[0].lower(), _title(entry))


def _interface(entry):
    return f"{_title(entry)}Option"


def _options_type(entry):
    return f"{_unexported(entry)}Options"


def _assign(entry, attr):
    """Statements of an option v that set its field."""
    value = f"{_type(entry.family, attr)}(v)"
    if _is_pointer(attr):
        return [f"value := {value}", f"o.{_name(attr.name)} = &value"]
    return [f"o.{_name(attr.name)} = {value}"]


def _is_pointer(attr):
    return attr.optional and not attr.is_list


def _field_of(entry, attr):
    """A field of the options: what may be absent is a pointer, or a list that may be nil."""
    kind = _type(entry.family, attr)
    default = None if _is_pointer(attr) else _literal(attr)
    return {"name": _name(attr.name), "type": f"*{kind}" if _is_pointer(attr) else kind, "default": default}


def _literal(attr):
    if attr.default is None or attr.is_list:
        return None
    if attr.kind == "dtype":
        return {"bool": "Bool"}.get(attr.default, attr.default.upper())
    if attr.kind == "string":
        return f'"{attr.default}"'
    if attr.kind == "bool":
        return "true" if attr.default else "false"
    return repr(attr.default)


# ---- Methods and constructors


def _name(name):
    parts = name.split("_")
    joined = parts[0] + "".join(part.capitalize() for part in parts[1:])
    return f"{joined}_" if joined in WORDS else joined


def _is_operand(entry, item):
    """An input that may be a number, since others decide its dtype."""
    if entry.family != "op" or not entry.raw.get("elementwise") or item["type"] not in entry.raw["types"]:
        return False
    return sum(other["type"] == item["type"] for other in entry.called_inputs) > 1


def _inputs(entry):
    """(name, Go type) of each input."""
    given = []
    for item in entry.called_inputs:
        kind = "[]*Tensor" if item["variadic"] else "Operand" if _is_operand(entry, item) else "*Tensor"
        given.append({"name": _name(item["name"]), "type": kind, "raw": item})
    return given


def _parameters(entry):
    """(name, type) of the attributes that are parameters."""
    return [(_name(attr.name), _type(entry.family, attr)) for attr in entry.attrs if not _is_option(entry, attr)]


def _pack(entry, attr):
    """A statement that appends an attribute to words."""
    value = f"o.{_name(attr.name)}" if _is_option(entry, attr) else _name(attr.name)
    if attr.optional:
        return f"words.Optional{attr.kind.capitalize()}({value})"
    return f"words.Int(int({value}))" if attr.kind == "dtype" else f"words.{attr.kind.capitalize()}({value})"


def _leading(entry):
    """How many attributes are parameters, in front of all options; 0 when an option stands between them."""
    given = [not _is_option(entry, attr) for attr in entry.attrs]
    count = sum(given)
    return count if all(given[:count]) else 0


def _family(family, entries):
    described = []
    for entry in entries:
        packs = [_pack(entry, attr) for attr in entry.attrs]
        described.append({
            "entry": entry, "title": _title(entry), "inputs": _inputs(entry) if family == "op" else [],
            "parameters": _parameters(entry), "options": _has_options(entry), "interface": _interface(entry),
            "constructor": f"new{_title(entry)}Options", "doc": comment(_doc(entry)),
            "given": packs[:_leading(entry)], "optional": packs[_leading(entry):],
            "outputs": len(entry.visible_outputs) if family == "op" else 1,
            "method": family == "op" and _is_method(entry),
            "brief": comment(f"{_title(entry)} is [Context.{_title(entry)}] on the context of the tensor.")})
    template = {"op": "ops.go.j2", "layer": "layers.go.j2", "optimizer": "optimizers.go.j2",
                "schedule": "schedules.go.j2"}[family]
    return render(template, entries=described, arguments=_arguments, method_arguments=_method_arguments, call=_call)


def _calls(entries):
    """Calls of the typed functions for the conformance cases."""
    names = _option_names(entries)
    described = []
    for entry in entries:
        arguments = [{"name": _name(attr.name), "raw": attr.name,
                      "option": names[_key(attr)] if _is_option(entry, attr) else None,
                      "value": f'c.{attr.kind if attr.kind != "dims" else "ints"}("{attr.name}")'} for attr in entry.attrs]
        described.append({"entry": entry, "title": _title(entry), "inputs": _inputs(entry), "arguments": arguments,
                          "options": _has_options(entry), "interface": _interface(entry),
                          "parameters": _parameters(entry), "outputs": len(entry.visible_outputs)})
    return render("calls.go.j2", entries=described, passed=_passed)


def _passed(item):
    names = [given["name"] for given in item["inputs"]] + [name for name, _ in item["parameters"]]
    return ", ".join([*names, *(["options..."] if item["options"] else [])])


def _call(item):
    """The expression that runs an op."""
    number, names = item["entry"].number, [given["name"] for given in item["inputs"]]
    variadic = bool(names) and item["inputs"][-1]["raw"]["variadic"]
    packed = bool(item["given"] or item["optional"])
    if item["outputs"] == 1 and not variadic and len(names) <= 3:
        operands = "".join(f", {name}" for name in names)
        if any(given["type"] == "Operand" for given in item["inputs"]):
            return f"dl.{'callBinary' if len(names) == 2 else 'callOperands'}({number}{operands})"
        return f"dl.call{len(names)}({number}{operands}, {'&words' if packed else 'nil'})"
    inputs = f"[]*Tensor{{{', '.join(names)}}}"
    if variadic:
        inputs = names[-1] if len(names) == 1 else f"append([]*Tensor{{{', '.join(names[:-1])}}}, {names[-1]}...)"
    made = f"dl.invoke({number}, {inputs}, {'words.All()' if packed else 'nil'}, {item['outputs']})"
    return f"{made}[0]" if item["outputs"] == 1 else made


def _is_method(entry):
    first = entry.called_inputs[0] if entry.called_inputs else {"variadic": True}
    return not first["variadic"] and not first["optional"]


def _declare(pairs):
    """`a, b *Tensor, axis int`: names of one type stand together."""
    groups = []
    for name, kind in pairs:
        if groups and groups[-1][1] == kind:
            groups[-1][0].append(name)
        else:
            groups.append(([name], kind))
    return [f"{', '.join(names)} {kind}" for names, kind in groups]


def _arguments(item, skip=0):
    pairs = {"one": [("child", "*dlcore.Module")]}.get(item["entry"].raw.get("children"), [])
    pairs = pairs + [(given["name"], given["type"]) for given in item["inputs"][skip:]] + item["parameters"]
    if item["entry"].raw.get("children") == "list":
        if item["options"]:
            raise catalogue.CatalogueError(f"{item['title']}: children and options cannot both be variadic")
        pairs.append(("children", "...*dlcore.Module"))
    if item["options"]:
        pairs.append(("options", f"...{item['interface']}"))
    return ", ".join(_declare(pairs))


def _method_arguments(item):
    """What a method of Tensor hands to that of Context."""
    names = [given["name"] for given in item["inputs"][1:]] + [name for name, _ in item["parameters"]]
    return ", ".join(["t", *names, *(["options..."] if item["options"] else [])])


def _doc(entry):
    text = entry.doc.strip()
    name = _title(entry) if entry.family == "op" else f"New{entry.name}"
    does = "" if entry.family == "op" else f"makes the {entry.family}. "
    lines = [f"{name} {does}" + text if does else f"{name}: {text}"]
    docs = [(_name(item["name"]), item["doc"]) for item in entry.called_inputs]
    docs += [(_name(attr.name), attr.doc) for attr in entry.attrs if not _is_option(entry, attr)]
    docs = [f"  - {name}: {' '.join(doc.split())}" for name, doc in docs if doc]
    if docs:
        lines += ["", *docs]
    if entry.family == "op":
        facts = ops.facts(entry)
        lines += ["", f"{facts[0].upper()}{facts[1:]}."]
    return "\n".join(lines)
