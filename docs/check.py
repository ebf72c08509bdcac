#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documents: docs/check.py [BUILD]. Code that guide-c.md, guide-java.md and embedding.md quote is in guide.c,
Guide.java and tests/small/program.c, the programs in README.md, plugins.md and guide.c compile, links lead somewhere,
tests that reliability.md names exist; with a build directory, guide.c runs and finds that everything in it holds."""

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CC = ["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{ROOT}/capi/include"]


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def plain(code):
    return [line.strip() for line in textwrap.dedent(code).strip().splitlines()]


QUOTED = (("guide-c.md", "c", "docs/guide.c"), ("embedding.md", "c", "tests/small/program.c"),
          ("guide-java.md", "java", "docs/Guide.java"))


def quotations():
    for name, language, source in QUOTED:
        program = "\n".join(plain((ROOT / source).read_text(encoding="utf-8")))
        for code in blocks(ROOT / "docs" / name, language):
            lines = plain(code)
            yield f"{name}: {lines[0]}", "\n".join(lines) in program


def programs(build, scratch):
    for name in ("README.md", "docs/plugins.md"):
        for code in blocks(ROOT / name, "c"):
            source = scratch / "program.c"
            source.write_text(code, encoding="utf-8")
            yield f"{name}: the C program compiles", succeeds(*CC, "-fsyntax-only", source)
    guide = ROOT / "docs/guide.c"
    yield "guide.c compiles", succeeds(*CC, "-fsyntax-only", guide)
    if build:
        built = succeeds(*CC, guide, "-o", scratch / "guide", f"-L{build}/capi", f"-Wl,-rpath,{build}/capi", "-ldlcore",
                         "-lpthread")
        yield "guide.c runs", built and succeeds(scratch / "guide", scratch / "circle.safetensors")


def links():
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/*/README.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}: {target}", (path.parent / target).exists()


def tests():
    """Tests that reliability.md names exist."""
    found = "".join(path.read_text(encoding="utf-8") for folder in ("core", "backends", "tests")
                    for path in (ROOT / folder).rglob("*test*") if path.suffix in (".cc", ".py"))
    text = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(?:\.\.\.|[A-Z]\w+\.|(?=test_))(\w+)`", text):
        yield f"reliability.md: {name}", name in found


def succeeds(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        print(done.stdout)
    return done.returncode == 0


def main():
    build = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as scratch:
        results = [*quotations(), *programs(build, Path(scratch)), *links(), *tests()]
    failed = [name for name, holds in results if not holds]
    for name in failed:
        print(f"FAILED  {name}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
