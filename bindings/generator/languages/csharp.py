# SPDX-License-Identifier: Apache-2.0
"""Renders the generated part of the C# binding: P/Invoke declarations, exceptions, a method for each op, a class for
each layer and optimizer. What the schema calls positional is a parameter, the rest belongs to an options class."""

import json
import re

import catalogue
import ops

DIRECTORY = "bindings/csharp/Generated"
WIDTH = 118
TYPES = {"int": "long", "bool": "bool", "dtype": "DType", "float": "double", "string": "string", "ints": "long[]",
         "dims": "long[]"}
NULLABLE = {"int": "long?", "bool": "bool?", "dtype": "DType?", "float": "double?"}
CLASSES = {"layer": ("Layers.cs", "Dlcore.Nn", "Module"), "optimizer": ("Optimizers.cs", "Dlcore.Optim", "Optimizer"),
           "schedule": ("Schedules.cs", "Dlcore.Optim", "Schedule")}  # file, namespace and base class of a family
PACKERS = {"int": "Int", "bool": "Bool", "dtype": "Int", "float": "Float", "string": "Text", "ints": "Ints",
           "dims": "Dims"}
RAW = {"void": "void", "char": "byte", "float": "float", "double": "double", "int32_t": "int", "int64_t": "long",
       "uint8_t": "byte", "uint32_t": "uint", "uint64_t": "ulong"}
KEYWORDS = set("""abstract as base bool break byte case catch char checked class const continue decimal default
delegate do double else enum event explicit extern false finally fixed float for foreach goto if implicit in int
interface internal is lock long namespace new null object operator out override params private protected public
readonly ref return sbyte sealed short sizeof stackalloc static string struct switch this throw true try typeof uint
ulong unchecked unsafe ushort using virtual void volatile while""".split())


def generate(api, raw):
    """Path -> text."""
    entries = [entry for entry in catalogue.load(raw) if not entry.raw.get("hidden")]
    of = {family: [_Method(entry) for entry in entries if entry.family == family] for family in ("op", *CLASSES)}
    files = {
        "Raw.cs": _render("raw", **_declarations(api)),
        "Codes.cs": _render("codes", **_codes(api)),
        "ContextOps.cs": _render("ops", owner="Context", methods=of["op"]),
        "TensorOps.cs": _render("ops", owner="Tensor", methods=[op for op in of["op"] if op.has_receiver]),
        "OpOptions.cs": _render("options", methods=[op for op in of["op"] if op.options or op.enums]),
    }
    for family, (name, namespace, base) in CLASSES.items():
        if of[family]:
            files[name] = _render("classes", family=family, namespace=namespace, base=base, methods=of[family])
    return {f"{DIRECTORY}/{name}": text for name, text in files.items()}


def _render(template, **values):
    text = ops.environment().get_template(f"csharp/{template}.cs.j2").render(doc=_doc, summary=_summary, **values)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"\{\n\n", "{\n", text))


