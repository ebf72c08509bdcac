# SPDX-License-Identifier: Apache-2.0
"""Parses the public headers, strictly by the grammar that base.h describes, into the data of api.json."""

import re

import lexer

CLASSES = {
    "DLCORE_HANDLE": "handle",
    "DLCORE_BORROWED": "borrowed",
    "DLCORE_STATUS": "status",
    "DLCORE_PREDICATE": "predicate",
    "DLCORE_VALUE": "value",
    "DLCORE_VOID": "void",
}
TRAITS = {"DLCORE_ALWAYS_RUNS": "always_runs", "DLCORE_CALLBACK": "callback"}
BUILT_IN = {
    "void", "char", "float", "double",
    "int32_t", "int64_t", "uint8_t", "uint32_t", "uint64_t",
}
GENERATED = "ops.h"


def parse(include_directory):
    """All of api.json, from the headers of a directory (but not the generated one)."""
    order = ["base.h", "plugin.h"]
    paths = sorted(include_directory.glob("*.h"), key=lambda p: (p.name != order[0], p.name == order[1], p.name))
    api = {"headers": [], "constants": {}, "aliases": {}, "handles": [], "enums": [], "structs": [],
           "callbacks": [], "functions": []}
    types = set(BUILT_IN)
    for path in paths:
        if path.name == GENERATED:
            continue
        source = lexer.read(path)
        api["headers"].append({"name": path.name, "summary": source.summary})
        api["constants"].update(source.constants)
        _Parser(source, api, types).run()
    api["reserved"] = _reserved(api)
    return api


def _reserved(api):
    """Names without a noun: no catalogue entry may be called like one of them."""
    nouns = {handle["name"].removeprefix("dlcore_") for handle in api["handles"]}
    nouns |= {alias.removeprefix("dlcore_") for alias in api["aliases"]}
    nouns |= {header["name"].removesuffix(".h") for header in api["headers"]}
    nouns |= {"catalogue", "capture", "jvp", "vmap", "grad_options"}
    names = [function["name"].removeprefix("dlcore_") for function in api["functions"]]
    return sorted(f"dlcore_{name}" for name in names if not any(name.startswith(f"{noun}_") for noun in nouns))


