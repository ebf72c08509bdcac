# SPDX-License-Identifier: Apache-2.0
"""Tensors made from attributes alone: full, arange, eye and the random ops, 140 to 146.

Random ops get their key (seed, generator, call) as an input, so that their elements are known."""

import math

import numpy as np

import philox
from dtypes import ALL, FLOATS, HOLDERS, NUMERIC, to_dtype
from operands import LAYOUTS, Operand
from suite import Result, Suite

TOO_MANY = [2, 2, 1, 2**61]  # case 6: the product is 2^63
SHAPES = {"plain": [2, 3], "rank0": [], "empty": [0, 16], "empty_rank1": [0], "rank5": [2, 1, 3, 1, 2], "long": [67]}
KEYS = {"small": [7, 0, 0], "call": [7, 0, 1], "generator": [7, 3, 0],
        "large": [-0x2152_3501_3501_0F08, 5, 2**33 + 5], "high_call": [2**40 + 9, 2**31 - 1, 2**47 + 1]}


def fulls(suite):
    for dtype in ALL:
        value = 1.0 if dtype == "bool" else 3.0 if dtype not in ("f16", "bf16", *FLOATS) else 0.1
        for name, shape in SHAPES.items():
            result = Result(np.full(shape, to_dtype(value, dtype)), dtype)
            suite.add(f"{dtype}/{name}", "full", [], {"shape": shape, "value": value, "dtype": dtype}, [result])
    suite.add("default_dtype", "full", [], {"shape": [2], "value": -1.5}, [Result(np.full(2, -1.5), "f32")])
    for dtype in FLOATS:
        for name, value in {"nan": "nan", "inf": "inf", "minus_inf": "-inf"}.items():
            suite.add(f"{dtype}/{name}", "full", [], {"shape": [3], "value": value, "dtype": dtype},
                      [Result(np.full(3, float(value)), dtype)])
        zero = Result(np.full(2, -0.0), dtype)
        suite.add(f"{dtype}/minus_zero", "full", [], {"shape": [2], "value": -0.0, "dtype": dtype}, [zero],
                  flags=["signed_zero"])
    for dtype in ["i8", "i16", "i32"]:
        info = np.iinfo(HOLDERS[dtype])
        for name, value in {"least": info.min, "most": info.max}.items():
            suite.add(f"{dtype}/{name}", "full", [], {"shape": [2], "value": int(value), "dtype": dtype},
                      [Result(np.full(2, value, HOLDERS[dtype]), dtype)])
    suite.fail("negative", "full", [], {"shape": [2, -1], "value": 0}, contains=["-1"])
    suite.fail("rank17", "full", [], {"shape": [1] * 17, "value": 0}, contains=["17"])
    suite.fail("dtype", "full", [], {"shape": [2], "value": 0, "dtype": 99}, contains=["99"])
    suite.fail("case_6_too_many_elements", "full", [], {"shape": TOO_MANY, "value": 0})
    suite.fail("case_6_too_many_bytes", "full", [], {"shape": [2**61], "value": 0, "dtype": "f64"})
    suite.fail("input", "full", [Operand([1.0], "f32")], {"shape": [2], "value": 0})


def aranges(suite):
    def add(name, start, stop, step=1, dtype="i64"):
        count = max(0, math.ceil((stop - start) / step))
        values = start + np.arange(count) * (step if dtype not in FLOATS else float(step))
        attrs = {"start": start, "stop": stop} | ({"step": step} if step != 1 else {})
        attrs |= {"dtype": dtype} if dtype != "i64" else {}
        suite.add(name, "arange", [], attrs, [Result(to_dtype(values, dtype), dtype)]
                  if dtype not in FLOATS else [Result(values, dtype)])

    for dtype in NUMERIC:
        add(f"{dtype}/plain", 0, 5, dtype=dtype)
        add(f"{dtype}/step", 3, 20, 4, dtype)
        add(f"{dtype}/down", 9, 0, -2, dtype)
        add(f"{dtype}/empty", 5, 5, dtype=dtype)
        add(f"{dtype}/empty_backwards", 5, 2, dtype=dtype)
    for dtype in FLOATS:
        add(f"{dtype}/fraction", 0.5, 2.0, 0.25, dtype)
        add(f"{dtype}/tenths", 0.0, 1.0, 0.1, dtype)
        add(f"{dtype}/long", -1.0, 60.0, 1, dtype)
    suite.fail("step_zero", "arange", [], {"start": 0, "stop": 5, "step": 0}, contains=["step", "0"])
    suite.fail("nan", "arange", [], {"start": "nan", "stop": 5})
    suite.fail("bool", "arange", [], {"start": 0, "stop": 2, "dtype": "bool"}, contains=["bool"])


def eyes(suite):
    for dtype in ALL:
        suite.add(f"{dtype}/square", "eye", [], {"n": 3, "dtype": dtype}, [Result(np.eye(3), dtype)])
        suite.add(f"{dtype}/wide", "eye", [], {"n": 2, "m": 4, "dtype": dtype}, [Result(np.eye(2, 4), dtype)])
        suite.add(f"{dtype}/tall", "eye", [], {"n": 4, "m": 2, "dtype": dtype}, [Result(np.eye(4, 2), dtype)])
        suite.add(f"{dtype}/empty", "eye", [], {"n": 0, "m": 3, "dtype": dtype}, [Result(np.eye(0, 3), dtype)])
    suite.add("default_dtype", "eye", [], {"n": 2}, [Result(np.eye(2), "f32")])
    suite.fail("negative", "eye", [], {"n": -1}, contains=["-1"])
    suite.fail("case_6_too_many_elements", "eye", [], {"n": 2**32, "m": 2**32})


