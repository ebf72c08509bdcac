# SPDX-License-Identifier: Apache-2.0
"""Renders the generated part of the Java binding: its SWIG interface, the layout of the C structs, and a typed
method or class for every op, layer, optimizer, schedule and status code."""

import re

import catalogue
import java_calls as calls
import ops

ROOT = "bindings/java/src/generated"
PACKAGE = f"{ROOT}/java/org/dlcore"
SIZES = {"char": 1, "uint8_t": 1, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "double": 8}
ACCESSORS = {1: "get", 4: "getInt", 8: "getLong"}


def generate(api, raw):
    """Path -> text."""
    entries = [calls.Call(entry) for entry in catalogue.load(raw) if not entry.raw.get("hidden")]
    of = {family: [entry for entry in entries if entry.family == family]
          for family in ("op", "layer", "optimizer", "schedule")}
    structs = [_layout(struct, api["aliases"]) for struct in api["structs"] if struct["header"] != "plugin.h"]
    optional = [call for call in of["op"] if call.options]
    codes = _codes(api)
    files = {
        f"{ROOT}/swig/dlcore.i": _render("dlcore.i", **_interface(api)),
        f"{ROOT}/c/layout.h": _render("layout.h", structs=structs),
        f"{PACKAGE}/internal/Layout.java": _render("Layout.java", structs=structs),
        f"{PACKAGE}/Statistics.java": _render(
            "Statistics.java", struct=next(s for s in structs if s["name"] == "dlcore_engine_statistics")),
        f"{PACKAGE}/DType.java": _render("DType.java", dtypes=_dtypes(api)),
        f"{PACKAGE}/Errors.java": _render("Errors.java", codes=codes),
        f"{PACKAGE}/ContextOps.java": _render("ContextOps.java", calls=of["op"]),
        f"{PACKAGE}/TensorOps.java": _render("TensorOps.java", calls=[c for c in of["op"] if c.is_method]),
        f"{PACKAGE}/Options.java": _render("Options.java", calls=optional),
    }
    for code in codes:
        files[f"{PACKAGE}/{code['name']}Exception.java"] = _render("Exception.java", code=code)
    for call in optional:
        files[f"{PACKAGE}/op/{call.options_type}.java"] = _render("OpOptions.java", call=call)
    for call in of["layer"]:
        files[f"{PACKAGE}/nn/{call.name}.java"] = _render("Layer.java", call=call)
    for call in of["optimizer"]:
        files[f"{PACKAGE}/optim/{call.name}.java"] = _render("Optimizer.java", call=call)
    for call in of["schedule"]:
        files[f"{PACKAGE}/optim/{call.name}.java"] = _render("Schedule.java", call=call)
    return files


def _render(template, **values):
    environment = ops.environment()
    environment.globals.update(doc=_doc, prose=calls.prose, camel=calls.camel)
    text = environment.get_template(f"java/{template}.j2").render(**values)
    text = re.sub(r"^import [\w.]+\.(\w+);\n", lambda match: _used(match, text), text, flags=re.MULTILINE)
    text = re.sub(r"\n+(?=\n *}$)", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text)


def _used(match, text):
    """An import, where what it names is used."""
    return match[0] if re.search(rf"\b{match[1]}\b", text.replace(match[0], "")) else ""


# ---- The C side


def _interface(api):
    included = [header["name"] for header in api["headers"] if header["name"] not in ("dlcore.h", "plugin.h")]
    texts = sorted({f"const char *{parameter['name']}, {following['type']['c']} {following['name']}"
                    for function in api["functions"]
                    for parameter, following in zip(function["parameters"], function["parameters"][1:])
                    if parameter.get("array") == following["name"] and parameter["type"]["c"] == "const char *"})
    buffers = sorted({f"char *{parameter['name']}" for function in api["functions"]
                      for parameter in function["parameters"]
                      if "array" in parameter and parameter["type"]["c"] == "char *"})
    callbacks = [callback["name"] for callback in api["callbacks"] if callback["header"] in included]
    structs = [struct["name"] for struct in api["structs"] if struct["header"] in included]
    return {"included": included, "texts": texts, "buffers": buffers, "callbacks": callbacks, "structs": structs}


def _layout(struct, aliases):
    """Offsets of the fields, by the rules of C for the fixed-width types that the headers use."""
    fields, offset, alignment = [], 0, 1
    for field in struct["fields"]:
        base = aliases.get(field["type"]["base"], field["type"]["base"])
        size = 8 if field["type"]["pointers"] else SIZES[base]
        offset = -(-offset // size) * size
        fields.append({"name": field["name"], "offset": offset, "size": size, "doc": field["doc"],
                       "constant": field["name"].upper(), "accessor": ACCESSORS[size]})
        offset += size * field.get("length", 1)
        alignment = max(alignment, size)
    name = struct["name"].removeprefix("dlcore_")
    return {"name": struct["name"], "class": calls.pascal(name), "fields": fields,
            "size": -(-offset // alignment) * alignment}


def _codes(api):
    values = next(enum["values"] for enum in api["enums"] if enum["alias"] == "dlcore_status")
    return [{"name": calls.pascal(value["name"].removeprefix("DLCORE_").lower()), "value": value["value"],
             "text": value["name"].removeprefix("DLCORE_")} for value in values if value["value"]]


def _dtypes(api):
    values = next(enum["values"] for enum in api["enums"] if enum["alias"] == "dlcore_dtype")
    return [{"name": value["name"].removeprefix("DLCORE_"), "value": value["value"], "doc": value["doc"]}
            for value in values if value["value"]]


# ---- Javadoc


def _doc(lines, indent):
    """A Javadoc comment from paragraphs and tags, wrapped."""
    wrapped = [piece for line in lines for piece in ops.wrap(line, 100 - len(indent) - 3)]
    body = "\n".join(f"{indent} * {line}".rstrip() for line in wrapped)
    return f"{indent}/**\n{body}\n{indent} */"