def _pascal(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _camel(name):
    name = _pascal(name)
    return _safe(name[0].lower() + name[1:])


def _safe(name):
    if name in ("buffer", "context", "options", "words"):  # what generated methods use themselves
        return f"{name}_"
    return f"@{name}" if name in KEYWORDS else name


def _escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _doc(tag, text, indent, name=None):
    """An element of a documentation comment, broken into lines."""
    opening = f'<{tag} name="{name.lstrip("@")}">' if name else f"<{tag}>"
    lines = ops.wrap(f"{opening}{_escape(text.strip())}</{tag}>", WIDTH - indent - 4)
    return "\n".join(f"{' ' * indent}/// {line}".rstrip() for line in lines)


def _summary(text, indent):
    return _doc("summary", text, indent)


# ---- Ops, layers, optimizers


class _Attr:
    """An attribute as C# sees it."""

    def __init__(self, attr, owner, nested):
        self.attr = attr
        self.name = _camel(attr.name)
        self.property = _pascal(attr.name)
        self.enum = None
        if attr.choices:
            self.enum = self.property if nested else f"{owner}{self.property}"
        base = self.enum or TYPES[attr.kind]
        nullable = f"{base}?" if self.enum else NULLABLE.get(attr.kind, base)
        self.type = nullable if attr.optional else base
        self.doc = " ".join(attr.doc.split()) or f"the attribute {attr.name}"
        if not attr.required and not self.is_plain_null:
            self.doc += f"; {json.dumps(attr.default)} by default".replace('"', "")

    @property
    def is_plain_null(self):
        return self.attr.default is None

    @property
    def literal(self):
        """The default as a constant expression; None where it takes an object."""
        value, kind = self.attr.default, self.attr.kind
        if value is None:
            return "null"
        if self.enum:
            return f"{self.enum}.{_choice(value)}"
        if kind == "dtype":
            return f"DType.{value.upper() if value != 'bool' else 'Bool'}"
        if kind in ("ints", "dims"):
            return f"new long[] {{ {', '.join(map(str, value))} }}"
        if kind == "string":
            return json.dumps(value)
        return repr(float(value)) if kind == "float" else str(value).lower()

    @property
    def choices(self):
        return [(_choice(choice), choice) for choice in self.attr.choices]

    def pack(self, value):
        kind, optional = self.attr.kind, "Optional" if self.attr.optional else ""
        if self.enum:
            number = f"{value}.Value" if self.attr.optional else value
            name = f'words.Name({self.enum}Names, (int){number}, "{self.attr.name}")'
            value = f"{value} == null ? null : {name}" if self.attr.optional else name
        if kind == "dtype":
            value = f"({'long?' if self.attr.optional else 'long'}){value}"
        named = f'"{self.attr.name}", ' if kind in ("ints", "dims", "string") else ""
        return f"words.{optional}{PACKERS[kind]}({named}{value});"


def _choice(text):
    return _pascal(re.sub(r"[^A-Za-z0-9]+", "_", text))


def _dtype_doc(kind):
    return "a tensor of any dtype" if kind.count("|") == 9 else f"a tensor of dtype {kind.replace('|', ', ')}"


class _Method:
    """What is written for an entry of the catalogue: one overload, and a second one that takes options."""

    def __init__(self, entry):
        self.entry = entry
        self.name = _pascal(entry.function) if entry.family == "op" else entry.name
        nested = entry.family != "op"
        self.attrs = [_Attr(attr, self.name, nested) for attr in entry.attrs]
        self.positional = [attr for attr in self.attrs if attr.attr.positional]
        self.options = [attr for attr in self.attrs if not attr.attr.positional]
        self.enums = [attr for attr in self.attrs if attr.enum]
        self.options_type = "Options" if nested else f"{self.name}Options"
        self.inputs = entry.called_inputs
        self.returns = "Tensor"
        if entry.family == "op" and len(entry.visible_outputs) != 1:
            self.returns = f"({', '.join('Tensor ' + _camel(output['name']) for output in entry.visible_outputs)})"

    @property
    def doc(self):
        return " ".join(self.entry.doc.split())

    @property
    def remarks(self):
        return f"Op {self.entry.number}; {ops.facts(self.entry)}."

    @property
    def has_receiver(self):
        return bool(self.inputs) and not self.inputs[0]["variadic"] and not self.inputs[0]["optional"]

    @property
    def takes_operands(self):
        """Whether numbers may stand for some of its tensors, beside the binary ops that have an overload for it."""
        return self.entry.raw.get("elementwise") and len(self.inputs) > 1 and not self.entry.takes_scalar

    def _input_type(self, item):
        if item["variadic"]:
            return "Tensor[]"
        return "Operand" if self.takes_operands and item["type"] in self.entry.types else "Tensor"

    def _parameters(self, with_options):
        """(type, name, default or None, documentation) in order."""
        found = {"none": [], "one": [("Module", "child", None, "the module inside it")],
                 "list": [("params Module[]", "children", None, "the modules inside it, in their order")]}[
                     self.entry.raw.get("children", "none")]
        if self.entry.family == "optimizer":
            found = [("IEnumerable<Variable>", "parameters", None, "the variables to update, those of one model")]
        if self.entry.family == "schedule":
            found = [("Optimizer", "optimizer", None, "whose learning rates it sets")]
        for item in self.inputs:
            doc = " ".join(item["doc"].split()) or _dtype_doc(item["type"])
            found.append((self._input_type(item), _camel(item["name"]), "null" if item["optional"] else None, doc))
        for attr in self.positional:
            found.append((attr.type, attr.name, None if attr.attr.required else attr.literal, attr.doc))
        last = max([index for index, item in enumerate(found) if item[2] is None], default=-1)
        found = [(kind, name, None if index < last or with_options else default, doc)
                 for index, (kind, name, default, doc) in enumerate(found)]
        if found and not with_options and found[-1][0] in ("long[]", "Tensor[]") and found[-1][2] is None:
            found[-1] = (f"params {found[-1][0]}", *found[-1][1:])
        if with_options:
            found.append((self.options_type, "options", None, "what else can be chosen; null for the defaults"))
        return found

    @property
    def pack_call(self):
        """What gives the packed attributes of a layer or an optimizer."""
        names = [attr.name for attr in self.positional] + (["options"] if self.options else [])
        return f"Pack({', '.join(names)})" if self.attrs else "null"

    @property
    def pack_parameters(self):
        items = [f"{attr.type} {attr.name}" for attr in self.positional]
        return ", ".join(items + (["Options options"] if self.options else []))

    @property
    def pack_size(self):
        return sum(attr.attr.words() for attr in self.attrs)

    def overloads(self, owner):
        """The overloads of the method of a context, or of a tensor."""
        found = []
        for with_options in ([False, True] if self.options else [False]):
            parameters = self._parameters(with_options)
            found.append(_Overload(self, owner, parameters, with_options))
        if self.entry.family == "op" and self.entry.takes_scalar:
            plain = self._parameters(False)
            for side in (0, 1) if owner == "Context" else (0,):
                parameters = list(plain)
                doc = "a number, which takes the dtype of the tensor"
                parameters[1 - side] = ("Scalar", plain[1 - side][1], None, doc)
                found.append(_Overload(self, owner, parameters, False, side))
        return found


class _Overload:
    def __init__(self, method, owner, parameters, with_options, side=None):
        self.method, self.owner, self.with_options, self.side = method, owner, with_options, side
        self.all = parameters
        self.parameters = parameters[1:] if owner == "Tensor" else parameters

    @property
    def names(self):
        return [name for _, name, _, _ in self.all]

    def signature(self, start, first=()):
        items = [*first, *(f"{kind} {name}" + (f" = {default}" if default else "")
                           for kind, name, default, _ in self.parameters)]
        return ops.fill(start, items, ")")

    @property
    def returns_tensor(self):
        return self.method.returns == "Tensor"

    @property
    def forwards(self):
        """The call that the method of a tensor makes on its context."""
        return f"Context.{self.method.name}({', '.join(['this', *self.names[1:]])})"

    @property
    def base_call(self):
        """Arguments of the constructor that makes the object."""
        entry = self.method.entry
        if entry.family != "layer":
            return f"context, {entry.number}, {self.names[0]}"
        children = {"none": "null", "one": "new[] { child }", "list": "children"}[entry.children]
        return f"context, {entry.number}, {children}"

    @property
    def packed(self):
        """(most words, statements) for the attributes that this overload packs."""
        attrs = self.method.attrs if self.with_options else [
            attr for attr in self.method.attrs
            if any(attr.attr is short for short in self.method.entry.short_attrs)]
        lines = []
        for attr in attrs:
            if attr.attr.positional:
                lines.append(attr.pack(attr.name))
            elif self.with_options:
                lines.append(attr.pack(f"options.{attr.property}"))
            else:
                lines.append(attr.pack(attr.literal))
        return sum(attr.attr.words() for attr in attrs), lines

    def call(self, words):
        """The expression that runs the op."""
        method, entry = self.method, self.method.entry
        if self.side is not None:
            tensor, scalar = self.names if self.side == 0 else self.names[::-1]
            return f"CallScalar({entry.number}, {tensor}, {scalar}, {self.side})"
        tensors = [f"Operand({name})" if kind == "Operand" else name
                   for kind, name, _, _ in self.all[:len(method.inputs)]]
        if self.returns_tensor and len(tensors) <= 3 and not any(item["variadic"] for item in method.inputs):
            return f"Call{len(tensors)}({', '.join([str(entry.number), *tensors, words])})"
        variadic = tensors and method.inputs[-1]["variadic"]
        fixed = f"new[] {{ {', '.join(tensors[:-1] if variadic else tensors)} }}"
        gathered = fixed if not variadic else tensors[0] if len(tensors) == 1 else f"Gather({fixed}, {tensors[-1]})"
        if self.returns_tensor:
            return f"CallMany({entry.number}, {gathered}, {words})"
        outputs = len(entry.visible_outputs)
        return f"Tuple{outputs}(InvokeMany({entry.number}, {gathered}, {words}, {outputs}))"


# ---- P/Invoke


def _raw_type(type_, handles, enums):
    base, pointers = type_["base"], type_["pointers"]
    if base in handles:
        return "IntPtr" + "*" * (pointers - 1)
    return {**RAW, **dict.fromkeys(enums, "int")}.get(base, base) + "*" * pointers


def _declarations(api):
    """The functions and records of all headers but plugin.h, whose functions the library does not export."""
    handles = {handle["name"] for handle in api["handles"]}
    callbacks = {callback["name"] for callback in api["callbacks"]}
    functions = []
    for function in api["functions"]:
        parameters = []
        for parameter in function["parameters"]:
            is_callback = "type" not in parameter or parameter["type"]["base"] in callbacks
            kind = "IntPtr" if is_callback else _raw_type(parameter["type"], handles, api["aliases"])
            parameters.append(f"{kind} {_safe(parameter['name'])}")
        returns = _raw_type(function["returns"], handles, api["aliases"])
        start = f"internal static extern {returns} {function['name']}("
        functions.append({"header": function["header"], "text": ops.fill(start, parameters, ");")})
    structs = []
    for struct in (struct for struct in api["structs"] if struct["header"] != "plugin.h"):
        fields = []
        for field in struct["fields"]:
            kind = _raw_type(field["type"], handles, api["aliases"])
            length = f"[{field['length']}]" if "length" in field else ""
            fields.append(f"{'fixed ' if length else ''}{kind} {_safe(field['name'])}{length}")
        structs.append({"name": struct["name"], "fields": fields})
    delegates = []
    for callback in (callback for callback in api["callbacks"] if callback["header"] != "plugin.h"):
        parameters = [f"{_raw_type(item['type'], handles, api['aliases'])} {_safe(item['name'])}"
                      for item in callback["parameters"]]
        returns = _raw_type(callback["returns"], handles, api["aliases"])
        delegates.append(ops.fill(f"internal unsafe delegate {returns} {callback['name']}(", parameters, ");"))
    constants = [value for enum in api["enums"] if enum["header"] != "plugin.h" for value in enum["values"]]
    return {"functions": functions, "structs": structs, "delegates": delegates, "constants": constants,
            "version": api["constants"]["DLCORE_VERSION"],
            "limits": {"MaxInts": catalogue.MAX_LIST["ints"], "MaxDims": catalogue.MAX_LIST["dims"],
                       "MaxText": catalogue.MAX_STRING}}


def _codes(api):
    values = {enum["alias"]: enum["values"] for enum in api["enums"] if enum["alias"]}
    codes = [{**value, "name": value["name"].removeprefix("DLCORE_").title().replace("_", "")}
             for value in values["dlcore_status"]]
    for code in codes:
        code["name"] = {"Ok": "OK"}.get(code["name"], code["name"])
        code["text"] = code["name"] if code["value"] == 0 else re.sub(r"(?<=.)([A-Z])", r" \1", code["name"]).lower()
    dtypes = [{"name": {"BOOL": "Bool", "DTYPE_NONE": "None"}.get(short, short), "value": value["value"],
               "doc": value["doc"] or short.lower()}
              for value in values["dlcore_dtype"] for short in [value["name"].removeprefix("DLCORE_")]]
    return {"codes": codes, "dtypes": dtypes}
