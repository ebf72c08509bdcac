# SPDX-License-Identifier: Apache-2.0
"""dlcore: a typed, documented function for each op, layer, optimizer and schedule."""

import json

import catalogue
import ops

from . import text

DIRECTORY = "bindings/rust/dlcore/src/generated"
TYPES = {"int": "i64", "bool": "bool", "dtype": "Dtype", "float": "f64", "string": "&str",
         "ints": "impl AsRef<[i64]>", "dims": "impl AsRef<[i64]>"}


def files(api, raw):
    entries = [entry for entry in catalogue.load(raw) if not entry.raw.get("hidden")]
    of = {family: [Call(entry) for entry in entries if entry.family == family]
          for family in ("op", "layer", "optimizer", "schedule")}
    values = {enum["alias"]: enum["values"] for enum in api["enums"] if enum["alias"]}
    return {
        f"{DIRECTORY}/codes.rs": ("codes.rs.j2", {
            "codes": _values(values["dlcore_status"], "DLCORE_OK"), "dtypes": _values(values["dlcore_dtype"], None)}),
        f"{DIRECTORY}/ops.rs": ("ops.rs.j2", {
            "calls": of["op"], "receivers": [(kind, [call for call in of["op"] if call.receiver == kind])
                                             for kind in ("Tensor", "Context")]}),
        f"{DIRECTORY}/layers.rs": ("classes.rs.j2", {"family": "layer", "calls": of["layer"]}),
        f"{DIRECTORY}/optimizers.rs": ("classes.rs.j2", {"family": "optimizer", "calls": of["optimizer"]}),
        f"{DIRECTORY}/schedules.rs": ("classes.rs.j2", {"family": "schedule", "calls": of["schedule"]}),
        f"{DIRECTORY}/mod.rs": ("mod.rs.j2", {}),
    }


def _values(values, left_out):
    return [{"name": text.pascal(value["name"].removeprefix("DLCORE_").removeprefix("DTYPE_").lower()),
             "text": value["name"].removeprefix("DLCORE_").removeprefix("DTYPE_"), "raw": value["name"],
             "doc": value["doc"]} for value in values if value["name"] != left_out]


class Attr:
    """An attribute as a parameter or as a field of options."""

    def __init__(self, attr, owner):
        self.attr, self.kind, self.optional = attr, attr.kind, attr.optional
        self.name = text.identifier(attr.name)
        self.in_options = not attr.positional or attr.optional and attr.is_list
        self.doc = attr.doc
        self.what = json.dumps(f"{owner.entry.name}: {attr.name}")
        self.choices = [(text.pascal(choice), choice) for choice in attr.choices]
        self.enum = f"{owner.title}{text.pascal(attr.name)}" if attr.choices else None

    @property
    def type(self):
        return self.enum or TYPES[self.kind]

    @property
    def parameter(self):
        return f"{self.name}: {f'impl Into<Option<{self.type}>>' if self.optional else self.type}"

    @property
    def field(self):
        kind = "List" if self.attr.is_list else "String" if self.type == "&str" else self.type
        return f"Option<{kind}>" if self.optional else kind

    @property
    def stored(self):
        """What a setter makes of its argument."""
        value = f"List::new({self.name}.as_ref())" if self.attr.is_list else self.name
        value = f"{value}.to_string()" if self.type == "&str" else value
        return f"Some({value})" if self.optional else value

    @property
    def default(self):
        """The default as a Rust expression for the field."""
        value = self.attr.default
        if value is None:
            return "None"
        if self.attr.is_list:
            literal = f"List::new(&{value})"
        elif self.enum:
            literal = f"{self.enum}::{dict((c, p) for p, c in self.choices)[value]}"
        elif self.kind == "dtype":
            literal = f"Dtype::{text.pascal(value)}"
        elif self.kind == "string":
            literal = f"String::from({json.dumps(value)})"
        else:
            literal = repr(float(value)) if self.kind == "float" else json.dumps(value)
        return f"Some({literal})" if self.optional else literal

    @property
    def documented_default(self):
        value = self.attr.default
        return "" if value is None else f"default {json.dumps(value)}".replace('"', "")

    def pack(self, value):
        """Statements that pack an expression of the parameter's type."""
        if self.attr.is_list:
            return f"words.{self.kind}({self.what}, {value}, {catalogue.MAX_LIST[self.kind]})?;"
        if self.enum:
            return f"words.string({self.what}, {value}.text(), {catalogue.MAX_STRING})?;"
        if self.kind == "string":
            return f"words.string({self.what}, {value}, {catalogue.MAX_STRING})?;"
        return f"words.{self.kind}({value});"

    def pack_parameter(self):
        if not self.optional:
            return [self.pack(f"{self.name}.as_ref()" if self.attr.is_list else self.name)]
        return [f"let {self.name} = {self.name}.into();", *self._maybe(self.name, self.name)]

    def pack_option(self):
        value = f"options.{self.name}"
        borrow = "&" if self.attr.is_list or self.type == "&str" else ""
        read = f"{{}}.get({self.what})?" if self.attr.is_list else "{}"
        if self.optional:
            return self._maybe(f"{borrow}{value}", read.format(self.name))
        return [self.pack(read.format(value) if self.attr.is_list else f"{borrow}{value}")]

    def pack_default(self):
        """The default, where a later attribute is given and this one is not."""
        if self.attr.default is None:
            return ["words.bool(false);"]
        value = {"ints": f"&{self.attr.default}", "dims": f"&{self.attr.default}"}.get(self.kind)
        present = ["words.bool(true);"] if self.optional else []
        literal = json.dumps(self.attr.default) if self.kind == "string" and not self.enum else self.default
        return present + [self.pack(value or literal.removeprefix("Some(").removesuffix(")" if self.optional else ""))]

    def _maybe(self, expression, read):
        return [f"words.bool({expression.removeprefix('&')}.is_some());",
                f"if let Some({self.name}) = {expression} {{", f"    {self.pack(read)}", "}"]


