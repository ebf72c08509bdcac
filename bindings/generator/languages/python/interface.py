# SPDX-License-Identifier: Apache-2.0
"""The raw layer: how each function of the C API crosses, for SWIG."""

import catalogue

# Callbacks for which native/callbacks.h has a function, and how many parameters of a call stand for one.
CALLBACKS = {"dlcore_write_fn": 2, "dlcore_read_fn": 2, "dlcore_gradcheck_function": 2, "dlcore_op_callback": 5,
             "dlcore_module_callback": 3}
OUTSIDE = ("dlcore.h", "plugin.h", "ops.h")
# The types of the binding do these themselves.
BY_ITSELF = ("_retain", "_release", "_release_many", "_close")
NOT_USED = {"dlcore_tensor_none": "None stands for it", "dlcore_scope_open": "Python's contexts own nothing",
            "dlcore_scope_keep": "Python's contexts own nothing", "dlcore_scope_reset": "Python's contexts own nothing",
            "dlcore_tensor_to_dlpack": "native/sharing.h has it", "dlcore_tensor_from_dlpack": "native/sharing.h has it"}


class _Unsupported(Exception):
    pass


def describe(api):
    """What the template needs."""
    functions = {function["name"]: function for function in api["functions"]}
    included = [header["name"] for header in api["headers"] if header["name"] not in OUTSIDE]
    handles = [_handle(handle, functions) for handle in api["handles"] if handle["header"] in included]
    names = {handle["name"] for handle in handles}
    callbacks = {callback["name"] for callback in api["callbacks"]}
    result = {"handles": handles, "included": included, "rules": {}, "results": [], "left_out": [], "waits": [],
              "adapted": [], "functions": [], "constants": _constants(api, included)}
    for function in api["functions"]:
        if function["header"] not in included:
            continue
        try:
            _add(result, function, names, callbacks)
        except _Unsupported as reason:
            result["left_out"].append((function["name"], reason))
    result["rules"] = sorted(result["rules"].values())
    result["structs"] = [{**struct, "initialised": f"{struct['name']}_init" in functions}
                         for struct in api["structs"] if struct["header"] in included]
    return result


def _constants(api, included):
    names = [value["name"] for enum in api["enums"] if enum["header"] in included for value in enum["values"]]
    return [*api["constants"], *names]


def _handle(handle, functions):
    name = handle["name"]
    close = next((f"{name}{verb}" for verb in ("_close", "_release")
                  if len(functions.get(f"{name}{verb}", {"parameters": ()})["parameters"]) == 1), "NULL")
    noun = name.removeprefix("dlcore_").replace("_", " ")
    return {"name": name, "noun": noun, "python": "Tensor" if noun == "tensor" else name,
            "dealloc": "tensor_dealloc" if noun == "tensor" else "handle_dealloc",
            "repr": "tensor_tp_repr" if noun == "tensor" else "handle_repr",
            "retain": f"{name}_retain" if f"{name}_retain" in functions else "NULL",
            "release": f"{name}_release" if f"{name}_release" in functions else "NULL", "give_back": close}


def _add(result, function, handles, callbacks):
    name = function["name"]
    if name in NOT_USED:
        raise _Unsupported(NOT_USED[name])
    if name.endswith(BY_ITSELF) and name != "dlcore_transform_close":
        raise _Unsupported("the types of the binding do it")
    parameters = function["parameters"]
    adapted = _adapt(function) if _stands_apart(parameters) else None
    if adapted:
        parameters, name = adapted["parameters"], adapted["name"]
    for pattern, rule in list(_rules(parameters, handles, callbacks)):
        if result["rules"].setdefault(pattern, rule) != rule:
            raise catalogue.CatalogueError(f"{name}: {pattern} crosses in two ways")
    result["results"] += _result(function, name, handles)
    result["functions"].append({"name": function["name"], "parameters": _python_parameters(parameters)})
    if adapted:
        result["adapted"].append(adapted)
    if _executes(function):
        result["waits"].append(name)


def _executes(function):
    parameters = function["parameters"]
    return (bool(parameters) and parameters[0]["type"]["c"] in ("dlcore_context *", "dlcore_engine *")
            and function["class"] != "void" and "always_runs" not in function["traits"])


