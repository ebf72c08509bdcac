# SPDX-License-Identifier: Apache-2.0
"""C statements of the generated wrappers: packing attributes into words, and the call itself."""

import json

from catalogue import MAX_INLINE_LIST, MAX_LIST, c_name


def declare_words(attrs):
    if not attrs:
        return []
    return [f"int64_t words[{sum(attr.words() for attr in attrs)}];", "int32_t n_words = 0;"]


def short_form(entry, failure):
    """Packs parameters, and the defaults between them."""
    lines = []
    for attr in entry.short_attrs:
        if attr.positional:
            lines += _check_parameter(entry, attr, failure)
    lines += _tables(attr for attr in entry.short_attrs if not attr.positional)
    for attr in entry.short_attrs:
        if attr.positional:
            lines += _parameter(attr)
        elif attr.optional and attr.default is None:
            lines.append(f"words[n_words++] = 0; /* no {attr.name} */")
        else:
            lines += ["words[n_words++] = 1;"] if attr.optional else []
            lines += _default(attr)
    return lines


def options_form(entry, failure):
    """Packs parameters and options."""
    lines = []
    for attr in entry.attrs:
        if not attr.in_options or attr.separate:
            lines += _check_parameter(entry, attr, failure)
        elif attr.choices:
            lines.append(_in_range(entry, attr.name, f"o.{attr.c}", len(attr.choices) - 1, failure))
        elif attr.is_list:
            lines.append(_in_range(entry, f"n_{attr.name}", f"o.n_{attr.name}", MAX_INLINE_LIST, failure))
    lines += _tables(entry.option_attrs)
    for attr in entry.attrs:
        if not attr.in_options or attr.separate:
            lines += _parameter(attr)
        elif attr.optional:
            lines += [f"words[n_words++] = o.has_{attr.name} != 0;", f"if (o.has_{attr.name}) {{"]
            lines += [f"  {line}" for line in _put(attr, f"o.{attr.c}", f"o.n_{attr.name}")] + ["}"]
        else:
            lines += _put(attr, f"o.{attr.c}", f"o.n_{attr.name}")
    return lines


def option_defaults(entry):
    lines = []
    for attr in entry.option_attrs:
        if attr.default is None:
            continue
        if attr.optional:
            lines.append(f"o.has_{attr.name} = 1;")
        if attr.is_list:
            lines.append(f"o.n_{attr.name} = {len(attr.default)};")
            lines += [f"o.{attr.c}[{index}] = {value};" for index, value in enumerate(attr.default)]
        else:
            lines.append(f"o.{attr.c} = {attr.literal()};")
    return lines


def _in_range(entry, what, value, limit, failure):
    return f'if (!dlcore_ops_in_range(ctx, "{entry.name}: {what}", {value}, {limit})) return {failure};'


def _check_parameter(entry, attr, failure):
    what = f'ctx, "{entry.name}: {attr.name}", {attr.c}'
    maybe = f"{attr.c} && " if attr.optional or not attr.required else ""
    if attr.is_list:
        return [f"if ({maybe}!dlcore_ops_is_list({what}, n_{attr.name}, {MAX_LIST[attr.kind]})) return {failure};"]
    if attr.kind == "string":
        return [f"if ({maybe}!dlcore_ops_is_string({what})) return {failure};"]
    return []


def _parameter(attr):
    value = attr.c
    if attr.separate and not attr.required and not attr.optional:
        value = f"{attr.c} ? {attr.c} : {json.dumps(attr.default)}"
    put = _put(attr, value, f"n_{attr.name}")
    if not attr.optional:
        return put
    if attr.is_list or attr.kind == "string":  # NULL says that it is absent
        return [f"words[n_words++] = {attr.c} != NULL;", f"if ({attr.c}) {put[0]}"]
    return ["words[n_words++] = 1;"] + put


def _default(attr):
    if attr.is_list:
        values = [word for value in attr.default for word in ((0, value) if attr.kind == "dims" else (value,))]
        return [f"words[n_words++] = {word};" for word in [len(attr.default), *values]]
    if attr.kind == "string":
        return [f"n_words = dlcore_ops_put_string(words, n_words, {json.dumps(attr.default)});"]
    return _put(attr, attr.literal(), "")


