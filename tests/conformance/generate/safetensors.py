# SPDX-License-Identifier: Apache-2.0
"""Writes the safetensors format: 8 bytes header length, a JSON header, the elements.

Format: https://github.com/huggingface/safetensors (section "Format").
"""

import json

TAGS = {
    "bool": "BOOL", "u8": "U8", "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64",
    "f16": "F16", "bf16": "BF16", "f32": "F32", "f64": "F64",
}


def encode(tensors):
    """`tensors` maps a key to (dtype name, shape, little-endian row-major bytes)."""
    header, body, offset = {}, [], 0
    for key, (dtype, shape, data) in tensors.items():
        header[key] = {
            "dtype": TAGS[dtype],
            "shape": [int(n) for n in shape],
            "data_offsets": [offset, offset + len(data)],
        }
        body.append(data)
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(body)
