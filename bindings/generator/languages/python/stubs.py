# SPDX-License-Identifier: Apache-2.0
"""Type stubs: ops as functions and as methods, and the raw layer."""

import ops

from .signature import WIDTH, declared, doc_lines, is_method, returns, safe

C_TYPES = {"void": "None", "int32_t": "int", "int64_t": "int", "uint8_t": "int", "uint32_t": "int", "uint64_t": "int",
           "double": "float", "float": "float", "dlcore_dtype": "int", "dlcore_status": "int"}


def function(entry):
    return _documented(ops.fill(f"def {safe(entry.function)}(", declared(entry), f") -> {returns(entry)}:"), entry, "    ")


def method(entry):
    parameters = ["self", *declared(entry, skip=1)]
    return _documented(ops.fill(f"    def {safe(entry.function)}(", parameters, f") -> {returns(entry)}:"), entry, "        ")


def methods(entries):
    return [entry for entry in entries if is_method(entry)]


def _documented(head, entry, indent):
    lines = [line.replace("\\", "\\\\") for line in doc_lines(entry, WIDTH - len(indent))]
    lines[0] = f'{indent}"""{lines[0]}'
    lines = [lines[0], *(f"{indent}{line}" if line else "" for line in lines[1:])]
    return "\n".join([head, *(lines if len(lines) > 1 else []), f'{indent}"""' if len(lines) > 1 else f'{lines[0]}"""'])


def field(one):
    """The type of a field of a record."""
    if one["type"]["base"] == "char":
        return "str"
    return "list[int]" if "length" in one else C_TYPES.get(one["type"]["base"], "Any")


def annotated(names):
    return ", ".join(f"{safe(name)}: Any" for name in names)
