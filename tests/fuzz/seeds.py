#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what fuzz targets start from.

  tests/fuzz/seeds.py DIR   DIR/NAME/ with small inputs for each target, DIR/NAME.dict with its words
"""

import gzip
import json
import random
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def safetensors():
    def archive(header, data):
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    yield archive({}, b"")
    yield archive({"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}, bytes(24))
    yield archive({"__metadata__": {"a": "b"},
                   "i": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]},
                   "none": {"dtype": "BF16", "shape": [0, 4], "data_offsets": [8, 8]},
                   "b": {"dtype": "BOOL", "shape": [3], "data_offsets": [8, 11]}}, bytes(8) + b"\1\0\1")


def idx():
    def array(kind, shape, data):
        return bytes([0, 0, kind, len(shape)]) + b"".join(struct.pack(">I", n) for n in shape) + data

    def pair(images, labels, gz):
        if gz:
            images, labels = (gzip.compress(d, mtime=0) for d in (images, labels))
        return struct.pack("<HB", len(images), int(gz)) + images + labels

    images = array(8, [4, 2, 3], bytes(range(24)))
    for gz in (False, True):
        yield pair(images, array(8, [4], bytes(4)), gz)
        yield pair(images, array(0x0c, [4], bytes(16)), gz)
        yield pair(array(8, [0, 1], b""), array(0x0b, [0], b""), gz)
    yield pair(images, array(0x0d, [4], bytes(16)), False)
    yield pair(images, array(8, [2**31, 2**31, 7, 9], b""), False)
    yield pair(array(8, [0, 2**31, 2**31, 2**31], b""), array(8, [0], b""), False)


def graph_text():
    yield b'graph.v1 "empty" () {\n  return\n}\n'
    yield (b'graph.v1 "step" (%0 "x": f32[B, 3]) {\n  const %1: f32[2, 3] = [0x1p+0, 2, 3, nan, inf, -0.5]\n'
           b"  %2: f32[B, 2] = linear.v1(%0, %1, none)\n  %3: f32[B, 2] = softmax.v1(%2) {axis = -1}\n"
           b"  return %3, %2\n}\n")
    yield (b'graph.v1 "attributes" (%0 "x": f32[B, 6]) {\n  %1: f32[2*B, 3] = reshape.v1(%0) {shape = [-1, 3]}\n'
           b"  %2: f32[B, 6] = clip.v1(%0) {min = none, max = 0x1.8p+1}\n"
           b"  %3: f32[B, 1] = sum.v1(%0) {axes = [-1], keepdims = true}\n"
           b'  %4: f32[B, 6] = gelu.v1(%0) {approximate = "tanh"}\n  return %1, %2, %3, %4\n}\n')
    yield (b'graph.v1 "constants" () {\n  const %0: bool[2] = [true, false]\n  const %1: i64[] = -9223372036854775808\n'
           b'  const %2: f16[2] = hex "003c017e"\n  const %3: weak f64[] = 0x1.8p+1\n'
           b"  const %4: f32[] = nan(0xffc00001)\n  return %0, %1, %2, %3, %4\n}\n")


def calls():
    """For targets that read calls from bytes: anything, of some length."""
    source = random.Random(1)
    for size in (20, 60, 200, 500):
        for _ in range(8):
            yield source.randbytes(size)


def dictionary():
    ops = json.loads((ROOT / "capi/ops.json").read_text())["ops"]
    words = {f'{op["name"]}.v1' for op in ops} | {a["name"] for op in ops for a in op.get("attrs", [])}
    words |= {"graph.v1", "const", "state", "return", "update", "weak", "none", "hex", "nan", "inf", "true", "false",
              "f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool", "%0", "%1", "%2", "[B, 3]"}
    return "".join(f'"{word}"\n' for word in sorted(words))


def main():
    out = Path(sys.argv[1])
    seeds = {"safetensors": safetensors, "idx": idx, "graph_text": graph_text, "attrs": calls, "api": calls}
    for name, make in seeds.items():
        (out / name).mkdir(parents=True, exist_ok=True)
        for i, data in enumerate(make()):
            (out / name / f"seed{i}").write_bytes(data)
    (out / "graph_text.dict").write_text(dictionary())
    (out / "safetensors.dict").write_text("".join(
        f'"{w}"\n' for w in ("dtype", "shape", "data_offsets", "__metadata__", "F32", "F64", "I64", "BOOL", "BF16",
                             "U8", "[0,", "],", "18446744073709551615", "\\\\u0000")))


if __name__ == "__main__":
    main()