def _tables(attrs):
    """Names of the choices, indexed by their constants."""
    return [f"static const char *const {attr.name}_names[] = {{{', '.join(json.dumps(c) for c in attr.choices)}}};"
            for attr in attrs if attr.choices]


def _put(attr, value, count):
    if attr.is_list:
        return [f"n_words = dlcore_ops_put_{attr.kind}(words, n_words, {value}, {count});"]
    if attr.kind == "string":
        text = f"{attr.name}_names[{value}]" if attr.choices and value.startswith("o.") else value
        return [f"n_words = dlcore_ops_put_string(words, n_words, {text});"]
    if attr.kind == "float":
        return [f"words[n_words++] = dlcore_ops_bits({value});"]
    if attr.kind == "bool" and not value.isdigit():
        value += " != 0"
    return [f"words[n_words++] = {value};"]


def call(entry, attrs):
    """The statements that make the call with the packed words."""
    words = "words, n_words" if attrs else "NULL, 0"
    if entry.family == "layer":
        children = {"none": "NULL, 0", "one": "&child, 1", "list": "children, n_children"}[entry.children]
        return [f"return dlcore_module_create(ctx, {entry.number}, {children}, {words});"]
    if entry.family == "optimizer":
        return [f"return dlcore_optimizer_create(ctx, {entry.number}, &model, 1, {words});"]
    if entry.family == "schedule":
        return [f"return dlcore_schedule_create(ctx, {entry.number}, optimizer, {words});"]
    inputs = entry.called_inputs
    names = [c_name(item["name"]) for item in inputs]
    variadic = bool(inputs) and inputs[-1]["variadic"]
    single = len(entry.visible_outputs) == 1
    if single and not variadic and len(inputs) <= 3:
        given = "".join(f"{name}, " for name in names)
        return [f"return dlcore_op_call{len(inputs)}(ctx, {entry.number}, {given}{words});"]
    lines, operands = _operands(entry, names, variadic)
    invoke = f"dlcore_op_invoke(ctx, {entry.number}, {operands}, {words},"
    if single:
        return lines + [f"return {invoke} &result, 1, 0) == DLCORE_OK ? result : NULL;"]
    outputs = [c_name(output["name"]) for output in entry.visible_outputs]
    lines += [f"status = {invoke} results, {len(outputs)}, 0);", "if (status != DLCORE_OK) return status;"]
    return lines + [f"*{name} = results[{index}];" for index, name in enumerate(outputs)] + ["return status;"]


def declare_call(entry):
    """Declarations that `call` relies on; C99 in the style of C89, before the statements."""
    inputs = entry.called_inputs
    variadic = bool(inputs) and inputs[-1]["variadic"]
    if entry.family != "op" or len(entry.visible_outputs) == 1 and not variadic and len(inputs) <= 3:
        return []
    lines = []
    if variadic and len(inputs) > 1:
        lines.append("dlcore_tensor *inputs[DLCORE_MAX_OP_INPUTS];")
    elif inputs and not variadic:
        lines.append(f"dlcore_tensor *inputs[{len(inputs)}];")
    if len(entry.visible_outputs) == 1:
        return lines + ["dlcore_tensor *result = NULL;"]
    return lines + [f"dlcore_tensor *results[{len(entry.visible_outputs)}];", "dlcore_status status;"]


def _operands(entry, names, variadic):
    if variadic and len(names) == 1:
        return [], f"{names[0]}, n_{entry.called_inputs[0]['name']}"
    if not names:
        return [], "NULL, 0"
    fixed = names[:-1] if variadic else names
    lines = [f"inputs[{index}] = {name};" for index, name in enumerate(fixed)]
    if not variadic:
        return lines, f"inputs, {len(names)}"
    rest, count = names[-1], f"n_{entry.called_inputs[-1]['name']}"
    failure = "NULL" if len(entry.visible_outputs) == 1 else "DLCORE_INVALID_ARGUMENT"
    check = [_in_range(entry, count, count, f"DLCORE_MAX_OP_INPUTS - {len(fixed)}", failure)]
    copy = f"if ({count} > 0) memcpy(inputs + {len(fixed)}, {rest}, (size_t){count} * sizeof *{rest});"
    return check + lines + [copy], f"inputs, {len(fixed)} + {count}"