def draws(suite):
    def key_of(name):
        return Operand(np.array(KEYS[name], np.int64), "i64")

    def each():
        for name, shape in SHAPES.items():
            yield f"small_{name}", "small", shape
        for key in list(KEYS)[1:]:
            yield f"{key}_plain", key, [3, 3]

    for name, key, shape in each():
        count, numbers = int(np.prod(shape, dtype=np.int64)), KEYS[key]
        for dtype in FLOATS:
            u = philox.uniform(numbers, count, dtype).reshape(shape)
            attrs = {"shape": shape} | ({"dtype": dtype} if dtype != "f32" else {})
            suite.add(f"{dtype}/{name}", "random_uniform", [key_of(key)], attrs, [Result(u, dtype, within=[0, 1])])
            z = philox.normal(numbers, count, dtype).reshape(shape)
            near = {"rtol": 3e-7, "atol": 3e-7} if dtype == "f32" else {"rtol": 1e-14, "atol": 1e-14}
            suite.add(f"{dtype}/{name}", "random_normal", [key_of(key)], attrs, [Result(z, dtype)], tolerance=near)
        u = philox.uniform(numbers, count, "f32").reshape(shape)
        suite.add(name, "random_bernoulli", [key_of(key)], {"shape": shape, "p": 0.375}, [Result(u < 0.375, "bool")])
        i = philox.integers(numbers, count, -5, 20).reshape(shape)
        suite.add(name, "random_integers", [key_of(key)], {"shape": shape, "low": -5, "high": 20},
                  [Result(i, "i64", within=[-5, 20])])
    key, shape = key_of("small"), [2, 5]
    for dtype in FLOATS:
        u = philox.uniform(KEYS["small"], 10, dtype).reshape(shape)
        # A width that is a power of two: the only rounding is that of the sum.
        attrs = {"shape": shape, "low": -2, "high": 6, "dtype": dtype}
        suite.add(f"{dtype}/interval", "random_uniform", [key], attrs,
                  [Result(-2 + 8 * u, dtype, within=[-2, 6])])
        z = philox.normal(KEYS["small"], 10, dtype).reshape(shape)
        near = {"rtol": 1e-6, "atol": 2e-6} if dtype == "f32" else {"rtol": 1e-14, "atol": 1e-14}
        attrs = {"shape": shape, "mean": 3.0, "std": 0.5, "dtype": dtype}
        suite.add(f"{dtype}/scaled", "random_normal", [key], attrs,
                  [Result(3 + z / 2, dtype)], tolerance=near)
        suite.add(f"{dtype}/without_key", "random_uniform", [], {"shape": [64], "low": 1, "high": 3, "dtype": dtype},
                  [Result(None, dtype, [64], within=[1, 3])])
        suite.add(f"{dtype}/without_key", "random_normal", [], {"shape": [64], "dtype": dtype},
                  [Result(None, dtype, [64], within=[-9, 9])])
    for name, p in {"never": 0.0, "always": 1.0}.items():
        suite.add(name, "random_bernoulli", [key], {"shape": [9], "p": p}, [Result(np.full(9, p == 1.0), "bool")])
    wide = {"low": -(2**62), "high": 2**62}
    suite.add("wide", "random_integers", [key], {"shape": shape} | wide,
              [Result(philox.integers(KEYS["small"], 10, *wide.values()).reshape(shape), "i64")])
    suite.add("one_value", "random_integers", [key], {"shape": [5], "low": 4, "high": 5},
              [Result(np.full(5, 4), "i64")])
    laid = LAYOUTS["sliced"](np.array(KEYS["small"], np.int64), "i64")
    u = philox.uniform(KEYS["small"], 10, "f32").reshape(shape)
    suite.add("f32/strided_key", "random_uniform", [laid], {"shape": shape}, [Result(u, "f32")])
    suite.add("without_key", "random_bernoulli", [], {"shape": [4, 4], "p": 0.5}, [Result(None, "bool", [4, 4])])
    suite.add("without_key", "random_integers", [], {"shape": [64], "low": -3, "high": 3},
              [Result(None, "i64", [64], within=[-3, 3])])
    attrs = {"random_uniform": {}, "random_normal": {}, "random_bernoulli": {"p": 0.5},
             "random_integers": {"low": 0, "high": 9}}
    for op, more in attrs.items():
        good = {"shape": [2]} | more
        suite.fail("key_dtype", op, [Operand([1.0, 2, 3], "f32")], good, contains=["f32"])
        suite.fail("key_shape", op, [Operand([1, 2], "i64")], good, contains=["[2]"])
        suite.fail("negative", op, [key], good | {"shape": [-2]}, contains=["-2"])
        suite.fail("case_6_too_many_elements", op, [key], good | {"shape": TOO_MANY})
    for name, p in {"low": -0.5, "high": 1.5, "nan": "nan"}.items():
        suite.fail(f"p_{name}", "random_bernoulli", [key], {"shape": [2], "p": p}, contains=["p"])
    for high in [3, 2]:
        suite.fail(f"interval_{high}", "random_integers", [key], {"shape": [2], "low": 3, "high": high},
                   contains=["3"])
    for dtype in ["i32", "bool"]:
        for op in ["random_uniform", "random_normal"]:
            suite.fail(dtype, op, [key], {"shape": [2], "dtype": dtype}, contains=[dtype])


def build():
    suite = Suite("creation")
    for part in [fulls, aranges, eyes, draws]:
        part(suite)
    return suite
