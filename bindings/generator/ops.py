# SPDX-License-Identifier: Apache-2.0
"""Renders what is generated from the catalogues: capi/include/dlcore/ops.h and docs/ops.md."""

import json
import re
import textwrap
from pathlib import Path

import jinja2

import catalogue
import packing
from catalogue import c_name

WIDTH = 110
RETURNS = {"op": "dlcore_tensor *", "layer": "dlcore_module *", "optimizer": "dlcore_optimizer *",
           "schedule": "dlcore_schedule *"}
FAMILY_TITLES = {"layer": "Layers", "optimizer": "Optimizers", "schedule": "Schedules"}
# What an entry of a family is made for: parameter and its type.
OWNERS = {"optimizer": ("model", "dlcore_module *"), "schedule": ("optimizer", "dlcore_optimizer *")}


def environment():
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )


def sections(entries):
    """Ops by their category, in the order of its first member; then the other families."""
    groups = {}
    for entry in entries:
        if not entry.raw.get("hidden"):
            title = FAMILY_TITLES.get(entry.family) or entry.category.replace("_", " ").capitalize()
            groups.setdefault(title, []).append(entry)
    return [{"title": title, "anchor": title.lower().replace(" ", "-"), "entries": members}
            for title, members in groups.items()]


def render_header(raw, api):
    entries = catalogue.load(raw)
    text = environment().get_template("ops.h.j2").render(
        sections=sections(entries), max_string=catalogue.MAX_STRING, comment=_comment, signature=_signature,
        body=_body, beside=_beside, option_defaults=packing.option_defaults, c_name=c_name)
    _check_names(text, api)
    return re.sub(r"\n{3,}", "\n\n", text)


def _check_names(text, api):
    """No generated function may be called like another one, of either kind."""
    taken = {function["name"] for function in api["functions"]}
    for name in re.findall(r"^static inline [^(]*?(dlcore_\w+)\(", text, re.MULTILINE):
        if name in taken:
            raise catalogue.CatalogueError(f"{name} would be declared twice")
        taken.add(name)


# ---- C


def _parameters(entry, form):
    parameters = ["dlcore_context *ctx"]
    if entry.family == "layer":
        parameters += {"none": [], "one": ["dlcore_module *child"],
                       "list": ["dlcore_module *const *children", "int64_t n_children"]}[entry.children]
    elif entry.family in OWNERS:
        name, kind = OWNERS[entry.family]
        parameters.append(f"{kind}{name}")
    for item in entry.called_inputs:
        name = c_name(item["name"])
        if item["variadic"]:
            parameters += [f"dlcore_tensor *const *{name}", f"int32_t n_{item['name']}"]
        else:
            parameters.append(f"dlcore_tensor *{name}")
    for attr in entry.attrs:
        if attr.positional if form == "short" else not attr.in_options or attr.separate:
            parameters += attr.parameters()
    if form == "ex":
        parameters.append(f"const dlcore_{entry.function}_options *options")
    if _returns_many(entry):
        parameters += [f"dlcore_tensor **{c_name(output['name'])}" for output in entry.visible_outputs]
    return parameters


def _returns_many(entry):
    return entry.family == "op" and len(entry.visible_outputs) != 1


def _signature(entry, form):
    returns = "dlcore_status " if _returns_many(entry) else RETURNS[entry.family]
    start = f"static inline {returns}dlcore_{entry.function}{'_ex' if form == 'ex' else ''}("
    return fill(start, _parameters(entry, form), ")")


def fill(start, items, end):
    """start + items + end, broken after commas and aligned to the parenthesis."""
    if not items:
        return start + end
    lines = [start]
    for index, item in enumerate(items):
        piece = item + (end if index == len(items) - 1 else ",")
        if lines[-1] == start or len(lines[-1]) + 1 + len(piece) + 2 <= WIDTH:
            lines[-1] += piece if lines[-1] == start else f" {piece}"
        else:
            lines.append(" " * len(start) + piece)
    return "\n".join(lines)


