#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Guards of the C API and of the shared library's face: tests/abi/run.py BUILD_DIR."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "capi/include"
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
LANGUAGES = {"C99": ["cc", "-std=c99"], "C++20": ["c++", "-std=c++20", "-x", "c++"]}
MAY_NEED = ("libstdc++.so.", "libgcc_s.so.", "libc.so.", "libm.so.", "libopenblas.so.", "ld-linux")
SONAME = "libdlcore.so.1"
MAX_BYTES = 8 * 1024 * 1024
KINDS = ["ops", "layers", "optimizers", "schedules"]  # the catalogues


class Failure(Exception):
    pass


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failure(f"{command[0]} failed with {done.returncode}\n{done.stdout[:4000]}")
    return done.stdout


def library(build):
    return next(build.glob("**/libdlcore.so"))


def golden_symbols():
    lines = (ROOT / "capi/exports/symbols.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def api():
    return json.loads((ROOT / "capi/api.json").read_text(encoding="utf-8"))


def difference(what, expected, found):
    missing, surplus = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    if missing or surplus:
        raise Failure(f"{what}: missing {missing[:20]}, surplus {surplus[:20]}")


# ---- checks; each takes the build directory and a scratch directory


def header_alone(header, language):
    def check(_build, scratch):
        source = scratch / "alone.c"
        source.write_text(f"#include <dlcore/{header}>\ntypedef int dlcore_alone;\n", encoding="utf-8")
        command, *options = LANGUAGES[language]
        output_of(command, *options, *WARNINGS, f"-I{INCLUDE}", "-c", str(source), "-o", str(scratch / "alone.o"))

    return f"{header} compiles alone as {language}", check


def every_symbol_links(build, scratch):
    """Names every function through its declaration, so that a signature the linker cannot serve shows."""
    names = [symbol.split("@")[0] for symbol in golden_symbols()]
    entries = "".join(f"    (function){name},\n" for name in names)
    source, program = scratch / "symbols.c", scratch / "symbols"
    source.write_text(
        "#include <dlcore/dlcore.h>\ntypedef void (*function)(void);\n"
        f"static function volatile functions[] = {{\n{entries}}};\n"
        "int main(void) {\n  size_t i;\n"
        "  for (i = 0; i < sizeof functions / sizeof *functions; ++i)\n    if (!functions[i]) return 1;\n"
        "  return 0;\n}\n",
        encoding="utf-8",
    )
    shared = library(build)
    output_of("cc", "-std=c99", *WARNINGS, f"-I{INCLUDE}", str(source), str(shared), f"-Wl,-rpath,{shared.parent}",
              "-o", str(program))
    output_of(str(program))


def exported_symbols(build, _scratch):
    lines = output_of("nm", "-D", "--defined-only", str(library(build))).splitlines()
    found = [name for _, kind, name in (line.split()[-3:] for line in lines) if kind != "A"]
    difference("exported symbols", golden_symbols(), found)


def dependencies(build, _scratch):
    text = output_of("readelf", "-dW", str(library(build)))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    foreign = [name for name in needed if not name.startswith(MAY_NEED)]
    if foreign or not needed:
        raise Failure(f"needs {needed}, expected only {', '.join(MAY_NEED)}")


def soname(build, _scratch):
    found = re.findall(r"\(SONAME\).*\[(.*)\]", output_of("readelf", "-dW", str(library(build))))
    if found != [SONAME]:
        raise Failure(f"SONAME is {found}, expected {SONAME}")


def text_relocations(build, _scratch):
    """Text relocations would make the library's code private to each process."""
    if "TEXTREL" in output_of("readelf", "-dW", str(library(build))):
        raise Failure("the library has text relocations")


def size(build, scratch):
    stripped = scratch / "stripped.so"
    output_of("strip", "-o", str(stripped), str(library(build)))
    if stripped.stat().st_size > MAX_BYTES:
        raise Failure(f"{stripped.stat().st_size} bytes stripped, expected at most {MAX_BYTES}")


def generated_files(_build, _scratch):
    output_of(str(ROOT / "bindings/generator/run"), "--check")


def catalogue(build, _scratch):
    built = json.loads(output_of(str(build / "capi/dump_ops")))
    kept = json.loads((ROOT / "capi/ops.json").read_text(encoding="utf-8"))
    if json.dumps(built) == json.dumps(kept):
        return
    stale = [name for key in KINDS for name in _differing(built[key], kept[key])]
    raise Failure(f"capi/ops.json is stale in {stale[:20] or 'hints or tombstones'}; "
                  f"run bindings/generator/run --ops {build.name}")


def _differing(built, kept):
    by_name = [{entry["name"]: json.dumps(entry) for entry in entries} for entries in (built, kept)]
    names = dict.fromkeys([*by_name[0], *by_name[1]])
    return [name for name in names if by_name[0].get(name) != by_name[1].get(name)]


def reserved_names(_build, _scratch):
    """What the catalogues name must stay clear of the functions that have no noun, and of all others."""
    ops = json.loads((ROOT / "capi/ops.json").read_text(encoding="utf-8"))
    functions = {function["name"] for function in api()["functions"]}
    entries = [entry["name"] for entry in ops["ops"] if not entry["hidden"]]
    entries += [entry["function"] for kind in KINDS[1:] for entry in ops[kind]]
    names = [f"dlcore_{name}{suffix}" for name in entries for suffix in ("", "_ex", "_options_init")]
    clashes = sorted(set(names) & (functions | set(api()["reserved"])))
    twice = sorted({name for name in entries if entries.count(name) > 1})
    if clashes or twice:
        raise Failure(f"names taken: {clashes}, used twice: {twice}")


def numbers(_build, _scratch):
    """Numbers are permanent and never reused: each names one entry, and none that was given up."""
    ops = json.loads((ROOT / "capi/ops.json").read_text(encoding="utf-8"))
    for kind in KINDS:
        found = [entry["number"] for entry in ops[kind]]
        twice = sorted({number for number in found if found.count(number) > 1})
        if twice:
            raise Failure(f"{kind}: numbers used twice: {twice}")
    given_up = {entry["number"] for entry in ops["tombstones"]} & {entry["number"] for entry in ops["ops"]}
    if given_up:
        raise Failure(f"ops: numbers used again: {sorted(given_up)}")


def checks():
    for header in sorted(INCLUDE.glob("dlcore/*.h")):
        for language in LANGUAGES:
            yield header_alone(header.name, language)
    yield "every symbol links", every_symbol_links
    yield "the library exports exactly the golden list", exported_symbols
    yield "the library needs nothing unusual", dependencies
    yield f"the SONAME is {SONAME}", soname
    yield "the library has no text relocations", text_relocations
    yield f"the stripped library has at most {MAX_BYTES >> 20} MiB", size
    yield "generated files are fresh", generated_files
    yield "ops.json is what the library says", catalogue
    yield "catalogue names clash with no function", reserved_names
    yield "catalogue numbers are unique", numbers


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(sys.argv[1]).resolve()
    if not any(build.glob("**/libdlcore.so")):
        print(f"no libdlcore.so in {build}", file=sys.stderr)
        return 2
    failed = passed = 0
    for name, check in checks():
        with tempfile.TemporaryDirectory() as scratch:
            try:
                check(build, Path(scratch))
                passed += 1
                print(f"ok      {name}")
            except (Failure, OSError, KeyError, ValueError) as error:
                failed += 1
                print(f"FAILED  {name}\n{error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