def _result(function, name, handles):
    """How its result crosses, when the type alone does not say."""
    kind, returns = function["class"], function["returns"]
    first = function["parameters"][0]["type"] if function["parameters"] else {"base": ""}
    if kind == "borrowed" and returns["base"] in handles:
        return [f"%borrowed({returns['c']}, {name})"]
    if returns["c"] == "const char *" and first.get("c") == "dlcore_context *":
        return [f"%checked_text({name})"]
    if kind == "predicate" and first["base"] in handles:
        return [f"%predicate({name})"]
    if kind == "status" and any(one["name"] == "error" and one.get("out") for one in function["parameters"]):
        return [f"%told_by_error({name})"]
    if returns["c"] == "dlcore_status" and (kind == "value" or name == "dlcore_context_status"):
        return [f"%plain_status({name})"]
    if kind == "value" and first.get("c") == "dlcore_context *" and returns["c"] in ("int32_t", "int64_t"):
        return [f"%checked_value({returns['c']}, {name})"]
    return []


# ---- Parameters


def _declaration(parameter):
    if "type" not in parameter:
        return f"void (*{parameter['name']})(void *user_data)"
    text = parameter["type"]["c"]
    return f"{text}{'' if text.endswith('*') else ' '}{parameter['name']}"


def _stands_apart(parameters):
    """Whether an array is not followed by its length."""
    names = [parameter["name"] for parameter in parameters]
    return any("array" in one and names[index + 1: index + 2] != [one["array"]] for index, one in enumerate(parameters))


def _adapt(function):
    """A function in front of one whose arrays share a length: each array has a length of its own."""
    parameters, lengths, checks = [], {}, []
    counts = {one["array"] for one in function["parameters"] if "array" in one}
    for one in function["parameters"]:
        if one["name"] in counts:
            continue
        if "array" not in one:
            parameters.append(one)
            continue
        length = f"n_{one['name']}"
        count = next(other for other in function["parameters"] if other["name"] == one["array"])
        parameters += [{**one, "array": length}, {**count, "name": length}]
        if lengths.setdefault(one["array"], length) != length:
            given = f"{one['name']} && " if one.get("nullable") else ""
            checks.append(f"{given}{length} != {lengths[one['array']]}")
    passed = [lengths.get(one["name"], one["name"]) for one in function["parameters"]]
    return {"name": f"python_{function['name']}", "of": function["name"], "returns": function["returns"]["c"],
            "parameters": parameters, "declared": ", ".join(_declaration(one) for one in parameters),
            "checks": " || ".join(checks), "passed": ", ".join(passed)}


def _rules(parameters, handles, callbacks):
    """(what SWIG matches, how it crosses) for each parameter that is no plain value, string or handle."""
    skip = 0
    for index, parameter in enumerate(parameters):
        if skip:
            skip -= 1
            continue
        base = parameter["type"]["base"] if "type" in parameter else ""
        if base in CALLBACKS:
            skip = CALLBACKS[base] - 1
            continue
        if not base or base in callbacks:
            raise _Unsupported("its callbacks are of no use in Python")
        following = parameters[index + 1] if index + 1 < len(parameters) else {"name": "", "type": {"c": ""}}
        out, one, two = parameter.get("out", False), _declaration(parameter), _declaration(following)
        if "array" in parameter:
            yield _array_rule(parameter, base, out, handles, one, two)
        elif out and base == "dlcore_error":
            continue
        elif out and base in handles:
            yield one, f"%handle_out({base}, {one})"
        elif out:
            yield one, f"%integer_out({base}, {one})"
        elif base == "void":
            raise _Unsupported(f"the length of {parameter['name']} is not said; native/elements.h has it")


def _array_rule(parameter, base, out, handles, one, two):
    pair, pointers = f"{one}, {two}", parameter["type"]["pointers"]
    if base in handles:
        return pair, f"%handles_{'out' if out else 'in'}({base}, {pair})"
    if base == "char" and pointers == 2:
        return pair, f"%strings_in({pair})"
    if base in ("void", "char"):
        return pair, f"%buffer_{'out' if out else 'in'}({pair})"
    if base == "int64_t" and not out:
        return pair, f"%integers_in({pair})"
    raise _Unsupported(f"{parameter['name']} is an array of {base}; buffers serve for all dtypes")


def _python_parameters(parameters):
    """Names, as Python gives them."""
    lengths = {one["array"] for one in parameters if "array" in one and not (one.get("out") and one["type"]["base"] not in ("void", "char"))}
    arrays = {one["name"] for one in parameters if one.get("out") and "array" in one and one["type"]["base"] not in ("void", "char")}
    outs = {one["name"] for one in parameters if one.get("out") and "array" not in one}
    names, skip = [], 0
    for one in parameters:
        if skip:
            skip -= 1
            continue
        skip = CALLBACKS.get(one["type"]["base"], 1) - 1 if "type" in one else 0
        if one["name"] not in lengths | outs | arrays:
            names.append(one["name"])
    return names
