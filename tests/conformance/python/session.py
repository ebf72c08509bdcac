# SPDX-License-Identifier: Apache-2.0
"""Cases as calls of the generated functions."""

import math

import dlcore as dl
import numpy as np
from comparison import FLOATS, TYPES, Failure
from dlcore import _dlcore as raw
from dlcore import _pack

PACKERS = {"int": _pack.integer, "bool": _pack.boolean, "float": _pack.real, "string": _pack.string,
           "ints": _pack.integers, "dims": _pack.dims,
           "dtype": lambda value, name: (value,) if isinstance(value, int) else _pack.dtype(value, name)}
NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Session:
    """What the binding makes of a case."""

    def __init__(self, context, schemas):
        self.context, self.schemas = context, schemas

    def create(self, dtype, shape, elements):
        data = np.ascontiguousarray(elements).view("u1")
        return raw.dlcore_tensor_create(self.context, raw.dlcore_dtype_by_name(dtype), shape, data)

    def read(self, tensor):
        return tensor.dtype, tensor.shape, np.frombuffer(tensor.tobytes(), TYPES[tensor.dtype])

    def input(self, family, record):
        if record is None:
            return None
        if record.get("weak"):
            value = record["value"]
            return float(value) if record["kind"] == "f64" else bool(value) if record["kind"] == "bool" else value
        tensor = self.create(*family.tensors[record["tensor"]])
        for op, attrs in record.get("view", []):
            tensor = getattr(dl, op)(tensor, **attributes(attrs))
        if "view" in record:
            self.require_strides(tensor, record)
        return tensor

    def require_strides(self, tensor, record):
        """Views share storage: what a case calls strided must reach the op strided."""
        same = tensor.shape == tuple(record["shape"]) and all(
            size <= 1 or found == wanted for size, found, wanted in zip(tensor.shape, tensor.strides, record["strides"]))
        if not same and tensor.size:
            raise Failure(f"input: view is {tensor.shape} with strides {tensor.strides}, expected {record['shape']} and {record['strides']}")

    def call(self, case, inputs, outputs=1):
        """By the generated function where Python lets the call through, and where its results are all."""
        op = self.schemas[case["op"]]
        visible = sum(not output["hidden"] for output in op["outputs"])
        keyed = op["effect"] == "random" and len(inputs) == len(op["inputs"]) and inputs[-1] is not None
        if "words" in case or outputs > visible or keyed:
            return self.call_raw(case, inputs, outputs)
        keywords = attributes(case.get("attrs", {}))
        listed = op["inputs"] and op["inputs"][-1]["variadic"]
        fixed = len(op["inputs"]) - 1 if listed else len(inputs)
        given = [*inputs[:fixed], inputs[fixed:]] if listed else list(inputs)
        if not listed:  # the engine adds the key of a random op
            while given and given[-1] is None:
                given.pop()
        try:
            made = getattr(dl, case["op"])(*given, **keywords)
        except (TypeError, ValueError):
            if "error" not in case["expect"]:
                raise
            return self.call_raw(case, inputs, outputs)  # Python refuses it by itself; so must the engine
        return [made] if isinstance(made, dl.Tensor) else list(made)

    def call_raw(self, case, inputs, outputs):
        words = case.get("words")
        if words is None:
            words = self.words(case["op"], case.get("attrs", {}))
        made = raw.op(self.context, self.schemas[case["op"]]["number"], inputs, words, outputs)
        return [made] if outputs == 1 else list(made)

    def words(self, op, given):
        schema = self.schemas[op]["attrs"]
        used = max([place + 1 for place, attr in enumerate(schema) if attr["name"] in given], default=0)
        words = []
        for attr in schema[:used]:
            kind, value = attr["type"], given.get(attr["name"], attr.get("default"))
            value = NUMBERS.get(value, value) if kind.startswith("float") and isinstance(value, str) else value
            pack, name = PACKERS[kind.removesuffix("?")], attr["name"]
            words += _pack.optional(pack, value, name) if kind.endswith("?") else pack(value, name)
        return words


def attributes(given):
    return {name: NUMBERS.get(value, value) if isinstance(value, str) else value for name, value in given.items()}


def is_differentiable(case):
    return [place for place, key in enumerate(case.get("gradients", {}).get("inputs", [])) if key is not None]


def is_tensor(record):
    return isinstance(record, dict) and not record.get("weak")


__all__ = ["FLOATS", "Failure", "Session", "attributes", "is_differentiable", "is_tensor"]
