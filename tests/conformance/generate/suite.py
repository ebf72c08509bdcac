# SPDX-License-Identifier: Apache-2.0
"""Collects the cases of one family and encodes them as NAME.json and NAME.safetensors."""

import hashlib
import json

import numpy as np

import safetensors
from derivative import vector_jacobian
from dtypes import HOLDERS, WIDE, is_float, to_bytes, to_dtype
from operands import Numbers, Operand, Weak

# Differences of derivatives taken in the dtype from those in extended precision. What a derivative
# computes in several steps is rounded to a half-precision dtype at each.
GRADIENT_TOLERANCE = {"bf16": {"rtol": 0.06, "atol": 0.04}, "f16": {"rtol": 0.008, "atol": 0.005},
                      "f32": {"rtol": 2e-5, "atol": 2e-5}, "f64": {"rtol": 1e-10, "atol": 1e-10}}
EXACT = {"ulp": 0}
SMOOTH_ELEMENTS = 12  # gradcheck of second order is quadratic in this
VMAP_ELEMENTS = 200


class Result:
    """An expected output: its values (None: any) and, when it differs from theirs, its dtype."""

    def __init__(self, values, dtype, shape=None, within=None, weak=False):
        self.values, self.dtype, self.within, self.weak = values, dtype, within, weak
        self.shape = list(np.shape(values) if shape is None else shape)


class Suite:
    def __init__(self, name):
        self.name = name
        self.numbers = Numbers(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))
        self.cases, self.names = [], set()
        self.tensors, self.keys = {}, {}
        self.seeds, self.drawn = {}, {}

    def store(self, values, dtype):
        values = np.asarray(values)
        item = (dtype, values.shape, to_bytes(values, dtype))
        if item not in self.keys:
            self.keys[item] = str(len(self.keys))
            self.tensors[self.keys[item]] = item
        return self.keys[item]

    def store_expected(self, values, dtype):
        """Floats are kept as float64, whatever their dtype: they are rounded to it when compared."""
        kind = "f64" if is_float(dtype) else dtype
        with np.errstate(all="ignore"):
            return self.store(np.asarray(values).astype(HOLDERS[kind]), kind)

    def remember(self, key, make):
        """The values of `make`, the same ones for the same key: ops share their inputs."""
        if key not in self.drawn:
            self.drawn[key] = make()
        return self.drawn[key]

    def seed(self, shape):
        """The seed of every gradient of that shape."""
        shape = tuple(shape)
        if shape not in self.seeds:
            self.seeds[shape] = self.numbers.spread(shape, -1, 1)
        return self.seeds[shape]

    def describe_input(self, operand):
        if operand is None:
            return None
        if isinstance(operand, Weak):
            return {"weak": True, "kind": operand.kind, "value": operand.value}
        record = {"tensor": self.store(operand.base, operand.dtype), "dtype": operand.dtype,
                  "shape": list(operand.value.shape)}
        if operand.recipe:
            record.update(offset=operand.offset, strides=operand.strides, view=operand.recipe)
        return record

    def describe_output(self, result):
        record = {"shape": result.shape, "dtype": result.dtype}
        if result.values is not None:
            record["tensor"] = self.store_expected(result.values, result.dtype)
        if result.within is not None:
            record["within"] = result.within
        if result.weak:
            record["weak"] = True
        return record

    def add(self, name, op, inputs, attrs=None, outputs=None, error=None, contains=(), tolerance=None,
            gradients=None, flags=(), **more):
        """Appends one case as it is."""
        name = f"{op}/{name}"
        assert name not in self.names, f"two cases are called {name}"
        self.names.add(name)
        case = {"name": name, "op": op, "inputs": [self.describe_input(x) for x in inputs]}
        if attrs:
            case["attrs"] = attrs
        if error:
            case["expect"] = {"error": error, "contains": list(contains)}
        else:
            case["expect"] = {"outputs": [self.describe_output(r) for r in outputs]}
            if tolerance and tolerance != EXACT:
                case["tolerance"] = tolerance
        if gradients:
            case["gradients"] = gradients
        if flags:
            case["flags"] = sorted(flags)
        case.update(more)
        self.cases.append(case)

    def fail(self, name, op, inputs, attrs=None, contains=(), error="INVALID_ARGUMENT", **more):
        """A case that must be refused with a message that holds the op's name and each of `contains`."""
        self.add("error/" + name, op, inputs, attrs, error=error, contains=[op, *contains], **more)

    def gradients(self, define, inputs, shape, given=None, seed=None, tolerance=None):
        """Gradients of every float input, by differences of `define` unless `given` by hand."""
        seed = self.seed(shape) if seed is None else seed
        dtypes = [x.dtype for x in inputs if isinstance(x, Operand) and x.dtype in GRADIENT_TOLERANCE]
        loosest = next(d for d in GRADIENT_TOLERANCE if d in dtypes)
        seed = to_dtype(np.asarray(seed, np.float32), "f32" if loosest == "f64" else loosest).astype(np.float64)
        values = [None if x is None else x.value for x in inputs]
        keys = []
        for i, x in enumerate(inputs):
            wanted = isinstance(x, Operand) and x.dtype in GRADIENT_TOLERANCE
            if given is not None:
                found = given[i] if wanted else None
            else:
                found = vector_jacobian(define, values, seed, i) if wanted else None
            keys.append(None if found is None else self.store(np.asarray(found, np.float64), "f64"))
        return {"seed": self.store(seed, "f64"), "inputs": keys,
                "tolerance": tolerance or GRADIENT_TOLERANCE[loosest]}

    def check(self, name, op, inputs, define, dtype, attrs=None, tolerance=None, wide=False,
              differentiable=False, smooth=False, given=None, seed=None, gradient_tolerance=None, vmap=True,
              forward=True, extra=(), flags=()):
        """A case whose results are `define` of the inputs: floats as float64 numbers, or in extended
        precision when `wide`; integers and booleans as they are.

        `define` returns the first output; `extra` holds (function, dtype) for further ones."""
        float_type = WIDE if wide else np.float64
        values = [None if x is None else x.value if isinstance(x, Weak)
                  else x.value.astype(float_type) if x.is_float else x.value for x in inputs]
        with np.errstate(all="ignore"):
            outputs = [Result(np.asarray(define(*values)), dtype)]
            outputs += [Result(np.asarray(f(*values)), d) for f, d in extra]
        flags, gradients = set(flags), None
        operands = [x for x in inputs if isinstance(x, Operand)]
        if differentiable and any(x.dtype in GRADIENT_TOLERANCE for x in operands):
            gradients = self.gradients(define, inputs, outputs[0].shape, given, seed, gradient_tolerance)
            floats = [x for x in operands if x.is_float]
            if all(x.dtype == "f64" for x in floats):
                if forward:
                    flags.add("jvp")
                if smooth and 0 < sum(x.value.size for x in floats) <= SMOOTH_ELEMENTS:
                    flags.add("smooth")
        if vmap and operands and sum(x.value.size for x in operands) <= VMAP_ELEMENTS:
            flags.add("vmap")
        self.add(name, op, inputs, attrs, outputs, tolerance=tolerance, gradients=gradients, flags=flags)

    def files(self):
        lines = ",\n".join(json.dumps(c, separators=(",", ":"), allow_nan=False) for c in self.cases)
        return {f"{self.name}.json": f"[\n{lines}\n]\n".encode(),
                f"{self.name}.safetensors": safetensors.encode(self.tensors)}
