# SPDX-License-Identifier: Apache-2.0
"""Writes generated files, or compares them with what is checked in."""

import difflib
import json

SHOWN = 40  # lines of a difference


def json_text(value, indent=0, width=118):
    """JSON whose lists and objects stand on one line where they fit."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or indent + len(flat) <= width and indent > 1:
        return flat
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {json_text(item, indent + 1, width)}" for key, item in value.items()]
    else:
        items = [json_text(item, indent + 1, width) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(items) + f"\n{' ' * indent}{closing}"


def write(root, files):
    for path, text in files.items():
        target = root / path
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    return 0


def check(root, files):
    stale = 0
    for path, text in files.items():
        target = root / path
        current = target.read_text(encoding="utf-8") if target.exists() else ""
        if current == text:
            continue
        stale += 1
        difference = list(difflib.unified_diff(current.splitlines(), text.splitlines(), str(path),
                                               f"{path} (regenerated)", lineterm="", n=1))
        print("\n".join(difference[:SHOWN]))
        if len(difference) > SHOWN:
            print(f"... {len(difference) - SHOWN} more lines")
    if stale:
        print(f"{stale} of {len(files)} generated files are stale; run bindings/generator/run")
    else:
        print(f"{len(files)} generated files are up to date")
    return 1 if stale else 0
