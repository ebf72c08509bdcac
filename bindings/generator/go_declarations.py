# SPDX-License-Identifier: Apache-2.0
"""The C API as Go declarations: handles as integers, so that nothing a call is given holds a pointer; structs of the
same layout; a shim in C and a function in Go for each C function."""

import re

import ops

SCALARS = {"int32_t": "int32", "int64_t": "int64", "uint8_t": "uint8", "uint32_t": "uint32", "uint64_t": "uint64",
           "float": "float32", "double": "float64", "char": "byte", "void": "byte"}
LEFT_OUT = ("plugin.h",)  # the contract of devices, which are not written in Go; it declares no function
WORDS = ("type", "func", "range", "map")


def generate(api, directory):
    """Path -> text."""
    crossing = _Crossing(api)
    functions = [crossing.function(function) for function in api["functions"]]
    values = {
        "functions": functions, "pure": [f for f in functions if f["nocallback"]],
        "handles": [(camel(handle["name"].removeprefix("dlcore_")), "uintptr") for handle in api["handles"]],
        "structs": [crossing.struct(struct) for struct in api["structs"] if struct["header"] not in LEFT_OUT],
        "constants": [(camel(value["name"].removeprefix("DLCORE_").lower()), f"= {value['value']}")
                      for enum in api["enums"] if not enum["alias"] and enum["header"] not in LEFT_OUT
                      for value in enum["values"]]
                     + [("HeaderVersion", f"= {api['constants']['DLCORE_VERSION']}")],
    }
    return {f"{directory}/{name}": render(f"{template}.j2", **values) for name, template in
            (("shims_gen.h", "shims.h"), ("functions_gen.go", "functions.go"), ("types_gen.go", "types.go"))}


def render(template, **values):
    text = ops.environment().get_template(f"go/{template}").render(columns=columns, **values)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def columns(rows):
    """Lines of a block whose cells stand below each other, as gofmt wants them."""
    widths = [max(len(row[i]) for row in rows) for i in range(max(map(len, rows)) - 1)]
    return "\n".join("\t" + " ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0])).rstrip()
                     for row in rows)


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


def _word(name):
    head, *rest = name.split("_")
    joined = head + "".join(part.capitalize() for part in rest)
    return f"{joined}_" if joined in WORDS else joined


class _Crossing:
    def __init__(self, api):
        self.handles = {handle["name"] for handle in api["handles"]}
        self.structs = {struct["name"] for struct in api["structs"]}
        self.callbacks = {callback["name"] for callback in api["callbacks"]}
        self.aliases = api["aliases"]

    def struct(self, struct):
        fields = []
        for field in struct["fields"]:
            kind = self.scalar(field["type"]["base"])
            length = f"[{field['length']}]" if "length" in field else ""
            fields.append((camel(field["name"]), f"{length}{kind}"))
        return {"name": camel(struct["name"].removeprefix("dlcore_")), "fields": fields}

    def scalar(self, base):
        return SCALARS[self.aliases.get(base, base)]

    def function(self, function):
        parameters = [self.parameter(parameter) for parameter in function["parameters"]]
        returns = self.result(function["returns"])
        executes = any(parameter["shim"] == "uintptr_t" and parameter["go"] == "Context" for parameter in parameters)
        return {
            "name": function["name"], "go": camel(function["name"].removeprefix("dlcore_")), "parameters": parameters,
            "returns": returns, "doc": function["doc"],
            # An accessor looks at one object and calls nobody.
            "nocallback": function["class"] in ("value", "borrowed") and not executes,
            # What it is given by pointer it does not keep. Of a call that may call back Go does not take our word.
            "noescape": any(parameter["pointer"] for parameter in parameters)}

    def parameter(self, parameter):
        """How it crosses: its Go type, its type in the shim, how each side converts it."""
        name = parameter["name"]
        word = _word(name)
        if "type" not in parameter:  # a pointer to a function, spelled out
            types = ", ".join(inner["type"]["c"] for inner in parameter["parameters"])
            return self.address(name, f"({parameter['returns']['c']} (*)({types})){name}", "uintptr")
        type_ = parameter["type"]
        base, pointers = type_["base"], type_["pointers"]
        if base in self.callbacks:
            return self.address(name, f"({base}){name}", "uintptr")
        if base in self.handles and pointers == 1:
            return self.address(name, f"({type_['c']}){name}", camel(base.removeprefix("dlcore_")))
        if base == "void" and name == "user_data":
            return self.address(name, f"({type_['c']}){name}", "uintptr")
        if not pointers:
            go = self.scalar(base)
            shim = self.aliases.get(base, base)
            return {"name": name, "word": word, "go": go, "shim": shim, "to_c": name, "to_shim": f"C.{shim}({word})",
                    "pointer": False}
        if base in self.structs:
            go, shim, to_shim = f"*{camel(base.removeprefix('dlcore_'))}", f"{base} *", f"(*C.{base})(unsafe.Pointer({word}))"
        elif base in self.handles or pointers == 2:  # an array of handles or strings, or a place for one handle
            kind = camel(base.removeprefix("dlcore_")) if base in self.handles else "uintptr"
            go, shim, to_shim = f"*{kind}", "uintptr_t *", f"(*C.uintptr_t)(unsafe.Pointer({word}))"
        else:
            kind = self.scalar(base)
            c = {"byte": "uint8_t"}.get(kind, self.aliases.get(base, base))
            go, shim, to_shim = f"*{kind}", f"{c} *", f"(*C.{c})({word})"
        return {"name": name, "word": word, "go": go, "shim": shim, "to_c": f"({type_['c']}){name}", "to_shim": to_shim,
                "pointer": True}

    @staticmethod
    def address(name, to_c, go):
        return {"name": name, "word": _word(name), "go": go, "shim": "uintptr_t", "to_c": to_c,
                "to_shim": f"C.uintptr_t({_word(name)})", "pointer": False}

    def result(self, type_):
        if type_["c"] == "void":
            return None
        base = type_["base"]
        if type_["pointers"] and base == "char":
            return {"go": "Chars", "shim": "uintptr_t", "cast": "(uintptr_t)"}
        if type_["pointers"]:
            return {"go": camel(base.removeprefix("dlcore_")) if base in self.handles else "uintptr",
                    "shim": "uintptr_t", "cast": "(uintptr_t)"}
        return {"go": self.scalar(base), "shim": self.aliases.get(base, base), "cast": ""}
