# SPDX-License-Identifier: Apache-2.0
"""Names and documentation in Rust."""

import re

import ops

WIDTH = 100

# Names that a parameter must not have: Rust's words.
_WORDS = """abstract as async await become box break const continue crate do dyn else enum extern false final fn for if
impl in let loop macro match mod move mut override priv pub ref return self Self static struct super trait true try
type typeof unsafe unsized use virtual where while yield""".split()

# And what the generated functions use themselves.
_TAKEN = "call child context layers optimizer options parameters words".split()


def word(name):
    """A name of C in a declaration."""
    return f"{name}_" if name in _WORDS else name


def identifier(name):
    """A name of the catalogue in a function."""
    return f"{name}_" if name in _WORDS or name in _TAKEN else name


def pascal(name):
    """CrossEntropy for cross_entropy; what starts with a capital stays as it is."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def lines(prose, prefix, indent=""):
    return "\n".join(f"{indent}{prefix} {line}".rstrip() for line in prose)


def verbatim(prose, indent=""):
    """A comment of the headers as documentation: its layout has a meaning that Markdown does not know."""
    if not prose:
        return ""
    return lines(["```text", *prose.split("\n"), "```"], "///", indent) + "\n"


def _markdown(prose):
    """Plain text as Markdown: formulas keep their brackets and stars."""
    return re.sub(r"(?<!`)([\\*_<>\[\]])(?!`)", r"\\\1", prose.strip())


def doc(prose, facts=(), indent=""):
    """Documentation of an item: paragraphs, then a list of facts."""
    width = WIDTH - len(indent) - 4
    found = ops.wrap(_markdown(prose), width)
    items = [line for fact in facts for line in ops.wrap(f"* {fact[0]}{_markdown(fact[1])}", width)]
    # A line that only continues an item is indented, or it would end the list.
    items = [line if line.startswith("* ") else f"  {line}" for line in items]
    return lines(found + ([""] + items if items else []), "///", indent)
