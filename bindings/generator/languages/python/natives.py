# SPDX-License-Identifier: Apache-2.0
"""C tables and functions of the ops: what native/ops.h works from."""

import json
import struct

from .signature import WIDTH, declared, doc_lines, is_method, parameters

KINDS = {"int": "kInt", "bool": "kBool", "dtype": "kDtype", "float": "kFloat", "string": "kString", "ints": "kInts",
         "dims": "kDims"}
DTYPES = ["none", "bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]


def text(value):
    """A C string literal."""
    return json.dumps(value, ensure_ascii=False)


def document(entry, method):
    """The docstring, headed by a signature that inspect understands."""
    receiver = ["$self", *declared(entry, False, skip=1)] if method else ["$module", *declared(entry, False)]
    lines = [f"{entry.function}({', '.join(receiver)})", "--", "", *doc_lines(entry, WIDTH)]
    return "\n      ".join(text(f"{line}\n") for line in lines)


def table(entry):
    """Rows of its parameters, and the words of their defaults."""
    rows, defaults = [], []
    for one in parameters(entry):
        words, name = [], "NULL"
        if one.attr and not one.attr.required:
            words = _default(one.attr)
            name = f"default_{entry.function}_{one.attr.name}"
            defaults.append(f"static const int64_t {name}[] = {{{', '.join(map(_word, words))}}};")
        kind = KINDS[one.attr.kind] if one.attr else "kOperand"
        optional = bool(one.attr and one.attr.optional)
        rows.append(f'{{"{one.name}", {kind}, {optional:d}, {one.default is None:d}, {one.index}, {name}, {len(words)}}}')
    return rows, defaults


def facts(entry):
    """The fields of an Op behind its signature and number."""
    inputs = entry.called_inputs
    sized = not inputs or any(attr.required and attr.kind in ("int", "ints", "dims") for attr in entry.attrs)
    values = [len(inputs), bool(inputs) and inputs[-1]["variadic"], len(entry.visible_outputs), entry.elementwise,
              entry.view, sized]
    return ", ".join(str(int(value)) for value in values)


def count(entry):
    return len(parameters(entry))


def positional(entry):
    return sum(not one.keyword for one in parameters(entry))


def method(entry):
    return is_method(entry)


def _default(attr):
    if attr.default is None:
        return [0]
    words = {
        "int": lambda v: [v], "bool": lambda v: [int(v)], "dtype": lambda v: [DTYPES.index(v)],
        "float": lambda v: list(struct.unpack("q", struct.pack("d", v))), "string": _string,
        "ints": lambda v: [len(v), *v], "dims": lambda v: [len(v), *(word for item in v for word in (0, item))],
    }[attr.kind](attr.default)
    return [1, *words] if attr.optional else words


def _string(value):
    data = value.encode()
    n = (len(data) + 7) // 8
    return [len(data), *struct.unpack(f"<{n}q", data.ljust(8 * n, b"\0"))]


def _word(value):
    return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})" if abs(value) >= 2**31 else str(value)
