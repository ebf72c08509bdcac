# SPDX-License-Identifier: Apache-2.0
"""dlcore-sys: every declaration of the headers, and a test that holds them against the headers."""

import re

from . import text

SCALARS = {"int32_t": "i32", "int64_t": "i64", "uint8_t": "u8", "uint32_t": "u32", "uint64_t": "u64",
           "float": "f32", "double": "f64", "char": "c_char", "void": "c_void"}


def files(api):
    names = {"alias": _alias, "type": _field_type, "callback": _callback, "returns": _returns,
             "parameters": _parameters, "name": text.word, "doc": text.verbatim}
    return {
        "bindings/rust/dlcore-sys/src/generated.rs": ("declarations.rs.j2", {"api": api, **names}),
        "bindings/rust/dlcore-sys/tests/header.rs": ("header.rs.j2", {"api": api, **names}),
    }


def _alias(c):
    return SCALARS[c]


def _type(raw):
    """A C type in Rust, from the inside out: each star makes a pointer to what stands before it."""
    kind, constant = SCALARS.get(raw["base"], raw["base"]), False
    for token in re.findall(r"\*|const", raw["c"]):
        kind, constant = (kind, True) if token == "const" else (f"*{'const' if constant else 'mut'} {kind}", False)
    return kind


def _parameter(raw):
    return _type(raw["type"]) if "type" in raw else _callback(raw)


def _parameters(raw):
    return ", ".join(f"{text.word(item['name'])}: {_parameter(item)}" for item in raw["parameters"])


def _returns(raw):
    kind = _type(raw["returns"])
    return "" if kind == "c_void" else f" -> {kind}"


def _callback(raw):
    return f'Option<unsafe extern "C" fn({_parameters(raw)}){_returns(raw)}>'


def _field_type(field):
    kind = _parameter(field)
    return f"[{kind}; {field['length']}]" if field.get("length") else kind
