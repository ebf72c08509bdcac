# SPDX-License-Identifier: Apache-2.0
"""A catalogue entry seen as Java: its forms (overloads), its options, its packed attributes."""

import html
import re
from dataclasses import dataclass



KEYWORDS = """abstract assert boolean break byte case catch char class const continue default do double else enum
extends final finally float for goto if implements import instanceof int interface long native new package private
protected public return short static strictfp super switch synchronized this throw throws transient try void volatile
while true false null dl context child children parameters optimizer options""".split()
TYPES = {"int": "long", "bool": "boolean", "dtype": "DType", "float": "double", "string": "String",
         "ints": "long[]", "dims": "long[]"}
BOXED = {"int": "Long", "bool": "Boolean", "float": "Double"}
PACKERS = {"int": "integer", "bool": "bool", "dtype": "dtype", "float": "real", "string": "string",
           "ints": "integers", "dims": "dims"}


def pascal(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def camel(name):
    text = pascal(name)
    text = text[:1].lower() + text[1:]
    return f"{text}_" if text in KEYWORDS else text


@dataclass
class Parameter:
    name: str
    type: str
    doc: str


class Attribute:
    """An attribute as a parameter, and as a property of an options class."""

    def __init__(self, attr):
        self.attr, self.name, self.optional = attr, camel(attr.name), attr.optional
        self.type = pascal(attr.name) if attr.choices else TYPES[attr.kind]
        self.boxed = BOXED.get(attr.kind, self.type) if attr.optional else self.type
        self.choices = [(re.sub(r"[^A-Z0-9]+", "_", choice.upper()), choice) for choice in attr.choices]
        self.varargs = self.type == "long[]"

    @property
    def doc(self):
        return " ".join(self.attr.doc.split()) or self.attr.name.replace("_", " ")

    @property
    def default(self):
        """The default as a Java expression."""
        value = self.attr.default
        if value is None:
            return "null"
        if self.choices:
            return f"{self.type}.{next(name for name, text in self.choices if text == value)}"
        if self.attr.kind == "dtype":
            return f"DType.{value.upper()}"
        if self.varargs:
            return f"new long[] {{{', '.join(map(str, value))}}}"
        if self.attr.kind == "string":
            return f'"{value}"'
        return repr(value).lower() if self.attr.kind in ("bool", "float") else f"{value}L"

    @property
    def default_text(self):
        value = self.attr.default
        return "absent" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    def parameter(self):
        return Parameter(self.name, self.type, self.doc)

    def pack(self, value):
        method = PACKERS[self.attr.kind]
        if self.choices:
            return f".choice({value})"
        return f".optional{method[:1].upper()}{method[1:]}({value})" if self.optional else f".{method}({value})"


class Call:
    """What is rendered from one entry."""

    def __init__(self, entry):
        self.entry, self.family, self.number = entry, entry.family, entry.number
        self.name = entry.name if entry.family != "op" else camel(entry.function)
        self.inputs = [Parameter(camel(item["name"]), "Tensor", item["doc"]) for item in entry.called_inputs]
        self.variadic = bool(self.inputs) and entry.called_inputs[-1]["variadic"]
        self.optional_inputs = sum(bool(item["optional"]) for item in entry.called_inputs)
        self.attributes = [Attribute(attr) for attr in entry.attrs]
        self.required = [a for a in self.attributes if a.attr.required]
        self.options = [a for a in self.attributes if not a.attr.required]
        self.positional = [a for a in self.attributes if a.attr.positional]
        self.takes_scalar = entry.family == "op" and entry.takes_scalar
        self.many = entry.family == "op" and len(entry.visible_outputs) != 1
        self.outputs = len(entry.visible_outputs) if entry.family == "op" else 0
        self.returns = "List<Tensor>" if self.many else "Tensor"
        self.options_type = f"{pascal(entry.function)}Options" if entry.family == "op" else "Options"
        self.children = entry.raw.get("children", "none")
        self.doc = entry.doc

    @property
    def is_method(self):
        """Ops whose first operand is always a tensor are methods of Tensor."""
        return bool(self.inputs) and not self.variadic and not self.entry.called_inputs[0]["optional"]

    @property
    def has_positional_form(self):
        """A form with the attributes that are usually given, where some of them have defaults."""
        return len(self.positional) > len(self.required)

    @property
    def is_plain(self):
        """The required attributes come first: what follows them may be left off the packed words."""
        return self.attributes[: len(self.required)] == self.required

    def input_lists(self):
        """Inputs with and without those that may be absent."""
        short = self.inputs[: len(self.inputs) - self.optional_inputs]
        return [self.inputs, short] if self.optional_inputs else [self.inputs]

    # ---- Declarations and calls

    def declare(self, parameters, varargs=True):
        """Declarations; a last list may be given as separate values."""
        texts = [f"{p.type} {p.name}" for p in parameters]
        if varargs and parameters and parameters[-1].type == "long[]":
            texts[-1] = f"long... {parameters[-1].name}"
        return ", ".join(texts)

    def shown_inputs(self, inputs, listed=True):
        if not self.variadic:
            return inputs
        last = inputs[-1]
        return [*inputs[:-1], Parameter(last.name, "List<Tensor>" if listed else "Tensor...", last.doc)]

    def parameters(self, attributes):
        return [a.parameter() for a in attributes]

    def names(self, parameters):
        return ", ".join(p.name for p in parameters)

    def words(self, attributes, prefix=""):
        """An expression that packs attributes, required ones from parameters, others from options."""
        if not attributes:
            return "null"
        size = sum(a.attr.words() if a.attr.kind != "string" or a.choices else 4 for a in attributes)
        packed = "".join(a.pack(a.name if a.attr.required else f"{prefix}{a.name}()") for a in attributes)
        return f"new Words({min(size, 16)}){packed}"

    def invoke(self, inputs, words):
        """The statement that runs the op."""
        if self.many:
            return f"return run({self.number}, {self._operands(inputs)}, {words}, {self.outputs});"
        if self.variadic or len(inputs) > 3:
            return f"return run({self.number}, {self._operands(inputs)}, {words}, 1).get(0);"
        operands = "".join(f"{p.name}, " for p in inputs)
        required = self.entry.called_inputs[: len(inputs)]
        if any(item["optional"] for item in required):
            operands = "".join(f"{p.name if not item['optional'] else f'orNone({p.name})'}, "
                               for p, item in zip(inputs, required))
        return f"return call({self.number}, {operands}{words});"

    def _operands(self, inputs):
        if not self.variadic:
            return f"new Tensor[] {{{', '.join(p.name for p in inputs)}}}"
        fixed = "".join(f", {p.name}" for p in inputs[:-1])
        return f"operands({inputs[-1].name}{fixed})"

    # ---- Documentation

    def describe(self, parameters, extra=(), returns=True):
        """Lines of Javadoc."""
        lines = [prose(self.doc)]
        if self.entry.family == "op" and self.entry.dtypes():
            lines += ["", f"<p>{prose(self.entry.dtypes())}"]
        lines.append("")
        lines += [f"@param {p.name} {prose(' '.join(p.doc.split())) or _described(p)}" for p in parameters]
        lines += [f"@param {name} {doc}" for name, doc in extra]
        if returns:
            lines.append(f"@return {self._result()}")
        return lines

    def _result(self):
        outputs = [output for output in self.entry.visible_outputs]
        text = "; ".join(prose(output["doc"]) for output in outputs if output["doc"])
        return text or ("the results" if self.many else "the result")


def _described(parameter):
    return "the operands" if "Tensor" in parameter.type and parameter.type != "Tensor" else f"operand {parameter.name}"


def prose(text):
    """Plain text as HTML that doclint accepts."""
    escaped = html.escape(text.strip(), quote=False).replace("@", "&#64;").replace("*/", "*&#47;")
    return re.sub(r"\n\s*\n", "\n\n<p>", escaped)
