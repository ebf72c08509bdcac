# SPDX-License-Identifier: Apache-2.0
"""Splits a public C header into tokens, comments and integer constants."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>/\*.*?\*/)
      | (?P<directive>\#(?:\\\n|[^\n])*)
      | (?P<string>"[^"\n]*")
      | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\d+)
      | (?P<punctuation>[(){}\[\];,*=-])""",
    re.DOTALL | re.VERBOSE,
)
_CONSTANT = re.compile(r"#define (DLCORE_\w+) (\d+)$")
_BANNER = re.compile(r"/\* ---- ")


class HeaderError(Exception):
    """A header that does not follow the grammar; the text starts with file:line."""


@dataclass
class Token:
    text: str
    position: int
    line: int


@dataclass
class Comment:
    text: str
    position: int
    first_line: int
    last_line: int
    own_line: bool  # nothing but space before it on its line


@dataclass
class Source:
    name: str  # "tensor.h"
    tokens: list[Token]
    comments: list[Comment]
    constants: dict[str, int]
    summary: str  # what the opening comment says after "dlcore/NAME -- "

    def fail(self, line, message):
        raise HeaderError(f"{self.name}:{line}: {message}")


def clean(comment):
    """The text of a comment without its delimiters and the stars of its lines."""
    lines = comment.removeprefix("/*").removesuffix("*/").split("\n")
    lines = [lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines[1:]]
    return "\n".join(lines).strip()


def read(path):
    text = path.read_text(encoding="utf-8")
    source = Source(path.name, [], [], {}, "")
    depth = 0  # of #if; 1 is the include guard
    cplusplus = 0  # the depth at which `#ifdef __cplusplus` was met, 0 outside
    position, line, line_start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            source.fail(line, f"unexpected {text[position]!r}")
        found, kind = match.group(), match.lastgroup
        if kind == "directive":
            if found.startswith("#if"):
                depth += 1
                if found == "#ifdef __cplusplus":
                    cplusplus = depth
            elif found.startswith("#endif"):
                cplusplus = 0 if cplusplus == depth else cplusplus
                depth -= 1
            elif constant := _CONSTANT.match(found):
                source.constants[constant[1]] = int(constant[2])
        elif kind == "comment":
            own_line = not text[line_start:position].strip()
            last_line = line + found.count("\n")
            source.comments.append(Comment(found, position, line, last_line, own_line))
        elif kind != "space" and not cplusplus:
            if depth != 1:
                source.fail(line, f"{found!r} stands outside the include guard or under a condition")
            source.tokens.append(Token(found, position, line))
        if "\n" in found:
            line += found.count("\n")
            line_start = position + found.rindex("\n") + 1
        position = match.end()
    opening = clean(source.comments[0].text) if source.comments else ""
    if summary := re.search(rf"dlcore/{re.escape(path.name)} -- (.*?)(?:\n\n|\Z)", opening, re.DOTALL):
        source.summary = " ".join(summary[1].split())
    else:
        source.fail(1, f"the opening comment lacks 'dlcore/{path.name} -- SUMMARY'")
    return source


def doc_above(source, line):
    """The comment that ends on the line above, unless it is the title of a section."""
    for comment in source.comments:
        if comment.last_line == line - 1 and comment.own_line and not _BANNER.match(comment.text):
            return clean(comment.text)
    return ""


def doc_beside(source, token, next_name):
    """The comment that starts on the token's line after it and before the next name."""
    limit = next_name.position if next_name else float("inf")
    for comment in source.comments:
        if comment.first_line == token.line and token.position < comment.position < limit:
            return " ".join(clean(comment.text).split())
    return ""
