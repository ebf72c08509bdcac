# SPDX-License-Identifier: Apache-2.0
"""Renders the generated part of the Rust binding: the declarations of dlcore-sys and the typed calls of dlcore."""

import ops

from . import calls, corpus, declarations


def generate(api, raw):
    """Path -> text."""
    files = {**declarations.files(api), **calls.files(api, raw), **corpus.files(raw)}
    return {path: _render(template, values) for path, (template, values) in files.items()}


def _render(template, values):
    return ops.environment().get_template(f"rust/{template}").render(**values)