class _Parser:
    def __init__(self, source, api, types):
        self.source, self.api, self.types = source, api, types
        self.tokens, self.at = source.tokens, 0
        self.alias = None  # the integer typedef that the next enum gives values to

    # ---- tokens

    @property
    def text(self):
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def fail(self, message):
        index = min(self.at, len(self.tokens) - 1)
        self.source.fail(self.tokens[index].line, message)

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1].text

    def accept(self, text):
        if self.text != text:
            return False
        self.at += 1
        return True

    def expect(self, *texts):
        for text in texts:
            if not self.accept(text):
                self.fail(f"expected {text!r}, found {self.text!r}")

    def name(self):
        if not re.fullmatch(r"[A-Za-z_]\w*", self.text):
            self.fail(f"expected a name, found {self.text!r}")
        return self.take()

    # ---- declarations

    def run(self):
        while self.at < len(self.tokens):
            doc = lexer.doc_above(self.source, self.tokens[self.at].line)
            if self.accept("DLCORE_API"):
                self.function(doc)
            elif self.accept("enum"):
                self.enum(doc)
            elif self.accept("typedef"):
                self.typedef(doc)
            else:
                self.fail(f"expected DLCORE_API, enum or typedef, found {self.text!r}")

    def add(self, kind, entry):
        if any(other["name"] == entry["name"] for other in self.api[kind] if entry["name"]):
            self.fail(f"{entry['name']} is declared twice")
        self.api[kind].append(entry)

    def typedef(self, doc):
        if self.accept("struct"):
            return self.struct(doc)
        type_, line = self.type(), self.tokens[self.at].line
        if self.text == "(":
            entry = {"name": "", "header": self.source.name, "doc": doc, **self.pointer_to_function(type_)}
            self.expect(";")
            self.types.add(entry["name"])
            return self.add("callbacks", entry)
        name = self.name()
        self.expect(";")
        if type_["c"] != "int32_t":
            self.source.fail(line, f"{name} is an alias of {type_['c']}, expected int32_t")
        self.types.add(name)
        self.api["aliases"][name] = type_["c"]
        self.alias = name

    def struct(self, doc):
        name = self.name()
        self.types.add(name)
        if not self.accept("{"):
            self.expect(name, ";")
            return self.add("handles", {"name": name, "header": self.source.name, "doc": doc})
        fields = []
        while not self.accept("}"):
            fields.append(self.field())
        self.expect(name, ";")
        self.add("structs", {"name": name, "header": self.source.name, "doc": doc, "fields": fields})

    def field(self):
        above = lexer.doc_above(self.source, self.tokens[self.at].line)
        entry = self.declarator(self.type())
        if self.accept("["):
            if not self.text.isdigit():
                self.fail(f"expected a length, found {self.text!r}")
            entry["length"] = int(self.take())
            self.expect("]")
        self.expect(";")
        entry["doc"] = lexer.doc_beside(self.source, self.tokens[self.at - 1], self.following()) or above
        return entry

    def following(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def enum(self, doc):
        values = []
        self.expect("{")
        while not self.accept("}"):
            if values:
                self.expect(",")
            name = self.name()
            self.expect("=")
            sign = -1 if self.accept("-") else 1
            if not self.text.isdigit():
                self.fail(f"{name}: expected an integer, found {self.text!r}")
            number = sign * int(self.take())
            last, after = self.tokens[self.at - 1], self.tokens[self.at + (self.text == ",")]
            values.append({"name": name, "value": number, "doc": lexer.doc_beside(self.source, last, after)})
        self.expect(";")
        alias, self.alias = self.alias, None
        self.api["enums"].append({"alias": alias, "header": self.source.name, "doc": doc, "values": values})

    def function(self, doc):
        if self.text not in CLASSES:
            self.fail(f"expected a result class after DLCORE_API, found {self.text!r}")
        class_ = CLASSES[self.take()]
        traits = []
        while self.text in TRAITS:
            traits.append(TRAITS[self.take()])
        returns, name = self.type(), self.name()
        if not name.startswith("dlcore_"):
            self.fail(f"{name} lacks the prefix dlcore_")
        parameters = self.parameters()
        self.expect(";")
        since = re.search(r"\bSince (\d+\.\d+)", doc)
        self.check_class(name, class_, returns)
        self.check_arrays(name, parameters)
        self.add("functions", {"name": name, "header": self.source.name, "class": class_, "traits": traits,
                               "returns": returns, "parameters": parameters,
                               "since": since[1] if since else "0.1", "doc": doc})

    # ---- types and parameters

    def type(self):
        """[const] BASE {* [const]}"""
        const = self.accept("const")
        base = self.name()
        if base not in self.types:
            self.fail(f"unknown type {base}")
        stars = ""
        while self.accept("*"):
            stars += "*const " if self.accept("const") else "*"
        text = f"{'const ' if const else ''}{base}{' ' if stars else ''}{stars}".rstrip()
        return {"c": text, "base": base, "const": const, "pointers": stars.count("*")}

    def declarator(self, type_):
        if self.text == "(":
            return self.pointer_to_function(type_)
        return {"name": self.name(), "type": type_}

    def pointer_to_function(self, returns):
        self.expect("(", "*")
        name = self.name()
        self.expect(")")
        return {"name": name, "returns": returns, "parameters": self.parameters()}

    def parameters(self):
        self.expect("(")
        if self.text == "void" and self.tokens[self.at + 1].text == ")":
            self.at += 2
            return []
        parameters = [self.parameter()]
        while self.accept(","):
            parameters.append(self.parameter())
        self.expect(")")
        return parameters

    def parameter(self):
        marks = {}
        while True:
            if self.accept("DLCORE_NULLABLE"):
                marks["nullable"] = True
            elif self.accept("DLCORE_OUT"):
                marks["out"] = True
            elif self.accept("DLCORE_ARRAY"):
                self.expect("(")
                marks["array"] = self.name()
                self.expect(")")
            else:
                break
        entry = self.declarator(self.type())
        if marks and "type" in entry and not entry["type"]["pointers"] and not self.is_callback(entry["type"]):
            self.fail(f"{entry['name']} is marked but is no pointer")
        return {**entry, **marks}

    def is_callback(self, type_):
        return any(callback["name"] == type_["base"] for callback in self.api["callbacks"])

    # ---- rules

    def check_class(self, name, class_, returns):
        pointers, text = returns["pointers"], returns["c"]
        fits = {
            "handle": pointers == 1 and not returns["const"],
            "borrowed": pointers == 1,
            "status": text == "dlcore_status",
            "predicate": text == "int32_t",
            "value": pointers == 0 and text != "void",
            "void": text == "void",
        }
        if not fits[class_]:
            self.fail(f"{name} is marked as {class_} but returns {text}")

    def check_arrays(self, name, parameters):
        names = {parameter["name"] for parameter in parameters}
        if len(names) != len(parameters):
            self.fail(f"{name} has two parameters of one name")
        for parameter in parameters:
            if parameter.get("array", parameter["name"]) not in names:
                self.fail(f"{name}: {parameter['name']} is as long as {parameter['array']}, which is no parameter")