class Call:
    """An entry of a catalogue as Rust functions."""

    def __init__(self, entry):
        self.entry = entry
        self.name = text.identifier(entry.function)
        self.title = text.pascal(entry.name if entry.family != "op" else entry.function)
        self.number = entry.number
        self.attrs = [Attr(attr, self) for attr in entry.attrs]
        self.options = [attr for attr in self.attrs if attr.in_options]
        self.positional = [attr for attr in self.attrs if not attr.in_options]
        self.inputs = entry.called_inputs if entry.family == "op" else []
        self.outputs = entry.visible_outputs if entry.family == "op" else []
        self.takes_scalar = entry.family == "op" and bool(entry.takes_scalar)

    @property
    def receiver(self):
        return "Tensor" if self.inputs else "Context"

    @property
    def is_method(self):
        """Of a tensor, rather than a function of a list of tensors."""
        return bool(self.inputs) and not self.inputs[0]["variadic"]

    @property
    def enums(self):
        return [attr for attr in self.attrs if attr.enum]

    def doc(self, indent="    ", options=True):
        facts = [(f"`{item['name']}`: ", item["doc"]) for item in self.inputs if item["doc"]]
        facts += [(f"`{attr.name}`: ", attr.doc) for attr in self.positional if attr.doc]
        if self.entry.family == "op":
            facts.append(("", f"Op {self.number}; {ops.facts(self.entry)}"))
        return text.doc(self.entry.doc, facts, indent)

    @staticmethod
    def prose(attr):
        parts = [part for part in (attr.doc, attr.documented_default) if part]
        return text.doc("; ".join(parts) or attr.name, indent="    ")

    # ---- ops

    def signature(self, with_options):
        parameters = ["&self"] if self.is_method or self.receiver == "Context" else []
        for item in self.inputs[1 if self.is_method else 0:]:
            name = text.identifier(item["name"])
            kind = ("&[&Tensor]" if item["variadic"] else "impl Into<Option<&'a Tensor>>" if item["optional"]
                    else "impl Into<Operand<'a>>" if self.takes_scalar else "&Tensor")
            parameters.append(f"{name}: {kind}")
        parameters += [attr.parameter for attr in self.positional]
        parameters += [f"options: {self.title}Options"] if with_options else []
        life = "<'a>" if any("'a" in parameter for parameter in parameters) else ""
        kind = "Tensor" if len(self.outputs) == 1 else f"({', '.join(['Tensor'] * len(self.outputs))})"
        return f"pub fn {self.name}{'_with' if with_options else ''}{life}({', '.join(parameters)}) -> Result<{kind}>"

    def body(self, with_options):
        if self.takes_scalar:
            first, second = (text.identifier(item["name"]) for item in self.inputs)
            return [f"{self.name}(self, {second})"]
        lines = [f"let {name} = {name}.into();" for name in self._optional_inputs()]
        return lines + self.words(with_options) + self._call("words.as_slice()" if self._packed(with_options) else "&[]")

    def _optional_inputs(self):
        return [text.identifier(item["name"]) for item in self.inputs[1:] if item["optional"]]

    def _packed(self, with_options):
        """The attributes that are packed: all, or those up to the last one of the signature."""
        if with_options:
            return self.attrs
        given = [index for index, attr in enumerate(self.attrs) if not attr.in_options]
        return self.attrs[: given[-1] + 1] if given else []

    def words(self, with_options):
        attrs = self._packed(with_options)
        if not attrs:
            return []
        lines = [f"let mut words = Words::<{sum(attr.attr.words() for attr in attrs)}>::new();"]
        for attr in attrs:
            lines += (attr.pack_parameter() if not attr.in_options
                      else attr.pack_option() if with_options else attr.pack_default())
        return lines

    def _call(self, words):
        variadic = bool(self.inputs) and self.inputs[-1]["variadic"]
        names = [text.identifier(item["name"]) for item in self.inputs]
        given = ["self" if self.is_method and not index else name for index, name in enumerate(names)]
        optional = [item["optional"] for item in self.inputs]
        if len(self.outputs) == 1 and not variadic and len(names) <= 3:
            rest = [name if may else f"Some({name})" for name, may in list(zip(given, optional))[1:]]
            start = given[:1] or ["self.key()"]
            return [f"call::call{len(names)}({', '.join([str(self.number), *start, *rest, words])})"]
        fixed = [name if may else f"Some({name})" for name, may in zip(given, optional)]
        fixed = fixed[:-1] if variadic else fixed
        inputs = f"[{', '.join(fixed)}].into_iter()" if fixed else ""
        if variadic:
            rest = f"{names[-1]}.iter().map(|x| Some(*x))"
            inputs = f"{inputs}.chain({rest})" if inputs else rest
        key = "self.key()" if self.is_method or not self.inputs else f'call::key_of("{self.entry.name}", {names[0]})?'
        outputs = [f"output{index}" for index in range(len(self.outputs))]
        result = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
        return [f"let [{', '.join(outputs)}] = call::invoke({self.number}, {key}, {inputs}, {words})?;", f"Ok({result})"]

    # ---- layers, optimizers and schedules

    def class_signature(self, with_options):
        family = self.entry.family
        parameters = [{"layer": "context: &Context", "optimizer": "parameters: &[Variable]",
                       "schedule": "optimizer: &Optimizer"}[family]]
        if family == "layer":
            parameters += {"none": [], "one": ["child: impl Into<Module>"],
                           "list": ["layers: impl Layers"]}[self.entry.children]
        parameters += [attr.parameter for attr in self.positional]
        parameters += [f"options: {self.title}Options"] if with_options else []
        return f"pub fn {'with' if with_options else 'new'}({', '.join(parameters)}) -> Result<Self>"

    def group_signature(self):
        parameters = ["&self", "parameters: &[Variable]", *(attr.parameter for attr in self.positional)]
        parameters += [f"options: {self.title}Options"] if self.options else []
        return f"pub fn add_group_with({', '.join(parameters)}) -> Result<()>"

    def group_body(self):
        words = "words.as_slice()" if self.attrs else "&[]"
        return [*self.words(bool(self.options)), f"self.add(parameters, {words})"]

    def class_body(self, with_options):
        words = "words.as_slice()" if self._packed(with_options) else "&[]"
        if self.entry.family == "layer":
            children = {"none": "Vec::new()", "one": "vec![child.into()]", "list": "layers.modules()"}
            made = f"Module::create(context, {self.number}, {children[self.entry.children]}, {words})"
        elif self.entry.family == "optimizer":
            made = f'Optimizer::create("{self.entry.name}", parameters, {self.number}, {words})'
        else:
            made = f"Schedule::create(optimizer, {self.number}, {words})"
        return [*self.words(with_options), f"{made}.map({self.title})"]