def _body(entry, form):
    failure = "DLCORE_INVALID_ARGUMENT" if _returns_many(entry) else "NULL"
    attrs = entry.short_attrs if form == "short" else entry.attrs
    lines = [f"dlcore_{entry.function}_options o;"] if form == "ex" else []
    lines += packing.declare_words(attrs) + packing.declare_call(entry)
    if form == "ex":
        lines += [f"dlcore_{entry.function}_options_init(&o, sizeof o);",
                  f'if (!dlcore_ops_take_options(ctx, "{entry.name}", &o, sizeof o, options)) return {failure};']
        lines += packing.options_form(entry, failure)
    else:
        lines += packing.short_form(entry, failure)
    return lines + packing.call(entry, attrs)


def wrap(text, width, indent=""):
    lines = []
    for line in text.split("\n"):
        hanging = indent + re.match(r"\s*", line).group()
        lines += textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=hanging,
                               break_long_words=False, break_on_hyphens=False) or [""]
    return lines


def _comment(entry):
    lines = wrap(entry.doc.strip(), WIDTH - 3)
    docs = [(item["name"], item["doc"]) for item in entry.called_inputs]
    docs += [(attr.name, attr.doc) for attr in entry.attrs if attr.positional]
    for name, doc in docs:
        lines += wrap(f"  {name}: {doc}", WIDTH - 3) if doc else []
    if entry.family == "op":
        lines += wrap(f"Op {entry.number}; {facts(entry)}", WIDTH - 3)
    return "/* " + "\n".join(lines).replace("*/", "* /").replace("\n", "\n * ").replace(" * \n", " *\n") + " */"


def _beside(attr):
    parts = [] if attr.default is None else [f"default {json.dumps(attr.default)}".replace('"', "")]
    text = "; ".join([*parts, *([" ".join(attr.doc.split())] if attr.doc else [])])
    return f" /* {text.replace('*/', '* /')} */" if text else ""


# ---- Markdown


def facts(entry):
    """One line: dtypes, derivative, effect."""
    parts = [part for part in (entry.dtypes(),) if part]
    parts.append("differentiable" if entry.differentiable else "not differentiable")
    if entry.effect == "random":
        parts.append("draws random numbers")
    if entry.view:
        parts.append("a view: shares storage")
    if entry.composite:
        parts.append("composed of other ops")
    return "; ".join(parts)


def _prose(text):
    """Plain text as Markdown: formulas keep their stars and angle brackets."""
    return re.sub(r"(?<!`)([*<])", r"\\\1", text.strip())


def _cell(text):
    return " ".join(_prose(text).replace("|", r"\|").split())


def _default(attr):
    if attr.required:
        return "required"
    return "absent" if attr.default is None else f"`{json.dumps(attr.default)}`".replace('"', "")


def _call(entry):
    items = {"one": ["child"], "list": ["children"]}.get(entry.raw.get("children"), [])
    items += [OWNERS[entry.family][0]] if entry.family in OWNERS else []
    items += [item["name"] for item in entry.called_inputs]
    items += [attr.name for attr in entry.attrs if attr.positional]
    keywords = [f"{attr.name}={json.dumps(attr.default)}".replace("null", "none")
                for attr in entry.attrs if not attr.positional]
    return f"{entry.function}({', '.join(items + keywords)})"


def render_reference(raw):
    entries = catalogue.load(raw)
    text = environment().get_template("ops.md.j2").render(
        version=raw["version"], sections=sections(entries), hidden=[e for e in entries if e.raw.get("hidden")],
        call=_call, facts=lambda entry: _cell(facts(entry)).capitalize() + ".", default=_default, cell=_cell,
        prose=_prose)
    return re.sub(r"\n{3,}", "\n\n", text)


def render_numbers(raw):
    """Names for kernels to refer to ops by."""
    lines = "".join(
        f"  k{''.join(word.capitalize() for word in op['name'].split('_'))} = {op['number']},\n" for op in raw["ops"])
    return (f"// SPDX-License-Identifier: Apache-2.0\n// Generated by bindings/generator/run from capi/ops.json; do not edit.\n#pragma once\n\n#include <cstdint>\n\n"
            f"namespace dlcore::cpu {{\n\nenum class Op : int32_t {{\n{lines}}};\n\n}}  // namespace dlcore::cpu\n")
