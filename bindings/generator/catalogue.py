# SPDX-License-Identifier: Apache-2.0
"""The catalogues of ops.json, seen as C declarations: parameters, option fields, enum constants."""

import re
from dataclasses import dataclass

MAX_LIST = {"ints": 32, "dims": 16}  # 32: a pair for each axis, as `pads` has
MAX_INLINE_LIST = 16  # in an option struct
MAX_STRING = 255
SCALAR = {"int": "int64_t", "bool": "int32_t", "dtype": "dlcore_dtype", "float": "double"}
FIELD = {**SCALAR, "bool": "uint8_t"}

# Names that a parameter must not have: words of C and C++, and what the generated functions use themselves.
_WORDS = """auto bool break case catch char class const continue default delete do double else enum explicit
extern false float for friend goto if inline int long namespace new operator private protected public register
restrict return short signed sizeof static struct switch template this throw true try typedef typename union
unsigned using virtual void volatile while ctx model optimizer child children n_children options o words n_words inputs
n_inputs result results""".split()


class CatalogueError(Exception):
    """An ops.json that the generator does not understand."""


def c_name(name):
    return f"{name}_" if name in _WORDS else name


@dataclass
class Attr:
    name: str
    kind: str  # int, float, bool, dtype, string, ints, dims
    optional: bool  # has a presence word
    positional: bool
    required: bool
    default: object
    choices: list
    doc: str
    prefix: str  # of the constants of its choices

    @property
    def c(self):
        return c_name(self.name)

    @property
    def type(self):
        return self.kind + ("?" if self.optional else "")

    @property
    def is_list(self):
        return self.kind in MAX_LIST

    @property
    def in_options(self):
        """Whether the _ex form takes it from the options. What may be absent does, even when positional."""
        return not self.positional or self.optional

    @property
    def separate(self):
        """Strings without choices cannot stand in an option struct: they are arguments of the _ex form."""
        return self.kind == "string" and not self.choices

    def parameters(self):
        if self.is_list:
            return [f"const int64_t *{self.c}", f"int32_t n_{self.name}"]
        return [f"{SCALAR[self.kind]} {self.c}" if self.kind in SCALAR else f"const char *{self.c}"]

    def constants(self):
        return [f"{self.prefix}_{re.sub(r'[^A-Z0-9]+', '_', choice.upper())}" for choice in self.choices]

    def fields(self):
        """Declarations in an option struct."""
        lines = [f"uint8_t has_{self.name};"] if self.optional else []
        if self.is_list:
            return lines + [f"int32_t n_{self.name};", f"int64_t {self.c}[{MAX_INLINE_LIST}];"]
        return lines + [f"{FIELD.get(self.kind, 'int32_t')} {self.c};"]

    def literal(self):
        """The default as a C expression; a choice as its constant, a list as None."""
        value = self.default
        if self.is_list:
            return None
        if self.kind == "dtype":
            return "DLCORE_DTYPE_NONE" if value is None else f"DLCORE_{value.upper()}"
        if self.kind == "string":
            return self.constants()[self.choices.index(value)] if self.choices else f'"{value}"'
        return repr(float(value)) if self.kind == "float" else str(int(value))

    def words(self):
        """The most words it takes, packed."""
        size = {"ints": 1 + MAX_LIST["ints"], "dims": 1 + 2 * MAX_LIST["dims"], "string": 1 + (MAX_STRING + 8) // 8}
        if self.choices:
            size["string"] = 1 + (max(len(choice) for choice in self.choices) + 7) // 8
        return size.get(self.kind, 1) + self.optional


@dataclass
class Entry:
    """What a family of functions is generated from: an op, a layer, an optimizer or a schedule."""

    family: str  # "op", "layer", "optimizer", "schedule"
    raw: dict
    function: str  # without the prefix dlcore_
    attrs: list

    def __getattr__(self, name):
        try:
            return self.raw[name]
        except KeyError:
            raise AttributeError(f"{self.raw.get('name')} has no {name} in ops.json") from None

    @property
    def has_options(self):
        return any(attr.in_options for attr in self.attrs)

    @property
    def option_attrs(self):
        return [attr for attr in self.attrs if attr.in_options and not attr.separate]

    @property
    def short_attrs(self):
        """The attributes the short form packs: up to the last positional one; the rest keep their defaults."""
        positional = [index for index, attr in enumerate(self.attrs) if attr.positional]
        return self.attrs[: positional[-1] + 1] if positional else []

    @property
    def called_inputs(self):
        """Inputs a caller gives. The engine itself adds the key of a random op."""
        inputs = self.raw.get("inputs", [])
        if inputs and self.raw.get("effect") == "random" and inputs[-1]["optional"] and inputs[-1]["name"] == "key":
            return inputs[:-1]
        return inputs

    @property
    def visible_outputs(self):
        return [output for output in self.raw.get("outputs", []) if not output["hidden"]]

    @property
    def takes_scalar(self):
        """A binary elementwise op of two operands of one free dtype."""
        types = [item["type"] for item in self.raw.get("inputs", [])]
        return (self.raw.get("elementwise") and len(types) == 2 and types[0] == types[1] and not self.attrs
                and types[0] in self.raw["types"])

    def dtypes(self):
        """Text like `T: f32, f64` for each free dtype."""
        return "; ".join(f"{name}: {', '.join(names)}" for name, names in self.raw.get("types", {}).items())


def _attr(raw, function):
    kind = raw["type"].removesuffix("?")
    if kind not in SCALAR and kind not in MAX_LIST and kind != "string":
        raise CatalogueError(f"{function}: attribute {raw['name']} has the unknown type {raw['type']}")
    required = "default" not in raw
    if required and not raw["positional"]:
        raise CatalogueError(f"{function}: attribute {raw['name']} has no default and is not positional")
    attr = Attr(raw["name"], kind, raw["type"].endswith("?"), raw["positional"], required, raw.get("default"),
                raw.get("choices") or [], raw.get("doc", ""), f"DLCORE_{function}_{raw['name']}".upper())
    if attr.default is None and not attr.optional and not required:
        raise CatalogueError(f"{function}: attribute {attr.name} is null by default and not optional")
    return attr


def _entries(family, items):
    entries = []
    for raw in items:
        function = raw.get("function", raw["name"])
        entry = Entry(family, raw, function, [_attr(attr, function) for attr in raw["attrs"]])
        lists = [item for item in raw.get("inputs", []) if item["variadic"]]
        if lists and lists != raw["inputs"][-1:]:
            raise CatalogueError(f"{function}: only the last input may be variadic")
        entries.append(entry)
    return entries


def load(raw):
    """Ops, layers, optimizers and schedules, in this order, each in the order of the catalogue."""
    return (_entries("op", raw["ops"]) + _entries("layer", raw["layers"])
            + _entries("optimizer", raw["optimizers"]) + _entries("schedule", raw["schedules"]))
