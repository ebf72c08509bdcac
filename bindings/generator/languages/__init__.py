# SPDX-License-Identifier: Apache-2.0
"""One module per language; each has generate(api, raw), which gives path -> text."""

import importlib
import pkgutil


def generate(api, raw):
    files = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        files.update(importlib.import_module(f"{__name__}.{module.name}").generate(api, raw))
    return files
