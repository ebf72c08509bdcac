# SPDX-License-Identifier: Apache-2.0
"""Renders the generated part of the Python binding: the SWIG interface of the raw layer, functions and methods of ops
in C, modules with a class for each layer, optimizer and schedule, type stubs."""

import re

import catalogue
import ops

from . import interface, modules, natives, stubs

DIRECTORY = "bindings/python"


def generate(api, raw):
    """Path -> text."""
    entries = [entry for entry in catalogue.load(raw) if not entry.raw.get("hidden")]
    of = {family: [entry for entry in entries if entry.family == family] for family in ("op", "layer", "optimizer", "schedule")}
    raw_layer = interface.describe(api)
    return {
        f"{DIRECTORY}/generated/dlcore.i": _render("dlcore.i", **raw_layer),
        f"{DIRECTORY}/generated/ops.h": _render("ops.h", entries=of["op"], c=natives),
        f"{DIRECTORY}/generated/functions.h": _render("functions.h", entries=of["op"], c=natives),
        f"{DIRECTORY}/dlcore/_dlcore.pyi": _render("dlcore.pyi", entries=of["op"], stubs=stubs, **raw_layer),
        f"{DIRECTORY}/dlcore/_codes.py": _render("codes.py", codes=_codes(api)),
        f"{DIRECTORY}/dlcore/_ops.py": _render("ops.py", entries=of["op"]),
        f"{DIRECTORY}/dlcore/_layers.py": _classes(of, "layer", "Module", {"_module": "Module"}),
        f"{DIRECTORY}/dlcore/_optimizers.py": _classes(of, "optimizer", "Optimizer", {"_optimizer": "Optimizer, Parameters"}),
        f"{DIRECTORY}/dlcore/_schedules.py": _classes(
            of, "schedule", "Schedule", {"_optimizer": "Optimizer", "_schedule": "Schedule"}),
    }


def _classes(of, family, base, imports):
    return _render("classes.py", family=family, base=base, imports=imports, entries=of[family], modules=modules)


def _render(template, **values):
    text = ops.environment().get_template(f"python/{template}.j2").render(**values)
    return re.sub(r"\n{4,}", "\n\n\n", _without_unused(text))


def _without_unused(text):
    """A name is imported only where it is used."""
    lines = []
    for line in text.split("\n"):
        found = re.fullmatch(r"(from \S+ import )([\w, ]+)", line)
        if found and "from __future__" not in line:
            rest = text.replace(line, "")
            names = [name for name in found[2].split(", ") if re.search(rf"\b{name}\b", rest)]
            if not names:
                continue
            line = found[1] + ", ".join(names)
        lines.append(line)
    return "\n".join(lines)


def _codes(api):
    values = next(enum["values"] for enum in api["enums"] if enum["alias"] == "dlcore_status")
    return [{"name": value["name"].removeprefix("DLCORE_").title().replace("_", ""), "value": value["value"],
             "doc": value["name"]} for value in values if value["value"] != 0]
